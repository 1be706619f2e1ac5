"""The definitions in 40-digit arithmetic: the reference for the accuracy of the fast code."""

from functools import cache
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 40


def matrix(rows: Any) -> Any:
    """Return an exact copy of floating rows."""
    return mp.matrix(np.asarray(rows, dtype=np.float64).tolist())


def frame(rows: Any) -> Any:
    """Return orthonormal rows by Gram-Schmidt, done twice."""
    rows = np.asarray(rows, dtype=np.float64)
    return _frame(rows.tobytes(), rows.shape)


@cache
def _frame(content: bytes, shape: tuple[int, ...]) -> Any:
    X = matrix(np.frombuffer(content).reshape(shape))
    basis: list[Any] = []
    for i in range(X.rows):
        v = X[i, :]
        for q in basis * 2:
            v = v - (v * q.T)[0] * q
        basis.append(v / mp.norm(v))
    return mp.matrix([list(q) for q in basis])


def membership(rows: Any, v: Any) -> Any:
    """Return |Q v| / |v|."""
    v = matrix(np.asarray(v)[None, :])
    return mp.norm(frame(rows) * v.T) / mp.norm(v)


def outside(rows: Any, v: Any) -> Any:
    """Return |v - Q' Q v| / |v|."""
    v, Q = matrix(np.asarray(v)[None, :]), frame(rows)
    return mp.norm(v.T - Q.T * (Q * v.T)) / mp.norm(v)


def angles(A: Any, B: Any) -> list[Any]:
    """Return the canonical angles, smallest first."""
    cosines = mp.svd_r(frame(A) * frame(B).T, compute_uv=False)
    return sorted(mp.acos(min(mp.mpf(1), c)) for c in cosines)


def pseudo_inverse(C: Any, cut: float) -> Any:
    """Return the Moore-Penrose inverse of a symmetric matrix whose eigenvalues up to the cut are zero."""
    values, E = mp.eigsy(C)
    return E * mp.diag([1 / x if x > cut else mp.mpf(0) for x in values]) * E.T


def common_range(C: Any, B: Any, cut: float) -> Any:
    """Return the projector on the intersection of the ranges of two symmetric matrices.

    The complement of an intersection is the sum of the complements, here the range of the sum of two projectors.
    """
    identity = mp.eye(C.rows)
    outside_both = 2 * identity - pseudo_inverse(C, cut) * C - pseudo_inverse(B, cut) * B
    return identity - pseudo_inverse(outside_both, cut) * outside_both


def conceptor(rows: Any, weights: Any, aperture: float) -> Any:
    """Return R (R + aperture^-2 I)^-1 with R the weighted mean of u u' over unit rows."""
    X = matrix(rows)
    R, total = mp.zeros(X.cols), mp.mpf(0)
    for i, w in enumerate(weights):
        u = X[i, :] / mp.norm(X[i, :])
        R, total = R + mp.mpf(w) * (u.T * u), total + mp.mpf(w)
    R = R / total
    return R * mp.inverse(R + mp.mpf(aperture) ** -2 * mp.eye(X.cols))


def conjunction(C: Any, B: Any, cut: float) -> Any:
    """Return Jaeger's AND in its projector form, (P (C+ + B+ - I) P)+."""
    P = common_range(C, B, cut)
    inner = P * (pseudo_inverse(C, cut) + pseudo_inverse(B, cut) - mp.eye(C.rows)) * P
    return pseudo_inverse(inner, cut)


def numbers(C: Any) -> np.ndarray:
    """Return a matrix in float64."""
    return np.array(C.tolist(), dtype=np.float64)
