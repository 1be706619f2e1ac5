"""Scores written to a file as they are made: an interrupted run keeps its finished rows, and can go on from there.

Rows go to FILE.partial, block by block. What made them (signature, and checksums of the inputs), how many bytes and
rows are finished, and what was counted on the way stand beside in FILE.partial.json, which is renewed after each block:
what a crash left behind it in FILE.partial is cut. The whole is renamed to FILE at the end.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self

from softset.errors import FileError, InputError
from softset.io.atomic import open_locked, sync, write_atomically
from softset.io.json_files import read_json

__all__ = ["ScoreFile"]

KIND = "ScoresUnderWay"


class ScoreFile:
    """A file of lines that grows in blocks and appears under its name when it is whole.

    Attributes:
        rows: how many are finished.
        counts: what was counted over them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ScoreFile(f"{folder}/scores.tsv", {"signature": "a"}) as file:
    ...         file.append(["1", "2"], {"empty": 1})
    ...     with ScoreFile(f"{folder}/scores.tsv", {"signature": "a"}, resume=True) as again:
    ...         again.rows, again.counts
    (2, {'empty': 1})
    """

    def __init__(self, path: str | os.PathLike[str], made_by: Mapping[str, str], *, resume: bool = False) -> None:
        self.path = Path(path).resolve()  # a link stays a link
        self.shown, self.made_by = os.fspath(path), dict(made_by)
        self.partial = self.path.with_name(self.path.name + ".partial")
        self.facts = self.path.with_name(self.path.name + ".partial.json")
        self.rows, self._bytes = 0, 0
        self.counts: dict[str, float] = {}
        self._must_be_a_place()
        begun = self.facts.exists() or (self.partial.exists() and self.partial.stat().st_size > 0)
        if begun:
            if not resume:
                raise InputError(
                    f"{self.partial} holds the rows of a run that was interrupted: go on with --resume, or remove it"
                )
            self._file = self._claimed()
            try:
                self._go_on()
            except BaseException:
                self.close()
                raise
            return
        if resume and self.path.exists():
            raise InputError(f"{self.shown} is whole already: remove it, or leave out --resume to replace it")
        self._file = self._claimed()

    def _claimed(self) -> BinaryIO:
        """Hold the file of finished rows until this ends: two that write to it would lose both's."""
        file = open_locked(self.partial)
        if file is None:
            raise InputError(f"another process is writing {self.shown} now: wait for it, or name another file")
        return file

    def _must_be_a_place(self) -> None:
        """Refuse what cannot become a file of scores, before any work is done."""
        if self.path.is_dir():
            raise InputError(f"{self.shown} is a folder, but a file for the scores was wanted")
        if self.path.exists() and not self.path.is_file():
            raise InputError(f"{self.shown} is no ordinary file: without --out the scores go to standard output")
        if not self.path.parent.is_dir():
            raise InputError(f"{self.shown} is in a folder that does not exist: make the folder first")

    def _go_on(self) -> None:
        """Take up a run that was interrupted; other texts or another metric would not belong together with it."""
        if not self.facts.exists():
            raise FileError(f"{self.facts} is missing, so what made {self.partial} is not known: remove it, start anew")
        before = read_json(self.facts, KIND)
        try:
            made_by: dict[str, Any]
            made_by, self.counts = dict(before["made_by"]), dict(before["counts"])
            self.rows, self._bytes = int(before["rows"]), int(before["bytes"])
            whole = self.rows >= 0 and self._bytes >= 0
        except (KeyError, TypeError, ValueError, OverflowError):
            whole = False
        if not whole:
            raise FileError(f"{self.facts} is damaged: remove it and {self.partial}, and start anew")
        for name, value in self.made_by.items():
            if made_by.get(name) != value:
                raise InputError(
                    f"{self.partial} was begun with another {name}, {str(made_by.get(name))[:200]}: give the same as "
                    "then, or remove it and start anew"
                )
        if self.partial.stat().st_size < self._bytes:
            raise FileError(f"{self.partial} is shorter than it was: remove it and {self.facts}, and start anew")
        os.truncate(self.partial, self._bytes)

    def append(self, lines: Iterable[str], counts: Mapping[str, float]) -> None:
        """Add finished rows, and what is counted over all rows so far; both are on the disk when this returns."""
        content = [f"{line}\n".encode() for line in lines]
        if not self._bytes:
            self._note()  # before the first row: what made it is known, whenever a crash comes
        self._file.write(b"".join(content))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows, self._bytes = self.rows + len(content), self._bytes + sum(map(len, content))
        self.counts = dict(counts)
        self._note()

    def _note(self) -> None:
        facts: dict[str, Any] = {"softset": KIND, "made_by": self.made_by, "rows": self.rows}
        write_atomically(self.facts, json.dumps({**facts, "bytes": self._bytes, "counts": self.counts}).encode())

    def finish(self) -> None:
        """Give the whole its name."""
        self.partial.replace(self.path)
        self.facts.unlink(missing_ok=True)
        sync(self.path.parent)

    def close(self) -> None:
        """Let another process have the file; what is finished stays, and where nothing is, nothing is left."""
        if not self._bytes and not self.facts.exists():
            self.partial.unlink(missing_ok=True)
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
