"""The lattice of subspaces: canonical angles, distances, intersection and order.

A subspace is given as a `Flat`: orthonormal rows (k, d) in float64, and a flag that says whether the subspace is their
span or the orthogonal complement of it. All dimensions are counted from the same cosines and sines of the canonical
angles, so that `A | B`, `A & B`, `A <= B` and `A == B` cannot disagree. `cut` is the largest sine that counts as zero.

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


class Flat(NamedTuple):
    """The span of orthonormal rows, or with `complemented` everything orthogonal to them."""

    frame: Array
    complemented: bool

    @property
    def dim(self) -> int:
        """The dimension of the subspace."""
        rank, d = self.frame.shape
        return int(d - rank if self.complemented else rank)


def intersection(A: Flat, B: Flat, cut: float, alpha: float = 0.0) -> Flat:
    """Return the common directions of A and B, or with alpha the bisectors of canonical pairs with 1 - cos <= alpha.

    The union of A and B is the complement of the intersection of their complements.
    """
    match A.complemented, B.complemented:
        case False, False:
            return Flat(meet(A.frame, B.frame, cut, alpha), complemented=False)
        case True, True:
            frame = _near_join(A.frame, B.frame, cut, alpha) if alpha else join(A.frame, B.frame, cut)
            return Flat(frame, complemented=True)
        case False, True:
            return Flat(outside(A.frame, B.frame, cut, alpha), complemented=False)
    return Flat(outside(B.frame, A.frame, cut, alpha), complemented=False)


def is_subset(A: Flat, B: Flat, cut: float) -> bool:
    """Return whether A lies in B."""
    xp = namespace(A.frame)
    angles = canonical_angles(A.frame, B.frame)
    (k, d), l = A.frame.shape, B.frame.shape[0]
    match A.complemented, B.complemented:
        case False, False:
            return bool(k <= l and xp.all(angles.sines <= cut))
        case True, True:
            return bool(l <= k and xp.all(angles.sines <= cut))
        case False, True:
            return bool(xp.all(angles.cosines <= cut))
    # The directions of B orthogonal to the frame of A must be all d - k directions of A.
    return bool(max(l - k, 0) + xp.sum(angles.cosines <= cut) == d - k)


def angles_between(A: Flat, B: Flat) -> CanonicalAngles:
    """Return the min(dim, dim) canonical angles between A and B, computed from their frames."""
    angles, count = canonical_angles(A.frame, B.frame), min(A.dim, B.dim)
    if A.complemented == B.complemented:
        return angles.resized(count)
    # Directions of the span beyond the rank of the other frame are at angle 0 to the complement.
    span = B.frame if A.complemented else A.frame
    cosines, sines = angles.complements().resized(span.shape[0])
    return CanonicalAngles(cosines[:count], sines[:count])


def join(A: Array, B: Array, cut: float) -> Array:
    """Return a basis of the sum space: the larger frame, and the directions that the smaller one adds to it."""
    small, large = ordered(A, B)
    directions, _ = added(small, large, cut)
    return namespace(A).concat([large, directions])


def added(A: Array, B: Array, cut: float) -> tuple[Array, Array]:
    """Return the directions (m, d) orthogonal to B that A adds to B, and their coefficients (m, k) in the rows of A."""
    xp = namespace(A)
    extra = int(xp.sum(canonical_angles(A, B).sines > cut)) + max(A.shape[0] - B.shape[0], 0)
    U, _, Vt = xp.linalg.svd(residual(A, B), full_matrices=False)
    directions = residual(Vt[:extra, :], B)  # once more: a small residual still has a part in B
    return _orthonormal(directions), transpose(U)[:extra, :]


def meet(A: Array, B: Array, cut: float, alpha: float = 0.0) -> Array:
    """Return the bisectors of the canonical pairs that coincide, or with alpha have 1 - cos <= alpha."""
    a, b = _closest_pairs(A, B, canonical_angles(A, B).count_shared(cut, alpha))
    return _orthonormal(a + b)


def outside(A: Array, B: Array, cut: float, alpha: float = 0.0) -> Array:
    """Return the part of A orthogonal to B (A & ~B), or with alpha the part with 1 - sin <= alpha, bisected."""
    xp = namespace(A)
    free = max(A.shape[0] - B.shape[0], 0) + canonical_angles(A, B).complements().count_shared(cut, alpha)
    U = xp.linalg.svd(A @ transpose(B), full_matrices=True)[0]
    a = transpose(U)[A.shape[0] - free :, :] @ A
    return _orthonormal(a + _normalised(residual(a, B)))


def _near_join(A: Array, B: Array, cut: float, alpha: float) -> Array:
    """Return the complement of the near intersection of ~A and ~B: near pairs bisected, all others joined."""
    pairs = join(*_closest_pairs(A, B, canonical_angles(A, B).count_shared(cut, alpha)), cut)
    others = join(outside(A, pairs, cut), outside(B, pairs, cut), cut)
    return namespace(A).concat([meet(A, B, cut, alpha), others])


def _closest_pairs(A: Array, B: Array, count: int) -> tuple[Array, Array]:
    """Return the `count` closest canonical pairs: directions (count, d) of the smaller and of the larger frame."""
    small, large = ordered(A, B)
    U = namespace(A).linalg.svd(residual(small, large), full_matrices=False)[0]
    a = transpose(U)[small.shape[0] - count :, :] @ small
    return a, _normalised((a @ transpose(large)) @ large)


def _normalised(rows: Array) -> Array:
    """Scale rows to length 1; no row is near zero."""
    return rows / namespace(rows).linalg.vector_norm(rows, axis=-1, keepdims=True)


def _orthonormal(rows: Array) -> Array:
    """Orthonormalise (m, d) rows that are nearly orthogonal."""
    return transpose(namespace(rows).linalg.qr(transpose(rows))[0])
