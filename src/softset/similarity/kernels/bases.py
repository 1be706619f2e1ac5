"""Sets prepared to be asked by many: for each, the rows F with membership |F v| of a unit vector v."""

import numpy as np

from softset.algebra import GradedSubspace
from softset.algebra.rank import independent_stack
from softset.similarity.kernels.threads import on_one_thread

__all__ = ["bases"]

BYTES = 32 << 20  # of stacked rows


@on_one_thread
def bases(
    units: np.ndarray, offsets: np.ndarray, cut: float, aperture: float = np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows F of all sets (rows', d) in float64, and where each set's begin, (n + 1,).

    A crisp set's are orthonormal directions; those of a graded one are scaled by the roots of its grades. Sets of one
    size are factored together.

    >>> F, offsets = bases(np.array([[1.0, 0], [1, 0], [0, 1]]), np.array([0, 2, 3]), cut=1e-7)
    >>> offsets.tolist(), np.abs(F).tolist()
    ([0, 1, 2], [[1.0, 0.0], [0.0, 1.0]])
    """
    counts = np.diff(offsets)
    found: list[np.ndarray] = [np.zeros((0, units.shape[1]))] * len(counts)
    for k in np.unique(counts[counts > 0]).tolist():
        alike = np.flatnonzero(counts == k)
        most = max(1, BYTES // (8 * k * units.shape[1]))
        for start in range(0, len(alike), most):
            some = alike[start : start + most]
            stack = units[offsets[some][:, None] + np.arange(k)].astype(np.float64)
            for at, rows in zip(some.tolist(), _factors(stack, cut, aperture), strict=True):
                found[at] = rows
    ranks = np.array([len(one) for one in found], dtype=np.int64)
    rows = np.concatenate(found) if found else np.zeros((0, units.shape[1]))
    return rows, np.concatenate([[0], np.cumsum(ranks)])


def _factors(stack: np.ndarray, cut: float, aperture: float) -> list[np.ndarray]:
    if np.isinf(aperture):
        return [frame.directions for frame in independent_stack(stack, cut)]
    return [np.asarray(GradedSubspace.of(rows, aperture=aperture).factor()) for rows in stack]
