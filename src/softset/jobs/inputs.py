"""Parquet input of a job: blocks of rows, and the computation of those rows that are usable."""

import glob
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from softset.collections.parquet import MAX_TABLE_BYTES, ROWS_PER_TABLE, read_tables
from softset.errors import FileError, InputError, SoftsetError
from softset.io.text import first_line

Result = TypeVar("Result")
MAX_CHARACTERS = 1_000_000
ROWS_PER_BLOCK = ROWS_PER_TABLE  # rows that are scored and written together
BLOCKS_PER_SPAN = 16  # work of one task: more would leave workers idle at the end, fewer would cost more overhead


@dataclass(frozen=True)
class BlockSpan:
    """Consecutive blocks of a row group: the work of one task.

    Attributes:
        path: the absolute path of the file.
        name: its path below the common folder of all files.
        group: the number of the row group.
        first: the number of the first block in the row group.
        blocks: the number of blocks.
        start: the number of rows of all files before this row group.
    """

    path: str
    name: str
    group: int
    first: int
    blocks: int
    start: int


def list_spans(pattern: str, columns: Sequence[str], *, block: int = ROWS_PER_BLOCK) -> list[BlockSpan]:
    """Return the work in the files that match a pattern; each file must have the columns."""
    paths = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (a pattern may be absolute)
    files = [Path(path) for path in paths if Path(path).is_file()]
    if not files:
        raise InputError(f"no file matches {pattern!r}: name Parquet files, such as 'pairs/*.parquet'")
    folder = Path(os.path.commonpath([path.parent for path in files]))
    spans, start, id_type = [], 0, None
    for path in files:
        metadata, kind = _read_metadata(path, columns)
        id_type = id_type or kind
        if kind != id_type:
            raise InputError(
                f"the ids in {path} have the type {kind}, but those in {files[0]} have {id_type}: use one type"
            )
        name = path.relative_to(folder).as_posix()
        for group in range(metadata.num_row_groups):
            rows = metadata.row_group(group).num_rows
            count = -(-rows // block)
            spans += [
                BlockSpan(str(path.resolve()), name, group, first, min(BLOCKS_PER_SPAN, count - first), start)
                for first in range(0, count, BLOCKS_PER_SPAN)
            ]
            start += rows
    if not spans:
        raise InputError(f"the files that match {pattern!r} have no rows")
    return spans


def _read_metadata(path: Path, columns: Sequence[str]) -> tuple[Any, Any]:
    """Return the metadata of a Parquet file and the type of its first column, the ids."""
    import pyarrow.parquet as pq
    from pyarrow.lib import ArrowException

    try:
        with pq.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
            names = schema.names
    except (ArrowException, OSError) as error:
        raise FileError(f"{path} is not a complete Parquet file: {first_line(error)}") from error
    for name in columns:
        if names.count(name) != 1:
            problem = "no column" if name not in names else "several columns"
            raise InputError(f"{path} has {problem} {name!r}; its columns are {', '.join(names)}")
    return metadata, schema.field(columns[0]).type


def read_blocks(
    span: BlockSpan, columns: Sequence[str], *, block: int = ROWS_PER_BLOCK, max_bytes: int = MAX_TABLE_BYTES
) -> Iterator[tuple[int, Any]]:
    """Yield the number of each block of a span within its row group, and its table."""
    tables = read_tables(span.path, columns, rows=block, group=span.group, skip=span.first, max_bytes=max_bytes)
    yield from enumerate(islice(tables, span.blocks), span.first)


def column_values(column: Any) -> list[Any]:
    """Return the values of a column; texts that are not UTF-8 are returned as bytes."""
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        return [_value(scalar) for scalar in column]
    return values


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return bytes(scalar.as_buffer()) if hasattr(scalar, "as_buffer") else [_value(part) for part in scalar.values]


def content_hash(settings: str, span: BlockSpan, number: int, table: Any) -> str:
    """Return a hash of a block: its rows, its position, and the settings that its result depends on."""
    digest = sha256(json.dumps([settings, span.name, span.group, number]).encode())
    for row in zip(*(column_values(table.column(name)) for name in table.column_names), strict=True):
        digest.update(json.dumps(row, default=repr, ensure_ascii=True).encode())
        digest.update(b"\n")
    return digest.hexdigest()[:32]


def text_problem(noun: str, text: Any) -> str | None:
    """Return why a value is not a usable text, or None."""
    if not isinstance(text, str):
        return f"the {noun} is {'missing' if text is None else f'of type {type(text).__name__}'}, not a text"
    if len(text) > MAX_CHARACTERS:
        return f"the {noun} has {len(text):,} characters, but at most {MAX_CHARACTERS:,} are allowed"
    return None


def compute_rows(
    problems: Sequence[str | None], compute: Callable[[Sequence[int]], Sequence[Result]]
) -> tuple[list[Result | None], list[str | None]]:
    """Return the result and the problem of each row; a row that cannot be computed does not stop the others.

    Args:
        problems: why a row is not computed, or None.
        compute: function from the indices of rows to their results. If it raises an error, each half of the rows is
            computed separately, down to the row with the error.
    """
    results: list[Result | None] = [None] * len(problems)
    all_problems = list(problems)
    batches = [[index for index, problem in enumerate(problems) if problem is None]]
    while batches:
        batch = batches.pop()
        try:
            for index, result in zip(batch, compute(batch) if batch else (), strict=True):
                results[index] = result
        except SoftsetError as error:
            middle = len(batch) // 2
            if middle:
                batches += [batch[:middle], batch[middle:]]
            else:
                all_problems[batch[0]] = str(error)
    return results, all_problems
