"""A graded set of vectors: a conceptor, stored as directions, their grades, and one grade for the rest of the space."""

from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np

from softset.algebra import conceptors, lattice
from softset.algebra.arrays import Array, as_rows, as_weights, detach, namespace, traces_gradient, transpose, unit_rows
from softset.algebra.base import MeasuredRows, SoftSet, norm_ratio
from softset.algebra.conceptors import DifferentiableForm, Spectrum, grade_cut
from softset.algebra.rank import independent, tolerance
from softset.algebra.subspace import Subspace
from softset.errors import FileError, InputError

SMALLEST_APERTURE = 1e-6  # smaller apertures give grades below rounding


class GradedSubspace(SoftSet):
    """A set whose directions have grades from 0 to 1: their share of the examples' energy.

    Let R be the mean of u u' over the unit vectors of the examples. The set is the matrix C = R (R + aperture^-2 I)^-1,
    whose eigenvalues, the grades, are in [0, 1]. It tends to the crisp `Subspace` as the aperture grows. ``&``,
    ``|``, ``~`` and ``-`` are Jaeger's conceptor logic; ``C <= B`` means that B - C has no negative eigenvalue.

    Commutativity, associativity, De Morgan's laws and the double complement hold. Idempotence and absorption do not:
    .5 AND .5 is 1/3. Either operand of an operator may be a crisp set.

    >>> A = GradedSubspace.of([[1, 0, 0], [1, 1, 0], [1, 0, 0]], aperture=2)
    >>> A
    GradedSubspace(dim=2, ambient=3, trace=1.11)
    >>> A.membership([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]]).round(3)
    array([0.868, 0.81 , 0.601, 0.   ])
    """

    # C = sum g q q' over the rows q of `_frame` and `_grades`, plus `_rest` times the projector on all others.
    # `_form` is the same set as a differentiable function, if its examples trace a gradient.
    __slots__ = ("_form", "_grades", "_rest")

    _grades: Array
    _rest: float
    _form: DifferentiableForm | None
    _ARRAYS: ClassVar = {"directions": 2, "grades": 1}

    def __init__(self) -> None:
        raise TypeError(
            "use GradedSubspace.of(vectors) or GradedSubspace.from_crisp(subspace) to make a GradedSubspace"
        )

    # Constructors

    @classmethod
    def of(cls, vectors: Array, *, aperture: float = 2.0, weights: Array = None, floor: float = 0.0) -> Self:
        """Return the graded set of one (d,) vector or (k, d) vectors with optional weights.

        The rank is decided by the rule of `Subspace.span` first: otherwise a large aperture would give high grades to
        directions that are rounding. A `floor` is that of `with_floor`.

        >>> GradedSubspace.of([[2, 0], [0, 5]], weights=[3, 1], aperture=1).grades
        array([0.42857143, 0.2       ])
        """
        if not aperture >= SMALLEST_APERTURE:
            raise InputError(
                f"the aperture must be from {SMALLEST_APERTURE} to infinity (crisp), but {aperture} was given"
            )
        rows, _ = as_rows(vectors)
        units = unit_rows(rows)
        w = as_weights(weights, units)
        units, w, xp = units[w > 0, :], w[w > 0], namespace(units)
        frame = independent(detach(units), tolerance(rows.shape[1], rows.dtype, xp))
        # R = T' T in the frame's coordinates; its eigenvalues by the SVD of T, which does not square rounding errors.
        T = w[:, None] ** 0.5 * (detach(units) @ transpose(frame.directions))
        _, s, Vt = xp.linalg.svd(T, full_matrices=False)
        form = DifferentiableForm.of(frame, units, w, aperture) if traces_gradient(units) else None
        graded = cls._of(Vt @ frame.directions, s**2 / (s**2 + aperture**-2), 0.0, rows.dtype, form)
        return graded.with_floor(floor) if floor else graded

    @classmethod
    def empty(cls, d: int, *, like: Array = None) -> Self:
        """Return the set that holds nothing of R^d, in the library and type of `like` (NumPy, float64).

        >>> bool(GradedSubspace.empty(3))
        False
        """
        return cls.from_crisp(Subspace.empty(d, like=like))

    @classmethod
    def from_crisp(cls, crisp: Subspace) -> Self:
        """Return a crisp set as a graded one, with grades 0 and 1.

        >>> GradedSubspace.from_crisp(Subspace.span([[1, 0]])) == Subspace.span([[1, 0]])
        True
        """
        frame = crisp._frame
        grade = 0.0 if crisp._complemented else 1.0
        grades = grade * namespace(frame).ones_like(detach(frame)[:, 0])
        form = DifferentiableForm.diagonal(frame, grades, 1.0 - grade) if traces_gradient(frame) else None
        return cls._of(detach(frame), grades, 1.0 - grade, crisp._dtype, form)

    @classmethod
    def _of(cls, frame: Array, grades: Array, rest: float, dtype: Any, form: DifferentiableForm | None = None) -> Self:
        """Return the set with its grades in falling order, without directions of the same grade as the rest."""
        xp = namespace(frame)
        grades = xp.clip(grades, 0.0, 1.0)
        order = xp.argsort(-grades, stable=True)
        order = order[xp.abs(grades[order] - rest) > grade_cut(grades)]
        return cls._make(_frame=frame[order, :], _grades=grades[order], _rest=rest, _dtype=dtype, _form=form)

    def _shifted(self, floor: float, slope: float) -> Self:
        """Return floor + slope C."""
        form = self._form and self._form.shifted(floor, slope)
        return self._of(self._frame, floor + slope * self._grades, floor + slope * self._rest, self._dtype, form)

    def with_floor(self, floor: float) -> Self:
        """Return floor + (1 - floor) C: every direction has at least the grade `floor`.

        The AND of sets that share no direction is 0 everywhere. With a floor in both sets it ranks vectors.

        >>> A, B = GradedSubspace.of([[1, 0, 0]]), GradedSubspace.of([[1, 1, 0]])
        >>> (A & B).dim, (A.with_floor(0.1) & B.with_floor(0.1)).membership([[2, 1, 0], [0, 0, 1]]).round(3)
        (0, array([0.498, 0.229]))
        """
        if not 0 <= floor < 1:
            raise InputError(f"the floor must be at least 0 and below 1, but {floor} was given")
        return self._shifted(floor, 1 - floor)

    def _moved_to(self, rows: Array) -> Self:
        form = self._form and self._form.moved_to(rows)
        return self._of(*self._spectrum().moved_to(rows), rows.dtype, form)

    # Properties

    @property
    def directions(self) -> Array:
        """The orthonormal directions (r, d) whose grades differ from `rest`, in the caller's type; a copy."""
        return namespace(self._frame).astype(self._frame, self._dtype, copy=True)

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
        cut = grade_cut(self._grades)
        others = self.ambient - self._frame.shape[0]
        return int(namespace(self._grades).sum(self._grades > cut)) + (others if self._rest > cut else 0)

    @property
    def trace(self) -> float:
        """The sum of all grades: a soft dimension.

        >>> GradedSubspace.from_crisp(Subspace.whole(3)).trace
        3.0
        """
        others = self.ambient - self._frame.shape[0]
        return float(namespace(self._grades).sum(self._grades) + others * self._rest)

    def __repr__(self) -> str:
        return f"GradedSubspace(dim={self.dim}, ambient={self.ambient}, trace={self.trace:.3g})"

    # Membership

    def _memberships(self, measured: MeasuredRows) -> Array:
        xp = namespace(measured.rows)
        Q, g, _ = self._spectrum().astype(measured.rows.dtype)
        c = measured.rows @ transpose(Q)
        part = c * xp.sqrt(g)
        if self._rest:
            part = xp.concat([part, sqrt(self._rest) * (measured.rows - c @ Q)], axis=1)
        m = norm_ratio(part, measured)
        return m if self._form is None else self._form.memberships(measured, detach(m))

    def _project(self, rows: Array) -> Array:
        if self._form is not None:
            return self._form.project(rows)
        Q, g, _ = self._spectrum().astype(rows.dtype)
        return self._rest * rows + (rows @ transpose(Q) * (g - self._rest)) @ Q

    def factor(self) -> Array | None:
        """Return rows S with membership |S v| / |v|, in the caller's type; None if the rest of the space has a grade.

        >>> GradedSubspace.of([[0, 2.0]], aperture=1).factor()
        array([[0.        , 0.70710678]])
        """
        if self._rest:
            return None
        xp = namespace(self._frame)
        return xp.astype(xp.sqrt(self._grades)[:, None] * self._frame, self._dtype)

    def crisp(self, threshold: float = 0.5) -> Subspace:
        """Return the crisp set of all directions with a grade above the threshold.

        >>> GradedSubspace.of([[1, 0, 0], [1, 0.1, 0]], aperture=2).crisp()
        Subspace(dim=1, ambient=3)
        """
        if not 0 <= threshold < 1:
            raise InputError(f"the threshold must be at least 0 and below 1, but {threshold} was given")
        eigenvectors = None if self._form is None else self._form.eigenvectors
        return self._spectrum().above(threshold, self._dtype, eigenvectors)

    # Operators

    def __invert__(self) -> Self:
        return self._shifted(1.0, -1.0)

    def __and__(self, other: SoftSet) -> Self:
        if (B := _graded(other)) is None:
            return NotImplemented
        cut, dtype = self._cut(B), self._shared_dtype(B)
        J = lattice.join(self._frame, B._frame, cut)
        X, regular = conceptors.conjunction(self._spectrum(J), B._spectrum(J), dtype)
        grades, E = namespace(J).linalg.eigh(X)
        c, b = self._rest, B._rest
        rest = c * b / (c + b - c * b) if c and b else 0.0  # 1 / (1/c + 1/b - 1)
        form = None
        if regular and (self._form or B._form):
            form = self._differentiable().conjunction(B._differentiable(), cut)._replace(rest=rest)
        return self._of(transpose(E) @ J, grades, rest, dtype, form)

    def __or__(self, other: SoftSet) -> Self:
        return NotImplemented if (B := _graded(other)) is None else ~(~self & ~B)

    __rand__ = __and__
    __ror__ = __or__

    def without(self, other: SoftSet) -> Self:
        """Return (A | B) & ~B, which tends to `Subspace.without` as the aperture grows.

        ``A - B`` keeps the directions of A and lowers their grades; this rotates them away from B.

        >>> A, B = (GradedSubspace.of(v, aperture=10) for v in ([[1, 1]], [[1, 0]]))
        >>> A.without(B).membership([[1, 0], [0, 1]]).round(2)
        array([0.1 , 0.99])
        """
        return (self | other) & ~_as_graded(other)

    def intersection(self, other: SoftSet, *, floor: float = 0.0) -> Self:
        """Return ``A & B`` after `with_floor` of both, which ranks vectors even if the sets share no direction.

        >>> A, B = GradedSubspace.of([[1, 0, 0]]), GradedSubspace.of([[1, 1, 0]])
        >>> bool(A & B), bool(A.intersection(B, floor=0.1))
        (False, True)
        """
        return self.with_floor(floor) & _as_graded(other).with_floor(floor)

    # Comparisons

    def __le__(self, other: SoftSet) -> bool:
        if (B := _graded(other)) is None:
            return NotImplemented
        cut = self._cut(B)
        J = lattice.join(self._frame, B._frame, cut)
        largest_grade = max(float(grade) for C in (self, B) for grade in (C._rest, *C._grades[:1]))
        difference = conceptors.smallest_difference(B._spectrum(J), self._spectrum(J), self.ambient)
        return difference >= -cut * largest_grade

    def __ge__(self, other: SoftSet) -> bool:
        return NotImplemented if (B := _graded(other)) is None else B <= self

    def similarity(self, other: SoftSet) -> float:
        """Return tr(C B) / sqrt(tr(C C) tr(B B)): 1 for sets that are equal up to a factor, 0 for orthogonal ones.

        >>> GradedSubspace.of([[1, 0]]).similarity(Subspace.span([[1, 1]])).__round__(4)
        0.5
        """
        graded = _as_graded(other)
        self._check_space(graded)
        if not self or not graded:
            return float(self.dim == graded.dim)
        C, B = self._spectrum(), graded._spectrum()
        trace = conceptors.trace_of_product
        return min(trace(C, B) / sqrt(trace(C, C) * trace(B, B)), 1.0)

    def _file_content(self) -> tuple[dict[str, Array], dict[str, str]]:
        return {"directions": self._frame, "grades": self._grades}, {"rest": repr(float(self._rest))}

    @classmethod
    def _from_file(cls, path: str, arrays: dict[str, np.ndarray], dtype: Any, metadata: dict[str, str]) -> Self:
        frame, grades = arrays["directions"], np.asarray(arrays["grades"], dtype=np.float64)
        try:
            rest = float(metadata.get("rest", ""))
        except ValueError:
            rest = -1.0
        if grades.shape[0] != frame.shape[0] or not all(0 <= g <= 1 for g in [rest, *grades.tolist()]):
            raise FileError(f"{path} needs grades from 0 to 1 for its directions and for the rest: save it again")
        return cls._of(frame, grades, rest, dtype)

    def _spectrum(self, frame: Array = None) -> Spectrum:
        """Return directions, grades and rest, in the coordinates of a frame if one is given."""
        directions = self._frame if frame is None else self._frame @ transpose(frame)
        return Spectrum(directions, self._grades, self._rest)

    def _differentiable(self) -> DifferentiableForm:
        return self._form or DifferentiableForm.diagonal(self._frame, self._grades, self._rest)


def _graded(other: object) -> GradedSubspace | None:
    """Return the operand of an operator as a graded set, or None if it is not a set."""
    if isinstance(other, Subspace):
        return GradedSubspace.from_crisp(other)
    return other if isinstance(other, GradedSubspace) else None


def _as_graded(other: object) -> GradedSubspace:
    """Return the argument of a method as a graded set."""
    if (B := _graded(other)) is None:
        raise InputError(f"a Subspace or GradedSubspace was expected, but {type(other).__name__} was given")
    return B
