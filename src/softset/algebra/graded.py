"""A set whose directions count by degrees: a conceptor, kept as directions, grades and one grade for the rest."""

import os
from math import inf, sqrt
from typing import Any, Self

from array_api_compat import device

from softset.algebra import lattice
from softset.algebra.arrays import (
    Array,
    as_rows,
    attach,
    coarser,
    detach,
    namespace,
    to_numpy,
    traces_gradient,
    transpose,
    unit_rows,
    widen,
)
from softset.algebra.conceptor import Spectrum, conjunction, conjunction_of_invertible, conjunction_of_numbers
from softset.algebra.membership import Measured, measured, share
from softset.algebra.protocol import SoftSet
from softset.algebra.rank import carried, independent, tolerance
from softset.algebra.subspace import Subspace
from softset.algebra.value import Value, read_set, write_set
from softset.errors import AmbientError, FileError, InputError, ShapeError

__all__ = ["GradedSubspace"]


class GradedSubspace(Value):
    """A set in which a direction counts by its share of the examples' energy.

    With R the mean of u u' over the examples scaled to length 1, the set is C = R (R + aperture^-2 I)^-1: a symmetric
    matrix with eigenvalues, the grades, in [0, 1]. It tends to the crisp `Subspace` as the aperture grows. ``&``, ``|``,
    ``~`` and ``-`` are Jaeger's conceptor logic, ``<=`` is the Loewner order (B - C has no negative eigenvalue).

    Commutativity, associativity, De Morgan's laws and the double complement hold; idempotence and absorption do not, for
    two halves make a third: grades .5 AND .5 = 1/3. A crisp set may stand on either side of an operator.

    >>> A = GradedSubspace.of([[1, 0, 0], [1, 1, 0], [1, 0, 0]], aperture=2)
    >>> A
    GradedSubspace(dim=2, ambient=3, trace=1.11)
    >>> A.membership([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]]).round(3)
    array([0.867, 0.832, 0.577, 0.   ])
    """

    # C = sum g q q' over `_directions` and `_grades` (wide), plus `_rest` times the projector on all that is orthogonal
    # to them. Where the examples trace a gradient, `_tangent` holds C once more as D' H D: D a frame, H a (r, r) matrix,
    # both differentiable; the eigenvectors of C are not, where grades coincide.
    __slots__ = ("_directions", "_dtype", "_grades", "_rest", "_tangent")
    __hash__ = None  # type: ignore[assignment]  # equality has a tolerance, so no hash can agree with it

    _directions: Array
    _grades: Array
    _rest: float
    _dtype: Any
    _tangent: tuple[Array, Array] | None

    def __init__(self) -> None:
        raise TypeError("make a GradedSubspace with GradedSubspace.of(vectors) or .from_crisp(subspace)")

    # Making

    @classmethod
    def of(cls, vectors: Array, *, aperture: float = 1.0, weights: Array = None, floor: float = 0.0) -> Self:
        """Return the graded set of one (d,) vector or (k, d) vectors, each counting by its weight.

        The rank is cut before grading, by the rule of `Subspace.span`: otherwise a large aperture would lift directions
        that are only rounding. `floor` is `with_floor`, applied at once.

        >>> GradedSubspace.of([[2, 0], [0, 5]], weights=[3, 1], aperture=1).grades
        array([0.42857143, 0.2       ])
        """
        if not aperture > 0:
            raise InputError(f"the aperture must be above 0 (up to infinity, which is crisp), but {aperture} was given")
        rows, _ = as_rows(vectors)
        units = unit_rows(rows)
        xp = namespace(units)
        w = _shares(weights, units)
        units, w = units[w > 0, :], w[w > 0]
        frame = independent(detach(units), tolerance(rows.shape[1], rows.dtype, xp))
        _, s, Vt = xp.linalg.svd(w[:, None] ** 0.5 * (detach(units) @ transpose(frame.directions)), full_matrices=False)
        tangent = None
        if traces_gradient(units):
            D = carried(frame.directions, xp.take(units, frame.pivots, axis=0))
            tangent = (D, _graded(units @ transpose(D), w, aperture))
        made = cls._of(Vt @ frame.directions, s**2 / (s**2 + aperture**-2), 0.0, rows.dtype, tangent)
        return made.with_floor(floor) if floor else made

    @classmethod
    def from_crisp(cls, crisp: Subspace) -> Self:
        """Return a crisp set as a graded one, with grades 0 and 1.

        >>> GradedSubspace.from_crisp(Subspace.span([[1, 0]])) == Subspace.span([[1, 0]])
        True
        """
        frame = crisp._frame
        grade = 0.0 if crisp._complemented else 1.0
        grades = grade * namespace(frame).ones_like(detach(frame)[:, 0])
        tangent = (frame, grade * _identity(frame)) if traces_gradient(frame) else None
        return cls._of(detach(frame), grades, 1.0 - grade, crisp._dtype, tangent)

    @classmethod
    def _of(
        cls,
        directions: Array,
        grades: Array,
        rest: float,
        dtype: Any,
        tangent: tuple[Array, Array] | None = None,
    ) -> Self:
        """Return the set, with its grades in falling order and directions no different from the rest left out."""
        xp = namespace(directions)
        grades = xp.clip(grades, 0.0, 1.0)
        order = xp.argsort(-grades, stable=True)
        order = order[xp.abs(grades[order] - rest) > _grade_cut(xp, directions.dtype)]
        return cls._make(
            _directions=directions[order, :],
            _grades=grades[order],
            _rest=rest,
            _dtype=dtype,
            _tangent=tangent,
        )

    @classmethod
    def _of_matrix(
        cls, frame: Array, C: Array, rest: float, dtype: Any, tangent: tuple[Array, Array] | None = None
    ) -> Self:
        """Return the set of a (j, j) matrix in the coordinates of a (j, d) frame."""
        grades, E = namespace(C).linalg.eigh(C)
        return cls._of(transpose(E) @ frame, grades, rest, dtype, tangent)

    def with_floor(self, floor: float) -> Self:
        """Return the set in which everything belongs a little: floor + (1 - floor) C.

        The AND of sets that share no direction is 0, and so ranks nothing. With a floor on both sides it is informative.

        >>> A, B = GradedSubspace.of([[1, 0, 0]]), GradedSubspace.of([[1, 1, 0]])
        >>> (A & B).dim, (A.with_floor(0.1) & B.with_floor(0.1)).membership([[2, 1, 0], [0, 0, 1]]).round(3)
        (0, array([0.445, 0.229]))
        """
        if not 0 <= floor < 1:
            raise InputError(f"the floor must be at least 0 and below 1, but {floor} was given")
        tangent = self._tangent
        if tangent is not None:
            tangent = (tangent[0], floor * _identity(tangent[1]) + (1 - floor) * tangent[1])
        grades, rest = (floor + (1 - floor) * g for g in (self._grades, self._rest))
        return self._of(self._directions, grades, rest, self._dtype, tangent)

    def like(self, array: Array) -> Self:
        """Return this set in the library, type and device of an array."""
        rows, _ = as_rows(array)
        xp = namespace(rows)
        directions, grades = (
            xp.asarray(to_numpy(part), dtype=widen(rows).dtype, device=device(rows))
            for part in (self._directions, self._grades)
        )
        return self._of(directions, grades, self._rest, rows.dtype)

    # Looking

    @property
    def ambient(self) -> int:
        """The dimension d of the space that the set lives in."""
        return int(self._directions.shape[1])

    @property
    def directions(self) -> Array:
        """The orthonormal directions (r, d) whose grades differ from the rest, in the caller's type; a copy."""
        return namespace(self._directions).astype(self._directions, self._dtype, copy=True)

    @property
    def grades(self) -> Array:
        """The grades (r,) of the directions, falling, in the caller's type; a copy."""
        return namespace(self._grades).astype(self._grades, self._dtype, copy=True)

    @property
    def rest(self) -> float:
        """The grade of everything orthogonal to the directions."""
        return self._rest

    @property
    def dim(self) -> int:
        """The number of directions with a grade above 0."""
        xp, cut = namespace(self._grades), self._cut()
        others = self.ambient - self._directions.shape[0]
        return int(xp.sum(self._grades > cut)) + (others if self._rest > cut else 0)

    @property
    def trace(self) -> float:
        """The sum of all grades: a soft dimension.

        >>> GradedSubspace.from_crisp(Subspace.whole(3)).trace
        3.0
        """
        others = self.ambient - self._directions.shape[0]
        return float(namespace(self._grades).sum(self._grades)) + others * self._rest

    @property
    def chance(self) -> float:
        """The membership that an unrelated vector has on average, sqrt(trace / ambient), if all directions are alike."""
        return sqrt(self.trace / self.ambient)

    def __bool__(self) -> bool:
        return self.dim > 0

    def __repr__(self) -> str:
        return f"GradedSubspace(dim={self.dim}, ambient={self.ambient}, trace={self.trace:.3g})"

    # Asking

    def membership(self, v: Array) -> Array:
        """Return how much one (d,) vector, or each of (n, d) vectors, belongs: sqrt(v' C v) / |v|.

        The squares of membership in C and in ~C sum to 1.

        >>> A = GradedSubspace.of([[3, 4]], aperture=1)
        >>> float(A.membership([3, 4]) ** 2 + (~A).membership([3, 4]) ** 2).__round__(12)
        1.0
        """
        given = measured(v, self._directions, self._dtype)
        xp = namespace(given.rows)
        Q, g = (xp.astype(part, given.rows.dtype, copy=False) for part in (self._directions, self._grades))
        c = given.rows @ transpose(Q)
        part = c * xp.sqrt(g)
        if self._rest:
            part = xp.concat([part, sqrt(self._rest) * (given.rows - c @ Q)], axis=1)
        m = share(part, given)
        return m if self._tangent is None else attach(detach(m), self._traced_membership(given, detach(m)))

    def _traced_membership(self, given: Measured, m: Array) -> Array:
        """Return the membership as a differentiable function of the examples too, where it is not lost in rounding."""
        xp = namespace(given.rows)
        inside, outside = self._traced_parts(given.rows)
        square = (xp.vecdot(inside, given.rows) + self._rest * xp.vecdot(outside, outside)) / given.norms**2
        square = square[0] if given.single else square
        # Below sqrt(eps) the square is rounding; the derivative there is the subgradient 0.
        clear = m**2 > 16 * float(xp.finfo(square.dtype).eps)
        return xp.sqrt(xp.where(clear, square, xp.ones_like(m)))

    def _traced_parts(self, rows: Array) -> tuple[Array, Array]:
        """Return D' H D v, and what of v is orthogonal to the frame D."""
        assert self._tangent is not None  # noqa: S101 (both callers have looked)
        D, H = (namespace(rows).astype(part, rows.dtype, copy=False) for part in self._tangent)
        c = rows @ transpose(D)
        return (c @ H) @ D, rows - c @ D

    def project(self, v: Array) -> Array:
        """Return C v for one (d,) vector, or for each of (n, d) vectors.

        >>> GradedSubspace.of([[1, 0]], aperture=1).project([2, 2])
        array([1., 0.])
        """
        rows, single = as_rows(v, ambient=self.ambient, like=self._directions)
        xp = namespace(rows)
        rows = xp.astype(rows, xp.result_type(rows.dtype, self._dtype), copy=False)
        if self._tangent is None:
            Q, g = (xp.astype(part, rows.dtype, copy=False) for part in (self._directions, self._grades))
            part = self._rest * rows + (rows @ transpose(Q) * (g - self._rest)) @ Q
        else:
            inside, outside = self._traced_parts(rows)
            part = inside + self._rest * outside
        return part[0, :] if single else part

    def crisp(self, threshold: float = 0.5) -> Subspace:
        """Return the crisp set of all directions with a grade above the threshold.

        >>> GradedSubspace.of([[1, 0, 0], [1, 0.1, 0]], aperture=2).crisp()
        Subspace(dim=1, ambient=3)
        """
        if not 0 <= threshold < 1:
            raise InputError(f"the threshold must be at least 0 and below 1, but {threshold} was given")
        kept = self._grades <= threshold if self._rest > threshold else self._grades > threshold
        return Subspace._of(self._directions[kept, :], self._dtype, complemented=self._rest > threshold)

    # The logic

    def __invert__(self) -> Self:
        tangent = self._tangent
        if tangent is not None:
            tangent = (tangent[0], _identity(tangent[1]) - tangent[1])
        return self._of(self._directions, 1 - self._grades, 1 - self._rest, self._dtype, tangent)

    def __and__(self, other: SoftSet) -> Self:
        B = self._graded(other)
        if B is None:
            return NotImplemented
        J, cut = self._common_frame(B), self._cut()
        X, invertible = conjunction(self._spectrum(J), B._spectrum(J), cut)
        tangent = self._traced_conjunction(B, J.shape[0]) if invertible else None
        rest = conjunction_of_numbers(self._rest, B._rest)
        return self._of_matrix(J, X, rest, self._shared_dtype(B), tangent)

    def __or__(self, other: SoftSet) -> Self:
        B = self._graded(other)
        return NotImplemented if B is None else ~(~self & ~B)

    def __sub__(self, other: SoftSet) -> Self:
        B = self._graded(other)
        return NotImplemented if B is None else self & ~B

    def __rsub__(self, other: SoftSet) -> Self:
        B = self._graded(other)
        return NotImplemented if B is None else B & ~self

    __rand__ = __and__
    __ror__ = __or__

    def without(self, other: SoftSet) -> Self:
        """Return (A | B) & ~B, which tends to that of the crisp sets.

        ``A - B`` keeps to the directions of A and only lowers their grades; this turns away from B.

        >>> A, B = (GradedSubspace.of(v, aperture=10) for v in ([[1, 1]], [[1, 0]]))
        >>> A.without(B).membership([[1, 0], [0, 1]]).round(2)
        array([0.1 , 0.99])
        """
        return (self | other) & ~self._graded_or_refuse(other)

    def intersection(self, other: SoftSet, *, floor: float = 0.0) -> Self:
        """Return ``self & other`` with a floor under both (see `with_floor`), so that it ranks even if nothing is shared."""
        return self.with_floor(floor) & self._graded_or_refuse(other).with_floor(floor)

    def _traced_conjunction(self, B: "GradedSubspace", rank: int) -> tuple[Array, Array] | None:
        """Return the AND of two sets of full range as a differentiable frame and matrix, if either traces a gradient."""
        if self._tangent is None and B._tangent is None:
            return None
        (D, H), (E, G) = self._form(), B._form()
        first, second, cut = detach(D), detach(E), self._slack(B)
        rows = namespace(D).concat([D, lattice.added(second, first, cut)[1] @ E])
        if rows.shape[0] != rank:  # a grade that is lost in rounding: there is no derivative to speak of
            return None
        K = carried(lattice.join(first, second, cut), rows)
        return K, conjunction_of_invertible(_in_frame(K, D, H, self._rest), _in_frame(K, E, G, B._rest))

    # Comparing

    def __le__(self, other: SoftSet) -> bool:
        B = self._graded(other)
        return NotImplemented if B is None else B._least_excess(self) >= -self._slack(B)

    def __ge__(self, other: SoftSet) -> bool:
        B = self._graded(other)
        return NotImplemented if B is None else B <= self

    def __eq__(self, other: object) -> bool:
        B = self._graded(other)
        return NotImplemented if B is None else self.ambient == B.ambient and self <= B and B <= self

    def _least_excess(self, other: "GradedSubspace") -> float:
        """Return the smallest eigenvalue of self - other."""
        J = self._common_frame(other)
        values = namespace(J).linalg.eigvalsh(self._spectrum(J).matrix() - other._spectrum(J).matrix())
        beyond = [self._rest - other._rest] if J.shape[0] < self.ambient else []
        return min([*to_numpy(values).tolist(), *beyond])

    def similarity(self, other: SoftSet) -> float:
        """Return tr(C B) / sqrt(tr(C C) tr(B B)): 1 for equal sets up to a factor, 0 for orthogonal ones.

        >>> GradedSubspace.of([[1, 0]]).similarity(Subspace.span([[1, 1]])).__round__(4)
        0.5
        """
        B = self._graded_or_refuse(other)
        if not self or not B:
            return float(self.dim == B.dim)
        return min(self._inner(B) / sqrt(self._inner(self) * B._inner(B)), 1.0)

    def _inner(self, other: "GradedSubspace") -> float:
        """Return tr(C B)."""
        self._check_ambient(other)
        xp = namespace(self._directions)
        c, b = self._grades - self._rest, other._grades - other._rest
        cosines = self._directions @ transpose(other._directions)
        crossed = float(xp.sum(c[:, None] * cosines**2 * b))
        alone = other._rest * float(xp.sum(c)) + self._rest * float(xp.sum(b))
        return crossed + alone + self._rest * other._rest * self.ambient

    # Keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set to a safetensors file, whole or not at all."""
        tensors = {"directions": self._directions, "grades": self._grades}
        write_set(path, "GradedSubspace", tensors, self._dtype, {"rest": repr(float(self._rest))})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote, as a NumPy set (see `like`); a broken file is refused in one sentence."""
        arrays, dtype, facts = read_set(path, "GradedSubspace", ("directions", "grades"))
        directions, grades = arrays["directions"], arrays["grades"].reshape(-1)
        try:
            rest = float(facts.get("rest", ""))
        except ValueError:
            rest = -1.0
        if grades.shape[0] != directions.shape[0] or not all(0 <= g <= 1 for g in [rest, *grades.tolist()]):
            raise FileError(f"{path} needs one grade from 0 to 1 for each direction and for the rest: save it again")
        return cls._of(directions, grades, rest, dtype)

    # Helpers of the operators

    def _graded(self, other: object) -> "GradedSubspace | None":
        """Return the other side of an operator as a graded set, or None if it is no set."""
        if isinstance(other, Subspace):
            return GradedSubspace.from_crisp(other)
        return other if isinstance(other, GradedSubspace) else None

    def _graded_or_refuse(self, other: object) -> "GradedSubspace":
        B = self._graded(other)
        if B is None:
            raise InputError(f"a Subspace or GradedSubspace was wanted, but {type(other).__name__} was given")
        return B

    def _check_ambient(self, other: "GradedSubspace") -> None:
        if self.ambient != other.ambient:
            raise AmbientError(f"the sets live in {self.ambient} and in {other.ambient} dimensions: they cannot meet")

    def _shared_dtype(self, other: "GradedSubspace") -> Any:
        return coarser(namespace(self._directions), self._dtype, other._dtype)

    def _slack(self, other: "GradedSubspace") -> float:
        xp = namespace(self._directions, other._directions)
        return tolerance(self.ambient, self._shared_dtype(other), xp)

    def _cut(self) -> float:
        return _grade_cut(namespace(self._directions), self._dtype)

    def _common_frame(self, other: "GradedSubspace") -> Array:
        """Return the frame (j, d) outside which both sets are nothing but their rest."""
        self._check_ambient(other)
        return lattice.join(self._directions, other._directions, self._slack(other))

    def _spectrum(self, frame: Array) -> Spectrum:
        return Spectrum(self._directions @ transpose(frame), self._grades, self._rest)

    def _form(self) -> tuple[Array, Array]:
        if self._tangent is not None:
            return self._tangent
        return self._directions, self._grades[:, None] * _identity(self._directions @ transpose(self._directions))


def _grade_cut(xp: Any, dtype: Any) -> float:
    """Return the grade up to which rounding may have made it: 16 eps."""
    return 16 * float(xp.finfo(dtype).eps)


def _identity(like: Array) -> Array:
    """Return the identity matrix with as many rows as an array has."""
    return namespace(like).eye(like.shape[0], dtype=like.dtype, device=device(like))


def _in_frame(K: Array, D: Array, H: Array, rest: float) -> Array:
    """Return D' H D + rest (1 - D' D) in the coordinates of a frame K that holds D."""
    T = K @ transpose(D)
    return T @ (H - rest * _identity(H)) @ transpose(T) + rest * _identity(K)


def _graded(T: Array, w: Array, aperture: float) -> Array:
    """Return R (R + aperture^-2 I)^-1 for R = T' diag(w) T, by a solve."""
    if aperture == inf:
        return _identity(transpose(detach(T)))
    R = transpose(T) @ (w[:, None] * T)
    H = namespace(T).linalg.solve(R + aperture**-2 * _identity(R), R)
    return (H + transpose(H)) / 2


def _shares(weights: Array, units: Array) -> Array:
    """Return each vector's share of the whole weight (k,); a zero vector has none."""
    xp = namespace(units)
    present = xp.astype(xp.max(xp.abs(detach(units)), axis=-1) > 0, units.dtype)
    if weights is None:
        w = present
    else:
        given = widen(as_rows(weights, like=units)[0])[0, :]
        if given.shape[0] != units.shape[0]:
            raise ShapeError(f"{given.shape[0]} weights were given for {units.shape[0]} vectors: give one for each")
        if bool(xp.any(given < 0)):
            raise InputError(f"weights must not be negative, but {float(xp.min(given))} was given")
        w = given * present
    total = float(xp.sum(w))
    return w / total if total > 0 else w
