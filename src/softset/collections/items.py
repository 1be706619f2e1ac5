"""Readers of items: lines of text, TSV, CSV, JSON lines and Parquet files."""

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from softset.collections.parquet import read_tables
from softset.errors import FileError
from softset.io.lines import decode_lines
from softset.search.results import Item

__all__ = ["Item", "read_items"]

MAX_FIELD_CHARACTERS = 16 * 2**20
NumberedRecords = Iterator[tuple[int, dict[str, Any]]]


def read_items(
    path: str | os.PathLike[str], *, text_column: str | None = None, id_column: str | None = None, first: int = 1
) -> Iterator[Item]:
    """Yield the items of a file; the format follows from the suffix, and other suffixes mean lines of text.

    Args:
        path: a .tsv, .csv, .jsonl, .ndjson, .parquet or text file.
        text_column: the column of the text; by default "text", or the only column besides the id.
        id_column: the column of the id; by default "id" if there is one, else the rows are numbered.
        first: the number of the first row.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "books.tsv")
    ...     _ = file.write_text("title\\tyear\\ttext\\nEmma\\t1815\\tHandsome, clever, and rich\\n")
    ...     list(read_items(file))
    [Item(id='1', text='Handsome, clever, and rich', metadata={'title': 'Emma', 'year': '1815'})]
    """
    source = Path(path)
    match source.suffix.lower():
        case ".tsv":
            records = _read_table(source, "\t")
        case ".csv":
            records = _read_table(source, ",")
        case ".jsonl" | ".ndjson":
            records = _read_json_lines(source)
        case ".parquet":
            records = _read_parquet(source)
        case _:
            records = ((n, {"text": line.rstrip("\r\n")}) for n, line in _read_lines(source) if line.strip())
    return _make_items(source, records, text_column, id_column, first)


def _make_items(
    source: Path, records: NumberedRecords, text_column: str | None, id_column: str | None, first: int
) -> Iterator[Item]:
    row = first - 1
    for row, (line, record) in enumerate(records, first):
        id_key = id_column or ("id" if "id" in record else None)
        text_key = text_column or _default_text_column(record, id_key)
        columns = ", ".join(map(str, record)) or "none"
        if text_key is None:
            problem = f"there is no column 'text'; columns: {columns}; name one (--text-field)"
            raise FileError(f"{source}, line {line}: {problem}")
        for key in (id_key, text_key):
            if key is not None and record.get(key) is None:
                raise FileError(f"{source}, line {line}: the column {key!r} is missing or empty; columns: {columns}")
        metadata = {key: value for key, value in record.items() if key not in (id_key, text_key)}
        item = Item(str(record[id_key] if id_key else row), str(record[text_key]), metadata)
        _check_writable(item, f"{source}, line {line}")
        yield item
    if row < first:
        raise FileError(f"{source} has no items: give at least one")


def _default_text_column(record: dict[str, Any], id_key: str | None) -> str | None:
    others = [key for key in record if key != id_key]
    return "text" if "text" in record else others[0] if len(others) == 1 else None


def _check_writable(item: Item, where: str) -> None:
    """Refuse values that JSON in UTF-8 cannot hold: lone surrogates, NaN, and objects of unknown types."""
    try:
        json.dumps([item.id, item.text, item.metadata], ensure_ascii=False, allow_nan=False, default=str).encode()
    except (ValueError, UnicodeEncodeError, TypeError, RecursionError) as error:
        raise FileError(f"{where}: an id, text or value cannot be stored ({error})") from error


def _read_lines(source: Path) -> Iterator[tuple[int, str]]:
    with source.open("rb") as file:
        yield from enumerate(decode_lines(file, str(source)), 1)


def _read_table(source: Path, delimiter: str) -> NumberedRecords:
    """Yield the rows of a table with a header; TSV is split at tabs only, CSV may have quoted fields."""
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    quoting: Any = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    reader = csv.reader((line for _, line in _read_lines(source)), strict=True, delimiter=delimiter, quoting=quoting)
    try:
        header = next(reader, None)
        if header is None:
            raise FileError(f"{source} is empty: a header line with column names is needed")
        if len(set(header)) != len(header):
            raise FileError(f"{source} names a column twice in its header: {', '.join(header)[:200]}")
        for fields in reader:
            if not fields:
                continue
            if len(fields) != len(header):
                problem = f"{len(fields)} columns, but the header has {len(header)}"
                raise FileError(f"{source}, line {reader.line_num}: {problem}")
            yield reader.line_num, dict(zip(header, fields, strict=True))
    except csv.Error as error:
        raise FileError(f"{source}, line {reader.line_num}: {error}") from error


def _read_json_lines(source: Path) -> NumberedRecords:
    for number, line in _read_lines(source):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FileError(f"{source}, line {number}: not JSON ({error})") from error
        if not isinstance(record, dict):
            problem = f"a JSON object is needed, but a {type(record).__name__} was found"
            raise FileError(f"{source}, line {number}: {problem}")
        yield number, record


def _read_parquet(source: Path) -> NumberedRecords:
    try:
        yield from enumerate((record for table in read_tables(source) for record in table.to_pylist()), 1)
    except UnicodeDecodeError as error:
        raise FileError(f"{source} has a text that is not UTF-8 ({error.reason}): convert it first") from error
