"""Compute the largest cosine of each row with the other side of its pair: the matching of BERTScore."""

import numpy as np

__all__ = ["largest_cosines"]

MAX_COSINES = 1 << 24  # computed at once: two texts of 4,096 tokens; longer texts are split to bound the memory


def largest_cosines(units: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the largest cosine of each unit row (rows, d) with the other side of its pair, (rows,).

    Sides begin at `offsets` as in `gram.PairRows`. Only real rows are compared: in a padded product a zero would win
    over negative cosines.

    >>> largest_cosines(np.array([[1.0, 0], [0.6, 0.8], [-1, 0]]), np.array([0, 1, 3]))
    array([ 0.6,  0.6, -1. ])
    """
    largest = np.zeros(len(units), dtype=units.dtype)
    ends = offsets.tolist()
    for start, middle, stop in zip(ends[0:-2:2], ends[1:-1:2], ends[2::2], strict=True):
        if start < middle < stop:
            step = max(1, MAX_COSINES // (stop - middle))
            largest[middle:stop] = -np.inf
            for first in range(start, middle, step):
                last = min(first + step, middle)
                C = units[first:last] @ units[middle:stop].T
                largest[first:last] = C.max(axis=1)
                np.maximum(largest[middle:stop], C.max(axis=0), out=largest[middle:stop])
    return largest
