"""Plain files, files that are compressed with gzip, and files of .zip archives, with limits on what is decompressed."""

import gzip
import io
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from softset.errors import FileError

CHUNK_BYTES = 1 << 20
MAX_CONTENT_BYTES = 64 << 30
MAX_RATIO = 100  # ratio of decoded to compressed bytes, above RATIO_FREE_BYTES; texts have 2 to 10
RATIO_FREE_BYTES = 1 << 28
GZIP_MAGIC = b"\x1f\x8b"
GZIP_SUFFIX = ".gz"


def open_binary(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a file for reading; a file in gzip format is decompressed, whatever its name."""
    file = Path(path).open("rb")  # noqa: SIM115 (the caller closes it)
    return _decompressed(file, os.fspath(path), os.fstat(file.fileno()).st_size)


def open_content(content: bytes, name: str) -> io.BufferedReader:
    """Open bytes that were read already, such as those of standard input; gzip is decompressed."""
    return _decompressed(io.BufferedReader(io.BytesIO(content)), name, len(content))


def _decompressed(file: io.BufferedReader, name: str, size: int) -> io.BufferedReader:
    """Return a file, or its decompressed content if it is in gzip format; closing the result closes the file."""
    with ExitStack() as resources:
        resources.enter_context(file)
        if file.peek(2).startswith(GZIP_MAGIC):
            content = cast("IO[bytes]", resources.enter_context(gzip.GzipFile(fileobj=file)))
            return FileStream(name, content, size, resources.pop_all())
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


MAX_LINE_BYTES = 2_000_000
ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
DOCUMENTATION_NAMES = {"changelog", "copying", "license", "notice", "readme"}
DOCUMENTATION_SUFFIXES = {".htm", ".html", ".md", ".pdf", ".rst"}


class FileStream(io.BufferedReader):
    """The content of a file. `compressed_size` is None for a plain file."""

    def __init__(self, name: str, content: IO[bytes], compressed_size: int | None, resources: ExitStack) -> None:
        super().__init__(LimitedReader(name, content, compressed_size, resources), CHUNK_BYTES)
        self.compressed_size = compressed_size

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the line numbers, from 1, and the lines without their line feed."""
        if self.peek(3)[:3] == b"\xef\xbb\xbf":  # the byte order mark that some editors write before UTF-8
            self.read(3)
        for number, whole in enumerate(iter(lambda: self.readline(MAX_LINE_BYTES + 2), b""), 1):
            line = whole.removesuffix(b"\n")
            if len(line) > MAX_LINE_BYTES:
                raise FileError(
                    f"{self.name}, line {number} is longer than {MAX_LINE_BYTES:,} bytes: is this a text file?"
                )
            yield number, line


def open_stream(path: str | os.PathLike[str], member: str | None = None) -> FileStream:
    """Open a file; for a .zip archive, open its only file of vectors, or the given member."""
    name, file = os.fspath(path), open_binary(path)
    if isinstance(file, FileStream):  # in gzip format
        return file
    with ExitStack() as resources:
        content: IO[bytes] = resources.enter_context(file)
        compressed_size: int | None = None
        if file.peek(4)[:4] in ZIP_MAGICS:
            try:
                archive = resources.enter_context(zipfile.ZipFile(file))
                info = _select_member(name, archive.infolist(), member)
                content, compressed_size = resources.enter_context(archive.open(info)), info.compress_size
            except FileError:
                raise
            except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, ValueError, struct.error) as error:
                raise archive_error(name, error) from error
        return FileStream(name, content, compressed_size, resources.pop_all())


def _select_member(name: str, files: list[zipfile.ZipInfo], member: str | None) -> zipfile.ZipInfo:
    candidates = [info for info in files if not info.filename.endswith("/") and not _is_documentation(info.filename)]
    selected = [info for info in candidates if member in (None, info.filename, PurePosixPath(info.filename).name)]
    if len(selected) == 1:
        info = selected[0]
        # The size of what one read of a bz2 or lzma member returns cannot be limited.
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FileError(f"{name} holds an encrypted file, or one not compressed by deflate: extract it first")
        return info
    names = ", ".join(repr(info.filename[:100]) for info in candidates[:5]) or "none"
    expected = f"exactly one file named {member!r}" if member else "exactly one file of vectors"
    content = f"{len(candidates)} files ({names}{', ...' if len(candidates) > 5 else ''})"
    raise FileError(f"{name} holds {content}, but {expected} was expected: choose one with member (--member)")


def _is_documentation(name: str) -> bool:
    path = PurePosixPath(name)
    hidden = path.name.startswith(".") or "__MACOSX" in path.parts
    return hidden or path.stem.lower() in DOCUMENTATION_NAMES or path.suffix.lower() in DOCUMENTATION_SUFFIXES
