"""Gradients of graded sets: a graded set as a differentiable function of its examples."""

from math import inf
from typing import NamedTuple, Self

from softset.algebra import lattice
from softset.algebra.angles import residual
from softset.algebra.arrays import Array, attach, detach, identity, moved_to, namespace, traces_gradient, transpose
from softset.algebra.base import MeasuredRows
from softset.algebra.conceptors import Spectrum, regular_conjunction
from softset.algebra.rank import Frame, differentiable_basis


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
