"""Sets prepared to be asked by many: for each, the rows F with membership |F v| of a unit vector v."""

from collections.abc import Callable

import numpy as np

from softset.algebra.arrays import Array, namespace, transpose
from softset.algebra.rank import independent, independent_stack
from softset.runtime.threads import on_one_thread

__all__ = ["bases", "graded_factor"]

BYTES = 32 << 20  # of stacked rows


@on_one_thread
def bases(
    rows: Callable[[np.ndarray], np.ndarray],
    offsets: np.ndarray,
    *,
    d: int,
    cut: float,
    ridge: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows F of all sets (rows', d) in float64, and where each set's begin, (n + 1,).

    A crisp set's are orthonormal directions; those of a graded one are scaled by the roots of its grades. Crisp sets of
    one size are factored together.

    Args:
        rows: gives unit rows in float64 at some places.
        offsets: (n + 1,) where each set begins.
        d: the length of a row.
        cut: the sine up to which a row counts as dependent on others.
        ridge: as in `gram.memberships`.

    >>> units = np.array([[1.0, 0], [1, 0], [0, 1]])
    >>> F, offsets = bases(lambda places: units[places], np.array([0, 2, 3]), d=2, cut=1e-7)
    >>> offsets.tolist(), np.abs(F).tolist()
    ([0, 1, 2], [[1.0, 0.0], [0.0, 1.0]])
    """
    counts = np.diff(offsets)
    found: list[np.ndarray] = [np.zeros((0, d))] * len(counts)
    for k in np.unique(counts[counts > 0]).tolist():
        alike = np.flatnonzero(counts == k)
        most = max(1, BYTES // (8 * k * d))
        for start in range(0, len(alike), most):
            some = alike[start : start + most]
            places = offsets[some][:, None] + np.arange(k)
            stack = rows(places.ravel()).reshape(len(some), k, d)
            ridges = None if ridge is None else ridge[places]
            for at, factor in zip(some.tolist(), _factors(stack, cut, ridges), strict=True):
                found[at] = factor
    ranks = np.array([len(one) for one in found], dtype=np.int64)
    return np.concatenate([np.zeros((0, d)), *found]), np.concatenate([[0], np.cumsum(ranks)])


def _factors(stack: np.ndarray, cut: float, ridges: np.ndarray | None) -> list[np.ndarray]:
    if ridges is None:
        return [frame.directions for frame in independent_stack(stack, cut)]
    return [graded_factor(units, ridge, cut) for units, ridge in zip(stack, ridges, strict=True)]


def graded_factor(units: Array, ridge: Array, cut: float) -> Array:
    """Return the rows F (r, d) of the graded set of unit rows (k, d): directions times the roots of their grades.

    With T the rows over the roots of their ridges, the grades are s^2 / (s^2 + 1) for the singular values s of T. The
    rank is cut before grading, as in `GradedSubspace.of`.

    >>> graded_factor(np.array([[0.0, 1.0]]), np.array([1.0]), 1e-7).round(4)
    array([[0.    , 0.7071]])
    """
    xp = namespace(units)
    frame = independent(units, cut).directions
    T = (units @ transpose(frame)) / ridge[:, None] ** 0.5
    _, s, Vt = xp.linalg.svd(T, full_matrices=False)
    roots = 1 / (1 + s**-2) ** 0.5  # s / sqrt(s^2 + 1) without squares that overflow
    return (roots[:, None] * Vt) @ frame
