"""Items as tables: pyarrow, pandas, polars, and files."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from softset.collections.items import Item
from softset.errors import InputError
from softset.io.atomic import write_atomically
from softset.io.text import import_extra, import_pandas
from softset.query.field_types import FieldType, plain_value

Fields = Mapping[str, FieldType]
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")


def _columns(items: Iterable[Item], fields: Fields) -> dict[str, list[Any]]:
    """Return the columns id, text and the fields; nested values are JSON texts, integers in number columns floats."""
    columns: dict[str, list[Any]] = {name: [] for name in ("id", "text", *fields)}
    for item in items:
        columns["id"].append(item.id) if "id" not in fields else None
        columns["text"].append(item.text) if "text" not in fields else None
        for name, kind in fields.items():
            columns[name].append(_cell(item.metadata.get(name), kind))
    return columns


def _cell(value: Any, kind: FieldType) -> Any:
    if value is None:
        return None
    if kind in ("nested", "mixed"):
        return value if isinstance(value, str) else json.dumps(plain_value(value), ensure_ascii=False, default=str)
    return float(value) if kind == "number" else value


def arrow_types() -> dict[FieldType, Any]:
    """Return the Arrow types of the fields that have columns of their own type; other values become texts."""
    pa = import_extra("pyarrow", "Arrow tables and Parquet files need pyarrow: pip install pyarrow")
    times: dict[FieldType, Any] = {"date": pa.date32(), "datetime": pa.timestamp("us")}
    return {"text": pa.string(), "integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), **times}


def to_arrow(items: Iterable[Item], fields: Fields) -> Any:
    """Return a pyarrow table."""
    types, columns = arrow_types(), _columns(items, fields)
    import pyarrow as pa

    kinds = {name: types.get(fields.get(name, "text"), types["text"]) for name in columns}
    return pa.table(columns, schema=pa.schema(kinds))


def to_polars(items: Iterable[Item], fields: Fields) -> Any:
    """Return a polars DataFrame."""
    pl = import_extra("polars", "polars DataFrames need polars: pip install polars")
    types: dict[str, Any] = {"integer": pl.Int64, "number": pl.Float64, "boolean": pl.Boolean, "date": pl.Date}
    types |= {"datetime": pl.Datetime("us")}
    columns = _columns(items, fields)
    return pl.DataFrame(columns, schema={name: types.get(fields.get(name, "text"), pl.String) for name in columns})


def to_pandas(items: Iterable[Item], fields: Fields) -> Any:
    """Return a pandas DataFrame; dates become datetime64, and integers with missing values Int64."""
    pd = import_pandas()
    frame = pd.DataFrame(_columns(items, fields))
    for name, kind in fields.items():
        missing = bool(frame[name].isna().any())
        if kind in ("date", "datetime"):
            frame[name] = pd.to_datetime(frame[name])
        elif kind in ("integer", "boolean"):
            types = {"integer": ("int64", "Int64"), "boolean": ("bool", "boolean")}
            frame[name] = frame[name].astype(types[kind][missing])
    return frame


def export_items(items: Iterable[Item], fields: Fields, path: Path) -> None:
    """Write items to a file, whose format follows from the suffix; the file is complete or unchanged."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path} has none of the suffixes {', '.join(SUFFIXES)}: name a file of one of these formats")
    clash = {"id", "text"} & set(fields)
    if clash:
        raise InputError(f"the field {min(clash)!r} has the name of a column of the export: rename the field first")
    write_atomically(path, _content(items, fields, suffix))


def _content(items: Iterable[Item], fields: Fields, suffix: str) -> Iterator[bytes]:
    if suffix == ".parquet":
        table, buffer = to_arrow(items, fields), io.BytesIO()
        import pyarrow.parquet as pq

        pq.write_table(table, buffer)
        yield buffer.getvalue()
    elif suffix in (".csv", ".tsv"):
        yield from _table_lines(items, fields, "," if suffix == ".csv" else "\t")
    else:
        is_array = suffix == ".json"
        for number, item in enumerate(items):
            record = {"id": item.id, "text": item.text, **plain_value(item.metadata)}
            line = json.dumps(record, ensure_ascii=False, default=str).encode()
            yield ((b"[\n" if number == 0 else b",\n") + line) if is_array else line + b"\n"
        if is_array:
            yield b"\n]\n"


def _table_lines(items: Iterable[Item], fields: Fields, delimiter: str) -> Iterator[bytes]:
    """Yield the lines of a table. All fields are quoted, so that a text may hold tabs and line breaks."""
    file: Any = SimpleNamespace(write=str.encode)  # `writerow` returns what `write` returns
    writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    yield writer.writerow(["id", "text", *fields])
    for item in items:
        values = (_cell(item.metadata.get(name), kind) for name, kind in fields.items())
        yield writer.writerow([item.id, item.text, *("" if value is None else _cell_text(value) for value in values)])


def _cell_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(plain_value(value))
