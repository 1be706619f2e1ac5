"""Conceptor logic on small matrices: C AND B for symmetric matrices with eigenvalues in [0, 1] (Jaeger 2014).

For invertible matrices C AND B = (C^-1 + B^-1 - I)^-1. In general the formula holds on Z, the intersection of the two
ranges, for the inverses restricted to Z, and C AND B is 0 elsewhere. Written so, a grade of 1e-12 would cost twelve
digits. The same value comes without inverting a grade: restricted and inverted twice, C is its Schur complement on Z
(the shorted operator), and C^-1 + B^-1 - I = C^-1 (C + B - C B) B^-1, so that C AND B = B (C + B - C B)^-1 C there.
"""

from typing import Any, NamedTuple

from softset.algebra.arrays import Array, identity, namespace, transpose
from softset.algebra.subspace import Subspace

__all__ = ["Spectrum", "conjunction", "conjunction_of_numbers", "conjunction_of_regular", "grade_cut"]


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

    def above(self, threshold: float, dtype: Any) -> Subspace:
        """Return the directions with a grade above a threshold, as a crisp set."""
        kept = self.grades <= threshold if self.rest > threshold else self.grades > threshold
        return Subspace._of(self.directions[kept, :], dtype, complemented=self.rest > threshold)

    def range(self, dtype: Any) -> Subspace:
        """Return the directions with a grade above rounding, as a set of a type."""
        return self.above(grade_cut(self.grades), dtype)


def _matrix(directions: Array, grades: Array, rest: float) -> Array:
    inside = transpose(directions) @ (directions * (grades - rest)[:, None])
    return inside + rest * identity(inside)


def conjunction(C: Spectrum, B: Spectrum, dtype: Any) -> tuple[Array, bool]:
    """Return C AND B as a (j, j) matrix, and whether `conjunction_of_regular` holds for them, for sets of a type."""
    range_C, range_B = C.range(dtype), B.range(dtype)
    common = range_C & range_B
    Z = common._wide_basis()
    conjoined = conjunction_of_regular(_shorted(C, range_C - common, Z), _shorted(B, range_B - common, Z))
    return transpose(Z) @ conjoined @ Z, (range_C | range_B).dim == common.ambient


def conjunction_of_regular(C: Array, B: Array) -> Array:
    """Return C AND B of two matrices that have no null vector in common, which makes C + B - C B invertible.

    Accurate where both are invertible. Where the ranges nearly meet it loses digits, but it has a derivative.
    """
    X = B @ namespace(C).linalg.solve(C + B - C @ B, C)
    return (X + transpose(X)) / 2


def conjunction_of_numbers(c: float, b: float) -> float:
    """Return c AND b of two grades: 0 if either is 0, else 1 / (1/c + 1/b - 1)."""
    return c * b / (c + b - c * b) if c and b else 0.0


def _shorted(C: Spectrum, beyond: Subspace, Z: Array) -> Array:
    """Return the inverse of Z C^+ Z', by a QR of the square root of C: first its range beyond Z, then Z."""
    xp = namespace(Z)
    W = beyond._wide_basis()
    R = xp.linalg.qr(C.root() @ transpose(xp.concat([W, Z])))[1]
    corner = R[W.shape[0] :, W.shape[0] :]
    return transpose(corner) @ corner


def grade_cut(grades: Array) -> float:
    """Return the grade up to which rounding may have made it: 16 eps of the wide type that grades are kept in."""
    return 16 * float(namespace(grades).finfo(grades.dtype).eps)
