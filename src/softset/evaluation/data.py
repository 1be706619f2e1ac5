"""Strict reader of a folder of evaluation data; errors name the file and the line."""

import hashlib
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from softset.errors import FileError, InputError

VARIABLE = "SOFTSET_DATA"
HINT = "--data must name the folder that contains sts, lda-1k and wmt18"


class DataFolder:
    """A folder of evaluation data; it records the SHA-256 of every file that was read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pairs.tsv")
    ...     _ = path.write_text("score\\ttext\\n4.5\\tA red book.\\n")
    ...     data = DataFolder(folder)
    ...     data.table("pairs.tsv", ["score", "text"], [float, str]), sorted(data.checksums)
    ([(4.5, 'A red book.')], ['pairs.tsv'])
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        name = folder if folder is not None else os.environ.get(VARIABLE)
        if not name:
            raise InputError(f"the folder of evaluation data is unknown: give --data DIR, or set {VARIABLE}")
        self.path = Path(name)
        if not self.path.is_dir():
            raise InputError(f"{self.path} is not a folder: {HINT}")
        self.checksums: dict[str, str] = {}

    def lines(self, name: str) -> list[str]:
        """Return the lines of a UTF-8 file; only a line feed ends a line."""
        path = self.path / name
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise FileError(f"{path} is missing: {HINT}") from None
        self.checksums[name] = hashlib.sha256(content).hexdigest()
        try:
            lines = content.decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise FileError(f"{path} is not UTF-8 in line {line} ({error.reason})") from None
        return lines[:-1] if lines[-1] == "" else lines

    def table(self, name: str, header: Sequence[str], parsers: Sequence[Callable[[str], Any]]) -> list[tuple[Any, ...]]:
        """Return the rows of a tab-separated file with this header, each cell parsed by its column's parser."""
        path, lines = self.path / name, self.lines(name)
        columns = lines[0].rstrip("\r").split("\t") if lines else []
        if columns != list(header):
            raise FileError(f"{path} starts with the columns {', '.join(columns)[:200]}, but needs {', '.join(header)}")
        rows = []
        for number, line in enumerate(lines[1:], 2):
            cells = line.rstrip("\r").split("\t")
            if len(cells) != len(header):
                raise FileError(f"{path} has {len(cells)} columns in line {number}, but needs {len(header)}")
            row = []
            for parse, cell in zip(parsers, cells, strict=True):
                try:
                    row.append(parse(cell))
                except ValueError:
                    raise FileError(f"{path} has {cell[:60]!r} in line {number} instead of a number") from None
            rows.append(tuple(row))
        if not rows:
            raise FileError(f"{path} has a header but no rows")
        return rows


def finite_number(cell: str) -> float:
    """Parse a finite number.

    >>> finite_number("4.5")
    4.5
    """
    value = float(cell)
    if not math.isfinite(value):
        raise ValueError(cell)
    return value
