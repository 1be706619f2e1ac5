"""Compare every set with every other set: one large product at a time, then sums over the rows of each set.

Blocks bound the memory and run in softset's threads: BLAS threads would leave everything but the products to one
thread. Sums and maxima over a set's rows run along the first axis, where whole rows are added at once; the weighted
mean over its tokens is a product with their weights.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.algebra.rank import independent_stack
from softset.runtime.threads import in_threads, on_one_thread
from softset.similarity.kernels.gram import graded_factor
from softset.vectors.rows import bounded_slices

Factors = tuple[np.ndarray, np.ndarray]  # rows of all factors, and where each set's factor begins
Queries = tuple[np.ndarray, np.ndarray, np.ndarray]  # unit rows, where each set begins, and the weights of the rows

BLOCK_ROWS = 2_048  # rows of each side in one product: 16 MB in float32
STACK_BYTES = 32 << 20  # limit for the rows that are factored together


@on_one_thread
def set_factors(
    rows: np.ndarray, offsets: np.ndarray, *, cut: float, ridge: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors F of all sets, (rows', d) in float64, and where each set's factor begins, (n + 1,).

    The membership of a unit vector v in a set is |F v|. The factor of a crisp set is an orthonormal basis; a graded
    set's directions are scaled by the roots of their grades. Sets begin at `offsets` (n + 1,), and their rows may have
    any length; `cut` and `ridge` are those of `gram.memberships`.
    """
    counts, d = np.diff(offsets), rows.shape[1]
    factors: list[np.ndarray] = [np.zeros((0, d))] * len(counts)
    for k in np.unique(counts[counts > 0]).tolist():
        sets = np.flatnonzero(counts == k)
        size = max(1, STACK_BYTES // (8 * k * d))
        for start in range(0, len(sets), size):
            batch = sets[start : start + size]
            indices = offsets[batch][:, None] + np.arange(k)
            stack = unit_rows(rows[indices])
            for index, factor in zip(batch.tolist(), _factors(stack, indices, cut, ridge), strict=True):
                factors[index] = factor
    ranks = np.array([len(factor) for factor in factors], dtype=np.int64)
    return np.concatenate([np.zeros((0, d)), *factors]), np.concatenate([[0], np.cumsum(ranks)])


def _factors(stack: np.ndarray, indices: np.ndarray, cut: float, ridge: np.ndarray | None) -> list[np.ndarray]:
    """Return the factors of a stack (b, k, d) of sets, whose rows have the indices (b, k)."""
    if ridge is None:
        return [frame.directions for frame in independent_stack(stack, cut)]
    return [graded_factor(units, ridge[row], cut) for units, row in zip(stack, indices, strict=True)]


def mean_membership(sets: Factors, queries: Queries) -> np.ndarray:
    """Return (n, m): the weighted mean membership of set j's unit rows in set i, given by its factor."""
    (factors, factor_offsets), (units, offsets, weights) = sets, queries
    means = np.zeros((len(factor_offsets) - 1, len(offsets) - 1))

    def fill(left: _Block, right: _Block) -> None:
        m = _memberships(factors[left.rows], units[right.rows], factor_offsets[left.sets] - left.rows.start)
        means[np.ix_(left.sets, right.sets)] = m @ _averaging(offsets, right.sets, weights)

    _for_each_block(fill, factor_offsets, offsets)
    return means


def expected_min(sets: Factors, queries: Queries, in_own: np.ndarray) -> np.ndarray:
    """Return (n, m): the expected smaller membership in set i of two rows of set j, drawn by their weights.

    Memberships are divided by `in_own` (rows,), the membership in a row's own set, and are at most 1.
    """
    (factors, factor_offsets), (units, offsets, weights) = sets, queries
    means = np.zeros((len(factor_offsets) - 1, len(offsets) - 1))
    counts = np.diff(offsets)

    def fill(left: _Block, right: _Block) -> None:
        scaled = units[right.rows] / in_own[right.rows, None].astype(units.dtype)
        m = _memberships(factors[left.rows], scaled, factor_offsets[left.sets] - left.rows.start)
        for k in np.unique(counts[right.sets]).tolist():
            same_size = right.sets[counts[right.sets] == k]
            rows = offsets[same_size][:, None] + np.arange(k)
            means[np.ix_(left.sets, same_size)] = _min_of_two(m[:, rows - right.rows.start], weights[rows])

    _for_each_block(fill, factor_offsets, offsets)
    return means


def _memberships(factors: np.ndarray, units: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return (n, rows): the memberships of unit rows in n sets, whose factors begin at `starts`."""
    S = factors @ units.T
    np.multiply(S, S, out=S)
    squares = np.add.reduceat(S, starts, axis=0)
    np.minimum(squares, 1.0, out=squares)
    return np.asarray(np.sqrt(squares, out=squares))


def _min_of_two(m: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return (n, s): the expected smaller of two memberships (n, s, k), drawn by weights (s, k)."""
    if m.shape[2] > 1 and np.ptp(weights, axis=1).max() == 0:  # equal weights: sorting is enough
        ranked = np.sort(m, axis=2)
        of_rank = (2 * np.arange(m.shape[2], 0, -1) - 1).astype(m.dtype) / m.shape[2] ** 2
        return np.asarray(ranked @ of_rank)
    order = np.argsort(-m, axis=2)
    w = np.take_along_axis(np.broadcast_to(weights.astype(m.dtype), m.shape), order, axis=2)
    total = np.cumsum(w, axis=2)
    terms = np.take_along_axis(m, order, axis=2) * w * (2 * total - w)  # (c + w)^2 - c^2 = w (2 (c + w) - w)
    return np.asarray(terms.sum(axis=2))


def mean_max_cosine(left: Queries, right: Queries) -> tuple[np.ndarray, np.ndarray]:
    """Return two (n, m): the mean largest cosine of set i's rows with set j, and of set j's rows with set i."""
    (units, offsets, weights), (others, other_offsets, other_weights) = left, right
    P, R = (np.zeros((len(offsets) - 1, len(other_offsets) - 1)) for _ in range(2))

    def fill(left: _Block, right: _Block) -> None:
        C = units[left.rows] @ others[right.rows].T
        cells = np.ix_(left.sets, right.sets)
        largest = np.maximum.reduceat(C, offsets[left.sets] - left.rows.start, axis=0)
        R[cells] = largest @ _averaging(other_offsets, right.sets, other_weights)
        largest = np.maximum.reduceat(C.T.copy(), other_offsets[right.sets] - right.rows.start, axis=0)
        P[cells] = (largest @ _averaging(offsets, left.sets, weights)).T

    _for_each_block(fill, offsets, other_offsets)
    return P, R


class _Block(NamedTuple):
    """Consecutive non-empty sets, and their rows."""

    sets: np.ndarray
    rows: slice


def _for_each_block(fill: Callable[[_Block, _Block], None], left: np.ndarray, right: np.ndarray) -> None:
    """Call a function for every block of pairs of sets, in threads; the sets begin at the offsets."""
    for _ in in_threads(lambda blocks: fill(*blocks), product(_blocks(left), list(_blocks(right)))):
        pass


def _blocks(offsets: np.ndarray) -> Iterator[_Block]:
    """Yield the non-empty sets in blocks of about BLOCK_ROWS rows."""
    filled = np.flatnonzero(np.diff(offsets))
    for sets in bounded_slices(offsets[filled + 1], BLOCK_ROWS):
        yield _Block(filled[sets], slice(int(offsets[filled[sets.start]]), int(offsets[filled[sets.stop - 1] + 1])))


def _averaging(offsets: np.ndarray, sets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return (rows, sets): the matrix that turns values of rows into weighted means over sets."""
    counts = np.diff(offsets)[sets]
    start = int(offsets[sets[0]])
    W = np.zeros((int(counts.sum()), len(sets)), dtype=weights.dtype)
    W[np.arange(len(W)), np.repeat(np.arange(len(sets)), counts)] = weights[start : start + len(W)]
    return W
