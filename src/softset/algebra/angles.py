"""Canonical angles between two subspaces, and distances that are functions of them.

Small sines come from residuals and small cosines from products (Knyazev and Argentati 2002). Each has an absolute error
of a few eps; sqrt(1 - cos^2) would turn an angle of 1e-9 into 0. Both are computed in one fixed order of the two
bases, so that A.angles(B) and B.angles(A) are equal bit for bit.
"""

from math import hypot, pi, sqrt
from typing import NamedTuple

import numpy as np
from array_api_compat import device

from softset.algebra.arrays import Array, detach, generic_vector, namespace, to_numpy, transpose
from softset.errors import InputError

DISTANCES = ("geodesic", "chordal", "projection", "binet-cauchy", "squared-angles")


class CanonicalAngles(NamedTuple):
    """The canonical angles between two subspaces, smallest first, as cosines (m,) and sines (m,)."""

    cosines: Array
    sines: Array

    def complements(self) -> "CanonicalAngles":
        """Return pi/2 minus each angle, smallest first."""
        xp = namespace(self.cosines)
        return CanonicalAngles(xp.flip(self.sines), xp.flip(self.cosines))

    def resized(self, count: int) -> "CanonicalAngles":
        """Return `count` angles: angles of zero are added at the beginning, or the smallest angles removed."""
        xp = namespace(self.cosines)
        extra = count - self.cosines.shape[0]
        if extra <= 0:
            return CanonicalAngles(self.cosines[-extra:], self.sines[-extra:])
        ones = xp.ones(extra, dtype=self.cosines.dtype, device=device(self.cosines))
        return CanonicalAngles(xp.concat([ones, self.cosines]), xp.concat([0 * ones, self.sines]))

    def count_shared(self, cut: float, alpha: float = 0.0) -> int:
        """Count the angles with a sine up to the cut, or with 1 - cos <= alpha."""
        xp = namespace(self.cosines)
        # 1 - cos = sin^2 / (1 + cos) keeps its digits when the angle is small.
        near = self.sines**2 / (1 + self.cosines) <= alpha
        return int(xp.sum(xp.logical_or(self.sines <= cut, near)))


def canonical_angles(A: Array, B: Array) -> CanonicalAngles:
    """Return the min(k, l) canonical angles between the spans of orthonormal rows A (k, d) and B (l, d)."""
    small, large = ordered(A, B)
    xp = namespace(small)
    cosines = xp.linalg.svdvals(small @ transpose(large))
    sines = xp.flip(xp.linalg.svdvals(residual(small, large)))
    return CanonicalAngles(xp.clip(cosines, 0.0, 1.0), xp.clip(sines, 0.0, 1.0))


def ordered(A: Array, B: Array) -> tuple[Array, Array]:
    """Return the two bases in an order that does not depend on the caller's: the smaller one first."""
    return (A, B) if (A.shape[0], _fingerprint(A)) <= (B.shape[0], _fingerprint(B)) else (B, A)


def _fingerprint(A: Array) -> float:
    """Return a number by which bases of equal size differ."""
    A = detach(A)
    return float(namespace(A).sum((A @ generic_vector(A)) * generic_vector(transpose(A))))


def residual(A: Array, B: Array) -> Array:
    """Return the rows of A minus their projections on the span of B."""
    return A - (A @ transpose(B)) @ B


def distance(angles: CanonicalAngles, right_angles: int, kind: str) -> float:
    """Return a distance from canonical angles t_1 <= ... <= t_m and a number of additional right angles.

    ==================  ============================  =======================
    kind                formula                       largest possible value
    ==================  ============================  =======================
    geodesic            sqrt(sum t_i^2)               sqrt(m) pi/2
    chordal             sqrt(sum sin^2 t_i)           sqrt(m)
    projection          sin t_m                       1
    binet-cauchy        sqrt(1 - prod cos^2 t_i)      1
    squared-angles      sum t_i^2                     m pi^2/4
    ==================  ============================  =======================

    Subspaces of dimensions k and l have min(k, l) angles. Ye and Lim (2016) define two distances for k != l. With
    |k - l| right angles added, the distance is a metric on subspaces of all dimensions. Without them it is the distance
    to the nearest subspace that contains the other one or lies in it. `squared-angles` is used by the code of the
    paper; it is the square of the geodesic distance and not a metric.
    """
    if kind not in DISTANCES:
        raise InputError(f"the distance {kind!r} is not known: use one of {', '.join(DISTANCES)}")
    cosines, sines = (to_numpy(values) for values in angles)
    s = np.concatenate([sines, np.ones(right_angles)])
    t = np.concatenate([np.arctan2(sines, cosines), np.full(right_angles, pi / 2)])
    match kind:
        case "geodesic":
            return hypot(*t.tolist())
        case "chordal":
            return hypot(*s.tolist())
        case "projection":
            return float(s.max(initial=0.0))
        case "squared-angles":
            return float(t @ t)
    return sqrt(_one_minus_product(s.tolist()))


def _one_minus_product(sines: list[float]) -> float:
    """Return 1 - prod (1 - s^2) without cancellation."""
    value = 0.0
    for s in sines:
        value += s * s * (1.0 - value)
    return value
