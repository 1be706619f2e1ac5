"""Pairs of nearly the same lengths, so that small matrices can be stacked with hardly any padding."""

from collections.abc import Iterator

import numpy as np

__all__ = ["buckets"]

STEP = 4  # rows: lengths are rounded up to its multiples; 81 kinds of pairs instead of 1,089 for 8 to 40 tokens
BYTES = 16 << 20  # of stacked Gram matrices


def buckets(left: np.ndarray, right: np.ndarray, places: np.ndarray) -> Iterator[tuple[np.ndarray, int, int]]:
    """Yield places of pairs with the lengths K and L that theirs are padded to, in groups of bounded size.

    >>> [(group.tolist(), K, L) for group, K, L in buckets(np.array([3, 9, 4]), np.array([8, 1, 5]), np.arange(3))]
    [([0, 2], 4, 8), ([1], 12, 4)]
    """
    K, L = (-(-counts[places] // STEP) * STEP for counts in (left, right))
    order = np.lexsort((L, K))
    changes = np.flatnonzero((np.diff(K[order]) != 0) | (np.diff(L[order]) != 0)) + 1
    for group in np.split(order, changes) if len(order) else ():
        k, l = int(K[group[0]]), int(L[group[0]])
        most = max(1, BYTES // (8 * (k + l) ** 2))
        for start in range(0, len(group), most):
            yield places[group[start : start + most]], k, l
