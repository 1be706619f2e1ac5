"""Arrays in .npy and .safetensors files. No pickle is ever loaded."""

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from softset.errors import FileError
from softset.io.atomic import write_atomically
from softset.io.text import first_line

TENSOR_TYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
    "I64": "<i8", "F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
# The errors that NumPy raises for truncated or invalid headers.
HEADER_ERRORS = (ValueError, EOFError, TypeError, OverflowError, SyntaxError, RecursionError, TokenError)


def read_array(path: str | os.PathLike[str], *, mapped: bool = True) -> np.ndarray:
    """Return the array of an .npy file, memory-mapped or read; damaged files and pickles raise FileError.

    A file is always mapped first, because mapping checks that the file is as large as its header says.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers written by Python 2 are valid
            array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    except HEADER_ERRORS as error:
        if "pickle" in str(error) or "Python objects" in str(error):  # NumPy's message explains how to unpickle it
            raise FileError(f"{path} is not an array of numbers or text: save it again") from error
        raise FileError(f"{path} is not a complete NumPy file ({first_line(error)[:200]}): save it again") from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufSU":
        raise FileError(f"{path} is not an array of numbers or text: save it again")
    return array if mapped else np.array(array)


def write_tensors(
    path: str | os.PathLike[str], kind: str, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]
) -> None:
    """Write named arrays and metadata as a safetensors file marked with its `kind`."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    write_atomically(path, save(contiguous, metadata={"softset": kind, **metadata}))


class Tensor(NamedTuple):
    """A memory-mapped array and the name of its type in the file."""

    type: str
    values: np.ndarray

    def take(self, selection: Any) -> np.ndarray:
        """Return selected rows; bfloat16, which NumPy does not have, is converted to float32."""
        rows = np.asarray(self.values[selection])
        if self.type == "BF16":  # the upper 16 bits of a float32
            return (rows.astype(np.uint32) << 16).view(np.float32)
        return rows


def read_tensors(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the arrays and metadata that `write_tensors` wrote; damaged files and other kinds raise FileError."""
    tensors, metadata = map_tensors(path, kind)
    return {name: np.array(tensor.take(...)) for name, tensor in tensors.items()}, metadata


def map_tensors(path: str | os.PathLike[str], kind: str | None = None) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the memory-mapped tensors of a safetensors file by name, and its metadata.

    The safetensors library checks the sizes, but it cannot map a tensor. With a `kind`, the file must be
    one that `write_tensors` wrote; without it, tensors of types that NumPy does not have are left out.
    """
    with Path(path).open("rb"):
        pass  # the system's error for a missing file names the file; that of safetensors does not
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = dict(file.metadata() or {})
        content = np.memmap(path, dtype=np.uint8, mode="r")
        start = 8 + int.from_bytes(content[:8].tobytes(), "little")
        tensors = {}
        for name, entry in json.loads(content[8:start].tobytes()).items():
            if name != "__metadata__" and (kind or entry["dtype"] in TENSOR_TYPES):
                values = content[start:][slice(*entry["data_offsets"])].view(TENSOR_TYPES[entry["dtype"]])
                tensors[name] = Tensor(entry["dtype"], values.reshape(entry["shape"]))
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:  # also a file that is being replaced
        raise FileError(f"{path} is not a complete safetensors file ({error}): save it again") from error
    stored_kind = metadata.pop("softset", None) if kind else None
    if stored_kind != kind:
        content_name = f"a softset {stored_kind}" if stored_kind else "a safetensors file that softset did not write"
        raise FileError(f"{path} holds {content_name}, but a softset {kind} was expected")
    return tensors, metadata
