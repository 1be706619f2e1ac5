"""Conceptor logic on small matrices: C AND B for symmetric matrices with eigenvalues in [0, 1] (Jaeger 2014).

For invertible matrices C AND B = (C^-1 + B^-1 - I)^-1. In general the formula holds on Z, the intersection of the two
ranges, for the inverses restricted to Z, and C AND B is 0 elsewhere. Computed literally, a grade of 1e-12 would lose
twelve digits. The same value can be computed without inverting a grade. Inverting C, restricting it to Z and inverting
again gives its Schur complement on Z (the shorted operator). Let C and B be these complements. Then
C^-1 + B^-1 - I = C^-1 (C + B - C B) B^-1, so that C AND B = B (C + B - C B)^-1 C on Z.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from softset.algebra.arrays import Array, identity, moved_to, namespace, transpose
from softset.algebra.subspace import Subspace


class Spectrum(NamedTuple):
    """A symmetric matrix: grades (r,) along orthonormal directions (r, j), and one grade for the rest of the space."""

    directions: Array
    grades: Array
    rest: float

    def astype(self, dtype: Any) -> "Spectrum":
        """Return the directions and grades in another type."""
        xp = namespace(self.grades)
        directions = xp.astype(self.directions, dtype, copy=False)
        return Spectrum(directions, xp.astype(self.grades, dtype, copy=False), self.rest)

    def moved_to(self, rows: Array) -> "Spectrum":
        """Return the spectrum in the library and on the device of `rows`."""
        return Spectrum(moved_to(rows, self.directions), moved_to(rows, self.grades), self.rest)

    def matrix(self, power: float = 1.0) -> Array:
        """Return the matrix (j, j), or its square root for the power 0.5."""
        grades, rest = self.grades**power, self.rest**power
        inside = transpose(self.directions) @ (self.directions * (grades - rest)[:, None])
        return inside + rest * identity(inside)

    def above(
        self, threshold: float, dtype: Any, eigenvectors: Callable[["Spectrum", Array], Array] | None = None
    ) -> Subspace:
        """Return the directions with a grade above the threshold, as a crisp set.

        It is differentiable if `eigenvectors`, which returns the selected directions, is.
        """
        complemented = self.rest > threshold
        selected = self.grades <= threshold if complemented else self.grades > threshold
        directions = self.directions[selected, :] if eigenvectors is None else eigenvectors(self, selected)
        return Subspace._of(directions, dtype, complemented=complemented)


def trace_of_product(C: Spectrum, B: Spectrum) -> float:
    """Return tr(C B)."""
    xp = namespace(C.directions)
    c, b = C.grades - C.rest, B.grades - B.rest
    shared = xp.sum(c[:, None] * (C.directions @ transpose(B.directions)) ** 2 * b)
    separate = B.rest * xp.sum(c) + C.rest * xp.sum(b)
    return float(shared + separate + C.rest * B.rest * C.directions.shape[1])


def smallest_difference(C: Spectrum, B: Spectrum, d: int) -> float:
    """Return the smallest eigenvalue of C - B on R^d, for matrices in the coordinates of a common frame."""
    X = C.matrix() - B.matrix()
    outside = [C.rest - B.rest] if X.shape[0] < d else []
    return float(min([*namespace(X).linalg.eigvalsh(X).tolist(), *outside]))


def conjunction(C: Spectrum, B: Spectrum, dtype: Any) -> tuple[Array, bool]:
    """Return C AND B as a matrix (j, j), and whether `regular_conjunction` applies to C and B."""
    range_C, range_B = (each.above(grade_cut(each.grades), dtype) for each in (C, B))
    common = range_C & range_B
    Z = common._wide_basis()
    conjoined = regular_conjunction(_shorted(C, range_C - common, Z), _shorted(B, range_B - common, Z))
    return transpose(Z) @ conjoined @ Z, (range_C | range_B).dim == common.ambient


def regular_conjunction(C: Array, B: Array) -> Array:
    """Return C AND B of two matrices without a common null vector, so that C + B - C B is invertible.

    It is accurate for invertible matrices. It loses digits where the ranges nearly meet, but it is differentiable.
    """
    X = B @ namespace(C).linalg.solve(C + B - C @ B, C)
    return (X + transpose(X)) / 2


def grade_conjunction(c: float, b: float) -> float:
    """Return c AND b of two grades: 0 if either is 0, otherwise 1 / (1/c + 1/b - 1)."""
    return c * b / (c + b - c * b) if c and b else 0.0


def _shorted(C: Spectrum, outside: Subspace, Z: Array) -> Array:
    """Return the inverse of Z C^+ Z' by QR of the square root of C, of which the range outside Z comes first."""
    xp = namespace(Z)
    W = outside._wide_basis()
    R = xp.linalg.qr(C.matrix(0.5) @ transpose(xp.concat([W, Z])))[1]
    corner = R[W.shape[0] :, W.shape[0] :]
    return transpose(corner) @ corner


def grade_cut(grades: Array) -> float:
    """Return the largest grade that can be rounding: 16 eps of the type that grades are stored in."""
    return 16 * float(namespace(grades).finfo(grades.dtype).eps)
