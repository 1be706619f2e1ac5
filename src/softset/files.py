"""Files that are whole or absent: written beside and renamed, and checked when they are read."""

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from softset.errors import FileError

__all__ = ["read_tensors", "write_atomically", "write_tensors"]


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that a reader, or a crash, sees the old content or the new and nothing between."""
    target = Path(path)
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp makes private files; a saved file has the permissions that any new file would have.
        umask = os.umask(0)
        os.umask(umask)
        Path(beside).chmod(0o666 & ~umask)
        Path(beside).replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(beside).unlink()
        raise


def write_tensors(
    path: str | os.PathLike[str], kind: str, tensors: Mapping[str, np.ndarray], facts: Mapping[str, str]
) -> None:
    """Write named arrays and facts as one safetensors file that says what `kind` of thing it holds."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    write_atomically(path, save(contiguous, metadata={"softset": kind, **facts}))


def read_tensors(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Read what `write_tensors` wrote; a file of another kind, or a broken one, is refused in one sentence."""
    try:
        with safe_open(path, framework="numpy") as file:
            facts = dict(file.metadata() or {})
            found = facts.pop("softset", None)
            if found != kind:
                what = f"a softset {found}" if found else "a safetensors file that softset did not write"
                raise FileError(f"{path} holds {what}, but a softset {kind} was wanted")
            return {name: file.get_tensor(name) for name in file.keys()}, facts  # noqa: SIM118 (no mapping)
    except SafetensorError as error:
        raise FileError(f"{path} is not a whole safetensors file ({error}); save it again") from error
