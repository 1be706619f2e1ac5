"""The largest cosine of each row with the other side of its pair: BERTScore's matching."""

import numpy as np

from softset.algebra.arrays import Array, namespace, transpose

__all__ = ["largest_cosines"]

MOST = 1 << 24  # cosines at once: texts of 4,096 tokens each; all of two longer ones could take any memory


def largest_cosines(units: Array, offsets: np.ndarray) -> Array:
    """Return for each of (rows, d) unit rows the largest cosine with the other side, (rows,); offsets as in `gram`.

    Only rows that exist are compared: a padded product would let a zero win over negative cosines.

    >>> largest_cosines(np.array([[1.0, 0], [0.6, 0.8], [-1, 0]]), np.array([0, 1, 3]))
    array([ 0.6,  0.6, -1. ])
    """
    xp = namespace(units)
    found = xp.zeros_like(units[:, 0])
    ends = offsets.tolist()
    for start, middle, stop in zip(ends[0:-2:2], ends[1:-1:2], ends[2::2], strict=True):
        if start < middle < stop:
            others = transpose(units[middle:stop, :])
            best = None
            step = max(1, MOST // (stop - middle))
            for first in range(start, middle, step):
                last = min(first + step, middle)
                C = units[first:last, :] @ others
                found[first:last] = xp.max(C, axis=1)
                best = xp.max(C, axis=0) if best is None else xp.maximum(best, xp.max(C, axis=0))
            found[middle:stop] = best
    return found
