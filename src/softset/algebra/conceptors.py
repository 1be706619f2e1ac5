"""Conceptor logic on small matrices: C AND B for symmetric matrices with eigenvalues in [0, 1] (Jaeger 2014).

For invertible matrices C AND B = (C^-1 + B^-1 - I)^-1. In general the formula holds on Z, the intersection of the two
ranges, for the inverses restricted to Z, and C AND B is 0 elsewhere. Computed literally, a grade of 1e-12 would lose
twelve digits. The same value can be computed without inverting a grade. Inverting C, restricting it to Z and inverting
again gives its Schur complement on Z (the shorted operator). Let C and B be these complements. Then
C^-1 + B^-1 - I = C^-1 (C + B - C B) B^-1, so that C AND B = B (C + B - C B)^-1 C on Z.

`DifferentiableForm` is for gradients: a graded set as a differentiable function of its examples.
"""

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple, Self

from softset.algebra import lattice
from softset.algebra.arrays import Array, attach, detach, identity, moved_to, namespace, traces_gradient, transpose
from softset.algebra.base import MeasuredRows
from softset.algebra.lattice import residual
from softset.algebra.rank import Frame, differentiable_basis
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


class DifferentiableForm(NamedTuple):
    """A graded set as a differentiable function of its examples: C = D' H D + rest (1 - D' D).

    The eigenvectors of C have no derivative where grades coincide, but C has one. The frame D (r, d) and the symmetric
    matrix H (r, r) are made from the examples by products and solves alone.
    """

    D: Array
    H: Array
    rest: float

    @classmethod
    def of(cls, frame: Frame, units: Array, weights: Array, aperture: float) -> Self:
        """Return R (R + aperture^-2 I)^-1, with R the weighted mean of u u' over unit rows with this frame."""
        D = frame.directions
        if D.shape[0] < D.shape[1]:  # the basis of the whole space is constant
            D = differentiable_basis(D, namespace(D).take(units, frame.pivots, axis=0))
        if aperture == inf:
            return cls(D, identity(detach(D) @ transpose(detach(D))), 0.0)
        T = units @ transpose(D)
        R = transpose(T) @ (weights[:, None] * T)
        H = namespace(T).linalg.solve(R + aperture**-2 * identity(R), R)
        return cls(D, (H + transpose(H)) / 2, 0.0)

    @classmethod
    def diagonal(cls, D: Array, grades: Array, rest: float) -> Self:
        """Return the form of a set with constant grades (r,) along the rows of D."""
        return cls(D, grades[:, None] * identity(grades[:, None] @ grades[None, :]), rest)

    def shifted(self, floor: float, slope: float) -> Self:
        """Return floor + slope C."""
        return self._replace(H=floor * identity(self.H) + slope * self.H, rest=floor + slope * self.rest)

    def conjunction(self, other: Self, cut: float) -> Self:
        """Return C AND B for sets without a common null vector."""
        C, B = detach(self.D), detach(other.D)
        rows = namespace(C).concat([self.D, lattice.added(B, C, cut)[1] @ other.D])
        K = differentiable_basis(lattice.join(C, B, cut), rows)
        return self._replace(D=K, H=regular_conjunction(self._in_frame(K), other._in_frame(K)))

    def _in_frame(self, K: Array) -> Array:
        """Return C in the coordinates of a frame whose span includes that of D."""
        T = K @ transpose(self.D)
        return T @ (self.H - self.rest * identity(self.H)) @ transpose(T) + self.rest * identity(T @ transpose(T))

    def project(self, rows: Array) -> Array:
        """Return C v for (n, d) rows v."""
        inside, outside = self._parts(rows)
        return inside + self.rest * outside

    def memberships(self, measured: MeasuredRows, m: Array) -> Array:
        """Return the memberships (n,), equal to m, as a differentiable function; constant where m is rounding."""
        xp = namespace(measured.rows)
        # In float64: a square has an error of eps, so that memberships below sqrt(eps) would have no derivative.
        rows, norms = (xp.astype(part, self.D.dtype, copy=False) for part in (measured.rows, measured.norms))
        inside, outside = self._parts(rows)
        square = (xp.vecdot(inside, rows) + self.rest * xp.vecdot(outside, outside)) / norms**2
        clear = xp.astype(m, square.dtype) ** 2 > 16 * float(xp.finfo(square.dtype).eps)
        m_of_form = xp.sqrt(xp.where(clear, square, xp.ones_like(square)))
        return attach(m, xp.astype(m_of_form, m.dtype, copy=False))

    def eigenvectors(self, spectrum: Spectrum, selected: Array) -> Array:
        """Return the selected directions of the spectrum of C, whose span is a differentiable function of C.

        To first order, C changes a direction q of grade g by q_j (q_j' C q) / (g - g_j) for each other direction q_j.
        """
        Q, grades, rest = spectrum
        inside, outside = Q[selected, :], Q[~selected, :]
        g, image = grades[selected][:, None], self.project(inside)
        change = (image @ transpose(outside)) / (g - grades[~selected]) @ outside + residual(image, Q) / (g - rest)
        return differentiable_basis(inside, attach(inside, change))

    def moved_to(self, rows: Array) -> Self | None:
        """Return the form in the library and on the device of `rows`, or None if they cannot trace its gradient."""
        form = self._replace(D=moved_to(rows, self.D), H=moved_to(rows, self.H))
        return form if traces_gradient(form.D) or traces_gradient(form.H) else None

    def _parts(self, rows: Array) -> tuple[Array, Array]:
        """Return D' H D v, and the part of v orthogonal to D."""
        D, H = (namespace(rows).astype(part, rows.dtype, copy=False) for part in (self.D, self.H))
        c = rows @ transpose(D)
        return (c @ H) @ D, rows - c @ D
