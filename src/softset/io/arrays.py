"""Arrays in .npy and .safetensors files. No pickle is ever loaded."""

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from softset.errors import FileError
from softset.io.atomic import write_atomically
from softset.io.text import first_line

# Whatever NumPy raises on a header that is cut, garbled or made up.
HEADER_ERRORS = (ValueError, EOFError, TypeError, OverflowError, SyntaxError, RecursionError, TokenError)


def read_array(path: str | os.PathLike[str], *, mapped: bool = True) -> np.ndarray:
    """Return the array of an .npy file, memory-mapped or read; damaged files and pickles raise FileError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers written by Python 2 are valid
            array: np.ndarray = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except HEADER_ERRORS as error:
        if "pickle" in str(error) or "Python objects" in str(error):  # NumPy's message explains how to unpickle it
            raise FileError(f"{path} holds no plain array of numbers or text; save it again") from error
        raise FileError(f"{path} is not a complete NumPy file ({first_line(error)[:200]}); save it again") from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufSU":
        raise FileError(f"{path} holds no plain array of numbers or text; save it again")
    return array


def write_tensors(
    path: str | os.PathLike[str], kind: str, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]
) -> None:
    """Write named arrays and metadata as a safetensors file marked with its `kind`."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    write_atomically(path, save(contiguous, metadata={"softset": kind, **metadata}))


def read_tensors(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the arrays and metadata that `write_tensors` wrote; damaged files and other kinds raise FileError."""
    with _opened(path, kind) as (file, metadata):
        return {name: file.get_tensor(name) for name in file.keys()}, metadata  # noqa: SIM118 (no mapping)


def tensor_metadata(path: str | os.PathLike[str], kind: str) -> dict[str, str]:
    """Return only the metadata that `write_tensors` wrote."""
    with _opened(path, kind) as (_, metadata):
        return metadata


@contextmanager
def _opened(path: str | os.PathLike[str], kind: str) -> Iterator[tuple[Any, dict[str, str]]]:
    """Open a safetensors file of one kind and read its metadata."""
    with Path(path).open("rb"):
        pass  # the system's error for a missing file names the file; that of safetensors does not
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = dict(file.metadata() or {})
            stored_kind = metadata.pop("softset", None)
            if stored_kind != kind:
                content = f"a softset {stored_kind}" if stored_kind else "a safetensors file that softset did not write"
                raise FileError(f"{path} holds {content}, but a softset {kind} was expected")
            yield file, metadata
    except (SafetensorError, OSError, TypeError, AttributeError) as error:  # the last two: types that NumPy lacks
        raise FileError(f"{path} is not a complete safetensors file ({error}); save it again") from error
