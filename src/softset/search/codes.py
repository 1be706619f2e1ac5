"""Loops over codes of a byte a number, compiled where numba is installed. `coding.py` says what they are for.

Importing this module imports numba, which takes half a second.
"""

import numpy as np

from softset.runtime.jit import compiled
from softset.search.integers import ZERO

__all__ = ["encode", "screened"]


@compiled
def encode(rows: np.ndarray, codes: np.ndarray, steps: np.ndarray, errors: np.ndarray) -> None:
    """Write the codes of rows (n, d), what a step of them is, and the length of what they leave out.

    >>> codes, steps, errors = np.empty((1, 2), np.uint8), np.empty(1, np.float32), np.empty(1, np.float32)
    >>> encode(np.array([[127.0, -1.25]], dtype=np.float32), codes, steps, errors)
    >>> codes.tolist(), steps.tolist(), errors.tolist()
    ([[255, 127]], [1.0], [0.25])
    """
    n, d = rows.shape
    for i in range(n):
        row, largest = rows[i], np.float32(0)
        for j in range(d):
            largest = max(largest, abs(row[j]))
        step = largest / np.float32(127)
        inverse = np.float32(1) / step if step > 0 else np.float32(0)
        error = 0.0
        for j in range(d):
            code = np.rint(row[j] * inverse)
            codes[i, j] = np.uint8(np.int32(code) + ZERO)
            off = row[j] - code * step
            error += off * off
        steps[i], errors[i] = step, np.sqrt(error)


@compiled
def screened(
    sums: np.ndarray,
    rows: np.ndarray,
    directions: np.ndarray,
    widths: np.ndarray,
    slacks: np.ndarray,
    scales: np.ndarray,
    shifts: np.ndarray,
    offsets: np.ndarray,
    least: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return direction, item and coordinate of those that come out above the least (k,), as `beyond` does.

    Only those are computed, of rows (n, d) and directions (k, d), whose products of codes (n, k) times the item's width
    come near enough: within its slack.
    """
    n, k = sums.shape
    hits = np.zeros(n, np.int64)
    for i in range(n):
        row, width, shift, slack, found = sums[i], widths[i], shifts[i], slacks[i], 0
        for j in range(k):
            found += row[j] * width - offsets[j] * shift + slack > least[j]
        hits[i] = found
    total = hits.sum()
    which, places, scores = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, rows.dtype)
    at = 0
    for i in range(n):
        for j in range(k if hits[i] else 0):
            if sums[i, j] * widths[i] - offsets[j] * shifts[i] + slacks[i] > least[j]:
                product = rows.dtype.type(0)
                for one in range(rows.shape[1]):
                    product += rows[i, one] * directions[j, one]
                coordinate = product * scales[i] - offsets[j] * shifts[i]
                if coordinate > least[j]:
                    which[at], places[at], scores[at] = j, i, coordinate
                    at += 1
    return which[:at], places[:at], scores[:at]
