"""Files that may be compressed with gzip, read with a limit on the bytes that are decompressed."""

import gzip
import io
import os
import zipfile
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from softset.errors import FileError

CHUNK_BYTES = 1 << 20
MAX_CONTENT_BYTES = 64 << 30
MAX_RATIO = 100  # ratio of decoded to compressed bytes, above RATIO_FREE_BYTES; texts have 2 to 10
RATIO_FREE_BYTES = 1 << 28
GZIP_MAGIC = b"\x1f\x8b"
GZIP_SUFFIX = ".gz"


def open_binary(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading; a file in gzip format is decompressed, whatever its name."""
    file = Path(path).open("rb")  # noqa: SIM115 (the caller closes it)
    return _decompressed(file, os.fspath(path), os.fstat(file.fileno()).st_size)


def open_content(content: bytes, name: str) -> BinaryIO:
    """Open bytes that were read already, such as those of standard input; gzip is decompressed."""
    return _decompressed(io.BufferedReader(io.BytesIO(content)), name, len(content))


def _decompressed(file: io.BufferedReader, name: str, size: int) -> BinaryIO:
    """Return a file, or its decompressed content if it is in gzip format; closing the result closes the file."""
    with ExitStack() as resources:
        resources.enter_context(file)
        if file.peek(2).startswith(GZIP_MAGIC):
            content = cast("IO[bytes]", resources.enter_context(gzip.GzipFile(fileobj=file)))
            return io.BufferedReader(LimitedReader(name, content, size, resources.pop_all()), CHUNK_BYTES)
        resources.pop_all()
        return file


def data_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix that tells the format of a file, in lower case and without ".gz".

    >>> data_suffix("pairs.CSV.gz"), data_suffix("pairs.tsv"), data_suffix("pairs")
    ('.csv', '.tsv', '')
    """
    name = Path(path)
    return (Path(name.stem) if name.suffix.lower() == GZIP_SUFFIX else name).suffix.lower()


class LimitedReader(io.RawIOBase):
    """The decompressed bytes of a file; raises FileError for damaged archives and decompression bombs.

    Args:
        name: the name of the file for messages.
        content: the decompressed content.
        compressed_size: the bytes of the file; None for a file that is not compressed, which has no limit.
        resources: what is closed with the reader.
    """

    def __init__(self, name: str, content: IO[bytes], compressed_size: int | None, resources: ExitStack) -> None:
        self.name = name
        self._content = content
        self._compressed_size = compressed_size
        self._resources = resources
        self._size = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read at most as many bytes as the buffer holds, and return their number."""
        try:
            data = self._content.read(len(buffer))
        except (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as error:
            raise archive_error(self.name, error) from error
        buffer[: len(data)] = data
        self._size += len(data)
        if self._compressed_size is not None:
            check_decoded_size(self.name, self._compressed_size, self._size)
        return len(data)

    def close(self) -> None:
        """Close the file."""
        self._resources.close()
        super().close()


def check_decoded_size(name: str, size: int, decoded: int) -> None:
    """Raise FileError if a file of `size` bytes expands to more decoded bytes than texts and vectors do."""
    if decoded > MAX_CONTENT_BYTES or decoded > max(RATIO_FREE_BYTES, MAX_RATIO * size):
        raise FileError(
            f"{name} has {size:,} bytes but expands to {decoded:,} or more, which no file of texts or vectors does: "
            "if you trust it, extract it first"
        )


def archive_error(name: str, error: Exception) -> FileError:
    """Return the error of a damaged archive, as one sentence."""
    reason = str(error)[:100].rstrip(".") or "it ends too early"
    return FileError(f"{name} is a truncated or damaged archive ({reason}): download it again")
