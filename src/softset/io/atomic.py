"""Atomic writes and locks: a file or folder is complete or absent, even after a crash."""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: str | os.PathLike[str], content: bytes | Iterable[bytes]) -> None:
    """Write a file (bytes, or blocks of bytes) so that readers see the old or the new content, even after a crash."""
    target = Path(path).resolve()  # a symbolic link is kept; the file it points to is replaced
    temporary = _temporary_path(target, path)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    flags, first_mode = os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600  # less the umask
    with renamed(temporary, target), os.fdopen(os.open(temporary, flags, first_mode), "wb") as stream:
        if mode is not None:
            temporary.chmod(mode)
        stream.writelines([content] if isinstance(content, bytes) else content)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder to fill and rename it to `path` at the end; on an error it is deleted."""
    target = Path(path)
    if target.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    temporary = _temporary_path(target, path)
    temporary.mkdir()
    with renamed(temporary, target):
        yield temporary


@contextmanager
def renamed(temporary: Path, target: Path) -> Iterator[None]:
    """Rename a temporary file or folder at the end of a block, and flush the rename; on an error delete it."""
    try:
        yield
        temporary.replace(target)
        sync(target.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True) if temporary.is_dir() else temporary.unlink(missing_ok=True)
        raise


def _temporary_path(target: Path, path: str | os.PathLike[str]) -> Path:
    """Return a hidden, unused path in the folder of the target, so that a rename stays on one file system."""
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}")


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of a file; other processes wait for it. Without fcntl (Windows) nothing is locked."""
    with Path(path).open("a") as file:
        with suppress(ImportError):
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield  # closing the file releases the lock


def open_locked(path: str | os.PathLike[str]) -> BinaryIO | None:
    """Open a file for appending and lock it until it is closed; return None if another process has it locked."""
    while True:
        file = Path(path).open("ab")  # noqa: SIM115 (the caller closes it)
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
        file.close()  # the process that had the lock has renamed the file: open the new one
