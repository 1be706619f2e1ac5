"""Pairs of token sets, laid out for the kernels: candidate 0, reference 0, candidate 1, reference 1, and so on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.algebra.rank import tolerance
from softset.encoders.tokensets import TokenSets, offsets_from_counts
from softset.errors import InputError, NotFiniteError
from softset.similarity.idf import Idf
from softset.similarity.kernels.gram import PairRows
from softset.vectors.rows import bounded_slices, l2_l1_norms

BLOCK_BYTES = 16 << 20  # token vectors in float32: 10,922 with 384 dimensions; larger blocks were slower
MAX_BLOCK_ROWS = 16_384
MIN_NORM, MAX_NORM = 1e-15, 1e15  # squares of these neither vanish nor overflow in float32


class PairSide(NamedTuple):
    """One side of the pairs: which rows of its token sets belong to each pair.

    Attributes:
        sets: the token sets.
        texts: (n,) the index of each pair's text in them.
        starts: (n,) where the rows of each text begin in the token sets.
        counts: (n,) the number of rows of each text.
        begins: (n,) where the rows of each text begin among the rows of all pairs.
    """

    sets: TokenSets
    texts: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    begins: np.ndarray

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """Yield the first and last row of each text in the token sets, and its first row among all rows."""
        return zip(self.starts.tolist(), (self.starts + self.counts).tolist(), self.begins.tolist(), strict=True)

    def measure(self, norms: np.ndarray) -> None:
        """Write the lengths of the rows to their positions in `norms` (all rows,)."""
        if not len(self.texts):
            return
        first, last = int(self.starts.min()), int((self.starts + self.counts).max())
        dense = last - first <= 2 * int(self.counts.sum())  # one call for all rows, even if some are not needed
        vectors = self.sets.vectors[first:last]
        norms_of = _row_norms(vectors).__getitem__ if dense else lambda rows: _row_norms(vectors[rows])
        for start, stop, begin in self.runs():
            norms[begin : begin + stop - start] = norms_of(slice(start - first, stop - first))


@dataclass(frozen=True, eq=False)
class Pairs:
    """n pairs as 2n sets of rows: set 2i is the candidate of pair i, set 2i + 1 is its reference.

    Vectors of length zero have no direction and are left out. Extremely long or short vectors are scaled to length 1
    when they enter, so that no product overflows or vanishes.

    Attributes:
        sides: the candidates and the references.
        offsets: (2n + 1,) where each set begins.
        norms: (rows,) the lengths of `vectors`, in float64.
        lengths: (rows,) the lengths before scaling; those that float64 cannot hold are its largest number.
        nonzero: (all rows,) which rows of the sides are not zero; None if there are no zero rows.
        rescaled: (all rows, d) the vectors if some of them were scaled, otherwise None.
        idf: token weights, if the metric needs them.
        moment: (d, d) the second moment of the encoder's unit vectors, if it is known.
    """

    sides: tuple[PairSide, PairSide]
    offsets: np.ndarray
    norms: np.ndarray
    lengths: np.ndarray
    nonzero: np.ndarray | None = None
    rescaled: np.ndarray | None = None
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
        """Return the pairs of candidates[left[i]] and references[right[i]]; all of them in order by default."""
        left = np.arange(len(candidates)) if left is None else left
        right = np.arange(len(references)) if right is None else right
        counts = np.stack([candidates.counts[left], references.counts[right]], axis=1)
        offsets = offsets_from_counts(counts)
        sides = (
            PairSide(candidates, left, candidates.offsets[:-1][left], counts[:, 0], offsets[0:-1:2]),
            PairSide(references, right, references.offsets[:-1][right], counts[:, 1], offsets[1:-1:2]),
        )
        norms, rescaled = np.empty(offsets[-1]), None
        for side in sides:
            side.measure(norms)
        lengths = norms
        extreme = ~((norms > MIN_NORM) & (norms < MAX_NORM))  # zero and not finite ones too
        if extreme.any():
            rescaled = _gather_vectors(sides)
            _check_finite(sides, rescaled, offsets)
            lengths, units = norms.copy(), unit_rows(rescaled[extreme])
            with np.errstate(over="ignore", under="ignore"):
                products = np.vecdot(rescaled[extreme], units, dtype=np.float64)
            lengths[extreme] = np.minimum(products, np.finfo(np.float64).max)
            rescaled[extreme] = units
            norms[extreme] = _row_norms(rescaled[extreme])
        nonzero = None if norms.all() else norms > 0
        if nonzero is not None:
            offsets = offsets_from_counts(nonzero)[offsets]
            norms, lengths = norms[nonzero], lengths[nonzero]
        return cls(sides, offsets, norms, lengths, nonzero, rescaled, idf, moment)

    def __len__(self) -> int:
        return len(self.offsets) // 2

    @cached_property
    def vectors(self) -> np.ndarray:
        """The rows (rows, d)."""
        return self._drop_zeros(_gather_vectors(self.sides) if self.rescaled is None else self.rescaled)

    @cached_property
    def units(self) -> np.ndarray:
        """The rows scaled to length 1, in their own type, (rows, d)."""
        return np.asarray(self.vectors / self.norms.astype(self.vectors.dtype)[:, None])

    def with_lengths(self, left: slice, right: slice) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the rows of both sides of a pair in float64, with their lengths divided by a scale, and the scale."""
        rows = slice(left.start, right.stop)
        scale = 1.0 if self.rescaled is None else float(self.lengths[rows].max())
        vectors = self.vectors[rows] * (self.lengths[rows] / scale / self.norms[rows])[:, None]
        return vectors[: right.start - left.start], vectors[right.start - left.start :], scale

    @cached_property
    def tokens(self) -> np.ndarray | None:
        """The text of each row's token (rows,), if both sides have it."""
        tokens = [side.sets.tokens for side in self.sides if side.sets.tokens is not None]
        return self._drop_zeros(_gather(self.sides, tokens, object)) if len(tokens) == 2 else None

    def required_idf(self) -> Idf:
        """Return the idf weights, or raise an error if there are none."""
        if self.idf is None:
            raise InputError("this metric needs idf weights: give idf=softset.Idf.fit(texts)")
        return self.idf

    def required_tokens(self) -> np.ndarray:
        """Return the text of each row's token (rows,), or raise an error if it is unknown."""
        if self.tokens is None:
            raise InputError("this metric compares tokens, but there are only vectors: give tokens=... to from_arrays")
        return self.tokens

    @cached_property
    def original_norms(self) -> np.ndarray | None:
        """The l2 and l1 norms (rows, 2) that the model gave, if preprocessing has changed the vectors of a side."""
        if all(side.sets.lengths is None for side in self.sides):
            return None
        sets = [side.sets for side in self.sides]
        norms = [l2_l1_norms(side.vectors) if side.lengths is None else side.lengths for side in sets]
        return self._drop_zeros(_gather(self.sides, norms, np.float64))

    def _drop_zeros(self, rows: np.ndarray) -> np.ndarray:
        return rows if self.nonzero is None else rows[self.nonzero]

    def kernel_rows(self, rows: "DistinctRows") -> PairRows:
        """Return the rows for the Gram kernel; the token sets are read in place if all of their rows are used."""
        if not rows.complete:
            return PairRows.consecutive(self.vectors[rows.indices], rows.offsets, self.norms[rows.indices])
        if self.rescaled is not None or "vectors" in self.__dict__:
            return PairRows.consecutive(self.vectors, self.offsets, self.norms)
        left, right = self.sides
        starts = np.stack([left.starts, right.starts], axis=1)
        return PairRows(left.sets.vectors, right.sets.vectors, starts, self.offsets, self.norms)

    @property
    def dimensions(self) -> int:
        """The number of dimensions d."""
        return self.sides[0].sets.dimensions

    @property
    def precision(self) -> np.dtype[Any]:
        """The type whose tolerance decides the rank: float64 only if both sides are, otherwise float32."""
        return np.dtype(np.float64 if all(side.sets.vectors.dtype == np.float64 for side in self.sides) else np.float32)

    @property
    def cut(self) -> float:
        """The sine that counts as zero for vectors of this precision and dimension."""
        return tolerance(self.dimensions, self.precision, np)

    @cached_property
    def counts(self) -> np.ndarray:
        """The number of rows of each set, (2n,)."""
        return np.diff(self.offsets)

    @property
    def empty(self) -> np.ndarray:
        """Which sets have no rows, (2n,) booleans."""
        return np.asarray(self.counts == 0)

    def filled(self) -> Iterator[tuple[int, slice, slice]]:
        """Yield the number of each pair without an empty side, with the rows of both sides."""
        ends = self.offsets.tolist()
        for pair in np.flatnonzero(~self.empty[0::2] & ~self.empty[1::2]).tolist():
            start, middle, stop = ends[2 * pair : 2 * pair + 3]
            yield pair, slice(start, middle), slice(middle, stop)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sums of values (rows,) over each set, (2n,) in float64."""
        total = np.zeros(len(self.counts))
        filled = self.counts > 0
        if filled.any():
            total[filled] = np.add.reduceat(values, self.offsets[:-1][filled], dtype=np.float64)
        return total

    def normalized(self, weights: np.ndarray) -> np.ndarray:
        """Return weights (rows,) divided by their sum over the set; equal weights if all of a set's weights are 0."""
        total = self.sums(weights)
        zero = total == 0
        if zero.any():
            weights = np.where(np.repeat(zero, self.counts), 1.0, weights)
            total = np.where(zero, self.counts, total)
        return np.asarray(weights / np.repeat(total, self.counts))

    def distinct_rows(self) -> "DistinctRows":
        """Return the distinct rows of each set.

        A copy does not change a set, but makes its Gram matrix singular. Equal rows have equal lengths, so that only
        rows of one length have to be compared.
        """
        rows = np.arange(len(self.norms))
        owner = np.repeat(np.arange(len(self.counts)), self.counts)
        # Equal rows of a set have equal keys. Different rows rarely do, so contextual models usually return here.
        keys = np.sort(self.norms.view(np.uint64) ^ (owner.astype(np.uint64) << np.uint64(40)))
        if (keys[1:] != keys[:-1]).all():
            return DistinctRows(rows, rows, self.offsets)
        order = np.lexsort((self.norms, owner))
        a, b = order[:-1], order[1:]
        same = (owner[a] == owner[b]) & (self.norms[a] == self.norms[b])
        same[same] = (self.vectors[a[same]] == self.vectors[b[same]]).all(axis=1)
        begins = np.concatenate([[True], ~same])
        first = np.empty_like(rows)
        first[order] = order[begins][np.cumsum(begins) - 1]
        is_first = first == rows
        return DistinctRows(np.flatnonzero(is_first), first, offsets_from_counts(is_first)[self.offsets])


class DistinctRows(NamedTuple):
    """The distinct rows of all sets.

    Attributes:
        indices: (distinct,) the index of the first occurrence of each distinct row.
        first: (rows,) for each row, the index of the first equal row of its set.
        offsets: (2n + 1,) where each set begins among the distinct rows.
    """

    indices: np.ndarray
    first: np.ndarray
    offsets: np.ndarray

    @property
    def complete(self) -> bool:
        """Whether there are no copies."""
        return len(self.indices) == len(self.first)

    @property
    def copies(self) -> np.ndarray:
        """How often each distinct row occurs in its set, (distinct,)."""
        return np.asarray(np.bincount(self.first, minlength=len(self.first))[self.indices])

    def expand(self, values: np.ndarray) -> np.ndarray:
        """Return values of the distinct rows (distinct,) for every row, (rows,)."""
        return values if self.complete else values[np.searchsorted(self.indices, self.first)]


def _row_norms(vectors: np.ndarray) -> np.ndarray:
    """Return the lengths (rows,) of vectors in float64, computed in at least float32."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = np.vecdot(vectors, vectors, dtype=np.result_type(vectors.dtype, np.float32))
        return np.asarray(np.sqrt(squares, dtype=np.float64))


def _check_finite(sides: tuple[PairSide, PairSide], vectors: np.ndarray, offsets: np.ndarray) -> None:
    """Reject NaN and infinity: token sets from a file are mapped, and not read when they are opened."""
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        index = int(np.searchsorted(offsets, bad[0], side="right")) - 1
        text = sides[index % 2].texts[index // 2]
        raise NotFiniteError(
            f"a vector of text {text} of the token sets has a number that is not finite: encode the texts again"
        )


def _gather(sides: tuple[PairSide, PairSide], values: Sequence[np.ndarray], dtype: Any) -> np.ndarray:
    """Return values of both token sets' rows for the rows of all pairs, text by text: each is one run of memory."""
    total = sum(int(side.counts.sum()) for side in sides)
    gathered = np.empty((total, *values[0].shape[1:]), dtype=dtype)
    for side, of_sets in zip(sides, values, strict=True):
        for start, stop, begin in side.runs():
            gathered[begin : begin + stop - start] = of_sets[start:stop]
    return gathered


def _gather_vectors(sides: tuple[PairSide, PairSide]) -> np.ndarray:
    """Return the vectors of all pairs, zero vectors included, in at least float32."""
    vectors = [side.sets.vectors for side in sides]
    return _gather(sides, vectors, np.result_type(np.float32, *(rows.dtype for rows in vectors)))


def unpaired(sets: TokenSets, others: TokenSets, idf: Idf | None = None, moment: np.ndarray | None = None) -> Pairs:
    """Return token sets as pairs with an empty set: for computations on each set alone, at the even positions.

    The empty set has the type of `others`, the sets of the other side, so that the rank tolerance is that of the pairs.
    """
    empty = TokenSets.from_arrays([[]], dimensions=sets.dimensions, tokens=[[]], signature=sets.signature)
    empty = empty.astype(others.vectors.dtype)
    return Pairs.of(sets, empty, right=np.zeros(len(sets), dtype=np.int64), idf=idf, moment=moment)


def pair_blocks(
    A: TokenSets, B: TokenSets, left: np.ndarray, right: np.ndarray, idf: Idf | None, moment: np.ndarray | None = None
) -> Iterator[tuple[slice, Pairs]]:
    """Yield the pairs of A[left[i]] and B[right[i]] in blocks of bounded size, each with its slice."""
    for rows in block_slices(A, B, left, right):
        yield rows, Pairs.of(A, B, left[rows], right[rows], idf, moment)


def block_slices(candidates: TokenSets, references: TokenSets, left: np.ndarray, right: np.ndarray) -> Iterator[slice]:
    """Return slices of the pairs with a bounded number of rows, but at least one pair."""
    limit = min(BLOCK_BYTES // (4 * max(candidates.dimensions, 1)), MAX_BLOCK_ROWS)
    return bounded_slices(np.cumsum(candidates.counts[left] + references.counts[right]), limit)
