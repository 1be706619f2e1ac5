"""Measure token vectors, and bring extremely long or short ones into a range where squares are safe."""

import numpy as np

__all__ = ["are_extreme", "rescale_sets", "row_norms"]

MIN_NORM, MAX_NORM = 1e-15, 1e15  # squares of these neither vanish nor overflow in float32


def row_norms(vectors: np.ndarray) -> np.ndarray:
    """Return the lengths (rows,) of vectors in float64: NaN for rows with NaN or infinity, never infinite.

    >>> row_norms(np.array([[0.0, 1e200], [0.0, 0.0]])).tolist()
    [1e+200, 0.0]
    """
    if vectors.dtype == np.float16:
        vectors = vectors.astype(np.float32)
    limits = np.finfo(vectors.dtype)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = np.vecdot(vectors, vectors).astype(np.float64)  # BLAS: ten times as fast as sums in float64
        safe = (squares > limits.smallest_normal / limits.eps) & (squares < limits.max / 4)
        norms: np.ndarray = np.sqrt(squares)
        if not safe.all():
            rows = vectors[~safe].astype(np.float64)
            largest = np.abs(rows).max(axis=1, initial=0)
            lengths = largest * np.linalg.norm(rows / np.where(largest > 0, largest, 1)[:, None], axis=1)
            finite = np.isfinite(largest)
            norms[~safe] = np.where(finite, np.minimum(lengths, np.finfo(np.float64).max), np.nan)
    return norms


def are_extreme(norms: np.ndarray) -> np.ndarray:
    """Return which lengths are too large or too small for products of their vectors.

    >>> are_extreme(np.array([1e-20, 0.0, 1.0, 1e300])).tolist()
    [True, False, False, True]
    """
    extreme: np.ndarray = (norms > MAX_NORM) | ((norms < MIN_NORM) & (norms > 0))
    return extreme


def rescale_sets(vectors: np.ndarray, norms: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Scale each set so that its greatest length is in range, and lengthen rows that are still too short.

    Factors are powers of two: directions stay exact, and so do the ratios of lengths in a set, up to 1e30.

    >>> bool(rescale_sets(np.array([[3e200, 4e200]]), np.array([5e200]), np.array([0, 1])).max() < 1e15)
    True
    """
    counts = np.diff(offsets)
    filled = counts > 0
    greatest = np.repeat(np.maximum.reduceat(norms, offsets[:-1][filled]), counts[filled])
    exponents, of_set = np.frexp(norms)[1], np.frexp(greatest)[1]
    low, high = np.frexp(MIN_NORM)[1] + 1, np.frexp(MAX_NORM)[1] - 1
    in_range = np.maximum(exponents + np.clip(of_set, low, high) - of_set, low)
    scaled: np.ndarray = np.ldexp(vectors, (in_range - exponents)[:, None])
    return scaled
