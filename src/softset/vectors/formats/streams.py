"""Buffered reading of a plain file, a .gz file, or one file of a .zip archive, with limits on what is decompressed."""

import gzip
import io
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import IO, cast

from softset.errors import FileError
from softset.io.compressed import CHUNK_BYTES, GZIP_MAGIC, LimitedReader, archive_error

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
    name = os.fspath(path)
    with ExitStack() as resources:
        file = resources.enter_context(Path(path).open("rb"))
        magic = file.peek(4)[:4]
        content: IO[bytes] = file
        compressed_size: int | None = None
        if magic.startswith(GZIP_MAGIC):
            content = cast("IO[bytes]", resources.enter_context(gzip.GzipFile(fileobj=file)))
            compressed_size = os.fstat(file.fileno()).st_size
        elif magic in ZIP_MAGICS:
            try:
                archive = resources.enter_context(zipfile.ZipFile(file))
                info = _select_member(name, archive.infolist(), member)
                content = resources.enter_context(archive.open(info))
            except FileError:
                raise
            except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, ValueError, struct.error) as error:
                raise archive_error(name, error) from error
            compressed_size = info.compress_size
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
