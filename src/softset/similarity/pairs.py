"""Pairs of token sets, laid out for the kernels: candidate 0, reference 0, candidate 1, reference 1, and so on."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.algebra.rank import tolerance
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.similarity.idf import Idf
from softset.similarity.sides import Gathered, Side, scaled
from softset.vectors.rows import l2_l1_norms

__all__ = ["Distinct", "Pairs", "alike_all", "alone", "block_bounds", "blocks"]

BYTES = 16 << 20  # of token vectors in float32 at once: 10,922 of 384 dimensions; larger blocks were slower
MOST_ROWS = 16_384

HUGE = 1e290


@dataclass(frozen=True, eq=False)
class Pairs:
    """n pairs as 2n sets of rows; set 2i is the candidate of pair i, set 2i + 1 its reference.

    Vectors of zero length have no direction and are no members of anything: they are left out.

    Attributes:
        sources: where the rows come from: two token sets, and the places of the pairs' texts in them.
        sides: the candidates and the references as rows of these.
        offsets: (2n + 1,) where each set begins.
        norms: (rows,) the vectors' lengths, in float64.
        kept: which rows of the sources there are, if some have zero length; or None.
        idf: weights of tokens, where they were fitted.
        moment: (d, d) the second moment of the encoder's unit vectors, where it is known.
    """

    sources: tuple[TokenSets, np.ndarray, TokenSets, np.ndarray]
    sides: tuple[Side, Side]
    offsets: np.ndarray
    norms: np.ndarray
    kept: np.ndarray | None = None
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
        sides = Side.of(candidates, left, offsets[0:-1:2]), Side.of(references, right, offsets[1:-1:2])
        norms = np.empty(offsets[-1])
        for side in sides:
            side.measure(norms)
        kept = None if norms.all() else norms > 0
        if kept is not None:
            offsets, norms = np.concatenate([[0], np.cumsum(kept)])[offsets], norms[kept]
        return cls((candidates, left, references, right), sides, offsets, norms, kept, idf, moment)

    @cached_property
    def vectors(self) -> np.ndarray:
        """The rows (rows, d) as the encoder made them."""
        found = np.empty((sum(int(side.counts.sum()) for side in self.sides), self.dimensions), dtype=self._dtype)
        for side in self.sides:
            side.copy_to(found)
        return self._only_kept(found)

    @cached_property
    def tokens(self) -> np.ndarray | None:
        """What each row stands for (rows,), if both sides know."""
        found = np.empty(sum(int(side.counts.sum()) for side in self.sides), dtype=object)
        for side in self.sides:
            if side.sets.tokens is None:
                return None
            found[side.target] = side.sets.tokens[side.source]
        return self._only_kept(found)

    @cached_property
    def lengths(self) -> np.ndarray | None:
        """The l2 and l1 norms (rows, 2) of the vectors as the model made them, if on either side these are others."""
        if all(side.sets.lengths is None for side in self.sides):
            return None
        found = np.empty((sum(int(side.counts.sum()) for side in self.sides), 2))
        for side in self.sides:
            sets, source = side.sets, side.source
            found[side.target] = l2_l1_norms(sets.vectors[source]) if sets.lengths is None else sets.lengths[source]
        return self._only_kept(found)

    def _only_kept(self, rows: np.ndarray) -> np.ndarray:
        return rows if self.kept is None else rows[self.kept]

    @property
    def _dtype(self) -> np.dtype[Any]:
        return np.result_type(np.float32, *(side.sets.vectors.dtype for side in self.sides))

    def for_kernel(self, rows: "Distinct") -> tuple[np.ndarray | Gathered, np.ndarray]:
        """Return the rows that make the sets, and their lengths; if that is all of them, read where they lie."""
        places = None if rows.whole else rows.places
        if not self.plain:
            units = self.units if places is None else self.units[places]
            return units, np.ones(len(units))
        if places is not None:
            return self.vectors[places], self.norms[places]
        if self.kept is not None or "vectors" in self.__dict__:
            return self.vectors, self.norms
        return Gathered(self.sides, self.offsets, np.empty((0, self.dimensions), dtype=self._dtype)), self.norms

    def __len__(self) -> int:
        return len(self.offsets) // 2

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return self.sources[0].dimensions

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
        return scaled(self.vectors, self.norms)

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

    def distinct_rows(self) -> "Distinct":
        """Return the rows that make the sets, each once."""
        kept, first = self.distinct()
        if kept.all():
            return Distinct(first, first, self.offsets)
        return Distinct(np.flatnonzero(kept), first, np.concatenate([[0], np.cumsum(kept)])[self.offsets])

    def distinct(self) -> "tuple[np.ndarray, np.ndarray]":
        """Return which rows are the first of their kind in their set (rows,), and for each row the place of that first.

        A set does not change by a row that it has already, but its Gram matrix turns singular. Equal rows have equal
        lengths, so that only rows of one length have to be compared.
        """
        rows = np.arange(len(self.norms))
        owner = np.repeat(np.arange(len(self.counts)), self.counts)
        # Equal rows of a set have equal keys. Others hardly ever do, and for models that see contexts that is all.
        keys = np.sort(self.norms.view(np.uint64) ^ (owner.astype(np.uint64) << np.uint64(40)))
        if (keys[1:] != keys[:-1]).all():
            return np.ones(len(rows), dtype=bool), rows
        order = np.lexsort((self.norms, owner))
        a, b = order[:-1], order[1:]
        same = (owner[a] == owner[b]) & (self.norms[a] == self.norms[b])
        if same.any():
            same[same] = (self.vectors[a[same]] == self.vectors[b[same]]).all(axis=1)
        if not same.any():
            return np.ones(len(rows), dtype=bool), rows
        begins = np.concatenate([[True], ~same])
        first = np.empty_like(rows)
        first[order] = order[begins][np.cumsum(begins) - 1]
        return first == rows, first


class Distinct(NamedTuple):
    """Where the different rows of all sets are, which of them stands for each row, and where each set's begin."""

    places: np.ndarray
    first: np.ndarray
    offsets: np.ndarray

    @property
    def whole(self) -> bool:
        """Whether no row is a copy of another."""
        return len(self.places) == len(self.first)

    @property
    def copies(self) -> np.ndarray:
        """How often each of them occurs in its set."""
        counts: np.ndarray = np.bincount(self.first, minlength=len(self.first))[self.places]
        return counts

    def for_all(self, found: np.ndarray) -> np.ndarray:
        """Return what was found for each of them, for every row."""
        return found if self.whole else found[np.searchsorted(self.places, self.first)]


def alike_all(candidates: TokenSets, references: TokenSets) -> np.ndarray:
    """Return (n, m): `Pairs.alike` of every candidate with every reference."""
    known: np.ndarray = (candidates.unknown[:, None] + references.unknown[None, :]) == 0
    return known | np.eye(len(candidates), dtype=bool) if candidates is references else known


def alone(sets: TokenSets, idf: Idf | None, moment: np.ndarray | None = None) -> Pairs:
    """Return token sets as pairs with nothing, for what is asked of each set by itself: every second set is empty."""
    nothing = TokenSets.from_arrays([[]], dimensions=sets.dimensions, tokens=[[]], signature=sets.signature)
    return Pairs.of(sets, nothing, right=np.zeros(len(sets), dtype=np.int64), idf=idf, moment=moment)


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
