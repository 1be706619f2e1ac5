"""The output of a job: a folder of Parquet files, one for each block of input rows, named by the block's hash."""

from collections.abc import Iterable
from typing import Any

from softset.errors import InputError, SoftsetError
from softset.io.checkpoint import PartFolder

__all__ = ["ParquetParts"]


class ParquetParts(PartFolder):
    """Finished Parquet files of a job; workers write them, the driver holds the lock."""

    def __init__(self, folder: Any) -> None:
        super().__init__(folder, ".parquet")

    def write_table(self, key: str, table: Any) -> None:
        """Write the table of a block."""
        import pyarrow.parquet as pq

        with self.new_part(key) as path:
            pq.write_table(table, path, compression="zstd", **_encodings(table.schema))

    def has(self, key: str, rows: int) -> bool:
        """Tell whether the part exists and has that many rows; damaged files count as missing."""
        import pyarrow.parquet as pq
        from pyarrow.lib import ArrowException

        try:
            return int(pq.read_metadata(self.path(key)).num_rows) == rows
        except (OSError, ArrowException):
            return False

    def is_new(self, key: str) -> bool:
        """Tell whether a part was written by the current run: its worker may have died before it could report it."""
        return self.path(key).stat().st_mtime_ns >= self.header_path.stat().st_mtime_ns

    def problems(self, key: str) -> list[tuple[str, str]]:
        """Return the id of each row without a result, and the reason."""
        import pyarrow.parquet as pq

        table = pq.read_table(self.path(key), columns=["id", "problem"])
        pairs = zip(table["id"].to_pylist(), table["problem"].to_pylist(), strict=True)
        return [(str(name), problem) for name, problem in pairs if problem is not None]

    def finish(self, signature: str, keys: Iterable[str], totals: dict[str, Any], *, drop: bool) -> int:
        """Mark the output as finished and return the number of deleted parts.

        Parts that belong to none of the keys are deleted if `drop` is true; otherwise they are an error.
        """
        expected = {self.path(key) for key in keys}
        existing = set(self.paths())
        if missing := expected - existing:
            raise SoftsetError(f"{len(missing):,} parts of {self.folder} have disappeared: run the job again")
        outdated = existing - expected
        if outdated and not drop:
            raise InputError(
                f"{self.folder} also holds {len(outdated):,} parts of rows that are not in this input: "
                "name another folder, or let them be deleted (--drop)"
            )
        for path in outdated:
            path.unlink()
        self.write_header({"signature": signature, "finished": True, **totals})
        return len(outdated)


def _encodings(schema: Any) -> dict[str, Any]:
    """Return the encoding of each column.

    Scores and vectors hardly ever repeat a number, so a dictionary does not pay. BYTE_STREAM_SPLIT puts bytes of the
    same significance together, which saves 45 % of a file of vectors.
    """
    import pyarrow.types as kinds

    numbers = {
        field.name if kinds.is_floating(field.type) else f"{field.name}.list.element": "BYTE_STREAM_SPLIT"
        for field in schema
        if kinds.is_floating(field.type) or (kinds.is_list(field.type) and kinds.is_floating(field.type.value_type))
    }
    others = [field.name for field in schema if not any(name.split(".")[0] == field.name for name in numbers)]
    return {"column_encoding": numbers, "use_dictionary": others}
