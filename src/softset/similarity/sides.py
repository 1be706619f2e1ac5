"""Where the rows of pairs come from: one side of all pairs as places in token sets, read when they are needed."""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.encoders.tokensets import TokenSets
from softset.errors import NotFiniteError

__all__ = ["Gathered", "Side", "scaled"]


class Side(NamedTuple):
    """One side of the pairs: which rows of its token sets go where."""

    sets: TokenSets
    starts: np.ndarray
    counts: np.ndarray
    begins: np.ndarray

    @classmethod
    def of(cls, sets: TokenSets, places: np.ndarray, begins: np.ndarray) -> "Side":
        """Return the side that holds the texts at some places, whose rows begin at others of all rows."""
        return cls(sets, sets.offsets[:-1][places], sets.counts[places], begins)

    @property
    def within(self) -> np.ndarray:
        """Which row of its text each row is, from 0."""
        begins: np.ndarray = np.arange(self.counts.sum()) - np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        return begins

    @property
    def source(self) -> np.ndarray:
        """The places of the rows in the token sets."""
        rows: np.ndarray = np.repeat(self.starts, self.counts) + self.within
        return rows

    @property
    def target(self) -> np.ndarray:
        """Their places among all rows."""
        rows: np.ndarray = np.repeat(self.begins, self.counts) + self.within
        return rows

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """Yield where each text's rows begin and end in the token sets, and where they begin among all rows."""
        return zip(self.starts.tolist(), (self.starts + self.counts).tolist(), self.begins.tolist(), strict=True)

    def copy_to(self, vectors: np.ndarray) -> None:
        """Copy the rows to their targets, text by text: each is one run of memory, which rows by number are not."""
        given = self.sets.vectors
        for start, stop, begin in self.runs():
            vectors[begin : begin + stop - start] = given[start:stop]

    def measure(self, norms: np.ndarray) -> None:
        """Write the lengths of the rows to their targets in float64; what is not finite is refused.

        Token sets from a file may hold NaN and infinity: they are mapped there, and not read.
        """
        given = self.sets.vectors
        consecutive = len(self.starts) > 0 and bool((self.starts[1:] == (self.starts + self.counts)[:-1]).all())
        if consecutive:
            found = _lengths(given[int(self.starts[0]) : int(self.starts[-1] + self.counts[-1])])
        else:
            found = np.concatenate([np.empty(0), *(_lengths(given[start:stop]) for start, stop, _ in self.runs())])
        norms[self.target] = found
        if not np.isfinite(found).all():
            bad = self.source[~np.isfinite(found)]
            text = int(np.searchsorted(self.sets.offsets, bad[0], side="right")) - 1
            raise NotFiniteError(
                f"a vector of text {text} of the token sets has a number that is not finite: encode the texts again"
            )


class Gathered:
    """The rows of one pair after the other, copied together into one place that stays in the processor's cache.

    Attributes:
        like: an array of their type and length.
        given: the vectors of both sides' token sets.
        starts: (n, 2) where in these each pair's sides begin.
    """

    def __init__(self, sides: tuple[Side, Side], offsets: np.ndarray, like: np.ndarray) -> None:
        self.like = like
        self._begins = offsets[::2].tolist()
        self.given = tuple(side.sets.vectors for side in sides)
        self.starts = np.stack([side.starts for side in sides], axis=1)
        self._sides = sides
        self._longest = int(np.diff(offsets[::2]).max(initial=0))

    @cached_property
    def _runs(self) -> list[list[tuple[int, int, int]]]:
        return [list(side.runs()) for side in self._sides]

    @cached_property
    def _room(self) -> np.ndarray:
        return np.empty((self._longest, self.like.shape[1]), dtype=self.like.dtype)

    def __call__(self, start: int, stop: int) -> np.ndarray:
        """Return the rows of the pair whose rows are from start to stop; they hold until the next call."""
        pair = bisect_right(self._begins, start) - 1  # of those that begin here, the last: others have no row
        rows = self._room[: stop - start]
        at = 0
        for given, runs in zip(self.given, self._runs, strict=True):
            first, last, _ = runs[pair]
            rows[at : at + last - first] = given[first:last]
            at += last - first
        return rows


def _lengths(vectors: np.ndarray) -> np.ndarray:
    """Return the lengths (rows,) in float64, of rows whose squares may overflow or vanish as well."""
    if vectors.dtype == np.float16:
        vectors = vectors.astype(np.float32)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = np.vecdot(vectors, vectors).astype(np.float64)  # BLAS: ten times as quick as sums in float64
        limits = np.finfo(vectors.dtype)
        safe = (squares > limits.smallest_normal / limits.eps) & (squares < limits.max / 4)
    norms: np.ndarray = np.sqrt(squares)
    if not safe.all():
        odd = np.flatnonzero(~safe)
        rows = vectors[odd].astype(np.float64)
        largest = np.abs(rows).max(axis=1, initial=0)
        finite = np.isfinite(largest)
        with np.errstate(all="ignore"):
            lengths = largest * np.linalg.norm(rows / np.where(largest > 0, largest, 1)[:, None], axis=1)
        norms[odd] = np.where(finite, np.minimum(lengths, np.finfo(np.float64).max), np.nan)
    return norms


def scaled(rows: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Return rows divided by their lengths, which may be too large or small for the rows' type.

    >>> scaled(np.array([[3.0, 4.0]]), np.array([5.0])).tolist()
    [[0.6, 0.8]]
    """
    limits = np.finfo(rows.dtype)
    odd = (norms >= limits.max) | (norms < limits.smallest_normal)
    with np.errstate(all="ignore"):
        scaled: np.ndarray = rows / norms.astype(rows.dtype)[:, None]
    if odd.any():
        scaled[odd] = unit_rows(rows[odd])
    return scaled
