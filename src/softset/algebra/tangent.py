"""A graded set once more, as a differentiable function of its examples.

The eigenvectors of C have no derivative where grades coincide, but C has one. So, beside its spectrum, a set whose
examples trace a gradient keeps C = D' H D + rest (1 - D' D): D a frame (r, d), H a symmetric (r, r) matrix, both made
from the examples by products and solves alone.
"""

from math import inf
from typing import NamedTuple, Self

from softset.algebra import lattice
from softset.algebra.arrays import Array, detach, identity, namespace, transpose
from softset.algebra.conceptor import conjunction_of_regular
from softset.algebra.membership import Measured
from softset.algebra.rank import Frame, carried

__all__ = ["Tangent"]


class Tangent(NamedTuple):
    """The differentiable form of a graded set: a frame D (r, d), a matrix H (r, r), the grade of the rest."""

    D: Array
    H: Array
    rest: float

    @classmethod
    def of(cls, frame: Frame, units: Array, weights: Array, aperture: float) -> Self:
        """Return the form of R (R + aperture^-2 I)^-1, R the weighted mean of u u' over unit rows with this frame."""
        D = frame.directions
        if D.shape[0] < D.shape[1]:  # the frame of the whole space does not move
            D = carried(D, namespace(D).take(units, frame.pivots, axis=0))
        if aperture == inf:
            return cls(D, identity(detach(D) @ transpose(detach(D))), 0.0)
        T = units @ transpose(D)
        R = transpose(T) @ (weights[:, None] * T)
        H = namespace(T).linalg.solve(R + aperture**-2 * identity(R), R)
        return cls(D, (H + transpose(H)) / 2, 0.0)

    def shifted(self, floor: float, slope: float) -> Self:
        """Return the form of floor + slope C."""
        return self._replace(H=floor * identity(self.H) + slope * self.H, rest=floor + slope * self.rest)

    def conjunction(self, other: Self, cut: float) -> Self:
        """Return the form of C AND B for sets without a common null vector."""
        first, second = detach(self.D), detach(other.D)
        rows = namespace(first).concat([self.D, lattice.added(second, first, cut)[1] @ other.D])
        K = carried(lattice.join(first, second, cut), rows)
        return self._replace(D=K, H=conjunction_of_regular(self._in_frame(K), other._in_frame(K)))

    def _in_frame(self, K: Array) -> Array:
        """Return C in the coordinates of a frame that holds D."""
        T = K @ transpose(self.D)
        return T @ (self.H - self.rest * identity(self.H)) @ transpose(T) + self.rest * identity(T @ transpose(T))

    def project(self, rows: Array) -> Array:
        """Return C v for (n, d) rows v."""
        inside, beyond = self._parts(rows)
        return inside + self.rest * beyond

    def membership(self, given: Measured, m: Array) -> Array:
        """Return the memberships (n,), known to be m, as a function of the examples; constant where m is rounding."""
        xp = namespace(given.rows)
        # In the wide type: a square has an error of eps, so that memberships below sqrt(eps) would have no derivative.
        rows, norms = (xp.astype(part, self.D.dtype, copy=False) for part in (given.rows, given.norms))
        inside, beyond = self._parts(rows)
        square = (xp.vecdot(inside, rows) + self.rest * xp.vecdot(beyond, beyond)) / norms**2
        clear = xp.astype(m, square.dtype) ** 2 > 16 * float(xp.finfo(square.dtype).eps)
        return xp.sqrt(xp.where(clear, square, xp.ones_like(square)))

    def _parts(self, rows: Array) -> tuple[Array, Array]:
        """Return D' H D v, and what of v is orthogonal to D."""
        D, H = (namespace(rows).astype(part, rows.dtype, copy=False) for part in (self.D, self.H))
        c = rows @ transpose(D)
        return (c @ H) @ D, rows - c @ D
