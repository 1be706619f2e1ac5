"""What the two set types have in common: they never change, live in one space, and are kept in files the same way."""

import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from array_api_compat import device, is_torch_array, to_device

from softset.algebra.arrays import Array, as_rows, coarser, namespace, to_numpy, widen
from softset.algebra.rank import tolerance
from softset.errors import AmbientError, FileError, InputError
from softset.io.arrays import read_tensors, write_tensors

__all__ = ["SetValue", "moved", "read_set", "write_set"]


class SetValue:
    """A set that is filled once, by `_make`: orthonormal rows `_frame` (r, d), wide, and the caller's `_dtype`."""

    __slots__ = ("_dtype", "_frame")
    __hash__ = None  # type: ignore[assignment]  # equality has a tolerance, so no hash can agree with it

    _frame: Array
    _dtype: Any

    @classmethod
    def _make(cls, **slots: Any) -> Self:
        self = object.__new__(cls)
        for name, value in slots.items():
            object.__setattr__(self, name, value)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} never changes: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} never changes: {name} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        names = [name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ())]
        return _rebuilt, (type(self), {name: getattr(self, name) for name in names})

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    @property
    def ambient(self) -> int:
        """The dimension d of the space that the set lives in."""
        return int(self._frame.shape[1])

    def _shared_dtype(self, other: "SetValue") -> Any:
        """Return the type of what two sets make together."""
        return coarser(namespace(self._frame, other._frame), self._dtype, other._dtype)

    def _check_space(self, other: "SetValue") -> None:
        if self.ambient != other.ambient:
            raise AmbientError(f"the sets live in {self.ambient} and in {other.ambient} dimensions: they cannot meet")

    def _cut(self, other: "SetValue") -> float:
        """Return the largest sine that counts as zero between two sets, which must live in one space."""
        self._check_space(other)
        return tolerance(self.ambient, self._shared_dtype(other), namespace(self._frame))


def _rebuilt(kind: type[SetValue], slots: dict[str, Any]) -> SetValue:
    """Return a set from its parts: how copies reach other processes."""
    return kind._make(**slots)


def moved(part: Array, rows: Array) -> Array:
    """Return a part of a set in the wide type, in the library and on the device of some rows, with its gradient."""
    xp = namespace(rows)
    if is_torch_array(part) and is_torch_array(rows):
        return xp.astype(to_device(part, device(rows)), widen(rows).dtype, copy=False)
    return xp.asarray(to_numpy(part), dtype=widen(rows).dtype, device=device(rows))


def write_set(
    path: str | os.PathLike[str], kind: str, tensors: Mapping[str, Array], dtype: Any, facts: Mapping[str, str]
) -> None:
    """Write a set's directions, its other arrays and its facts."""
    arrays = {name: to_numpy(tensor) for name, tensor in tensors.items()}
    write_tensors(path, kind, arrays, {"dtype": str(dtype).removeprefix("torch."), **facts})


def read_set(
    path: str | os.PathLike[str], kind: str, names: tuple[str, ...]
) -> tuple[dict[str, np.ndarray], Any, dict[str, str]]:
    """Read what `write_set` wrote: float64 arrays of these names, the directions orthonormal; the type; the facts."""
    tensors, facts = read_tensors(path, kind)
    dtype = {"float32": np.float32, "float64": np.float64}.get(facts.get("dtype", ""))
    shapes = {name: tensors[name].ndim for name in names if name in tensors}
    if dtype is None or set(tensors) != set(names) or shapes != {name: 1 + (name == "directions") for name in names}:
        raise FileError(f"{path} lacks a part of a softset {kind}, or has one too many: save it again")
    try:
        Q = as_rows(tensors["directions"])[0].astype(np.float64)
    except InputError as error:
        raise FileError(f"{path} holds numbers that are no softset {kind}: {error}") from error
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = np.abs(Q @ Q.T - np.eye(len(Q))).max(initial=0.0)
    if not deviation <= 1e-6:  # which NaN is not either
        raise FileError(f"{path} holds directions that are not orthonormal: it was changed since it was saved")
    if deviation > 1e-13:  # kept in fewer digits than ours
        Q = np.linalg.qr(Q.T)[0].T
    return {**tensors, "directions": Q}, np.dtype(dtype), facts
