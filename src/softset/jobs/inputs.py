"""Parquet files in: which rows make a block, and what a block holds, read when it is its turn."""

import glob
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from softset.errors import FileError, InputError

__all__ = ["Span", "content_hash", "read_blocks", "spans_of", "values_of"]

BLOCK = 4_096  # rows that are scored, and written, at once
SPAN = 16  # blocks that one task takes: enough to be worth its while, and few enough for all workers to have some


@dataclass(frozen=True)
class Span:
    """Some blocks of a row group of a file, which a task does one after the other."""

    path: str
    name: str
    group: int
    first: int
    blocks: int
    start: int  # rows of all files before this row group


def spans_of(pattern: str, columns: Sequence[str], *, block: int = BLOCK) -> list[Span]:
    """Return the work that the files of a pattern hold; each must have the columns."""
    paths = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (a pattern may begin anywhere)
    files = [Path(path) for path in paths if Path(path).is_file()]
    if not files:
        raise InputError(f"no file is named like {pattern!r}: Parquet files were wanted, such as 'pairs/*.parquet'")
    shared = _shared_folder(files)
    spans, before = [], 0
    _, wanted = _metadata(files[0], columns)
    for path in files:
        metadata, kind = _metadata(path, columns)
        if kind != wanted:
            raise InputError(f"the ids of {path} are {kind}, but those of {files[0]} {wanted}: make them of one type")
        name = path.relative_to(shared).as_posix()
        for group in range(metadata.num_row_groups):
            rows = metadata.row_group(group).num_rows
            count, where = -(-rows // block), (str(path.resolve()), name, group)
            spans += [Span(*where, first, min(SPAN, count - first), before) for first in range(0, count, SPAN)]
            before += rows
    if not spans:
        raise InputError(f"the files of {pattern!r} hold no row")
    return spans


def _shared_folder(files: Sequence[Path]) -> Path:
    """Return the folder below which all files are: a block is known by its file's name from there."""
    shared = files[0].parent
    while not all(path.is_relative_to(shared) for path in files):
        shared = shared.parent
    return shared


def _metadata(path: Path, columns: Sequence[str]) -> tuple[Any, Any]:
    """Return what a file says of itself, and the type of its ids."""
    import pyarrow.parquet as pq
    from pyarrow.lib import ArrowException

    try:
        with pq.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
            names = schema.names
    except (ArrowException, OSError) as error:
        raise FileError(f"{path} is not a whole Parquet file: {str(error).splitlines()[0]}") from error
    for name in columns:
        if names.count(name) != 1:
            many = "no column" if name not in names else "several columns"
            raise InputError(f"{path} has {many} {name!r}; its columns are {', '.join(names)}")
    return metadata, schema.field(columns[0]).type


def read_blocks(span: Span, columns: Sequence[str], *, block: int = BLOCK) -> Iterator[tuple[int, Any]]:
    """Yield the number of each block of a span within its row group, and its table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(span.path) as file:
        rows = file.metadata.row_group(span.group).num_rows
        batches = file.iter_batches(batch_size=block, row_groups=[span.group], columns=list(columns))
        held, at, seen = [], 0, 0
        for batch in batches:
            held.append(batch)
            seen += batch.num_rows
            # A batch may have fewer rows than were asked for: of texts of more than 2 GB, or at the end.
            if sum(one.num_rows for one in held) < min(block, rows - at * block):
                continue
            table = pa.Table.from_batches(held)
            if span.first <= at < span.first + span.blocks:
                yield at, table.slice(0, block)
            held, at = table.slice(block).to_batches(), at + 1
            if at >= span.first + span.blocks:
                return
        if seen != rows or sum(one.num_rows for one in held):
            raise FileError(
                f"row group {span.group} has {seen:,} rows, but {rows:,} were promised: make the file again"
            )


def values_of(column: Any) -> list[Any]:
    """Return the values of a column; a text that is no UTF-8 stays what it is, bytes."""
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        return [_value(one) for one in column]
    return values


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return bytes(scalar.as_buffer()) if hasattr(scalar, "as_buffer") else [_value(one) for one in scalar.values]


def content_hash(settings: str, span: Span, at: int, table: Any) -> str:
    """Return what a block is known by: its rows, where they stand, and all that its result depends on."""
    digest = sha256(json.dumps([settings, span.name, span.group, at]).encode())
    for row in zip(*(values_of(table.column(name)) for name in table.column_names), strict=True):
        digest.update(json.dumps(row, default=repr, ensure_ascii=True).encode())
        digest.update(b"\n")
    return digest.hexdigest()[:32]
