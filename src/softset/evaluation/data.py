"""Evaluation data in a folder that the user names: read strictly, with the file and line of what is wrong."""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from softset.errors import FileError, InputError

__all__ = ["Data", "numbers"]

VARIABLE = "SOFTSET_DATA"


class Data:
    """A folder of evaluation data; remembers the checksum of every file that was read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pairs.tsv")
    ...     _ = path.write_text("score\\ttext\\n4.5\\tA red book.\\n")
    ...     data = Data(folder)
    ...     data.table("pairs.tsv", ["score", "text"], [float, str]), sorted(data.checksums)
    ([(4.5, 'A red book.')], ['pairs.tsv'])
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        named = folder if folder is not None else os.environ.get(VARIABLE)
        if not named:
            raise InputError(f"the folder of evaluation data is not named: give --data DIR, or set {VARIABLE}")
        self.folder = Path(named)
        if not self.folder.is_dir():
            raise InputError(f"{self.folder} is no folder: --data names the folder that holds sts, lda-1k and wmt18")
        self.checksums: dict[str, str] = {}

    def lines(self, name: str) -> list[str]:
        """Return the lines of a UTF-8 file, by its path in the folder; only a line feed ends a line."""
        path = self.folder / name
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise FileError(f"{path} is missing: --data names the folder that holds sts, lda-1k and wmt18") from None
        self.checksums[name] = hashlib.sha256(content).hexdigest()
        try:
            lines = content.decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise FileError(f"{path} is not UTF-8 in line {line} ({error.reason})") from None
        return lines[:-1] if lines[-1] == "" else lines

    def table(self, name: str, header: Sequence[str], kinds: Sequence[Callable[[str], Any]]) -> list[tuple[Any, ...]]:
        """Return the rows of a tab-separated file with this header, each cell read by its kind."""
        path, lines = self.folder / name, self.lines(name)
        found = lines[0].rstrip("\r").split("\t") if lines else []
        if found != list(header):
            raise FileError(
                f"{path} begins with the columns {', '.join(found)[:200]}, but {', '.join(header)} were wanted"
            )
        rows = []
        for at, line in enumerate(lines[1:], 2):
            cells = line.rstrip("\r").split("\t")
            if len(cells) != len(header):
                raise FileError(f"{path} has {len(cells)} columns in line {at}, but {len(header)} were wanted")
            rows.append(tuple(_read(kind, cell, path, at) for kind, cell in zip(kinds, cells, strict=True)))
        if not rows:
            raise FileError(f"{path} has a header and no rows")
        return rows

    def folders(self, name: str) -> list[str]:
        """Return the names of the folders inside one, sorted."""
        path = self.folder / name
        if not path.is_dir():
            raise FileError(f"{path} is missing: --data names the folder that holds sts, lda-1k and wmt18")
        return sorted(one.name for one in path.iterdir() if one.is_dir())


def _read(kind: Callable[[str], Any], cell: str, path: Path, line: int) -> Any:
    try:
        return kind(cell)
    except ValueError:
        raise FileError(f"{path} has {cell[:60]!r} in line {line}, where a number was wanted") from None


def numbers(cell: str) -> float:
    """Read a number that is finite.

    >>> numbers("4.5")
    4.5
    """
    value = float(cell)
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(cell)
    return value
