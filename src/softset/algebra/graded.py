"""A set whose directions count by degrees: a conceptor, kept as directions, grades and one grade for the rest."""

import os
from math import sqrt
from typing import Any, Self

import numpy as np

from softset.algebra import lattice
from softset.algebra.arrays import (
    Array,
    as_array,
    as_rows,
    attach,
    detach,
    identity,
    namespace,
    to_numpy,
    traces_gradient,
    transpose,
    unit_rows,
    widen,
)
from softset.algebra.base import SetValue, moved, read_set, write_set
from softset.algebra.conceptor import Spectrum, conjunction, conjunction_of_numbers, grade_cut
from softset.algebra.membership import measured, share
from softset.algebra.protocol import SoftSet
from softset.algebra.rank import independent, tolerance
from softset.algebra.subspace import Subspace
from softset.algebra.tangent import Tangent
from softset.errors import FileError, InputError, ShapeError

__all__ = ["GradedSubspace"]

SMALLEST_APERTURE = 1e-6  # below, grades would be lost in rounding


class GradedSubspace(SetValue):
    """A set in which a direction counts by its share of the examples' energy.

    With R the mean of u u' over the examples scaled to length 1, the set is C = R (R + aperture^-2 I)^-1: a symmetric
    matrix with eigenvalues, the grades, in [0, 1]. It tends to the crisp `Subspace` as the aperture grows. ``&``,
    ``|``, ``~`` and ``-`` are Jaeger's conceptor logic, ``<=`` is the Loewner order (B - C has no negative eigenvalue).

    Commutativity, associativity, De Morgan's laws and the double complement hold; idempotence and absorption do not,
    for two halves make a third: grades .5 AND .5 = 1/3. A crisp set may stand on either side of an operator.

    >>> A = GradedSubspace.of([[1, 0, 0], [1, 1, 0], [1, 0, 0]], aperture=2)
    >>> A
    GradedSubspace(dim=2, ambient=3, trace=1.11)
    >>> A.membership([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]]).round(3)
    array([0.868, 0.81 , 0.601, 0.   ])
    """

    # C = sum g q q' over the rows q of `_frame` and `_grades`, plus `_rest` times the projector on all that is
    # orthogonal to them.
    __slots__ = ("_grades", "_rest", "_tangent")

    _grades: Array
    _rest: float
    _tangent: Tangent | None

    def __init__(self) -> None:
        raise TypeError("make a GradedSubspace with GradedSubspace.of(vectors) or GradedSubspace.from_crisp(subspace)")

    # Making

    @classmethod
    def of(cls, vectors: Array, *, aperture: float = 2.0, weights: Array = None, floor: float = 0.0) -> Self:
        """Return the graded set of one (d,) vector or (k, d) vectors, each counting by its weight.

        The rank is cut before grading, by the rule of `Subspace.span`: otherwise a large aperture would lift directions
        that are only rounding. `floor` is `with_floor`, applied at once.

        >>> GradedSubspace.of([[2, 0], [0, 5]], weights=[3, 1], aperture=1).grades
        array([0.42857143, 0.2       ])
        """
        if not aperture >= SMALLEST_APERTURE:
            raise InputError(
                f"the aperture must be from {SMALLEST_APERTURE} to infinity (crisp), but {aperture} was given"
            )
        rows, _ = as_rows(vectors)
        units = unit_rows(rows)
        w = _shares(weights, units)
        units, w, xp = units[w > 0, :], w[w > 0], namespace(units)
        frame = independent(detach(units), tolerance(rows.shape[1], rows.dtype, xp))
        # R = T' T in the frame's coordinates; its eigenvalues by the SVD of T, which does not square rounding errors.
        T = w[:, None] ** 0.5 * (detach(units) @ transpose(frame.directions))
        _, s, Vt = xp.linalg.svd(T, full_matrices=False)
        tangent = None
        if traces_gradient(units):
            tangent = Tangent.of(frame, units, w, aperture)
        made = cls._of(Vt @ frame.directions, s**2 / (s**2 + aperture**-2), 0.0, rows.dtype, tangent)
        return made.with_floor(floor) if floor else made

    @classmethod
    def empty(cls, d: int, *, like: Array = None) -> Self:
        """Return the set that holds nothing of R^d, in the library and type of `like` (NumPy, float64).

        >>> bool(GradedSubspace.empty(3))
        False
        """
        return cls.from_crisp(Subspace.empty(d, like=like))

    @classmethod
    def whole(cls, d: int, *, like: Array = None) -> Self:
        """Return all of R^d, in full.

        >>> GradedSubspace.whole(3)
        GradedSubspace(dim=3, ambient=3, trace=3)
        """
        return cls.from_crisp(Subspace.whole(d, like=like))

    @classmethod
    def from_crisp(cls, crisp: Subspace) -> Self:
        """Return a crisp set as a graded one, with grades 0 and 1.

        >>> GradedSubspace.from_crisp(Subspace.span([[1, 0]])) == Subspace.span([[1, 0]])
        True
        """
        frame = crisp._frame
        grade = 0.0 if crisp._complemented else 1.0
        grades = grade * namespace(frame).ones_like(detach(frame)[:, 0])
        tangent = Tangent(frame, grade * identity(grades[:, None] @ grades[None, :]), 1.0 - grade)
        return cls._of(detach(frame), grades, 1.0 - grade, crisp._dtype, tangent if traces_gradient(frame) else None)

    @classmethod
    def _of(cls, frame: Array, grades: Array, rest: float, dtype: Any, tangent: Tangent | None = None) -> Self:
        """Return the set, with its grades in falling order and directions no different from the rest left out."""
        xp = namespace(frame)
        grades = xp.clip(grades, 0.0, 1.0)
        order = xp.argsort(-grades, stable=True)
        order = order[xp.abs(grades[order] - rest) > grade_cut(grades)]
        return cls._make(_frame=frame[order, :], _grades=grades[order], _rest=rest, _dtype=dtype, _tangent=tangent)

    def _shifted(self, floor: float, slope: float) -> Self:
        """Return floor + slope C."""
        tangent = self._tangent and self._tangent.shifted(floor, slope)
        return self._of(self._frame, floor + slope * self._grades, floor + slope * self._rest, self._dtype, tangent)

    def with_floor(self, floor: float) -> Self:
        """Return the set in which everything belongs a little: floor + (1 - floor) C.

        The AND of sets that share no direction is 0, and ranks nothing. With a floor on both sides it is informative.

        >>> A, B = GradedSubspace.of([[1, 0, 0]]), GradedSubspace.of([[1, 1, 0]])
        >>> (A & B).dim, (A.with_floor(0.1) & B.with_floor(0.1)).membership([[2, 1, 0], [0, 0, 1]]).round(3)
        (0, array([0.498, 0.229]))
        """
        if not 0 <= floor < 1:
            raise InputError(f"the floor must be at least 0 and below 1, but {floor} was given")
        return self._shifted(floor, 1 - floor)

    def like(self, array: Array) -> Self:
        """Return this set in the library, type and device of an array.

        >>> import numpy as np
        >>> GradedSubspace.of([[1.0, 1.0]]).like(np.ones(2, dtype="float32")).grades.dtype
        dtype('float32')
        """
        rows, _ = as_rows(array)
        return self._of(moved(self._frame, rows), moved(self._grades, rows), self._rest, rows.dtype)

    # Looking

    @property
    def directions(self) -> Array:
        """The orthonormal directions (r, d) whose grades differ from the rest, in the caller's type; a copy."""
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

    @property
    def chance(self) -> float:
        """The membership of an unrelated vector, sqrt(trace / ambient), if all directions are alike."""
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
        given = measured(v, self._frame, self._dtype)
        xp = namespace(given.rows)
        Q, g = (xp.astype(part, given.rows.dtype, copy=False) for part in (self._frame, self._grades))
        c = given.rows @ transpose(Q)
        part = c * xp.sqrt(g)
        if self._rest:
            part = xp.concat([part, sqrt(self._rest) * (given.rows - c @ Q)], axis=1)
        m = share(part, given)
        if self._tangent is not None:
            m = attach(detach(m), xp.astype(self._tangent.membership(given, detach(m)), m.dtype, copy=False))
        return m[0] if given.single else m

    def factor(self) -> Array | None:
        """Return rows S with membership |S v| / |v|, in the caller's type; None if the rest of the space belongs too.

        >>> GradedSubspace.of([[0, 2.0]], aperture=1).factor()
        array([[0.        , 0.70710678]])
        """
        if self._rest:
            return None
        xp = namespace(self._frame)
        return xp.astype(xp.sqrt(self._grades)[:, None] * self._frame, self._dtype)

    def project(self, v: Array) -> Array:
        """Return C v for one (d,) vector, or for each of (n, d) vectors.

        >>> GradedSubspace.of([[1, 0]], aperture=1).project([2, 2])
        array([1., 0.])
        """
        rows, single = as_rows(v, ambient=self.ambient, like=self._frame)
        xp = namespace(rows)
        rows = xp.astype(rows, xp.result_type(rows.dtype, self._dtype), copy=False)
        if self._tangent is not None:
            part = self._tangent.project(rows)
        else:
            Q, g = (xp.astype(part, rows.dtype, copy=False) for part in (self._frame, self._grades))
            part = self._rest * rows + (rows @ transpose(Q) * (g - self._rest)) @ Q
        return part[0, :] if single else part

    def __contains__(self, v: Array) -> bool:
        rows, single = as_rows(v, ambient=self.ambient, like=self._frame)
        if not single:
            raise ShapeError(f"`in` asks about one vector, but {rows.shape[0]} were given")
        return bool((~self).membership(rows)[0] <= tolerance(self.ambient, self._dtype, namespace(rows)))

    def crisp(self, threshold: float = 0.5) -> Subspace:
        """Return the crisp set of all directions with a grade above the threshold.

        >>> GradedSubspace.of([[1, 0, 0], [1, 0.1, 0]], aperture=2).crisp()
        Subspace(dim=1, ambient=3)
        """
        if not 0 <= threshold < 1:
            raise InputError(f"the threshold must be at least 0 and below 1, but {threshold} was given")
        return self._spectrum().above(threshold, self._dtype)

    # The logic

    def __invert__(self) -> Self:
        return self._shifted(1.0, -1.0)

    def __and__(self, other: SoftSet) -> Self:
        B = _graded(other)
        if B is None:
            return NotImplemented
        cut, dtype = self._cut(B), self._shared_dtype(B)
        J = lattice.join(self._frame, B._frame, cut)
        X, regular = conjunction(self._spectrum(J), B._spectrum(J), dtype)
        grades, E = namespace(J).linalg.eigh(X)
        rest = conjunction_of_numbers(self._rest, B._rest)
        tangent = None
        if regular and (self._tangent or B._tangent):
            tangent = self._differentiable().conjunction(B._differentiable(), cut)._replace(rest=rest)
        return self._of(transpose(E) @ J, grades, rest, dtype, tangent)

    def __or__(self, other: SoftSet) -> Self:
        B = _graded(other)
        return NotImplemented if B is None else ~(~self & ~B)

    def __sub__(self, other: SoftSet) -> Self:
        B = _graded(other)
        return NotImplemented if B is None else self & ~B

    def __rsub__(self, other: SoftSet) -> "GradedSubspace":
        B = _graded(other)
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
        return (self | other) & ~_wanted(other)

    def intersection(self, other: SoftSet, *, floor: float = 0.0) -> Self:
        """Return ``self & other`` with a floor under both (see `with_floor`), which ranks even if nothing is shared.

        >>> A, B = GradedSubspace.of([[1, 0, 0]]), GradedSubspace.of([[1, 1, 0]])
        >>> bool(A & B), bool(A.intersection(B, floor=0.1))
        (False, True)
        """
        return self.with_floor(floor) & _wanted(other).with_floor(floor)

    # Comparing

    def __le__(self, other: SoftSet) -> bool:
        B = _graded(other)
        return (
            NotImplemented if B is None else B._least_excess(self) >= -self._cut(B) * max(self._largest(), B._largest())
        )

    def __ge__(self, other: SoftSet) -> bool:
        B = _graded(other)
        return NotImplemented if B is None else B <= self

    def __lt__(self, other: SoftSet) -> bool:
        B = _graded(other)
        return NotImplemented if B is None else self <= B and not B <= self

    def __gt__(self, other: SoftSet) -> bool:
        B = _graded(other)
        return NotImplemented if B is None else B < self

    def __eq__(self, other: object) -> bool:
        B = _graded(other)
        return NotImplemented if B is None else self.ambient == B.ambient and self <= B and B <= self

    def _largest(self) -> float:
        """Return the largest grade, which small differences are measured by."""
        return float(max([self._rest, *to_numpy(self._grades).tolist()]))

    def _least_excess(self, other: "GradedSubspace") -> float:
        """Return the smallest eigenvalue of self - other."""
        J = lattice.join(self._frame, other._frame, self._cut(other))
        values = namespace(J).linalg.eigvalsh(self._spectrum(J).matrix() - other._spectrum(J).matrix())
        beyond = [self._rest - other._rest] if J.shape[0] < self.ambient else []
        return float(min([*to_numpy(values).tolist(), *beyond]))

    def similarity(self, other: SoftSet) -> float:
        """Return tr(C B) / sqrt(tr(C C) tr(B B)): 1 for equal sets up to a factor, 0 for orthogonal ones.

        >>> GradedSubspace.of([[1, 0]]).similarity(Subspace.span([[1, 1]])).__round__(4)
        0.5
        """
        B = _wanted(other)
        self._check_space(B)
        if not self or not B:
            return float(self.dim == B.dim)
        return min(self._inner(B) / sqrt(self._inner(self) * B._inner(B)), 1.0)

    def _inner(self, other: "GradedSubspace") -> float:
        """Return tr(C B)."""
        xp = namespace(self._frame)
        c, b = self._grades - self._rest, other._grades - other._rest
        crossed = xp.sum(c[:, None] * (self._frame @ transpose(other._frame)) ** 2 * b)
        alone = other._rest * xp.sum(c) + self._rest * xp.sum(b)
        return float(crossed + alone + self._rest * other._rest * self.ambient)

    # Keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set to a safetensors file, whole or not at all.

        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "plane.safetensors")
        ...     GradedSubspace.of([[1, 0, 0], [0, 1, 0]]).save(path)
        ...     GradedSubspace.load(path)
        GradedSubspace(dim=2, ambient=3, trace=1.33)
        """
        tensors = {"directions": self._frame, "grades": self._grades}
        write_set(path, "GradedSubspace", tensors, self._dtype, {"rest": repr(float(self._rest))})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote, as a NumPy set (see `like`); a broken file is refused in one sentence.

        >>> GradedSubspace.load("absent.safetensors")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'absent.safetensors'
        """
        arrays, dtype, facts = read_set(path, "GradedSubspace", ("directions", "grades"))
        frame, grades = arrays["directions"], np.asarray(arrays["grades"], dtype=np.float64)
        try:
            rest = float(facts.get("rest", ""))
        except ValueError:
            rest = -1.0
        if grades.shape[0] != frame.shape[0] or not all(0 <= g <= 1 for g in [rest, *grades.tolist()]):
            raise FileError(f"{path} needs one grade from 0 to 1 for each direction and for the rest: save it again")
        return cls._of(frame, grades, rest, dtype)

    # Helpers of the operators

    def _spectrum(self, frame: Array = None) -> Spectrum:
        """Return directions, grades and rest, in the coordinates of a frame if one is given."""
        directions = self._frame if frame is None else self._frame @ transpose(frame)
        return Spectrum(directions, self._grades, self._rest)

    def _differentiable(self) -> Tangent:
        if self._tangent is not None:
            return self._tangent
        g = self._grades
        return Tangent(self._frame, g[:, None] * identity(g[:, None] @ g[None, :]), self._rest)


def _graded(other: object) -> GradedSubspace | None:
    """Return the other side of an operator as a graded set, or None if it is no set."""
    if isinstance(other, Subspace):
        return GradedSubspace.from_crisp(other)
    return other if isinstance(other, GradedSubspace) else None


def _wanted(other: object) -> GradedSubspace:
    """Return the argument of a method as a graded set."""
    B = _graded(other)
    if B is None:
        raise InputError(f"a Subspace or GradedSubspace was wanted, but {type(other).__name__} was given")
    return B


def _shares(weights: Array, units: Array) -> Array:
    """Return each vector's share of the whole weight (k,), a constant; a zero vector has none."""
    xp = namespace(units)
    w = xp.astype(xp.any(detach(units) != 0, axis=-1), units.dtype)
    if weights is not None:
        w = w * _checked_weights(widen(as_array(weights, units)), units.shape[0])
    largest = float(xp.max(w)) if w.shape[0] else 0.0
    w = w / largest if largest else w  # first, or the sum might overflow
    return w / xp.sum(w) if largest else w


def _checked_weights(weights: Array, k: int) -> Array:
    xp = namespace(weights)
    if weights.ndim != 1 or weights.shape[0] != k:
        raise ShapeError(
            f"weights of shape {tuple(weights.shape)} were given for {k} vectors: give one number for each"
        )
    bad = to_numpy(xp.logical_or(weights < 0, ~xp.isfinite(weights))).nonzero()[0]
    if bad.size:
        raise InputError(
            f"weight {int(bad[0])} is {float(weights[int(bad[0])])}: weights must be finite and not negative"
        )
    return weights
