"""A crisp set of vectors: the linear subspace that they span, immutable, with the operators of a lattice."""

from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import device

from softset.algebra import lattice
from softset.algebra.arrays import (
    Array,
    as_array,
    as_rows,
    as_stack,
    detach,
    identity,
    moved_to,
    namespace,
    traces_gradient,
    transpose,
    unit_rows,
    widen,
)
from softset.algebra.base import MeasuredRows, SoftSet, norm_ratio
from softset.algebra.lattice import CanonicalAngles, Flat, distance
from softset.algebra.rank import Frame, differentiable_basis, independent, independent_stack, tolerance
from softset.errors import FileError, InputError


class Subspace(SoftSet):
    """The set that some vectors span, as in quantum logic.

    ==================  ==================================================================
    ``A | B``           union: the sum space
    ``A & B``           intersection: the directions that A and B share exactly
    ``~A``              complement: everything orthogonal to A; costs nothing
    ``A - B``           ``A & ~B``
    ``A <= B``          A lies in B
    ``v in A``          v lies in A (to rounding); see ``membership`` for graded answers
    ``bool(A)``         A holds more than the zero vector
    ==================  ==================================================================

    Real word sets hardly ever share a direction exactly, so ``A & B`` and ``A - B`` of such sets are usually empty. Use
    ``A.intersection(B, alpha=...)`` and ``A.without(B)`` for them.

    >>> colours = Subspace.span([[1, 0, 0, 0], [1, 1, 0, 0]])
    >>> fruits = Subspace.span([[0, 1, 0, 0], [0, 0, 1, 0]])
    >>> colours | fruits, colours & fruits, ~colours, colours - fruits
    (Subspace(dim=3, ambient=4), Subspace(dim=1, ambient=4), Subspace(dim=2, ambient=4), Subspace(dim=1, ambient=4))
    >>> [0, 2, 0, 0] in colours & fruits
    True
    """

    # The set is the span of `_frame`, orthonormal rows (r, d) in float64, or with `_complemented` everything orthogonal
    # to it. There are at most d - 1 rows: the whole space is the complement of the empty set.
    __slots__ = ("_complemented",)

    _complemented: bool
    _ARRAYS: ClassVar = {"directions": 2}

    def __init__(self) -> None:
        raise TypeError("use Subspace.span(vectors), Subspace.empty(d) or Subspace.whole(d) to make a Subspace")

    @classmethod
    def _of(cls, frame: Array, dtype: Any, *, complemented: bool = False) -> Self:
        if frame.shape[0] == frame.shape[1]:
            frame, complemented = detach(frame)[:0, :], not complemented
        return cls._make(_frame=frame, _dtype=dtype, _complemented=complemented)

    # Constructors

    @classmethod
    def span(cls, vectors: Array) -> Self:
        """Return the subspace that one (d,) vector or (k, d) vectors span.

        Copies, scale, signs, order and zero vectors change nothing. A stack (b, k, d) is passed on to `spans`.

        >>> Subspace.span([[1, 2], [2, 4], [0, 0]])
        Subspace(dim=1, ambient=2)
        """
        vectors = as_array(vectors)
        if vectors.ndim == 3:
            return cls.spans(vectors)  # type: ignore[return-value]  # no type tells the number of axes
        rows, _ = as_rows(vectors)
        units = unit_rows(rows)
        cut = tolerance(rows.shape[1], rows.dtype, namespace(rows))
        return cls._framed(independent(detach(units), cut), units, rows.dtype)

    @classmethod
    def spans(cls, stack: Array) -> list[Self]:
        """Return the b subspaces of a (b, k, d) stack of sets of equal size, by one batched factorisation.

        >>> import numpy as np
        >>> Subspace.spans(np.ones((2, 3, 5)))
        [Subspace(dim=1, ambient=5), Subspace(dim=1, ambient=5)]
        """
        stack = as_stack(stack)
        units = unit_rows(stack)
        cut = tolerance(stack.shape[2], stack.dtype, namespace(stack))
        frames = independent_stack(detach(units), cut)
        return [cls._framed(frame, units[i, ...], stack.dtype) for i, frame in enumerate(frames)]

    @classmethod
    def _framed(cls, frame: Frame, units: Array, dtype: Any) -> Self:
        directions, pivots = frame
        if traces_gradient(units) and directions.shape[0] < directions.shape[1]:
            directions = differentiable_basis(directions, namespace(units).take(units, pivots, axis=0))
        return cls._of(directions, dtype)

    @classmethod
    def empty(cls, d: int, *, like: Array = None) -> Self:
        """Return the set that holds only the zero vector of R^d, in the library and type of `like` (NumPy, float64).

        >>> Subspace.empty(3).membership([1, 2, 3])
        np.float64(0.0)
        """
        if d < 1:
            raise InputError(f"a space needs at least 1 dimension, but {d} was given")
        rows, _ = as_rows([[0.0]]) if like is None else as_rows(like)
        frame = namespace(rows).zeros((0, d), dtype=widen(rows).dtype, device=device(rows))
        return cls._of(frame, rows.dtype)

    def _moved_to(self, rows: Array) -> Self:
        return self._of(moved_to(rows, self._frame), rows.dtype, complemented=self._complemented)

    def _file_content(self) -> tuple[dict[str, Array], dict[str, str]]:
        return {"directions": self._frame}, {"complemented": str(self._complemented)}

    @classmethod
    def _from_file(cls, path: str, arrays: dict[str, np.ndarray], dtype: Any, metadata: dict[str, str]) -> Self:
        if metadata.get("complemented") not in ("True", "False"):
            raise FileError(f"{path} does not say whether its Subspace is complemented: save it again")
        return cls._of(arrays["directions"], dtype, complemented=metadata["complemented"] == "True")

    # Properties

    @property
    def dim(self) -> int:
        """The dimension of the set."""
        return self._flat().dim

    @property
    def basis(self) -> Array:
        """Orthonormal rows (dim, ambient) that span the set, in the caller's type; a copy, without gradient.

        For a complement this builds a d x d matrix; nothing else does.

        >>> Subspace.span([[0.0, 3.0]]).basis
        array([[0., 1.]])
        """
        basis = self._wide_basis()
        return namespace(basis).astype(basis, self._dtype) + 0.0  # a copy, and without negative zeros

    def _wide_basis(self) -> Array:
        """Return `basis` in float64."""
        frame = detach(self._frame)
        if not self._complemented:
            return frame
        rank = frame.shape[0]
        if not rank:
            return identity(transpose(frame) @ frame)
        return transpose(namespace(frame).linalg.qr(transpose(frame), mode="complete")[0])[rank:, :]

    def __repr__(self) -> str:
        return f"Subspace(dim={self.dim}, ambient={self.ambient})"

    # Membership

    def _memberships(self, measured: MeasuredRows) -> Array:
        Q = namespace(measured.rows).astype(self._frame, measured.rows.dtype, copy=False)
        part = measured.rows @ transpose(Q)
        if self._complemented:  # by the residual: sqrt(1 - m^2) would lose half the digits of vectors inside
            part = measured.rows - part @ Q
        return norm_ratio(part, measured)

    def _project(self, rows: Array) -> Array:
        Q = namespace(rows).astype(self._frame, rows.dtype, copy=False)
        part = (rows @ transpose(Q)) @ Q
        return rows - part if self._complemented else part

    def factor(self) -> Array | None:
        """Return rows S with membership |S v| / |v|, in the caller's type; None for a complement, which has too many.

        A search multiplies the rows of many sets with many vectors in one product.

        >>> Subspace.span([[0, 2.0]]).factor(), (~Subspace.span([[0, 2.0]])).factor()
        (array([[0., 1.]]), None)
        """
        return None if self._complemented else self.basis

    # Operators

    def __invert__(self) -> Self:
        return self._of(self._frame, self._dtype, complemented=not self._complemented)

    def __or__(self, other: "Subspace") -> Self:
        if not isinstance(other, Subspace):
            return NotImplemented
        cut = self._cut(other)
        frame, spanned = lattice.intersection((~self)._flat(), (~other)._flat(), cut)
        if spanned and self._traces(other) and frame.shape[0] < frame.shape[1]:
            _, coefficients = lattice.added(detach(other._frame), detach(self._frame), cut)
            frame = differentiable_basis(frame, namespace(frame).concat([self._frame, coefficients @ other._frame]))
        return self._of(frame, self._shared_dtype(other), complemented=not spanned)

    def __and__(self, other: "Subspace") -> Self:
        return ~(~self | ~other) if isinstance(other, Subspace) else NotImplemented

    def without(self, other: "Subspace") -> Self:
        """Return this set with the directions of the other removed: (A | B) & ~B.

        Every direction of A keeps its part orthogonal to B, even where ``A - B`` is empty.

        >>> A = Subspace.span([[1, 1]])
        >>> B = Subspace.span([[1, 0]])
        >>> (A - B).dim, A.without(B).basis
        (0, array([[0., 1.]]))
        """
        result: Self = (self | other) & ~other
        if not isinstance(other, Subspace) or self._complemented or other._complemented or not self._traces(other):
            return result
        _, coefficients = lattice.added(detach(self._frame), detach(other._frame), self._cut(other))
        residual = self._frame - (self._frame @ transpose(other._frame)) @ other._frame
        return self._of(differentiable_basis(result._frame, coefficients @ residual), self._shared_dtype(other))

    def intersection(self, other: "Subspace", *, alpha: float) -> Self:
        """Return the directions that the sets nearly share: canonical pairs with |cos - 1| <= alpha, bisected.

        This is the paper's intersection, made commutative. The result is not a lower bound of A and B, and
        the operation is not associative. With alpha 0 it is ``A & B``.

        >>> A, B = Subspace.span([[1.0, 0.1]]), Subspace.span([[1.0, -0.1]])
        >>> (A & B).dim, A.intersection(B, alpha=0.5).basis.round(3)
        (0, array([[1., 0.]]))
        """
        if not 0 <= alpha < 1:
            raise InputError(f"alpha must be at least 0 and below 1, but {alpha} was given")
        cut = self._cut(_crisp(other))
        frame, complemented = lattice.intersection(self._flat(), other._flat(), cut, alpha)
        return self._of(frame, self._shared_dtype(other), complemented=complemented)

    # Comparisons

    def __le__(self, other: SoftSet) -> bool:
        if not isinstance(other, Subspace):
            return NotImplemented
        return lattice.is_subset(self._flat(), other._flat(), self._cut(other))

    def angles(self, other: "Subspace") -> Array:
        """Return the min(dim, dim) canonical angles to another set, smallest first, accurate near 0 and near pi/2.

        >>> Subspace.span([[1, 0]]).angles(Subspace.span([[1, 1e-9]]))
        array([1.e-09])
        """
        angles = self._canonical(other)
        xp = namespace(angles.cosines)
        return xp.astype(xp.atan2(angles.sines, angles.cosines), self._shared_dtype(other), copy=False)

    def distance(self, other: "Subspace", kind: str = "geodesic", *, containment: bool = False) -> float:
        """Return a distance to another set of any dimension; `softset.algebra.lattice.distance` lists the kinds.

        Sets of dimensions k and l have |k - l| additional right angles. With `containment` these are left out, and the
        distance is 0 when one set contains the other.

        >>> plane, line = Subspace.span([[1, 0, 0], [0, 1, 0]]), Subspace.span([[1, 0, 0]])
        >>> plane.distance(line, "chordal"), plane.distance(line, "chordal", containment=True)
        (1.0, 0.0)
        """
        angles = self._canonical(other)
        return distance(angles, 0 if containment else abs(self.dim - other.dim), kind)

    def similarity(self, other: SoftSet) -> float:
        """Return the cosine between the projectors, tr(P Q) / sqrt(dim dim): 1 for equal sets, 0 for orthogonal ones.

        Two empty sets have similarity 1; an empty set and any other have 0.

        >>> Subspace.span([[1, 0, 0], [0, 1, 0]]).similarity(Subspace.span([[1, 0, 0]])).__round__(4)
        0.7071
        """
        if not isinstance(other, Subspace) and isinstance(other, SoftSet):
            return other.similarity(self)
        B = _crisp(other)
        self._check_space(B)
        if not self or not B:
            return float(self.dim == B.dim)
        cosines = self._canonical(B).cosines
        return min(float(namespace(cosines).sum(cosines**2)) / sqrt(self.dim * B.dim), 1.0)

    def _canonical(self, other: "Subspace") -> CanonicalAngles:
        self._check_space(_crisp(other))
        return lattice.angles_between(self._flat(), other._flat())

    def _flat(self) -> Flat:
        return Flat(detach(self._frame), self._complemented)


def _crisp(other: object) -> Subspace:
    """Return the argument if it is a Subspace; otherwise raise InputError."""
    if not isinstance(other, Subspace):
        raise InputError(f"a Subspace was expected, but {type(other).__name__} was given; a graded set has .crisp()")
    return other
