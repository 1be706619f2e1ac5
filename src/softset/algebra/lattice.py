"""The lattice of subspaces: intersection, order and angles.

A subspace is given as a `Flat`: orthonormal rows (k, d) in float64, and a flag that says whether the subspace is their
span or the orthogonal complement of it. All dimensions are counted from the same cosines and sines of the canonical
angles, so that `A | B`, `A & B`, `A <= B` and `A == B` cannot disagree. `cut` is the largest sine that counts as zero.
"""

from typing import NamedTuple

from softset.algebra.angles import CanonicalAngles, canonical_angles, ordered, residual
from softset.algebra.arrays import Array, namespace, transpose


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
