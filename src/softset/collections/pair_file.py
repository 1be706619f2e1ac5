"""Pairs of texts in the fields of a CSV, TSV, JSON or Parquet file."""

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from softset.collections.parquet import read_column_names
from softset.collections.records import NumberedRecords, read_json_array, read_json_lines, read_parquet, read_table
from softset.encoders.texts import check_text
from softset.errors import FileError, InputError
from softset.io.compressed import data_suffix

Pair = tuple[str, list[str]]
FORMATS = ".csv, .tsv, .jsonl, .ndjson, .json (each also with .gz) or .parquet"


class PairFile:
    """Candidates and their references in the rows of a file, read row by row as often as needed.

    Args:
        path: a .csv, .tsv, .jsonl, .ndjson, .json or .parquet file; all but Parquet may be in gzip format (.csv.gz).
        candidate: the field with the candidates.
        references: the fields with the references: texts, or in JSON lines and Parquet also lists of texts.
        header: the names of the fields, for a CSV or TSV file without a header line.

    Attributes:
        checksum: SHA-256 of all candidates and references.
        has_multiple_references: Whether a candidate has more than one reference.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        candidate: str = "candidate",
        references: Sequence[str] = ("reference",),
        *,
        header: Sequence[str] | None = None,
    ) -> None:
        self.name, self._candidate, self._references, self._header = str(path), candidate, tuple(references), header
        repeated = [field for field in self._fields if self._fields.count(field) > 1]
        if repeated:
            raise InputError(f"the field {repeated[0]!r} is given twice: name each field once")
        self._format = data_suffix(path)
        if self._format not in (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet"):
            raise InputError(f"{path} is not a table with fields: its name must end in {FORMATS}")
        if header is not None and self._format not in (".csv", ".tsv"):
            raise InputError(f"{path} contains field names: a header is only for CSV and TSV files without one")
        self._count, digest, self.has_multiple_references = 0, hashlib.sha256(), len(self._references) > 1
        for candidate, texts in self:
            self._count += 1
            self.has_multiple_references |= len(texts) > 1
            digest.update(json.dumps([candidate, texts]).encode())
        if not self._count:
            raise InputError(f"{path} has no rows: one pair of texts per row is expected")
        self.checksum = digest.hexdigest()

    @property
    def _fields(self) -> tuple[str, ...]:
        return (self._candidate, *self._references)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Pair]:
        unit = "row" if self._format == ".parquet" else "line"
        for number, record in self._records():
            where = f"{self.name}, {unit} {number}"
            (candidate,) = _texts(record, self._candidate, where, lists=False)
            yield candidate, [text for field in self._references for text in _texts(record, field, where)]

    def _records(self) -> NumberedRecords:
        match self._format:
            case ".csv" | ".tsv":
                return read_table(Path(self.name), self._header)
            case ".parquet":
                names = read_column_names(self.name)
                for field in self._fields:
                    _check_field(field, names, self.name)
                return read_parquet(self.name, self._fields)
            case ".json":
                return read_json_array(Path(self.name))
            case _:
                return read_json_lines(Path(self.name))


def _check_field(field: str, names: Collection[str], where: str) -> None:
    """Raise FileError for a field that is missing, with the fields that exist and the most similar one."""
    if field not in names:
        near = get_close_matches(field, names, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        shown = ", ".join(map(repr, names))[:200] or "none"
        raise FileError(f"{where}: there is no field {field!r}; {hint}fields: {shown}")


def _texts(record: Any, field: str, where: str, *, lists: bool = True) -> list[str]:
    """Return the text of a field, or the texts of a list."""
    if not isinstance(record, dict):
        raise FileError(f"{where}: an object with the field {field!r} is needed, but a text was found")
    _check_field(field, record, where)
    value = record[field]
    texts = value if lists and isinstance(value, list) else [value]
    if not texts:
        raise FileError(f"{where}: the field {field!r} is an empty list: give at least one text")
    for text in texts:
        if text is None:
            raise FileError(f"{where}: the field {field!r} has no value, but a text is expected")
        check_text(text, f"{where}: the field {field!r}")
    return texts
