"""Checkpoints of long runs: finished parts in a folder, so that an interrupted run can be continued.

    FOLDER/_softset.json     header: what the parts depend on
    FOLDER/_lock             locked while a process works on the run
    FOLDER/_unfinished-*     parts that are being written
    FOLDER/part-KEY.json     finished parts (jobs write .parquet)

`resumable_file` keeps blocks of lines and joins them to one file at the end. Jobs use a `PartFolder` as their output;
its other names begin with an underscore, because readers of Parquet folders ignore such files.
"""

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from softset.errors import FileError, InputError
from softset.io.atomic import open_locked, renamed, sync, write_atomically
from softset.io.json_files import read_json


class PartFolder:
    """A folder of finished parts. Each part appears complete or not at all."""

    def __init__(self, folder: str | os.PathLike[str], suffix: str = ".json") -> None:
        self.folder, self.suffix = Path(folder), suffix
        self.header_path, self._lock = self.folder / "_softset.json", self.folder / "_lock"

    def path(self, key: str) -> Path:
        """Return the path of a part, whether it exists or not; the key must be usable in a file name."""
        return self.folder / f"part-{key}{self.suffix}"

    def paths(self) -> list[Path]:
        """Return the paths of all finished parts, sorted."""
        return sorted(self.folder.glob(f"part-*{self.suffix}"))

    @contextmanager
    def new_part(self, key: str) -> Iterator[Path]:
        """Yield a temporary path to write a part to; the part appears under its name at the end."""
        temporary = self.folder / f"_unfinished-{secrets.token_hex(8)}"
        with renamed(temporary, self.path(key)):
            yield temporary
            sync(temporary)

    def write(self, key: str, value: Any) -> None:
        """Write a part that holds a JSON value."""
        with self.new_part(key) as path:
            path.write_text(json.dumps({"value": value}, allow_nan=False), encoding="utf-8")

    def read(self, path: Path) -> Any:
        """Return the JSON value of a part."""
        content = read_json(path, remedy=f"remove {self.folder} and start again")
        if "value" not in content:
            raise FileError(f"{path} is not a part of a run: remove {self.folder} and start again")
        return content["value"]

    def header(self) -> dict[str, Any] | None:
        """Return the header, or None if the folder has none."""
        return read_json(self.header_path, remedy="remove the folder, or name another one", missing_ok=True) or None

    def write_header(self, content: Mapping[str, Any]) -> None:
        """Replace the header."""
        write_atomically(self.header_path, (json.dumps(content, ensure_ascii=False) + "\n").encode())

    def is_outdated(self) -> bool:
        """Return whether the run has ended and a crash interrupted `delete`."""
        return bool((self.header() or {}).get("deleted"))

    @contextmanager
    def locked(self, made_by: Mapping[str, Any]) -> Iterator[None]:
        """Start a run or continue one; no other process can write to the folder meanwhile.

        The parts depend on `made_by`, such as the signature of a metric and the checksums of the input.
        """
        self._check(made_by)
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = open_locked(self._lock)
        if lock is None:
            raise InputError(f"another process is writing to {self.folder} now: wait for it, or choose another name")
        with lock:
            self._check(made_by)  # another process may have changed the folder before the lock was free
            unfinished = [*self.folder.glob("_unfinished-*"), *self.folder.glob("._softset.json.*")]
            for path in (*unfinished, *(self.paths() if self.is_outdated() else ())):
                path.unlink(missing_ok=True)
            self.write_header({**made_by, "finished": False})
            try:
                yield
            finally:
                if not self.paths():
                    self.delete()

    def _check(self, made_by: Mapping[str, Any]) -> None:
        """Raise InputError if the folder holds anything else than parts of the same run."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file: remove it, or choose another name for the output")
        header = self.header()
        if header is None and self.folder.exists() and any(path.name[0] not in "._" for path in self.folder.iterdir()):
            raise InputError(f"{self.folder} holds other files: choose a new or an empty folder")
        if header is None or header.get("deleted"):
            return
        for name, value in json.loads(json.dumps(made_by)).items():
            if header.get(name) != value:
                raise InputError(
                    f"{self.folder} was started with the {name} {str(header.get(name))[:200]}: use the same value, "
                    "remove the folder, or choose another output"
                )

    def delete(self) -> None:
        """Delete all parts and the folder. After a crash in between, the next run starts with an empty folder."""
        if not self.folder.exists():
            return
        self.write_header({"deleted": True})
        for path in (*self.paths(), self.header_path, self._lock):
            path.unlink(missing_ok=True)
        with suppress(OSError):  # other files in the folder are not ours
            self.folder.rmdir()


class ResumableRows:
    """The finished rows of a `resumable_file`: their number `rows`, and `counts`, the totals given to `append`."""

    def __init__(self, parts: PartFolder) -> None:
        self._parts = parts
        self.rows, self.counts = 0, dict[str, float]()
        for block in self.blocks():
            self.rows, self.counts = self.rows + len(block["lines"]), dict(block["counts"])

    def blocks(self) -> Iterator[dict[str, Any]]:
        """Yield the finished blocks; each one's name is the number of rows before it."""
        row = 0
        for path in self._parts.paths():
            block = self._parts.read(path)
            lines, counts = (block.get("lines"), block.get("counts")) if isinstance(block, dict) else (None, None)
            is_next = path == self._parts.path(f"{row:012}")
            if not is_next or not isinstance(lines, list) or not isinstance(counts, dict):
                raise FileError(f"{path} is damaged, or a part is missing: remove {self._parts.folder} and start again")
            row += len(lines)
            yield block

    def append(self, lines: Iterable[str], counts: Mapping[str, float]) -> None:
        """Add rows, and the totals over all rows so far; both are on the disk when this returns."""
        rows, totals = list(lines), dict(counts)
        self._parts.write(f"{self.rows:012}", {"lines": rows, "counts": totals})
        self.rows, self.counts = self.rows + len(rows), totals


@contextmanager
def resumable_file(
    path: str | os.PathLike[str], made_by: Mapping[str, str], *, resume: bool = False
) -> Iterator[ResumableRows]:
    """Write rows to PATH.partial; when the block ends without an error, the complete file appears as PATH.

    With `resume` an interrupted run is continued, if its rows depend on the same `made_by`; otherwise it is an
    error.
    """
    target = Path(path).resolve()  # a symbolic link is kept; the file it points to is written
    if target.exists() and not target.is_file():
        raise InputError(f"{path} is a folder or a device, not an ordinary file: name a file, or leave out --out")
    if not target.parent.is_dir():
        raise InputError(f"{path} is in a folder that does not exist: make the folder first")
    parts = _parts_of(target)
    if resume and count_finished_rows(target) is not None:
        raise InputError(f"{path} is complete already: remove it, or leave out --resume to replace it")
    if parts.paths() and not resume and not parts.is_outdated():
        folder = parts.folder
        raise InputError(f"{folder} has the finished parts of an interrupted run: continue with --resume, or remove it")
    with parts.locked(made_by):
        rows = ResumableRows(parts)
        yield rows
        write_atomically(target, (f"{line}\n".encode() for block in rows.blocks() for line in block["lines"]))
        parts.delete()


def count_finished_rows(path: str | os.PathLike[str]) -> int | None:
    """Return the number of rows of a complete `resumable_file`, or None if it is missing or not complete."""
    target = Path(path).resolve()
    parts = _parts_of(target)
    if not target.is_file() or (parts.paths() and not parts.is_outdated()):
        return None
    with target.open("rb") as file:
        return sum(1 for _ in file)


def count_kept_rows(path: str | os.PathLike[str]) -> int:
    """Return the number of rows that an interrupted run of a `resumable_file` has finished."""
    parts = _parts_of(Path(path).resolve())
    return 0 if parts.is_outdated() else ResumableRows(parts).rows


def _parts_of(target: Path) -> PartFolder:
    return PartFolder(target.with_name(target.name + ".partial"))
