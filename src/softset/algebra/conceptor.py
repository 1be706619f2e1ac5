"""Conceptor logic on small matrices: C AND B for symmetric matrices with eigenvalues in [0, 1] (Jaeger 2014).

For invertible matrices C AND B = (C^-1 + B^-1 - I)^-1. In general the formula holds on Z, the intersection of the two
ranges, for the inverses restricted to Z, and C AND B is 0 elsewhere. Written so, a grade of 1e-12 would cost twelve
digits. The same value comes without inverting a grade: restricted and inverted twice, C is its Schur complement on Z
(the shorted operator), and C^-1 + B^-1 - I = C^-1 (C + B - C B) B^-1, so that C AND B = B (C + B - C B)^-1 C there.
"""

from typing import NamedTuple

from array_api_compat import device

from softset.algebra.arrays import Array, namespace, transpose
from softset.algebra.subspace import Subspace

__all__ = ["Spectrum", "conjunction", "conjunction_of_invertible", "conjunction_of_numbers"]


class Spectrum(NamedTuple):
    """A symmetric matrix: grades (r,) along orthonormal directions (r, j), and one grade for all the rest."""

    directions: Array
    grades: Array
    rest: float

    def matrix(self) -> Array:
        """Return the (j, j) matrix itself."""
        return _matrix(self.directions, self.grades, self.rest)

    def root(self) -> Array:
        """Return its symmetric square root."""
        return _matrix(self.directions, self.grades**0.5, self.rest**0.5)

    def range(self, cut: float) -> Subspace:
        """Return the directions of grade above the cut, as a set."""
        if self.rest > cut:
            return ~Subspace._of(self.directions[self.grades <= cut, :], self.directions.dtype)
        return Subspace._of(self.directions[self.grades > cut, :], self.directions.dtype)


def _matrix(directions: Array, grades: Array, rest: float) -> Array:
    return transpose(directions) @ (directions * (grades - rest)[:, None]) + rest * _identity(directions)


def _identity(like: Array) -> Array:
    """Return the identity of the space that rows live in."""
    return namespace(like).eye(like.shape[-1], dtype=like.dtype, device=device(like))


def conjunction(C: Spectrum, B: Spectrum, cut: float) -> tuple[Array, bool]:
    """Return C AND B as a (j, j) matrix, and whether both ranges are the whole space; grades up to the cut are 0."""
    range_C, range_B = C.range(cut), B.range(cut)
    common = range_C & range_B
    Z = common.basis
    conjoined = conjunction_of_invertible(_shorted(C, range_C, common, Z), _shorted(B, range_B, common, Z))
    return transpose(Z) @ conjoined @ Z, common.dim == common.ambient


def conjunction_of_invertible(C: Array, B: Array) -> Array:
    """Return C AND B of two invertible matrices."""
    X = B @ namespace(C).linalg.solve(C + B - C @ B, C)
    return (X + transpose(X)) / 2


def conjunction_of_numbers(c: float, b: float) -> float:
    """Return c AND b of two grades: 0 if either is 0, else 1 / (1/c + 1/b - 1)."""
    return c * b / (c + b - c * b) if c and b else 0.0


def _shorted(C: Spectrum, range_C: Subspace, common: Subspace, Z: Array) -> Array:
    """Return the inverse of Z C^+ Z', by a QR of the square root of C: first the part of its range outside Z, then Z."""
    xp = namespace(Z)
    W = (range_C & ~common).basis
    R = xp.linalg.qr(C.root() @ transpose(xp.concat([W, Z])))[1]
    corner = R[W.shape[0] :, W.shape[0] :]
    return transpose(corner) @ corner
