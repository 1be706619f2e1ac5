"""Which of many coordinates are large enough, in one look at each: compiled where numba is installed.

Importing this module imports numba, which takes half a second: `retrieval.products` does so for many sets at once.
"""

import numpy as np

from softset.runtime.jit import compiled

__all__ = ["beyond"]


@compiled
def beyond(
    values: np.ndarray, scales: np.ndarray, shifts: np.ndarray, offsets: np.ndarray, least: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return direction, item and coordinate of those of (n, k) products that come out above the least (k,).

    >>> one = np.ones(1)
    >>> [part.tolist() for part in beyond(np.array([[0.5, 0.9]]), one, 0 * one, np.zeros(2), np.array([0.6, 0.6]))]
    [[1], [0], [0.9]]
    """
    n, k = values.shape
    hits = np.zeros(n, np.int64)
    for i in range(n):
        row, scale, shift, found = values[i], scales[i], shifts[i], 0
        for j in range(k):
            found += row[j] * scale - offsets[j] * shift > least[j]
        hits[i] = found
    total = hits.sum()
    which, places, scores = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, values.dtype)
    at = 0
    for i in range(n):
        for j in range(k if hits[i] else 0):
            coordinate = values[i, j] * scales[i] - offsets[j] * shifts[i]
            if coordinate > least[j]:
                which[at], places[at], scores[at] = j, i, coordinate
                at += 1
    return which[:at], places[:at], scores[:at]
