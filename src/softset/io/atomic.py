"""Files that are whole or absent: written beside and renamed, and checked when they are read."""

import errno
import json
import os
import secrets
import shutil
import stat
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from softset.errors import FileError

__all__ = [
    "claim",
    "locked",
    "new_folder",
    "read_array",
    "read_json",
    "read_tensors",
    "sync",
    "tensor_facts",
    "write_atomically",
    "write_tensors",
]


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that a reader, or a crash, sees the old content or the new and nothing between."""
    target = Path(path).resolve()  # a link stays a link
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666  # the system takes its umask from it
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(target)
        sync(target.parent)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """See that a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Let a folder be filled beside its place and moved there when it is whole; on an error nothing is left."""
    target = Path(path)
    if target.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    beside.mkdir()
    try:
        yield beside
        beside.rename(target)
        sync(target.parent)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let one process at a time through; others wait. Where the system has no such locks, all pass."""
    with Path(path).open("a") as file:
        try:
            import fcntl
        except ImportError:  # not a Unix
            yield
            return
        fcntl.flock(file, fcntl.LOCK_EX)
        yield  # closing the file unlocks it


def claim(path: str | os.PathLike[str]) -> BinaryIO | None:
    """Open a file to append to, for one process alone until it is closed; None if another has it."""
    while True:
        file = Path(path).open("ab")  # noqa: SIM115 (who claims it closes it)
        try:
            import fcntl
        except ImportError:  # not a Unix
            return file
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), Path(path).stat()):
                return file
        file.close()  # who had it before has renamed it meanwhile


def read_json(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """Return the JSON object of a file that says what `kind` of thing it holds."""
    try:
        facts = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is no whole JSON file ({error}): save it again") from None
    if not isinstance(facts, dict) or facts.get("softset") != kind:
        raise FileError(f"{path} holds no softset {kind}")
    return facts


def read_array(path: str | os.PathLike[str], *, mapped: bool = True) -> np.ndarray:
    """Return the array of an .npy file, mapped or read; no pickle is loaded, and a broken file is refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers in the way of Python 2, which are read all the same
            array: np.ndarray = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (ValueError, EOFError, TypeError, OverflowError, SyntaxError, RecursionError, TokenError) as error:
        if "pickle" in str(error) or "Python objects" in str(error):  # NumPy would tell how to load it all the same
            raise FileError(f"{path} holds no plain array of numbers or text; save it again") from error
        told = str(error).split("\n")[0][:200]
        raise FileError(f"{path} is not a whole NumPy file ({told}); save it again") from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufSU":
        raise FileError(f"{path} holds no plain array of numbers or text; save it again")
    return array


def write_tensors(
    path: str | os.PathLike[str], kind: str, tensors: Mapping[str, np.ndarray], facts: Mapping[str, str]
) -> None:
    """Write named arrays and facts as one safetensors file that says what `kind` of thing it holds."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    write_atomically(path, save(contiguous, metadata={"softset": kind, **facts}))


def read_tensors(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Read what `write_tensors` wrote; a file of another kind, or a broken one, is refused in one sentence."""
    with _opened(path, kind) as (file, facts):
        return {name: file.get_tensor(name) for name in file.keys()}, facts  # noqa: SIM118 (no mapping)


def tensor_facts(path: str | os.PathLike[str], kind: str) -> dict[str, str]:
    """Return the facts that `write_tensors` wrote, after checking the kind and that the file is whole."""
    with _opened(path, kind) as (_, facts):
        return facts


@contextmanager
def _opened(path: str | os.PathLike[str], kind: str) -> Iterator[tuple[Any, dict[str, str]]]:
    """Open a safetensors file of one kind, with the facts in its header."""
    with Path(path).open("rb"):
        pass  # what the system says of a missing or closed file names it; what the reader below says does not
    try:
        with safe_open(path, framework="numpy") as file:
            facts = dict(file.metadata() or {})
            found = facts.pop("softset", None)
            if found != kind:
                what = f"a softset {found}" if found else "a safetensors file that softset did not write"
                raise FileError(f"{path} holds {what}, but a softset {kind} was wanted")
            yield file, facts
    except (SafetensorError, OSError, TypeError, AttributeError) as error:  # the last two: types that NumPy lacks
        raise FileError(f"{path} is not a whole safetensors file ({error}); save it again") from error
