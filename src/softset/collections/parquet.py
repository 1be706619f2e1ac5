"""Parquet files, read as tables of bounded size: a file of 1 KB can hold one text of 1 MB in 65,536 rows."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from softset.errors import FileError
from softset.io.text import first_line, import_extra

ROWS_PER_TABLE = 4_096
MAX_TABLE_BYTES = 2**30  # size limit of a decoded table: 256 KB in each of 4,096 rows
WIDTHS = {"FLOAT": 4, "INT32": 4, "INT96": 12, "BOOLEAN": 1}  # bytes of a value; other numbers have 8
Path = str | os.PathLike[str]


def read_tables(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    rows: int = ROWS_PER_TABLE,
    group: int | None = None,
    skip: int = 0,
    max_bytes: int = MAX_TABLE_BYTES,
) -> Iterator[Any]:
    """Yield the rows of a file, or of one row group, as tables of `rows` rows, without the first `skip` tables.

    Texts are read as dictionaries, which need as much memory as the file. They are decoded after their size is checked;
    a larger table than `max_bytes` raises FileError.
    """
    pa, pq = _import_pyarrow(path)
    try:
        with pq.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
            texts = [leaf.path for leaf in map(file.schema.column, range(len(file.schema))) if not _width(leaf)]
        groups = range(metadata.num_row_groups) if group is None else [group]
        for number in groups:
            _check_size(path, _declared_bytes(metadata.row_group(number), columns, rows), max_bytes)
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            batches = file.iter_batches(batch_size=rows, row_groups=list(groups), columns=columns and list(columns))
            for number, table in enumerate(_tables(path, batches, rows, max_bytes)):
                if number >= skip:
                    yield table.cast(pa.schema([schema.field(name) for name in table.column_names]))
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path} is not a complete Parquet file: {first_line(error)}") from error


def read_column_names(path: Path) -> list[str]:
    """Return the names of the columns of a file."""
    pa, pq = _import_pyarrow(path)
    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path} is not a complete Parquet file: {first_line(error)}") from error


def _import_pyarrow(path: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Return the modules that read a file; a missing file raises Python's error, which names the file."""
    os.stat(path)  # noqa: PTH116
    message = "Parquet files need pyarrow: pip install pyarrow"
    return import_extra("pyarrow", message), import_extra("pyarrow.parquet", message)


def _tables(path: Path, batches: Iterator[Any], rows: int, max_bytes: int) -> Iterator[Any]:
    """Yield tables of `rows` rows; the reader may return smaller batches than it was asked for."""
    import pyarrow as pa

    pending: list[Any] = []
    for batch in batches:
        pending.append(batch)
        _check_size(path, sum(_decoded_bytes(column) for part in pending for column in part.columns), max_bytes)
        if sum(part.num_rows for part in pending) >= rows:
            table = pa.Table.from_batches(pending)
            yield table.slice(0, rows)
            pending = table.slice(rows).to_batches()
    if pending:
        yield pa.Table.from_batches(pending)


def _width(column: Any) -> int:
    """Return the bytes of a value in a column of numbers, or 0 for texts."""
    if column.physical_type == "BYTE_ARRAY":
        return 0
    return int(getattr(column, "length", 0) or WIDTHS.get(column.physical_type, 8))


def _declared_bytes(group: Any, columns: Sequence[str] | None, rows: int) -> int:
    """Return the decoded bytes of `rows` rows of average size, according to the file's metadata."""
    total = 0
    for column in map(group.column, range(group.num_columns)):
        if columns is None or column.path_in_schema.split(".")[0] in columns:
            total += max(column.total_uncompressed_size, column.num_values * _width(column))
    return int(total * min(rows, group.num_rows) // max(group.num_rows, 1))


def _decoded_bytes(array: Any) -> int:
    """Return the bytes of an array after its dictionaries are decoded."""
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    if kinds.is_struct(array.type):
        return sum(map(_decoded_bytes, array.flatten()))
    if kinds.is_map(array.type):
        return _decoded_bytes(array.keys) + _decoded_bytes(array.items)
    if kinds.is_nested(array.type):
        return _decoded_bytes(array.flatten())
    if not kinds.is_dictionary(array.type) or kinds.is_primitive(array.type.value_type):
        return int(array.nbytes)
    return int(pc.sum(pc.take(pc.binary_length(array.dictionary), array.indices)).as_py() or 0)


def _check_size(path: Path, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        limit = f"more than {max_bytes / 2**30:g} GB"
        raise FileError(f"{path} has rows that decode to {limit} in one block: shorten them, or use smaller blocks")
