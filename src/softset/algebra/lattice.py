"""The lattice of subspaces, on frames: orthonormal rows (k, d) and (l, d) in the wide type, in and out.

Every dimension is counted from one pair of lists, the cosines and sines of the canonical angles, computed in one fixed
order of the two frames. So `A | B`, `A & B`, `A <= B` and `A == B` cannot disagree, and `A & B` is `B & A` to the bit.
Small sines come from residuals and small cosines from products (Knyazev and Argentati 2002): each has an absolute error
of a few eps, where sqrt(1 - cos^2) would turn an angle of 1e-9 into 0.
"""

from typing import NamedTuple

from array_api_compat import device

from softset.algebra.arrays import Array, detach, generic, namespace, transpose

__all__ = ["Canonical", "added", "canonical", "closest", "join", "meet", "mutual", "near_join", "outside"]


class Canonical(NamedTuple):
    """The canonical angles between two frames, smallest first, as two lists of min(k, l) numbers."""

    cosines: Array
    sines: Array

    def exchanged(self) -> "Canonical":
        """Return the angles' complements to a right angle, smallest first."""
        xp = namespace(self.cosines)
        return Canonical(xp.flip(self.sines), xp.flip(self.cosines))

    def resized(self, count: int) -> "Canonical":
        """Return the angles with zeros put before them, or zeros taken away, until there are `count`."""
        xp = namespace(self.cosines)
        extra = count - self.cosines.shape[0]
        if extra <= 0:
            return Canonical(self.cosines[-extra:], self.sines[-extra:])
        ones = xp.ones(extra, dtype=self.cosines.dtype, device=device(self.cosines))
        return Canonical(xp.concat([ones, self.cosines]), xp.concat([0 * ones, self.sines]))

    def smallest(self, count: int) -> "Canonical":
        """Return the `count` smallest angles."""
        return Canonical(self.cosines[:count], self.sines[:count])


def canonical(A: Array, B: Array) -> Canonical:
    """Return the canonical angles between the spans of two frames."""
    small, large = _ordered(A, B)
    xp = namespace(small)
    cosines = xp.linalg.svdvals(small @ transpose(large))
    sines = xp.flip(xp.linalg.svdvals(_residual(small, large)))
    return Canonical(xp.clip(cosines, 0.0, 1.0), xp.clip(sines, 0.0, 1.0))


def join(A: Array, B: Array, cut: float) -> Array:
    """Return the sum space: the larger frame, and what the smaller one adds to it."""
    small, large = _ordered(A, B)
    directions, _ = added(small, large, cut)
    return namespace(A).concat([large, directions])


def added(A: Array, B: Array, cut: float) -> tuple[Array, Array]:
    """Return what A adds to B: directions (m, d) orthogonal to B, and the coefficients (m, k) of A that lead there."""
    xp = namespace(A)
    extra = int(xp.sum(canonical(A, B).sines > cut)) + max(A.shape[0] - B.shape[0], 0)
    U, _, Vt = xp.linalg.svd(_residual(A, B), full_matrices=False)
    directions = _residual(Vt[:extra, :], B)  # the residual of a small residual still leans on B
    return _orthonormal(directions), transpose(U)[:extra, :]


def meet(A: Array, B: Array, cut: float, alpha: float = 0.0) -> Array:
    """Return the bisectors of the canonical pairs that are one direction, or with alpha have 1 - cos <= alpha."""
    return _bisectors(*closest(A, B, mutual(canonical(A, B), cut, alpha)))


def mutual(angles: Canonical, cut: float, alpha: float) -> int:
    """Count the angles that are zero to the cut, or with alpha have 1 - cos <= alpha."""
    xp = namespace(angles.cosines)
    # 1 - cos = sin^2 / (1 + cos) keeps its digits when the angle is small.
    near = angles.sines**2 / (1 + angles.cosines) <= alpha
    return int(xp.sum(xp.logical_or(angles.sines <= cut, near)))


def closest(A: Array, B: Array, count: int) -> tuple[Array, Array]:
    """Return the `count` closest canonical pairs: directions (count, d) of the one frame and of the other."""
    small, large = _ordered(A, B)
    U = namespace(A).linalg.svd(_residual(small, large), full_matrices=False)[0]
    a = transpose(U)[small.shape[0] - count :, :] @ small
    return a, _unit((a @ transpose(large)) @ large)


def outside(A: Array, B: Array, cut: float, alpha: float = 0.0) -> Array:
    """Return the part of A that is orthogonal to B, that is A & ~B, or with alpha within 1 - sin <= alpha of it."""
    xp = namespace(A)
    free = max(A.shape[0] - B.shape[0], 0) + mutual(canonical(A, B).exchanged(), cut, alpha)
    U = xp.linalg.svd(A @ transpose(B), full_matrices=True)[0]
    a = transpose(U)[A.shape[0] - free :, :] @ A
    return _bisectors(a, _unit(_residual(a, B)))


def near_join(A: Array, B: Array, cut: float, alpha: float) -> Array:
    """Return what the alpha intersection of ~A and ~B is the complement of: near pairs bisected, the rest joined."""
    pairs = join(*closest(A, B, mutual(canonical(A, B), cut, alpha)), cut)
    others = join(outside(A, pairs, cut), outside(B, pairs, cut), cut)
    return namespace(A).concat([meet(A, B, cut, alpha), others])


def _ordered(A: Array, B: Array) -> tuple[Array, Array]:
    """Return the frames in an order that does not depend on which came first: the smaller before the larger."""
    return (A, B) if (A.shape[0], _fingerprint(A)) <= (B.shape[0], _fingerprint(B)) else (B, A)


def _fingerprint(A: Array) -> float:
    return float(namespace(A).sum((detach(A) @ generic(A)) * generic(transpose(detach(A))))) if A.shape[0] else 0.0


def _residual(A: Array, B: Array) -> Array:
    """Return the rows of A without their part in the span of B."""
    return A - (A @ transpose(B)) @ B


def _bisectors(a: Array, b: Array) -> Array:
    return _orthonormal(a + b)


def _unit(rows: Array) -> Array:
    return rows / namespace(rows).linalg.vector_norm(rows, axis=-1, keepdims=True)


def _orthonormal(rows: Array) -> Array:
    """Clean (m, d) rows that are nearly orthogonal already."""
    return transpose(namespace(rows).linalg.qr(transpose(rows))[0])
