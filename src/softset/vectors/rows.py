"""Helpers for (n, d) arrays of vectors: norms, means of groups, concatenation, growth without a second copy."""

from collections.abc import Sequence
from typing import Any

import numpy as np

ROWS_PER_SUM = 4096  # rows converted to float64 at a time: 25 MB for 768 dimensions
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
    such rows can be used, so it is all that is kept. The result is the input array if no row is extreme.
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
    start = 0
    while start < len(means):
        stop = max(int(np.searchsorted(bounds, bounds[start] + ROWS_PER_SUM, side="right")) - 1, start + 1)
        block = bounds[start : stop + 1]
        sums = np.add.reduceat(rows[block[0] : block[-1]], block[:-1] - block[0], axis=0, dtype=np.float64)
        means[start:stop] = sums / np.diff(block)[:, None]
        start = stop
    return means


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
            break  # all groups before this one are in their places
    return rows


class RowBuffer:
    """An array of rows that grows in place."""

    def __init__(self) -> None:
        self.rows: np.ndarray = np.zeros((0, 0))

    def add(self, rows: np.ndarray) -> None:
        """Append rows."""
        if not self.rows.shape[1]:
            self.rows = np.array(rows, order="C", subok=False)
            return
        self.rows = self.rows.astype(_common_dtype([self.rows, rows]), copy=False)
        size = len(self.rows)
        self.rows.resize((size + len(rows), self.rows.shape[1]), refcheck=False)
        self.rows[size:] = rows


def concatenate_rows(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return the rows of all arrays in one array; empty arrays do not decide its type."""
    return np.concatenate(arrays, dtype=_common_dtype(arrays))


def _common_dtype(arrays: Sequence[np.ndarray]) -> np.dtype[Any]:
    return np.result_type(*{array.dtype for array in arrays if array.size} or {array.dtype for array in arrays})
