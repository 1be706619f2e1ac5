"""What the set types have in common: they never change, and they are kept in files the same way."""

import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from softset.algebra.arrays import Array, as_rows, to_numpy
from softset.errors import FileError, InputError
from softset.files import read_tensors, write_tensors

__all__ = ["Value", "read_set", "write_set"]


class Value:
    """An object whose slots are filled once, by `_make`."""

    __slots__ = ()

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


def write_set(
    path: str | os.PathLike[str],
    kind: str,
    tensors: Mapping[str, Array],
    dtype: Any,
    facts: Mapping[str, str],
) -> None:
    """Write a set's directions, its other arrays and its facts."""
    arrays = {name: to_numpy(tensor) for name, tensor in tensors.items()}
    write_tensors(path, kind, arrays, {"dtype": str(dtype).removeprefix("torch."), **facts})


def read_set(
    path: str | os.PathLike[str], kind: str, names: tuple[str, ...]
) -> tuple[dict[str, np.ndarray], Any, dict[str, str]]:
    """Read what `write_set` wrote: float64 arrays of these names with orthonormal directions, the type, the facts."""
    tensors, facts = read_tensors(path, kind)
    dtype = {"float32": np.float32, "float64": np.float64}.get(facts.get("dtype", ""))
    if dtype is None or set(tensors) != set(names) or tensors["directions"].ndim != 2:
        raise FileError(f"{path} lacks a part of a softset {kind}, or has one too many: save it again")
    try:
        arrays = {name: as_rows(tensor)[0].astype(np.float64) for name, tensor in tensors.items()}
    except InputError as error:
        raise FileError(f"{path} holds numbers that are no softset {kind}: {error}") from error
    Q = arrays["directions"]
    if np.abs(Q @ Q.T - np.eye(len(Q))).max(initial=0.0) > 1e-6:
        raise FileError(f"{path} holds directions that are not orthonormal: it was changed since it was saved")
    return arrays, np.dtype(dtype), facts
