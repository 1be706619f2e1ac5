"""Scores written to a file as they are made: an interrupted run keeps its finished rows, and can go on from there.

Rows go to FILE.partial, block by block, each on the disk before the next begins. What made them (signature, and
checksums of the inputs) stands beside in FILE.partial.json. The whole is renamed to FILE at the end.
"""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from softset.errors import FileError, InputError
from softset.files import read_json, sync, write_atomically

__all__ = ["ScoreFile"]

KIND = "ScoresUnderWay"


class ScoreFile:
    """A file of lines that grows in blocks and appears under its name when it is whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ScoreFile(f"{folder}/scores.tsv", {"signature": "a"})
    ...     rows = file.begin(resume=False)
    ...     file.append(["1", "2"])
    ...     again = ScoreFile(f"{folder}/scores.tsv", {"signature": "a"})
    ...     again.begin(resume=True), list(again.lines())
    (2, ['1', '2'])
    """

    def __init__(self, path: str | os.PathLike[str], made_by: dict[str, str]) -> None:
        self.path, self.made_by = Path(path).absolute(), {"softset": KIND, **made_by}
        if self.path.is_dir():
            raise InputError(f"{path} is a folder, but a file for the scores was wanted")
        self.partial = self.path.with_name(self.path.name + ".partial")
        self.facts = self.path.with_name(self.path.name + ".partial.json")

    def begin(self, *, resume: bool) -> int:
        """Make ready to append, and return how many rows there are already."""
        if not self.partial.exists():
            write_atomically(self.facts, (json.dumps(self.made_by) + "\n").encode())
            self.partial.touch()
            return 0
        if not resume:
            raise InputError(
                f"{self.partial} holds the rows of a run that was interrupted: go on with --resume, or remove it"
            )
        self._must_be_ours()
        self._cut_half_a_row()
        with self.partial.open("rb") as file:
            return sum(1 for _ in file)

    def _must_be_ours(self) -> None:
        """Refuse to go on with other texts or another metric: the rows would not belong together."""
        if not self.facts.exists():
            raise FileError(f"{self.facts} is missing, so what made {self.partial} is not known: remove it, start anew")
        before = read_json(self.facts, KIND)
        for name, value in self.made_by.items():
            if before.get(name) != value:
                raise InputError(
                    f"{self.partial} was begun with another {name}, {str(before.get(name))[:200]}: give the same as "
                    "then, or remove it and start anew"
                )

    def _cut_half_a_row(self) -> None:
        """Cut what a crash left of a row that was not finished."""
        with self.partial.open("rb+") as file:
            size = file.seek(0, os.SEEK_END)
            while size:
                step = min(size, 65_536)
                file.seek(size - step)
                end = file.read(step).rfind(b"\n")
                if end >= 0:
                    size += end + 1 - step
                    break
                size -= step
            file.truncate(size)

    def append(self, lines: Iterable[str]) -> None:
        """Add finished rows; they are on the disk when this returns."""
        with self.partial.open("ab") as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
            file.flush()
            os.fsync(file.fileno())

    def lines(self) -> Iterator[str]:
        """Yield the rows that are finished."""
        with self.partial.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line.removesuffix("\n")

    def finish(self) -> None:
        """Give the whole its name."""
        self.partial.replace(self.path)
        self.facts.unlink(missing_ok=True)
        sync(self.path.resolve().parent)
