"""`SoftSet`, the base class of the two set types: immutability, membership, files."""

import os
from abc import ABC, abstractmethod
from hashlib import sha256
from math import sqrt
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from softset.algebra.arrays import (
    Array,
    as_rows,
    check_finite,
    coarser_type,
    detach,
    namespace,
    row_norms,
    to_numpy,
    traces_gradient,
)
from softset.algebra.rank import tolerance
from softset.errors import AmbientError, FileError, InputError, ShapeError
from softset.io.arrays import read_tensors, write_tensors
from softset.io.text import html_table

SAFE_NORMS = (1e-15, 1e15)  # their squares keep all digits in float32


class MeasuredRows(NamedTuple):
    """Rows (n, d), their norms (n,) with 1 for zero rows, and whether the caller gave a single (d,) vector."""

    rows: Array
    norms: Array
    single: bool


def measure_rows(v: Array, frame: Array, dtype: Any) -> MeasuredRows:
    """Return vectors checked against a set's frame, in the wider of their type and the set's.

    The norms show whether all numbers are finite, so that the million rows of a vocabulary are read only once. Rows
    whose squares would overflow or underflow are rescaled here; membership does not depend on the scale.
    """
    rows, single = as_rows(v, ambient=int(frame.shape[1]), like=frame, finite=False)
    xp = namespace(rows, frame)
    rows = xp.astype(rows, xp.result_type(rows.dtype, dtype), copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = row_norms(rows)
    if not bool(xp.all(xp.logical_and(norms > SAFE_NORMS[0], norms < SAFE_NORMS[1]))):  # also for NaN
        check_finite(rows)
        largest = detach(xp.max(xp.abs(rows), axis=-1, keepdims=True))
        rows = rows / xp.where(largest > 0, largest, xp.ones_like(largest))
        norms = row_norms(rows)
    return MeasuredRows(rows, xp.where(norms > 0, norms, xp.ones_like(norms)), single)


def norm_ratio(part: Array, measured: MeasuredRows) -> Array:
    """Return |part| / |v| (n,), clipped to [0, 1]; zero vectors have 0."""
    xp = namespace(part)
    m = row_norms(part) / measured.norms
    if traces_gradient(m):
        # A membership of a few eps is rounding, and so is the direction of its derivative: take the subgradient 0.
        m = xp.where(m > 8 * float(xp.finfo(m.dtype).eps), m, detach(m))
    return xp.clip(m, 0.0, 1.0)


class SoftSet(ABC):
    """An immutable set of vectors with graded membership: a `Subspace` or a `GradedSubspace`.

    >>> from softset import GradedSubspace, Subspace
    >>> isinstance(Subspace.whole(2), SoftSet), isinstance(GradedSubspace.of([[1, 0]]), SoftSet)
    (True, True)
    """

    # Orthonormal rows `_frame` (r, d) in float64, and the caller's floating type `_dtype`.
    __slots__ = ("_dtype", "_frame")
    __hash__ = None  # type: ignore[assignment]  # equality has a tolerance, so no hash can agree with it

    _frame: Array
    _dtype: Any
    _ARRAYS: ClassVar[dict[str, int]]  # the arrays of the set's file, and their numbers of axes

    @classmethod
    def _make(cls, **slots: Any) -> Self:
        self = object.__new__(cls)
        for name, value in slots.items():
            object.__setattr__(self, name, value)
        return self

    def __setattr__(self, name: str, value: object = None) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable: {name} cannot be changed")

    __delattr__ = __setattr__

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        for name, value in state[1].items():  # pickle gives the slots as the second part
            object.__setattr__(self, name, value)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    @property
    def ambient(self) -> int:
        """The dimension d of the space."""
        return int(self._frame.shape[1])

    def __bool__(self) -> bool:
        return self.dim > 0

    def _repr_html_(self) -> str:
        numbers = {name: f"{round(getattr(self, name), 3):,}" for name in ("dim", "ambient", "trace", "chance")}
        return html_table(["", ""], numbers.items(), caption=type(self).__name__)

    @property
    def trace(self) -> float:
        """The sum of all grades, which for a `Subspace` is `dim`."""
        return float(self.dim)

    @property
    def chance(self) -> float:
        """The root mean square membership of random directions, sqrt(trace / ambient).

        >>> from softset import Subspace
        >>> Subspace.span([[1, 0, 0, 0]]).chance
        0.5
        """
        return sqrt(self.trace / self.ambient)

    # Defined by each set type

    @classmethod
    @abstractmethod
    def empty(cls, d: int, *, like: Array = None) -> Self:
        """Return the set that holds only the zero vector of R^d, in the library and type of `like` (NumPy, float64)."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """The number of directions with a membership above 0."""

    @abstractmethod
    def factor(self) -> Array | None:
        """Return rows S with membership |S v| / |v|, or None if the set has no such rows."""

    @abstractmethod
    def without(self, other: Any) -> Self:
        """Return this set with the directions of the other removed."""

    @abstractmethod
    def similarity(self, other: Any) -> float:
        """Return the similarity of two sets: 1 for equal ones, 0 for orthogonal ones."""

    @abstractmethod
    def __and__(self, other: Any) -> Self: ...
    @abstractmethod
    def __or__(self, other: Any) -> Self: ...
    @abstractmethod
    def __invert__(self) -> Self: ...
    @abstractmethod
    def __le__(self, other: Any) -> bool: ...

    @abstractmethod
    def _memberships(self, measured: MeasuredRows) -> Array:
        """Return the memberships (n,) of measured rows."""

    @abstractmethod
    def _project(self, rows: Array) -> Array:
        """Return the parts (n, d) of rows that belong to the set."""

    @abstractmethod
    def _moved_to(self, rows: Array) -> Self:
        """Return the set in the library, type and device of rows."""

    @abstractmethod
    def _file_content(self) -> tuple[dict[str, Array], dict[str, str]]:
        """Return the arrays and the metadata of the set's file."""

    @classmethod
    @abstractmethod
    def _from_file(cls, path: str, arrays: dict[str, np.ndarray], dtype: Any, metadata: dict[str, str]) -> Self:
        """Return the set that a file holds."""

    # Shared by both set types

    @property
    def fingerprint(self) -> str:
        """A SHA-256 of the directions and grades; equal sets with different directions have different ones."""
        arrays, metadata = self._file_content()
        content = [np.ascontiguousarray(to_numpy(array)).tobytes() for array in arrays.values()]
        return sha256(repr(sorted(metadata.items())).encode() + b"".join(content)).hexdigest()

    @classmethod
    def whole(cls, d: int, *, like: Array = None) -> Self:
        """Return all of R^d, in the library and type of `like` (NumPy, float64).

        >>> from softset import Subspace
        >>> Subspace.whole(3) == ~Subspace.empty(3)
        True
        """
        return ~cls.empty(d, like=like)

    def like(self, array: Array) -> Self:
        """Return this set in the library, type and device of an array.

        >>> import numpy as np
        >>> from softset import Subspace
        >>> Subspace.span([[1.0, 1.0]]).like(np.ones(2, dtype="float32")).basis.dtype
        dtype('float32')
        """
        return self._moved_to(as_rows(array)[0])

    def membership(self, v: Array) -> Array:
        """Return the membership, from 0 to 1, of one (d,) vector or of each of (n, d) vectors.

        For a `Subspace` it is the cosine of the angle between the vector and the set: 1 inside, 0 for vectors
        orthogonal to the set and for the zero vector. For a `GradedSubspace` C it is sqrt(v' C v) / |v|; the squared
        memberships in C and in ~C sum to 1. All n vectors take one matrix product.

        >>> from softset import GradedSubspace, Subspace
        >>> plane = Subspace.span([[1, 0, 0], [0, 1, 0]])
        >>> plane.membership([[1, 1, 0], [3, 0, 4], [0, 0, 5], [0, 0, 0]])
        array([1. , 0.6, 0. , 0. ])
        >>> A = GradedSubspace.of([[3, 4]], aperture=1)
        >>> float(A.membership([3, 4]) ** 2 + (~A).membership([3, 4]) ** 2).__round__(12)
        1.0
        """
        measured = measure_rows(v, self._frame, self._dtype)
        memberships = self._memberships(measured)
        return memberships[0] if measured.single else memberships

    def project(self, v: Array) -> Array:
        """Return the part of one (d,) vector, or of each of (n, d) vectors, that belongs to the set.

        For a `Subspace` it is the orthogonal projection, for a `GradedSubspace` C the product C v.

        >>> from softset import GradedSubspace, Subspace
        >>> Subspace.span([[1, 0, 0], [0, 1, 0]]).project([3, 0, 4])
        array([3., 0., 0.])
        >>> GradedSubspace.of([[1, 0]], aperture=1).project([2, 2])
        array([1., 0.])
        """
        rows, single = as_rows(v, ambient=self.ambient, like=self._frame)
        xp = namespace(rows)
        part = self._project(xp.astype(rows, xp.result_type(rows.dtype, self._dtype), copy=False))
        return part[0, :] if single else part

    def __sub__(self, other: Any) -> Self:
        return self & ~other if isinstance(other, SoftSet) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        return self <= other and not other <= self if isinstance(other, SoftSet) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SoftSet):
            return NotImplemented
        return self.ambient == other.ambient and self <= other and other <= self

    def __contains__(self, v: Array) -> bool:
        rows, single = as_rows(v, ambient=self.ambient, like=self._frame)
        if not single:
            raise ShapeError(f"`in` takes one vector, but {rows.shape[0]} were given: use span(vectors) <= A")
        xp = namespace(rows)
        cut = tolerance(self.ambient, coarser_type(xp, rows.dtype, self._dtype), xp)
        return bool((~self).membership(rows)[0] <= cut)

    def _shared_dtype(self, other: "SoftSet") -> Any:
        """Return the type of a set made from this one and another."""
        return coarser_type(namespace(self._frame, other._frame), self._dtype, other._dtype)

    def _check_space(self, other: "SoftSet") -> None:
        if self.ambient != other.ambient:
            raise AmbientError(f"sets of {self.ambient} and {other.ambient} dimensions cannot be combined")

    def _traces(self, other: "SoftSet") -> bool:
        """Return whether a set made from this one and another must be differentiable."""
        return traces_gradient(self._frame) or traces_gradient(other._frame)

    def _cut(self, other: "SoftSet") -> float:
        """Return the largest sine that counts as zero between two sets of one space."""
        self._check_space(other)
        return tolerance(self.ambient, self._shared_dtype(other), namespace(self._frame))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set to a safetensors file.

        >>> import tempfile, pathlib
        >>> from softset import Subspace
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "plane.safetensors")
        ...     Subspace.span([[1, 0, 0], [0, 1, 0]]).save(path)
        ...     Subspace.load(path)
        Subspace(dim=2, ambient=3)
        """
        arrays, metadata = self._file_content()
        tensors = {name: to_numpy(array) for name, array in arrays.items()}
        metadata = {"dtype": str(self._dtype).removeprefix("torch."), **metadata}
        write_tensors(path, type(self).__name__, tensors, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a set that `save` wrote, as a NumPy set (see `like`); damaged files raise FileError.

        >>> from softset import Subspace
        >>> Subspace.load("absent.safetensors")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'absent.safetensors'
        """
        tensors, metadata = read_tensors(path, cls.__name__)
        dtype = {"float32": np.float32, "float64": np.float64}.get(metadata.get("dtype", ""))
        if dtype is None or {name: tensor.ndim for name, tensor in tensors.items()} != cls._ARRAYS:
            raise FileError(f"{path} does not have exactly the arrays of a softset {cls.__name__}: save it again")
        tensors["directions"] = _orthonormal_rows(path, tensors["directions"])
        return cls._from_file(os.fspath(path), tensors, np.dtype(dtype), metadata)


def _orthonormal_rows(path: str | os.PathLike[str], rows: np.ndarray) -> np.ndarray:
    """Return the directions of a file in float64, after checking that they are orthonormal to rounding."""
    try:
        Q = as_rows(rows)[0].astype(np.float64)
    except InputError as error:
        raise FileError(f"the directions in {path} are not valid vectors: {error}") from error
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = np.abs(Q @ Q.T - np.eye(len(Q))).max(initial=0.0)
    if not deviation <= 1e-6:  # also true for NaN
        raise FileError(f"the directions in {path} are not orthonormal: the file was changed after it was saved")
    return np.linalg.qr(Q.T)[0].T if deviation > 1e-13 else Q  # saved in float32
