"""Strict reader of a folder of evaluation data; errors name the file and the line."""

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from softset.errors import FileError, InputError
from softset.io.lines import TextFile

VARIABLE = "SOFTSET_DATA"
HINT = "--data must name the folder that contains sts, lda-1k and wmt18"


class DataFolder:
    """A folder of evaluation data; it records the SHA-256 of every file that was read."""

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
        try:
            file = TextFile(str(self.path / name))
        except FileNotFoundError:
            raise FileError(f"{self.path / name} is missing: {HINT}") from None
        self.checksums[name] = file.checksum
        return list(file)

    def json_lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the objects of a file of JSON lines, which may be compressed with gzip."""
        for number, line in enumerate(self.lines(name), 1):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise FileError(f"{self.path / name} has no JSON in line {number} ({error})") from error
            if not isinstance(row, dict):
                raise FileError(f"{self.path / name} needs an object in line {number}")
            yield row

    def table(
        self, name: str, header: Sequence[str] | None, parsers: Sequence[Callable[[str], Any]]
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a tab-separated file, each cell parsed by its column's parser.

        A file with a header has these columns exactly. Without a header (None), further columns are ignored.
        """
        path, lines = self.path / name, self.lines(name)
        columns = lines[0].split("\t") if lines else []
        if header is not None and columns != list(header):
            raise FileError(f"{path} starts with the columns {', '.join(columns)[:200]}, but needs {', '.join(header)}")
        first, rows = (1 if header else 0), []
        for number, line in enumerate(lines[first:], first + 1):
            cells = line.split("\t")
            if len(cells) < len(parsers) or (header and len(cells) > len(parsers)):
                raise FileError(f"{path} has {len(cells)} columns in line {number}, but needs {len(parsers)}")
            row = []
            for parse, cell in zip(parsers, cells, strict=False):
                try:
                    row.append(parse(cell))
                except ValueError:
                    raise FileError(f"{path} has {cell[:60]!r} in line {number} instead of a number") from None
            rows.append(tuple(row))
        if not rows:
            raise FileError(f"{path} has {'a header but ' if header else ''}no rows")
        return rows


def finite_number(cell: str) -> float:
    """Parse a finite number."""
    value = float(cell)
    if not math.isfinite(value):
        raise ValueError(cell)
    return value
