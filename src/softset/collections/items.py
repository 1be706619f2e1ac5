"""Your own items from a file of text lines, TSV, CSV, JSON lines or Parquet: an id, a text, and what else it says."""

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from softset.errors import FileError, MissingExtraError
from softset.search.results import Item

__all__ = ["Item", "read_items"]

LONGEST_FIELD = 16 * 2**20


def read_items(
    path: str | os.PathLike[str], *, text_column: str | None = None, id_column: str | None = None, first: int = 1
) -> Iterator[Item]:
    """Return the items of a file, by its ending: .tsv, .csv, .jsonl, .parquet, and anything else as text lines.

    Where no columns are named, the text is in "text" or in the only column beside the id, and the id in "id" or else
    the number of the row, counted from `first`.
    """
    source = Path(path)
    suffix = source.suffix.lower()
    if suffix in (".tsv", ".csv"):
        records = _table(source, "\t" if suffix == ".tsv" else ",")
    elif suffix in (".jsonl", ".ndjson"):
        records = _json_lines(source)
    elif suffix == ".parquet":
        records = _parquet(source)
    else:
        records = ((at, {"text": line.rstrip("\r\n")}) for at, line in _lines(source) if line.strip())
    return _items(source, records, text_column, id_column, first)


def _items(
    source: Path,
    records: Iterator[tuple[int, dict[str, Any]]],
    text_column: str | None,
    id_column: str | None,
    first: int,
) -> Iterator[Item]:
    number = first - 1
    for number, (at, record) in enumerate(records, first):
        id_key = id_column or ("id" if "id" in record else None)
        text_key = text_column or _text_key(record, id_key)
        for key in (id_key, text_key):
            if key is not None and record.get(key) is None:
                known = ", ".join(map(str, record)) or "none"
                raise FileError(f"{source}, line {at}: there is nothing in column {key!r}; columns here: {known}")
        if text_key is None:
            known = ", ".join(map(str, record)) or "none"
            raise FileError(
                f"{source}, line {at}: there is no column 'text'; columns here: {known}; name one (--text-field)"
            )
        metadata = {key: value for key, value in record.items() if key not in (id_key, text_key)}
        item = Item(str(record[id_key] if id_key else number), str(record[text_key]), metadata)
        _check_text(item, f"{source}, line {at}")
        yield item
    if number < first:
        raise FileError(f"{source} holds no item: one a line was wanted")


def _text_key(record: dict[str, Any], id_key: str | None) -> str | None:
    """Return the column of the text where none is named: "text", or the only one beside the id."""
    others = [key for key in record if key != id_key]
    return "text" if "text" in record else others[0] if len(others) == 1 else None


def _check_text(item: Item, where: str) -> None:
    """Refuse what cannot be written again: half a surrogate pair, NaN, values that are no JSON."""
    try:
        json.dumps([item.id, item.text, item.metadata], ensure_ascii=False, allow_nan=False, default=str).encode()
    except (ValueError, UnicodeEncodeError, TypeError, RecursionError) as error:
        raise FileError(f"{where}: an id, text or value cannot be kept ({error})") from error


def _lines(source: Path) -> Iterator[tuple[int, str]]:
    with source.open("rb") as file:
        for at, line in enumerate(file, 1):
            try:
                yield at, line.decode("utf-8-sig" if at == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise FileError(
                    f"{source}, line {at}: byte {error.start} is not UTF-8; convert the file first"
                ) from error


def _table(source: Path, delimiter: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a table with a header; TSV is split on tabs only, CSV knows quotes."""
    csv.field_size_limit(LONGEST_FIELD)
    dialect: Any = {"delimiter": delimiter, "quoting": csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL}
    reader = csv.reader((line for _, line in _lines(source)), strict=True, **dialect)
    try:
        header = next(reader, None)
        if header is None:
            raise FileError(f"{source} is empty: a header line with column names was wanted")
        if len(set(header)) != len(header):
            raise FileError(f"{source} names a column twice in its header: {', '.join(header)[:200]}")
        for fields in reader:
            if not fields:
                continue
            if len(fields) != len(header):
                raise FileError(
                    f"{source}, line {reader.line_num}: {len(fields)} columns, but the header has {len(header)}"
                )
            yield reader.line_num, dict(zip(header, fields, strict=True))
    except csv.Error as error:
        raise FileError(f"{source}, line {reader.line_num}: {error}") from error


def _json_lines(source: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for at, line in _lines(source):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FileError(f"{source}, line {at}: no JSON ({error})") from error
        if not isinstance(record, dict):
            raise FileError(f"{source}, line {at}: a JSON object was wanted, but a {type(record).__name__} was found")
        yield at, record


def _parquet(source: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtraError("Parquet files need pyarrow: pip install 'softset[ray]'") from None
    try:
        at = 0
        for batch in parquet.ParquetFile(source).iter_batches():
            for record in batch.to_pylist():
                at += 1
                yield at, record
    except ArrowException as error:
        raise FileError(f"{source} is not a whole Parquet file: {error}") from error
