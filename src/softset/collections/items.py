"""Items from files, DataFrames and Python objects: one reader for the command line and for Python."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypedDict

from softset.collections.records import Records, open_records
from softset.errors import FileError, InputError
from softset.io.text import check_names
from softset.query.field_types import FIELD_TYPES, NOUNS, FieldType, clean_value, convert_value
from softset.search.results import Item

__all__ = ["Item", "ItemOptions", "read_items"]


class ItemOptions(TypedDict, total=False):
    """How records become items.

    Attributes:
        text_field: the column of the text; by default "text", or the only column besides the id.
        id_field: the column of the id; by default "id" if there is one, else the items are numbered.
        types: types of columns by name: "text", "integer", "number", "boolean", "date" or "datetime".
    """

    text_field: str | None
    id_field: str | None
    types: Mapping[str, FieldType] | None


def read_items(
    source: Any,
    *,
    text_field: str | None = None,
    id_field: str | None = None,
    types: Mapping[str, FieldType] | None = None,
    known: Mapping[str, FieldType] | None = None,
    first: int = 1,
) -> Iterator[Item]:
    """Yield the items of a file, a DataFrame, or an iterable of texts, dictionaries and Items.

    The format of a file follows from its suffix: .csv, .tsv, .jsonl, .ndjson, .json (one array), .parquet; other files
    have one text per line. `ItemOptions` describes `text_field`, `id_field` and `types`.

    Args:
        source: the path, DataFrame or iterable.
        text_field: the column of the text.
        id_field: the column of the id.
        types: types of columns, which replace the inferred ones.
        known: types that the fields of a collection have already; columns of CSV and TSV files, and dates, are read as
            these.
        first: the number of the first item without an id.
    """
    for name, kind in (types or {}).items():
        if kind not in FIELD_TYPES[:6]:
            raise InputError(f"the type {kind!r} of {name!r} is none of {', '.join(FIELD_TYPES[:6])}")
    records = open_records(source)
    return _make_items(records, text_field, id_field, _Types(records.types, types or {}, known or {}), first)


class _Types:
    """The types that values are converted to: declared ones, known ones, and inferred ones."""

    def __init__(
        self, inferred: Mapping[str, FieldType], declared: Mapping[str, FieldType], known: Mapping[str, FieldType]
    ) -> None:
        self._inferred, self._declared, self._known = inferred, declared, known
        self._names: dict[str, None] = {}  # of all columns, in their order

    def check_used(self) -> None:
        """Refuse a declared type of a column that no item has."""
        check_names(self._declared, [*self._names, *self._known], "metadata column")

    def convert(self, name: str, value: Any, location: str) -> Any:
        self._names[name] = None
        value = clean_value(value)
        if value is None or (value == "" and name in self._inferred):
            return None
        kind = self._declared.get(name) or self._implied(name, value)
        if kind is None:
            return value
        converted = convert_value(value, kind)
        if converted is None and kind == "integer":
            converted = convert_value(value, "number")
        if converted is None:
            problem = f"the column {name!r} has {str(value)[:40]!r}, but it holds {NOUNS[kind]}"
            raise FileError(f"{location}: {problem}; change the value, or declare another type (--type {name}=text)")
        return converted

    def _implied(self, name: str, value: Any) -> FieldType | None:
        """Return the type to which a text is converted without a declaration, or None."""
        known = self._known.get(name)
        if not isinstance(value, str) or known in ("nested", "mixed"):
            return None
        if name in self._inferred:
            return known or self._inferred[name]
        return known if known in ("date", "datetime") else None  # JSON has no dates


def _make_items(
    records: Records, text_field: str | None, id_field: str | None, types: _Types, first: int
) -> Iterator[Item]:
    count = 0
    for count, (number, record) in enumerate(records.rows, 1):
        location, row = records.location(number), first + count - 1
        if isinstance(record, str):
            item = Item(str(row), record)
        elif isinstance(record, Item):
            values = {name: types.convert(name, value, location) for name, value in record.metadata.items()}
            item = Item(record.id, record.text, values)
        elif isinstance(record, Mapping):
            item = _item(record, location, row, text_field, id_field, types)
        else:
            wanted = "a text, a dictionary or an Item"
            raise InputError(f"{location} is {type(record).__name__}, but {wanted} was expected")
        _check_writable(item, location)
        yield item
    if not count:
        raise FileError(f"{records.name} has no items: give at least one")
    types.check_used()


def _item(
    record: Mapping[str, Any], location: str, row: int, text_field: str | None, id_field: str | None, types: _Types
) -> Item:
    id_key = id_field or ("id" if "id" in record else None)
    text_key = text_field or _default_text_field(record, id_key)
    columns = ", ".join(map(str, record)) or "none"
    if text_key is None:
        problem = f"there is no column 'text'; columns: {columns}; name the one with the texts (--text-field)"
        raise FileError(f"{location}: {problem}")
    for key in (id_key, text_key):
        if key is not None and clean_value(record.get(key)) is None:
            raise FileError(f"{location}: the column {key!r} is missing or empty; columns: {columns}")
    metadata = {
        str(name): types.convert(str(name), value, location)
        for name, value in record.items()
        if name not in (id_key, text_key)
    }
    item_id = clean_value(record[id_key]) if id_key else row
    return Item(str(item_id), str(record[text_key]), metadata)


def _default_text_field(record: Mapping[str, Any], id_key: str | None) -> str | None:
    others = [key for key in record if key != id_key]
    return "text" if "text" in record else others[0] if len(others) == 1 else None


def _check_writable(item: Item, where: str) -> None:
    """Refuse values that JSON in UTF-8 cannot hold: lone surrogates, infinity, and objects of unknown types."""
    try:
        json.dumps([item.id, item.text, item.metadata], ensure_ascii=False, allow_nan=False, default=str).encode()
    except (ValueError, UnicodeEncodeError, TypeError, RecursionError) as error:
        raise FileError(f"{where}: an id, text or value cannot be stored ({error})") from error
