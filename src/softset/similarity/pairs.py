"""Pairs of token sets, laid out for the kernels: candidate 0, reference 0, candidate 1, reference 1, and so on."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.algebra.rank import tolerance
from softset.embed.rows import both_norms
from softset.embed.tokensets import TokenSets
from softset.errors import InputError, NotFiniteError
from softset.similarity.idf import Idf

__all__ = ["Pairs", "alike_all", "alone", "block_bounds", "blocks"]

BYTES = 12 << 20  # of token vectors in float32 at once: 8,192 of 384 dimensions; larger blocks were slower
MOST_ROWS = 16_384

HUGE = 1e290


@dataclass(frozen=True, eq=False)
class Pairs:
    """n pairs as 2n sets of rows; set 2i is the candidate of pair i, set 2i + 1 its reference.

    Vectors of zero length have no direction and are no members of anything: they are left out.

    Attributes:
        vectors: (rows, d) as the encoder made them.
        offsets: (2n + 1,) where each set begins.
        norms: (rows,) the vectors' lengths, in float64.
        sources: where the rows came from: two token sets, and the places of the pairs' texts in them.
        tokens: (rows,) what each row stands for, or None.
        lengths: (rows, 2) the l2 and l1 norms of the vectors as the model made them, if these are others; or None.
        idf: weights of tokens, where they were fitted.
        moment: (d, d) the second moment of the encoder's unit vectors, where it is known.
    """

    vectors: np.ndarray
    offsets: np.ndarray
    norms: np.ndarray
    sources: tuple[TokenSets, np.ndarray, TokenSets, np.ndarray]
    tokens: np.ndarray | None
    lengths: np.ndarray | None = None
    idf: Idf | None = None
    moment: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        candidates: TokenSets,
        references: TokenSets,
        left: np.ndarray | None = None,
        right: np.ndarray | None = None,
        idf: Idf | None = None,
        moment: np.ndarray | None = None,
    ) -> "Pairs":
        """Return the pairs of candidates[left[i]] and references[right[i]]; in their order if no places are given.

        >>> A = TokenSets.from_arrays([[[1.0, 0.0]], [[0.0, 2.0], [0.0, 0.0]]])
        >>> Pairs.of(A, A).offsets.tolist()
        [0, 1, 2, 3, 4]
        """
        left = np.arange(len(candidates)) if left is None else left
        right = np.arange(len(references)) if right is None else right
        counts = np.empty(2 * len(left), dtype=np.int64)
        counts[0::2], counts[1::2] = candidates.counts[left], references.counts[right]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        sides = [_Side.of(candidates, left, offsets[0:-1:2]), _Side.of(references, right, offsets[1:-1:2])]
        vectors = np.empty((offsets[-1], candidates.dimensions), dtype=np.result_type(np.float32, *map(_dtype, sides)))
        for side in sides:
            side.copy_to(vectors)
        norms = _norms(vectors)
        for side in sides:
            side.must_be_finite(norms)
        sources = (candidates, left, references, right)
        facts = _tokens(sides, len(norms)), _lengths(sides, len(norms))
        made = cls(vectors, offsets, norms, sources, *facts, idf, moment)
        return made if norms.all() else made._without_zeros()

    def _without_zeros(self) -> "Pairs":
        kept = self.norms > 0
        before = np.concatenate([[0], np.cumsum(kept)])
        return replace(
            self,
            vectors=self.vectors[kept],
            offsets=before[self.offsets],
            norms=self.norms[kept],
            tokens=None if self.tokens is None else self.tokens[kept],
            lengths=None if self.lengths is None else self.lengths[kept],
        )

    def __len__(self) -> int:
        return len(self.offsets) // 2

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return int(self.vectors.shape[1])

    @property
    def precision(self) -> np.dtype:
        """The type that the vectors came in: float64 only if both sides are."""
        both = {self.sources[0].vectors.dtype, self.sources[2].vectors.dtype}
        return np.dtype(np.float64 if both == {np.dtype(np.float64)} else np.float32)

    @property
    def cut(self) -> float:
        """The sine that counts as zero for vectors of this type and length: the one rule of the project."""
        return tolerance(self.dimensions, self.precision, np)

    @cached_property
    def counts(self) -> np.ndarray:
        """How many rows each set has, (2n,)."""
        return np.diff(self.offsets)

    @property
    def empty(self) -> np.ndarray:
        """Which sets have no row, (2n,) booleans."""
        without: np.ndarray = self.counts == 0
        return without

    @property
    def alike(self) -> np.ndarray:
        """Which pairs are one and the same text, or have no token that the model does not know, (n,) booleans."""
        A, left, B, right = self.sources
        known: np.ndarray = (A.unknown[left] + B.unknown[right]) == 0
        return known | (left == right) if A is B else known

    @cached_property
    def plain(self) -> bool:
        """Whether products of the vectors as they are neither overflow nor vanish."""
        return bool(((self.norms > 1e-15) & (self.norms < 1e15)).all())

    @cached_property
    def units(self) -> np.ndarray:
        """The rows scaled to length 1, in their own type, (rows, d)."""
        return _scaled(self.vectors, self.norms)

    def exact_rows(self, places: np.ndarray) -> np.ndarray:
        """Return the rows at some places scaled to length 1 in float64, without the rounding of `units`."""
        rows: np.ndarray = unit_rows(self.vectors[places])
        return rows

    def named(self) -> np.ndarray:
        """Return the tokens' text (rows,), which metrics of symbols need."""
        if self.tokens is None:
            raise InputError("this metric compares the tokens' text, but the vectors were given without it: tokens=...")
        return self.tokens

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum over each set's rows, (2n,) in float64, of values (rows,)."""
        total = np.zeros(len(self.counts))
        filled = self.counts > 0
        if filled.any():
            total[filled] = np.add.reduceat(values, self.offsets[:-1][filled], dtype=np.float64)
        return total

    def shares(self, weights: np.ndarray) -> np.ndarray:
        """Return weights (rows,) divided by their sum over the set; equal ones where all of a set's weights are 0."""
        if weights.max(initial=0) > HUGE:  # a sum would overflow: each set is counted from its largest
            filled = self.counts > 0
            largest = np.maximum.reduceat(weights, self.offsets[:-1][filled])
            weights = weights / np.repeat(np.where(largest > 0, largest, 1), self.counts[filled])
        total = self.sums(weights)
        flat = total == 0
        if flat.any():
            weights = np.where(np.repeat(flat, self.counts), 1.0, weights)
            total = np.where(flat, self.counts, total)
        shares: np.ndarray = weights / np.repeat(total, self.counts)
        return shares

    def distinct(self) -> "tuple[np.ndarray, np.ndarray]":
        """Return which rows are the first of their kind in their set (rows,), and for each row the place of that first.

        A set does not change by a row that it has already, but its Gram matrix turns singular. Equal rows have equal
        lengths, so that only rows of one length have to be compared.
        """
        rows = np.arange(len(self.norms))
        owner = np.repeat(np.arange(len(self.counts)), self.counts)
        order = np.lexsort((rows, self.norms, owner))
        a, b = order[:-1], order[1:]
        same = (owner[a] == owner[b]) & (self.norms[a] == self.norms[b])
        same[same] = (self.vectors[a[same]] == self.vectors[b[same]]).all(axis=1)
        if not same.any():
            return np.ones(len(rows), dtype=bool), rows
        begins = np.concatenate([[True], ~same])
        first = np.empty_like(rows)
        first[order] = order[begins][np.cumsum(begins) - 1]
        return first == rows, first


def alike_all(candidates: TokenSets, references: TokenSets) -> np.ndarray:
    """Return (n, m): `Pairs.alike` of every candidate with every reference."""
    known: np.ndarray = (candidates.unknown[:, None] + references.unknown[None, :]) == 0
    return known | np.eye(len(candidates), dtype=bool) if candidates is references else known


def alone(sets: TokenSets, idf: Idf | None, moment: np.ndarray | None = None) -> Pairs:
    """Return token sets as pairs with nothing, for what is asked of each set by itself: every second set is empty."""
    nothing = TokenSets.from_arrays([[]], dimensions=sets.dimensions, tokens=[[]], signature=sets.signature)
    return Pairs.of(sets, nothing, right=np.zeros(len(sets), dtype=np.int64), idf=idf, moment=moment)


class _Side(NamedTuple):
    """One side of the pairs: which rows of its token sets go where."""

    sets: TokenSets
    places: np.ndarray
    begins: np.ndarray
    source: np.ndarray
    target: np.ndarray

    @classmethod
    def of(cls, sets: TokenSets, places: np.ndarray, begins: np.ndarray) -> "_Side":
        counts = sets.counts[places]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        source, target = np.repeat(sets.offsets[:-1][places], counts) + within, np.repeat(begins, counts) + within
        return cls(sets, places, begins, source, target)

    def copy_to(self, vectors: np.ndarray) -> None:
        """Copy the rows to their targets, set by set: each is one run of memory, which rows by number are not."""
        given = self.sets.vectors
        starts, stops = self.sets.offsets[:-1][self.places].tolist(), self.sets.offsets[1:][self.places].tolist()
        for start, stop, begin in zip(starts, stops, self.begins.tolist(), strict=True):
            vectors[begin : begin + stop - start] = given[start:stop]

    def must_be_finite(self, norms: np.ndarray) -> None:
        """Refuse NaN and infinity, which token sets from a file may hold: they are mapped there, and not read."""
        bad = self.source[~np.isfinite(norms[self.target])]
        if bad.size:
            text = int(np.searchsorted(self.sets.offsets, bad[0], side="right")) - 1
            raise NotFiniteError(
                f"a vector of text {text} of the token sets has a number that is not finite: encode the texts again"
            )


def _dtype(side: _Side) -> np.dtype[Any]:
    return side.sets.vectors.dtype


def _tokens(sides: list[_Side], rows: int) -> np.ndarray | None:
    """Return what each row stands for, if both sides know."""
    tokens = np.empty(rows, dtype=object)
    for side in sides:
        if side.sets.tokens is None:
            return None
        tokens[side.target] = side.sets.tokens[side.source]
    return tokens


def _lengths(sides: list[_Side], rows: int) -> np.ndarray | None:
    """Return the norms of the vectors as the model made them, if on either side they are others by now."""
    if all(side.sets.lengths is None for side in sides):
        return None
    lengths = np.empty((rows, 2))
    for side in sides:
        sets, source = side.sets, side.source
        lengths[side.target] = both_norms(sets.vectors[source]) if sets.lengths is None else sets.lengths[source]
    return lengths


def _norms(vectors: np.ndarray) -> np.ndarray:
    """Return the lengths (rows,) in float64, of rows whose squares may overflow or vanish as well."""
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


def _scaled(rows: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Return rows divided by their lengths, which may be too large or small for the rows' type."""
    limits = np.finfo(rows.dtype)
    odd = (norms >= limits.max) | (norms < limits.smallest_normal)
    with np.errstate(all="ignore"):
        scaled: np.ndarray = rows / norms.astype(rows.dtype)[:, None]
    if odd.any():
        scaled[odd] = unit_rows(rows[odd])
    return scaled


def blocks(
    candidates: TokenSets,
    references: TokenSets,
    left: np.ndarray,
    right: np.ndarray,
    idf: Idf | None,
    moment: np.ndarray | None = None,
) -> Iterator[tuple[slice, Pairs]]:
    """Yield the pairs in blocks of bounded size, with their places."""
    for here in block_bounds(candidates, references, left, right):
        yield here, Pairs.of(candidates, references, left[here], right[here], idf, moment)


def block_bounds(candidates: TokenSets, references: TokenSets, left: np.ndarray, right: np.ndarray) -> Iterator[slice]:
    """Yield where blocks of pairs begin and end; a block has at least one pair."""
    most = min(BYTES // (4 * max(candidates.dimensions, 1)), MOST_ROWS)
    rows = np.cumsum(candidates.counts[left] + references.counts[right])
    start = 0
    while start < len(left):
        done = rows[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(rows, done + most, side="right")))
        yield slice(start, stop)
        start = stop
