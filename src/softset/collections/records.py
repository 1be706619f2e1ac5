"""Records from files and Python objects: one dictionary for each item, before ids, texts and types are decided."""

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from softset.collections.parquet import read_tables
from softset.errors import FileError, InputError
from softset.io.compressed import data_suffix, open_binary
from softset.io.json_files import read_limited
from softset.io.lines import decode_lines
from softset.io.text import import_extra
from softset.query.field_types import INFERRED, FieldType, parse_value
from softset.search.results import Item

__all__ = ["Records", "open_records", "read_json_array", "read_json_lines", "read_parquet", "read_table"]

MAX_FIELD_CHARACTERS = 16 * 2**20
DELIMITERS = ",;\t|"
DATAFRAMES = {"pandas", "polars", "pyarrow", "narwhals", "modin", "cudf", "dask", "duckdb", "ibis", "pyspark"}
NumberedRecords = Iterator[tuple[int, Any]]


@dataclass(frozen=True)
class Records:
    """The records of a source, each with its number; a record is a dictionary, a text or an Item.

    Attributes:
        name: the source for messages, such as a path.
        unit: the word for a record's number: "line" or "item".
        rows: the numbered records.
        types: the types of the columns of CSV and TSV files, inferred from all their values; empty for other sources.
    """

    name: str
    unit: str
    rows: NumberedRecords
    types: Mapping[str, FieldType] = field(default_factory=dict)

    def location(self, number: int) -> str:
        """Return where a record is, for messages."""
        return f"{self.name}, {self.unit} {number}"


def open_records(source: Any) -> Records:
    """Return the records of a path, a DataFrame, or an iterable of texts, dictionaries and Items."""
    if isinstance(source, str | os.PathLike):
        return _open_file(Path(source))
    if type(source).__module__.partition(".")[0] in DATAFRAMES:
        return Records("the DataFrame", "row", enumerate(_frame_rows(source), 1))
    if isinstance(source, Mapping | bytes | Item) or not isinstance(source, Iterable):
        wanted = "a list of texts or dictionaries, a DataFrame or the path of a file"
        raise InputError(f"items are {type(source).__name__}, but {wanted} was expected")
    return Records("the list of items", "item", enumerate(source, 1))


def _open_file(path: Path) -> Records:
    name, suffix = str(path), data_suffix(path)
    if suffix in (".csv", ".tsv"):
        return Records(name, "line", read_table(path), _infer_types(path) if path.is_file() else {})
    readers = {".jsonl": read_json_lines, ".ndjson": read_json_lines, ".json": read_json_array}
    readers[".parquet"] = read_parquet
    return Records(name, "line" if suffix != ".json" else "item", readers.get(suffix, _read_texts)(path))


def _frame_rows(frame: Any) -> Iterator[Any]:
    """Yield the rows of a DataFrame as dictionaries, or the values of a column."""
    nw = import_extra("narwhals", "DataFrames need narwhals: pip install 'softset[dataframe]'")
    try:
        table: Any = nw.from_native(frame, allow_series=True)
    except TypeError as error:
        raise InputError(f"a DataFrame was expected, but {type(frame).__name__} was given") from error
    if isinstance(table, nw.Series):
        yield from table.to_list()
        return
    table = table.collect() if isinstance(table, nw.LazyFrame) else table
    for row in table.iter_rows(named=True):
        yield {str(name): value for name, value in row.items()}


def _read_lines(source: Path) -> Iterator[tuple[int, str]]:
    with open_binary(source) as file:
        yield from enumerate(decode_lines(file, str(source)), 1)


def _read_texts(source: Path) -> NumberedRecords:
    return ((number, line.rstrip("\r\n")) for number, line in _read_lines(source) if line.strip())


# CSV and TSV


def read_table(source: Path, names: Sequence[str] | None = None) -> NumberedRecords:
    """Yield the rows of a CSV or TSV file; `names` are the columns of a file without a header line."""
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    first = next((line for _, line in _read_lines(source)), None)
    if first is None or not first.strip():
        raise FileError(f"{source} is empty: a header line with column names is needed")
    delimiter, quoting = _dialect(source, first)
    if names is None and delimiter == "\t" not in first and any(mark in first for mark in DELIMITERS):
        raise FileError(f"{source} has no tab in its header {first.strip()[:80]!r}: name a file with commas .csv")
    lines = (line for _, line in _read_lines(source))
    reader = csv.reader(lines, strict=True, delimiter=delimiter, quoting=quoting)
    try:
        header = next(reader) if names is None else list(names)
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


def _dialect(source: Path, header: str) -> tuple[str, Any]:
    """Return the delimiter and the quoting of a table.

    TSV is split at tabs, and quotation marks are part of the text unless all names in the header are quoted. The
    delimiter of CSV is the most frequent one of , ; tab | in the header, outside quotation marks.
    """
    header = header.rstrip("\r\n")
    if data_suffix(source) == ".tsv":
        quoted = all(len(name) > 1 and name[0] == name[-1] == '"' for name in header.split("\t"))
        return "\t", csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count), csv.QUOTE_MINIMAL


def _infer_types(source: Path) -> dict[str, FieldType]:
    """Return the type of each column: the first one that all values have; see `softset.query.field_types`."""
    possible: dict[str, list[FieldType]] = {}
    filled: set[str] = set()
    for _, record in read_table(source):
        for name, value in record.items():
            kinds = possible.setdefault(name, list(INFERRED))
            if value and kinds:
                filled.add(name)
                possible[name] = [kind for kind in kinds if parse_value(value, kind) is not None]
    return {name: kinds[0] if kinds and name in filled else "text" for name, kinds in possible.items()}


# JSON and Parquet


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def read_json_lines(source: Path) -> NumberedRecords:
    """Yield the objects of a file with one JSON object per line."""
    for number, line in _read_lines(source):
        if not line.strip():
            continue
        try:
            record = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            array = line.lstrip().startswith("[") and number == 1
            hint = "; a file with one JSON array needs the suffix .json" if array else ""
            raise FileError(f"{source}, line {number}: not JSON ({error}){hint}") from error
        if not isinstance(record, dict):
            problem = f"a JSON object is needed, but a {type(record).__name__} was found"
            hint = "; a file with one JSON array needs the suffix .json" if isinstance(record, list) else ""
            raise FileError(f"{source}, line {number}: {problem}{hint}")
        yield number, record


def read_json_array(source: Path) -> NumberedRecords:
    """Yield the objects or texts of a file with one JSON array."""
    try:
        records = json.loads(read_limited(source).decode("utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        hint = "a file with one JSON object per line needs the suffix .jsonl"
        raise FileError(f"{source} is not a JSON array ({error}): {hint}") from error
    if not isinstance(records, list):
        raise FileError(
            f"{source} holds a JSON {type(records).__name__}, but an array of objects or texts was expected"
        )
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict | str):
            problem = f"an object or a text is needed, but a {type(record).__name__} was found"
            raise FileError(f"{source}, item {number}: {problem}")
        yield number, record


def read_parquet(source: str | Path, columns: Sequence[str] | None = None) -> NumberedRecords:
    """Yield the rows of a Parquet file, or the given columns of them."""
    try:
        yield from enumerate((record for table in read_tables(source, columns) for record in table.to_pylist()), 1)
    except UnicodeDecodeError as error:
        raise FileError(f"{source} has a text that is not UTF-8 ({error.reason}): convert it first") from error
