"""The tensors of a safetensors file and the array of a .npy file, mapped into memory and read only where they are used.

The header of a safetensors file is read here, not by its library: that one gives numpy no bfloat16, and no rows out of
order without the whole tensor.
"""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softset.errors import FileError

__all__ = ["Tensor", "map_tensors", "mapped"]

MAX_HEADER_BYTES = 100_000_000  # the library's own limit
TYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
    "I64": "<i8", "F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip


class Tensor(NamedTuple):
    """Numbers mapped from a file, and what the file calls their type."""

    type: str
    values: np.ndarray

    def take(self, which: Any) -> np.ndarray:
        """Return the rows of a slice or of indices, as numbers that numpy knows."""
        taken = np.asarray(self.values[which])
        if self.type == "BF16":  # the upper half of a float32
            return (taken.astype(np.uint32) << 16).view(np.float32)
        return taken


def map_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file by name."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
            raise _broken(path, "its header is cut off")
        header = file.read(length)
    try:
        entries = {name: _entry(value) for name, value in json.loads(header).items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _broken(path, "its header cannot be read") from error
    start = 8 + length
    if max((end for *_, end in entries.values()), default=0) != size - start:
        raise _broken(path, f"it has {size - start:,} bytes of numbers, and its header promises others")
    return {
        name: Tensor(kind, mapped(path, TYPES[kind], start + begin, shape))
        for name, (kind, shape, begin, _) in entries.items()
        if kind in TYPES
    }


def mapped(path: Path, dtype: Any, offset: int, shape: tuple[int, ...], order: Any = "C") -> np.ndarray:
    """Return the numbers that lie at an offset of a file, to be read when they are used."""
    if not math.prod(shape):
        return np.zeros(shape, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape, order=order)


def _entry(value: dict[str, Any]) -> tuple[str, tuple[int, ...], int, int]:
    """Return type, shape, begin and end of one tensor, if they fit each other."""
    kind, shape = value["dtype"], tuple(value["shape"])
    begin, end = value["data_offsets"]
    if not all(type(number) is int and number >= 0 for number in (*shape, begin, end)) or begin > end:
        raise ValueError("sizes must be whole numbers")
    if kind in TYPES and math.prod(shape) * np.dtype(TYPES[kind]).itemsize != end - begin:
        raise ValueError("the shape does not fit the bytes")
    return kind, shape, begin, end


def _broken(path: Path, why: str) -> FileError:
    return FileError(f"{path} is not a whole safetensors file: {why}; save it again")
