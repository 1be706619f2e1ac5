"""Long arrays of vectors, worked on piece by piece, so that memory holds one of them and not two."""

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["GrowingRows", "both_norms", "group_means", "stacked"]

BLOCK = 4096  # rows that are summed at a time: 25 MB in float64 for 768 dimensions


def group_means(rows: np.ndarray, begins: Sequence[int] | np.ndarray, dtype: Any) -> np.ndarray:
    """Return the mean of each group of consecutive rows, (groups, d), summed in float64; `begins` says where each is.

    Groups are summed together that have about a block of rows: of all at once NumPy would make a copy in float64.

    >>> group_means(np.array([[1.0], [3.0], [5.0]]), [0, 2], np.float64).tolist()
    [[2.0], [5.0]]
    """
    bounds = np.append(np.asarray(begins, dtype=np.int64), len(rows))
    means = np.empty((len(bounds) - 1, rows.shape[1]), dtype=dtype)
    start = 0
    while start < len(means):
        stop = max(int(np.searchsorted(bounds, bounds[start] + BLOCK, side="right")) - 1, start + 1)
        some = bounds[start : stop + 1]
        sums = np.add.reduceat(rows[some[0] : some[-1]], some[:-1] - some[0], axis=0, dtype=np.float64)
        sums /= np.diff(some)[:, None]
        means[start:stop] = sums
        start = stop
    return means


def both_norms(rows: np.ndarray) -> np.ndarray:
    """Return the l2 and l1 norm of each row, (n, 2) in float64.

    >>> both_norms(np.array([[3.0, -4.0]])).tolist()
    [[5.0, 7.0]]
    """
    l2 = np.sqrt(np.square(rows).sum(axis=1, dtype=np.float64))
    return np.stack([l2, np.abs(rows).sum(axis=1, dtype=np.float64)], axis=1)


class GrowingRows:
    """Rows that come piece by piece in one array, which the system moves without a copy where it is large.

    >>> growing = GrowingRows()
    >>> growing.add(np.array([[1.0, 2.0]]))
    >>> growing.add(np.array([[3.0, 4.0]]))
    >>> growing.rows.tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """

    def __init__(self) -> None:
        self.rows: np.ndarray = np.zeros((0, 0))

    def add(self, more: np.ndarray) -> None:
        """Copy some rows to the end."""
        if not self.rows.shape[1]:
            self.rows = np.array(more, order="C", subok=False)
            return
        self.rows = self.rows.astype(_common_dtype([self.rows, more]), copy=False)
        old = len(self.rows)
        self.rows.resize((old + len(more), self.rows.shape[1]), refcheck=False)
        self.rows[old:] = more


def stacked(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the rows of several arrays, one after the other."""
    return np.concatenate(parts, dtype=_common_dtype(parts))


def _common_dtype(parts: Sequence[np.ndarray]) -> np.dtype[Any]:
    """Return the type that holds all rows; parts without a row have no say in it."""
    return np.result_type(*{one.dtype for one in parts if one.size} or {one.dtype for one in parts})
