"""How long vectors are."""

import numpy as np

__all__ = ["row_lengths"]


def row_lengths(rows: np.ndarray) -> np.ndarray:
    """Return the lengths (n,) of (n, d) rows in float32, summed in float64 so that no square is lost.

    >>> row_lengths(np.array([[3e30, 4e30]], dtype=np.float32)).tolist() == [float(np.float32(5e30))]
    True
    """
    with np.errstate(over="ignore"):
        lengths: np.ndarray = np.sqrt(np.vecdot(rows, rows, dtype=np.float64)).astype(np.float32)
    return lengths
