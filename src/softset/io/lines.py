"""Lines of UTF-8 files. Only a line feed ends a line: other line separators of Unicode may be part of a text."""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from softset.errors import FileError
from softset.io.compressed import open_binary, open_content

MAX_LINE_BYTES = 64 * 2**20


def decode_lines(file: BinaryIO, name: str) -> Iterator[str]:
    """Yield the lines of a file with their line feeds, without a byte order mark; a bad line raises FileError."""
    for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), 1):
        if len(line) > MAX_LINE_BYTES:
            limit = f"more than {MAX_LINE_BYTES // 2**20} MB"
            raise FileError(f"{name}, line {number}: the line has {limit}; split it into shorter texts")
        try:
            text = line.decode().removeprefix("\ufeff" if number == 1 else "")
        except UnicodeDecodeError as error:
            place = f"line {number} (byte {error.start}: {error.reason})"
            raise FileError(f"{name} is not UTF-8 in {place}: convert it, for example with iconv") from None
        if text:
            yield text


class TextFile:
    """A UTF-8 file with one text per line, read line by line as often as needed; "-" is standard input.

    A file in gzip format is decompressed.

    Attributes:
        name: The name of the file for messages.
        checksum: SHA-256 of its content.
    """

    def __init__(self, path: str) -> None:
        self.name = "standard input" if path == "-" else path
        self._path = Path(path)
        # Standard input and pipes can be read only once, so their content is stored.
        pipe = self._path.exists() and not self._path.is_file() and not self._path.is_dir()
        self._content = sys.stdin.buffer.read() if path == "-" else self._path.read_bytes() if pipe else None
        self._count, digest = 0, hashlib.sha256()
        for line in self._lines():
            self._count += 1
            digest.update(line.encode())
        self.checksum = digest.hexdigest()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return (line.removesuffix("\n").removesuffix("\r") for line in self._lines())

    def _lines(self) -> Iterator[str]:
        with open_binary(self._path) if self._content is None else open_content(self._content, self.name) as file:
            yield from decode_lines(file, self.name)
