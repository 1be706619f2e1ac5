"""Bytes read forward only, counted against the limits; whatever breaks on the way is a FileError."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Protocol

from softset.errors import FileError
from softset.vectors.formats import source as limits

__all__ = ["CHUNK_BYTES", "Readable", "Stream", "broken_archive"]

CHUNK_BYTES = 1 << 20


def broken_archive(name: str, error: Exception) -> FileError:
    """Return the sentence for an archive that cannot be read to its end."""
    why = str(error)[:100].rstrip(".") or "it ends too early"
    return FileError(f"{name} is a truncated or broken archive ({why}); fetch it again")


class Readable(Protocol):
    """Anything that gives up to `size` bytes, and none only at its end."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes."""


class Stream:
    """The bytes of a file, or of the one file inside an archive of `packed` bytes."""

    def __init__(self, name: str, inner: Readable, *, packed: int | None, resources: ExitStack) -> None:
        self.name = name
        self.packed = packed
        self.position = 0
        self._inner = inner
        self._resources = resources
        self._ahead = b""
        self._taken = 0

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, and none only at the end."""
        data = self._ahead[:size] or self._more(size)
        self._ahead = self._ahead[size:]
        self.position += len(data)
        return data

    def peek(self, size: int) -> bytes:
        """Return the next `size` bytes, fewer only at the end, and leave them to be read."""
        while len(self._ahead) < size and (more := self._more(size - len(self._ahead))):
            self._ahead += more
        return self._ahead[:size]

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield lines with their numbers, from 1, and without their ends."""
        number, rest = 1, b""
        if self.peek(3) == b"\xef\xbb\xbf":  # some editors put a byte order mark before UTF-8
            self.read(3)
        while chunk := self.read(CHUNK_BYTES):
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                self._check_line(number, line)
                yield number, line
                number += 1
            self._check_line(number, rest)
        if rest:
            yield number, rest

    def close(self) -> None:
        """Close the file and whatever was opened on top of it."""
        self._resources.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()  # a source that nobody reads never enters its generator, and so never leaves it

    def _more(self, size: int) -> bytes:
        try:
            data = self._inner.read(size)
        except (EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise broken_archive(self.name, error) from error
        except OSError as error:
            if error.errno is not None:  # the disk's fault, not the file's
                raise
            raise broken_archive(self.name, error) from error
        self._taken += len(data)
        self._check_size()
        return data

    def _check_size(self) -> None:
        if self.packed is None:
            return
        suspect = self._taken > limits.RATIO_FREE_BYTES and self._taken > limits.MAX_RATIO * self.packed
        if suspect or self._taken > limits.MAX_CONTENT_BYTES:
            raise FileError(
                f"{self.name} has {self.packed:,} bytes and unpacks to more than {self._taken - 1:,}, as no file of "
                "vectors does; if you trust it, unpack it yourself"
            )

    def _check_line(self, number: int, line: bytes) -> None:
        if len(line) > limits.MAX_LINE_BYTES:
            raise FileError(
                f"{self.name}, line {number} is longer than {limits.MAX_LINE_BYTES:,} bytes; is this a text file?"
            )
