"""A folder of finished parts: each appears whole, is known by what it was made of, and is not made twice.

Beside the parts there is only what begins with an underscore, which readers of Parquet folders pass over.
"""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from softset.errors import InputError, SoftsetError
from softset.io.atomic import open_locked, sync, write_atomically

__all__ = ["Parts"]

FACTS = "_softset.json"
UNFINISHED = "_unfinished-"
LOCK = "_lock"


class Parts:
    """The parts of one job."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    @contextmanager
    def claimed(self, signature: str) -> Iterator[None]:
        """Begin, or go on with an earlier run of the same job; nobody else writes here meanwhile.

        Two jobs would delete each other's parts.
        """
        self._must_be_ours(signature)
        lock = open_locked(self.folder / LOCK)
        if lock is None:
            raise InputError(f"another job is writing to {self.folder} now: wait for it, or name another folder")
        with lock:
            self._must_be_ours(signature)  # still
            for left in self.folder.glob(f"{UNFINISHED}*"):
                left.unlink(missing_ok=True)
            self._write({"signature": signature, "finished": False})
            yield

    def _must_be_ours(self, signature: str) -> None:
        """Make the folder, or see that it is one of the same job; another's is refused."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file: name a folder for the output")
        self.folder.mkdir(parents=True, exist_ok=True)
        before = self._facts()
        if before is None and any(not one.name.startswith("_") for one in self.folder.iterdir()):
            raise InputError(f"{self.folder} holds other files: name a new folder for the output, or an empty one")
        if before is not None and before.get("signature") != signature:
            raise InputError(
                f"{self.folder} holds the output of another job ({before.get('signature')}): name another folder"
            )

    def _facts(self) -> dict[str, Any] | None:
        try:
            facts = json.loads((self.folder / FACTS).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:
            raise InputError(f"{self.folder / FACTS} is not whole: delete it, or name another folder") from None
        return facts if isinstance(facts, dict) else {}

    def _write(self, facts: dict[str, Any]) -> None:
        write_atomically(self.folder / FACTS, (json.dumps(facts, ensure_ascii=False) + "\n").encode())

    def path(self, key: str) -> Path:
        """Return where the part of a key is, or will be."""
        return self.folder / f"part-{key}.parquet"

    def write(self, key: str, table: Any) -> None:
        """Write a part beside its place, and let it appear there whole."""
        import pyarrow.parquet as pq

        beside = self.folder / f"{UNFINISHED}{key}-{os.getpid()}"
        try:
            pq.write_table(table, beside, compression="zstd", **_encoded(table.schema))
            with beside.open("rb") as file:
                os.fsync(file.fileno())
            beside.replace(self.path(key))
            sync(self.folder)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise

    def has(self, key: str, rows: int) -> bool:
        """Tell whether a part is there and whole; one that is not is made again."""
        import pyarrow.parquet as pq
        from pyarrow.lib import ArrowException

        try:
            return int(pq.read_metadata(self.path(key)).num_rows) == rows
        except (OSError, ArrowException):
            return False

    def is_new(self, key: str) -> bool:
        """Tell whether a part was made since the job began: its worker may have died before it could say so."""
        return self.path(key).stat().st_mtime_ns >= (self.folder / FACTS).stat().st_mtime_ns

    def problems(self, key: str) -> list[tuple[str, str]]:
        """Return the id of each row of a part that has no result, and why."""
        import pyarrow.parquet as pq

        table = pq.read_table(self.path(key), columns=["id", "problem"])
        pairs = zip(table["id"].to_pylist(), table["problem"].to_pylist(), strict=True)
        return [(str(name), problem) for name, problem in pairs if problem is not None]

    def finish(self, signature: str, keys: Iterable[str], facts: dict[str, Any], *, drop: bool) -> int:
        """Note that all is there; parts of rows that are not in the input are deleted if `drop` says so."""
        wanted = {self.path(key).name for key in keys}
        there = {one.name: one for one in self.folder.glob("part-*.parquet")}
        if not wanted <= set(there):
            raise SoftsetError(f"{len(wanted - set(there)):,} parts of {self.folder} are gone again: run the job again")
        gone = [one for name, one in there.items() if name not in wanted]
        if gone and not drop:
            raise InputError(
                f"{self.folder} also holds {len(gone):,} parts of rows that are not in this input: "
                "name another folder, or let them be deleted (--drop)"
            )
        for one in gone:
            one.unlink()
        self._write({"signature": signature, "finished": True, **facts})
        return len(gone)


def _encoded(schema: Any) -> dict[str, Any]:
    """Return how columns are written.

    Hardly a score or a number of a vector is there twice, and a dictionary of them would only be in the way; bytes of
    the same significance lie beside each other instead, which saves 45 % of a file of vectors.
    """
    import pyarrow.types as kinds

    numbers = {
        field.name if kinds.is_floating(field.type) else f"{field.name}.list.element": "BYTE_STREAM_SPLIT"
        for field in schema
        if kinds.is_floating(field.type) or (kinds.is_list(field.type) and kinds.is_floating(field.type.value_type))
    }
    others = [field.name for field in schema if not any(one.split(".")[0] == field.name for one in numbers)]
    return {"column_encoding": numbers, "use_dictionary": others}
