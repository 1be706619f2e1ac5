"""Files with one text a line, kept line for line: an empty line is an empty text."""

import codecs
import hashlib
import sys
from collections.abc import Iterator
from io import BytesIO
from itertools import chain
from pathlib import Path

from softset.errors import FileError

__all__ = ["TextFile", "read_lines"]

MARK = codecs.BOM_UTF8


def read_lines(path: str) -> list[str]:
    """Return the lines of a UTF-8 file, or of standard input for "-"; only a line feed ends a line.

    Other separators of Unicode may be inside a text, and would shift all texts after them.
    """
    return list(TextFile(path))


class TextFile:
    """A UTF-8 file that is read line by line, as often as wanted, and never held as a whole; "-" is standard input.

    Attributes:
        name: what messages call it.
        checksum: SHA-256 of its bytes.
    """

    def __init__(self, path: str) -> None:
        self.name = "standard input" if path == "-" else path
        self._path = Path(path)
        # Standard input and pipes come once, so what they bring is kept.
        piped = self._path.exists() and not self._path.is_file() and not self._path.is_dir()
        self._content = sys.stdin.buffer.read() if path == "-" else self._path.read_bytes() if piped else None
        self._count, self.checksum = self._checked()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        for line in self._lines():
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode()

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines as bytes, without the mark that some editors put before the first."""
        with self._path.open("rb") if self._content is None else BytesIO(self._content) as file:
            first = next(file, b"").removeprefix(MARK)
            yield from chain([first] if first else [], file)

    def _checked(self) -> tuple[int, str]:
        """Return how many lines there are, and the checksum; bytes that are no UTF-8 are refused with their line."""
        count, checksum = 0, hashlib.sha256()
        for count, line in enumerate(self._lines(), 1):
            checksum.update(line)
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise FileError(
                    f"{self.name} is not UTF-8 in line {count} ({error.reason}): convert it, for example with iconv"
                ) from None
        return count, checksum.hexdigest()
