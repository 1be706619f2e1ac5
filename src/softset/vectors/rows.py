"""Helpers for (n, d) arrays of vectors: norms, means of groups, concatenation, repetition without a second copy."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

ROWS_PER_SUM = 4096  # rows converted to float64 at a time: 25 MB for 768 dimensions
SMOOTHING = 1e-3  # 1e-2 leaves "not good" near "but", and 1e-4 reduces "heart attack" to "attack"
SMALLEST_NORM, LARGEST_NORM = 1e-15, 1e15  # squares of such norms, and sums of these, fit float32


def row_norms(rows: np.ndarray) -> np.ndarray:
    """Return the l2 norms (n,) of (n, d) rows in float32, summed in float64."""
    with np.errstate(over="ignore"):
        norms: np.ndarray = np.sqrt(np.vecdot(rows, rows, dtype=np.float64)).astype(np.float32)
    return norms


def l2_l1_norms(rows: np.ndarray) -> np.ndarray:
    """Return the l2 norm and the l1 norm of each row, (n, 2) in float64."""
    l2 = np.sqrt(np.square(rows).sum(axis=1, dtype=np.float64))
    return np.stack([l2, np.abs(rows).sum(axis=1, dtype=np.float64)], axis=1)


def rescale_extreme_rows(rows: np.ndarray) -> np.ndarray:
    """Return float32 rows, with each row of an extreme norm scaled to length 1.

    Products of rows with norms above 1e15 or below 1e-15 would overflow or vanish in float32. Only the direction of
    such rows can be used, so only the direction is kept. The result is the input array if no row is extreme.
    """
    norms = np.sqrt(np.vecdot(rows, rows, dtype=np.float64))
    extreme = (norms > LARGEST_NORM) | ((norms > 0) & (norms < SMALLEST_NORM))
    if not extreme.any():
        return rows
    rescaled = rows.copy()
    rescaled[extreme] = rows[extreme] / norms[extreme, None]
    return rescaled


def group_means(rows: np.ndarray, begins: Sequence[int] | np.ndarray, dtype: Any) -> np.ndarray:
    """Return the mean of each group of consecutive rows, (groups, d), summed in float64.

    `begins` holds the index of the first row of each group. Groups are summed in blocks, because NumPy would convert
    all rows to float64 at once.
    """
    bounds = np.append(np.asarray(begins, dtype=np.int64), len(rows))
    means = np.empty((len(bounds) - 1, rows.shape[1]), dtype=dtype)
    for groups in bounded_slices(bounds[1:], ROWS_PER_SUM):
        block = bounds[groups.start : groups.stop + 1]
        sums = np.add.reduceat(rows[block[0] : block[-1]], block[:-1] - block[0], axis=0, dtype=np.float64)
        means[groups] = sums / np.diff(block)[:, None]
    return means


def bounded_slices(ends: np.ndarray, limit: int) -> Iterator[slice]:
    """Yield slices of consecutive groups of rows: at most `limit` rows together, or one group that has more.

    `ends` holds the index after the last row of each group; the first group begins at 0.
    """
    start = done = 0
    while start < len(ends):
        stop = max(start + 1, int(np.searchsorted(ends, done + limit, side="right")))
        yield slice(start, stop)
        start, done = stop, int(ends[stop - 1])


def phrase_vector(rows: np.ndarray, indices: Sequence[int], n: int) -> np.ndarray:
    """Return the mean (d,) of the vectors (k, d) of a phrase's words, weighted by smooth inverse frequency.

    The weight of a word is a / (a + p) (Arora et al. 2017). Its probability p follows from its rank r in a vocabulary
    of n words by Zipf's law: p = 1 / (r H), with the harmonic number H = ln n + 0.5772.

    >>> phrase_vector(np.eye(2), [0, 999], 30_000).round(2)  # the most frequent word, and a rare one
    array([0.01, 0.99])
    """
    p = 1 / ((np.array(indices) + 1) * (np.log(n) + np.euler_gamma))
    mean: np.ndarray = np.average(rows, axis=0, weights=SMOOTHING / (SMOOTHING + p)).astype(rows.dtype)
    return mean


def repeat_groups(rows: np.ndarray, offsets: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the rows of group order[0], then of group order[1] and so on, in the memory of `rows`, which is reused.

    Groups are numbered in the order of their first use. So rows move only towards the end, and if the last ones move
    first, none is overwritten before its last use.
    """
    if not (rows.flags.owndata and rows.flags.writeable):
        rows = rows.copy()
    ends = np.cumsum(np.diff(offsets)[order])
    rows.resize((int(ends[-1]), rows.shape[1]), refcheck=False)  # moves large arrays without a copy
    for group, end in zip(reversed(order.tolist()), reversed(ends.tolist()), strict=True):
        rows[end - (offsets[group + 1] - offsets[group]) : end] = rows[offsets[group] : offsets[group + 1]]
        if end == offsets[group + 1]:
            break  # all groups before this one are in place
    return rows


def concatenate_rows(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return the rows of all arrays in one array; empty arrays do not affect its type."""
    types = {array.dtype for array in arrays if array.size} or {array.dtype for array in arrays}
    return np.concatenate(arrays, dtype=np.result_type(*types))
