"""A set of vectors as the linear subspace they span: crisp, immutable, with the operators of a lattice."""

import os
from math import sqrt
from typing import TYPE_CHECKING, Any, Self

from array_api_compat import device

from softset.algebra import lattice
from softset.algebra.arrays import (
    Array,
    as_array,
    as_rows,
    as_stack,
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
from softset.algebra.distance import distance
from softset.algebra.membership import measured, share
from softset.algebra.rank import Frame, carried, independent, independent_stack, tolerance
from softset.errors import FileError, InputError, ShapeError

if TYPE_CHECKING:
    from softset.algebra.protocol import SoftSet

__all__ = ["Subspace"]


class Subspace(SetValue):
    """The set that some vectors span, as in quantum logic.

    ==================  ==================================================================
    ``A | B``           union: the sum space
    ``A & B``           intersection: the directions that A and B share exactly
    ``~A``              complement: everything orthogonal to A; costs nothing
    ``A - B``           ``A & ~B``
    ``A <= B``          A lies in B
    ``v in A``          v lies in A (to rounding); see ``membership`` for how much it does
    ``bool(A)``         A holds more than the zero vector
    ==================  ==================================================================

    Real word sets hardly ever share a direction exactly, so ``A & B`` and ``A - B`` of such sets are usually empty.
    ``A.intersection(B, alpha=...)`` and ``A.without(B)`` are the forms to use there.

    >>> colours = Subspace.span([[1, 0, 0, 0], [1, 1, 0, 0]])
    >>> fruits = Subspace.span([[0, 1, 0, 0], [0, 0, 1, 0]])
    >>> colours | fruits, colours & fruits, ~colours, colours - fruits
    (Subspace(dim=3, ambient=4), Subspace(dim=1, ambient=4), Subspace(dim=2, ambient=4), Subspace(dim=1, ambient=4))
    >>> [0, 2, 0, 0] in colours & fruits
    True
    """

    # The set is the span of `_frame`, orthonormal rows (r, d) in the wide type, or with `_complemented` all that is
    # orthogonal to it. At most d - 1 rows: the whole space is the complement of the empty set.
    __slots__ = ("_complemented",)

    _complemented: bool

    def __init__(self) -> None:
        raise TypeError("make a Subspace with Subspace.span(vectors), Subspace.empty(d) or Subspace.whole(d)")

    @classmethod
    def _of(cls, frame: Array, dtype: Any, *, complemented: bool = False) -> Self:
        if frame.shape[0] == frame.shape[1]:
            frame, complemented = detach(frame)[:0, :], not complemented
        return cls._make(_frame=frame, _dtype=dtype, _complemented=complemented)

    # Making

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
            directions = carried(directions, namespace(units).take(units, pivots, axis=0))
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
        xp = namespace(rows)
        frame = xp.zeros((0, d), dtype=widen(rows).dtype, device=device(rows))
        return cls._of(frame, rows.dtype)

    @classmethod
    def whole(cls, d: int, *, like: Array = None) -> Self:
        """Return all of R^d.

        >>> Subspace.whole(3) == ~Subspace.empty(3)
        True
        """
        return ~cls.empty(d, like=like)

    def like(self, array: Array) -> Self:
        """Return this set in the library, type and device of an array.

        >>> import numpy as np
        >>> Subspace.span([[1.0, 1.0]]).like(np.ones(2, dtype="float32")).basis.dtype
        dtype('float32')
        """
        rows, _ = as_rows(array)
        return self._of(moved(self._frame, rows), rows.dtype, complemented=self._complemented)

    # Looking

    @property
    def dim(self) -> int:
        """The dimension of the set."""
        rank = int(self._frame.shape[0])
        return self.ambient - rank if self._complemented else rank

    @property
    def basis(self) -> Array:
        """Orthonormal rows (dim, ambient) that span the set, in the caller's type; a copy, without gradient.

        Of a complement this builds a d x d matrix; nothing else does.

        >>> Subspace.span([[0.0, 3.0]]).basis
        array([[0., 1.]])
        """
        frame = self._wide_basis()
        return namespace(frame).astype(frame, self._dtype) + 0.0  # a copy, and without negative zeros

    def _wide_basis(self) -> Array:
        """Return `basis` in the wide type that the set is kept in."""
        frame = detach(self._frame)
        if not self._complemented:
            return frame
        xp, rank = namespace(frame), frame.shape[0]
        if not rank:
            return identity(transpose(frame) @ frame)
        return transpose(xp.linalg.qr(transpose(frame), mode="complete")[0])[rank:, :]

    @property
    def chance(self) -> float:
        """The membership that an unrelated vector has on average, sqrt(dim / ambient), if all directions are alike.

        >>> Subspace.span([[1, 0, 0, 0]]).chance
        0.5
        """
        return sqrt(self.dim / self.ambient)

    def __bool__(self) -> bool:
        return self.dim > 0

    def __repr__(self) -> str:
        return f"Subspace(dim={self.dim}, ambient={self.ambient})"

    # Asking

    def membership(self, v: Array) -> Array:
        """Return how much one (d,) vector, or each of (n, d) vectors, belongs: the cosine of its angle to the set.

        1 inside, 0 for what is orthogonal to the set and for the zero vector. One matrix product for all n.

        >>> plane = Subspace.span([[1, 0, 0], [0, 1, 0]])
        >>> plane.membership([[1, 1, 0], [3, 0, 4], [0, 0, 5], [0, 0, 0]])
        array([1. , 0.6, 0. , 0. ])
        """
        given = measured(v, self._frame, self._dtype)
        Q = self._frame_in(given.rows)
        part = given.rows @ transpose(Q)
        if self._complemented:  # by the residual: sqrt(1 - m^2) would lose half the digits of vectors inside
            part = given.rows - part @ Q
        m = share(part, given)
        return m[0] if given.single else m

    def factor(self) -> Array | None:
        """Return rows S with membership |S v| / |v|, in the caller's type; None for a complement, which has too many.

        What a search needs to ask many sets about many vectors by one product.

        >>> Subspace.span([[0, 2.0]]).factor(), (~Subspace.span([[0, 2.0]])).factor()
        (array([[0., 1.]]), None)
        """
        return None if self._complemented else self.basis

    def project(self, v: Array) -> Array:
        """Return the part of one (d,) vector, or of each of (n, d) vectors, that lies in the set.

        >>> Subspace.span([[1, 0, 0], [0, 1, 0]]).project([3, 0, 4])
        array([3., 0., 0.])
        """
        rows, single = as_rows(v, ambient=self.ambient, like=self._frame)
        frame = self._frame_in(rows)
        rows = namespace(rows).astype(rows, frame.dtype, copy=False)
        part = (rows @ transpose(frame)) @ frame
        part = rows - part if self._complemented else part
        return part[0, :] if single else part

    def _frame_in(self, rows: Array) -> Array:
        xp = namespace(rows)
        return xp.astype(self._frame, xp.result_type(rows.dtype, self._dtype), copy=False)

    def __contains__(self, v: Array) -> bool:
        rows, single = as_rows(v, ambient=self.ambient, like=self._frame)
        if not single:
            raise ShapeError(f"`in` asks about one vector, but {rows.shape[0]} were given: use span(vectors) <= A")
        return Subspace.span(rows) <= self

    # The lattice

    def __invert__(self) -> Self:
        return self._of(self._frame, self._dtype, complemented=not self._complemented)

    def __or__(self, other: "Subspace") -> Self:
        if not isinstance(other, Subspace):
            return NotImplemented
        A, B, cut = self._pair(other)
        flags = (self._complemented, other._complemented)
        if flags == (False, False):
            return self._joined(other, lattice.join(A, B, cut), cut)
        frame = {
            (True, True): lambda: lattice.meet(A, B, cut),
            (False, True): lambda: lattice.outside(B, A, cut),
            (True, False): lambda: lattice.outside(A, B, cut),
        }[flags]()
        return self._made(frame, other, complemented=True)

    def __and__(self, other: "Subspace") -> Self:
        return ~(~self | ~other) if isinstance(other, Subspace) else NotImplemented

    def __sub__(self, other: "Subspace") -> Self:
        return self & ~other if isinstance(other, Subspace) else NotImplemented

    def without(self, other: "Subspace") -> Self:
        """Return this set's directions with the other's taken out: (A | B) & ~B.

        What word sets need where ``A - B`` is empty: every direction of A keeps what is orthogonal to B.

        >>> A = Subspace.span([[1, 1]])
        >>> B = Subspace.span([[1, 0]])
        >>> (A - B).dim, A.without(B).basis
        (0, array([[0., 1.]]))
        """
        result: Self = (self | other) & ~other
        if not isinstance(other, Subspace) or self._complemented or other._complemented or not self._traces(other):
            return result
        A, B, cut = self._pair(other)
        rest = self._frame - (self._frame @ transpose(other._frame)) @ other._frame
        return self._made(carried(result._frame, lattice.added(A, B, cut)[1] @ rest), other)

    def intersection(self, other: "Subspace", *, alpha: float) -> Self:
        """Return the directions that the sets nearly share: canonical pairs with |cos - 1| <= alpha, bisected.

        The paper's intersection, made commutative. It is no lower bound of A and B, and not associative. With alpha 0
        it is ``A & B``.

        >>> A, B = Subspace.span([[1.0, 0.1]]), Subspace.span([[1.0, -0.1]])
        >>> (A & B).dim, A.intersection(B, alpha=0.5).basis.round(3)
        (0, array([[1., 0.]]))
        """
        if not 0 <= alpha < 1:
            raise InputError(f"alpha must be at least 0 and below 1, but {alpha} was given")
        A, B, cut = self._pair(_crisp(other))
        flags = (self._complemented, other._complemented)
        if flags == (False, False):
            return self._made(lattice.meet(A, B, cut, alpha), other)
        if flags == (True, True):
            return self._made(lattice.near_join(A, B, cut, alpha), other, complemented=True)
        inside, out = (A, B) if other._complemented else (B, A)
        return self._made(lattice.outside(inside, out, cut, alpha), other)

    def __le__(self, other: "Subspace") -> bool:
        if not isinstance(other, Subspace):
            return NotImplemented
        A, B, cut = self._pair(other)
        xp = namespace(A)
        angles = lattice.canonical(A, B)
        k, l = A.shape[0], B.shape[0]
        match self._complemented, other._complemented:
            case False, False:
                return k <= l and bool(xp.all(angles.sines <= cut))
            case True, True:
                return l <= k and bool(xp.all(angles.sines <= cut))
            case False, True:
                return bool(xp.all(angles.cosines <= cut))
        # What B has outside A must be all that there is outside A.
        return bool(max(l - k, 0) + xp.sum(angles.cosines <= cut) == self.ambient - k)

    def __ge__(self, other: "Subspace") -> bool:
        return other <= self if isinstance(other, Subspace) else NotImplemented

    def __lt__(self, other: "Subspace") -> bool:
        return self <= other and self.dim < other.dim if isinstance(other, Subspace) else NotImplemented

    def __gt__(self, other: "Subspace") -> bool:
        return other < self if isinstance(other, Subspace) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Subspace):
            return NotImplemented
        return self.ambient == other.ambient and self.dim == other.dim and self <= other

    # Comparing

    def angles(self, other: "Subspace") -> Array:
        """Return the min(dim, dim) canonical angles to another set, smallest first, accurate near 0 and near pi/2.

        >>> Subspace.span([[1, 0]]).angles(Subspace.span([[1, 1e-9]]))
        array([1.e-09])
        """
        angles = self._canonical(other)
        xp = namespace(angles.cosines)
        return xp.astype(xp.atan2(angles.sines, angles.cosines), self._shared_dtype(other), copy=False)

    def _canonical(self, other: "Subspace") -> lattice.Canonical:
        """Return the canonical angles of the sets themselves, from those of their frames."""
        A, B, _ = self._pair(_crisp(other))
        angles, count = lattice.canonical(A, B), min(self.dim, other.dim)
        if self._complemented == other._complemented:
            return angles.resized(count)
        # Directions of the uncomplemented frame beyond the other's rank are free of it: at angle 0 to the complement.
        inside = B if self._complemented else A
        return angles.exchanged().resized(inside.shape[0]).smallest(count)

    def distance(self, other: "Subspace", kind: str = "geodesic", *, containment: bool = False) -> float:
        """Return a distance to another set, of equal or other dimension: see `softset.algebra.distance` for the kinds.

        Sets of dimensions k and l have |k - l| further right angles. With `containment` these are left out, and the
        distance is 0 when one set contains the other.

        >>> plane, line = Subspace.span([[1, 0, 0], [0, 1, 0]]), Subspace.span([[1, 0, 0]])
        >>> plane.distance(line, "chordal"), plane.distance(line, "chordal", containment=True)
        (1.0, 0.0)
        """
        angles = self._canonical(other)
        missing = 0 if containment else abs(self.dim - other.dim)
        return distance(to_numpy(angles.cosines), to_numpy(angles.sines), missing, kind)

    def similarity(self, other: "SoftSet") -> float:
        """Return the cosine between the projectors, tr(P Q) / sqrt(dim dim): 1 for equal sets, 0 for orthogonal ones.

        Two empty sets are equal; an empty set is unlike every other.

        >>> Subspace.span([[1, 0, 0], [0, 1, 0]]).similarity(Subspace.span([[1, 0, 0]])).__round__(4)
        0.7071
        """
        if not isinstance(other, Subspace) and isinstance(other, SetValue):
            return other.similarity(self)
        B = _crisp(other)
        self._check_space(B)
        if not self or not B:
            return float(self.dim == B.dim)
        angles = self._canonical(B)
        return min(float(namespace(angles.cosines).sum(angles.cosines**2)) / sqrt(self.dim * B.dim), 1.0)

    # Keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set to a safetensors file, whole or not at all.

        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "plane.safetensors")
        ...     Subspace.span([[1, 0, 0], [0, 1, 0]]).save(path)
        ...     Subspace.load(path)
        Subspace(dim=2, ambient=3)
        """
        facts = {"complemented": str(self._complemented)}
        write_set(path, "Subspace", {"directions": self._frame}, self._dtype, facts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote, as a NumPy set (see `like`); a broken file is refused in one sentence.

        >>> Subspace.load("absent.safetensors")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'absent.safetensors'
        """
        arrays, dtype, facts = read_set(path, "Subspace", ("directions",))
        if facts.get("complemented") not in ("True", "False"):
            raise FileError(f"{path} does not say whether its Subspace is complemented: save it again")
        return cls._of(arrays["directions"], dtype, complemented=facts["complemented"] == "True")

    # Helpers of the operators

    def _pair(self, other: "Subspace") -> tuple[Array, Array, float]:
        """Return both frames without gradients, and the cut for sines that they share."""
        cut = self._cut(other)
        return detach(self._frame), detach(other._frame), cut

    def _traces(self, other: "Subspace") -> bool:
        return traces_gradient(self._frame) or traces_gradient(other._frame)

    def _made(self, frame: Array, other: "Subspace", *, complemented: bool = False) -> Self:
        return self._of(frame, self._shared_dtype(other), complemented=complemented)

    def _joined(self, other: "Subspace", frame: Array, cut: float) -> Self:
        """Return the union of two spans, with the derivative it has as a function of both."""
        if self._traces(other) and frame.shape[0] < frame.shape[1]:
            _, coefficients = lattice.added(detach(other._frame), detach(self._frame), cut)
            rows = namespace(frame).concat([self._frame, coefficients @ other._frame])
            frame = carried(frame, rows)
        return self._made(frame, other)


def _crisp(other: object) -> Subspace:
    """Return the argument of a method that only a crisp set can be."""
    if not isinstance(other, Subspace):
        raise InputError(f"a Subspace was wanted, but {type(other).__name__} was given; a graded set has .crisp()")
    return other
