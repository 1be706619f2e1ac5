"""The types of metadata fields: text, integer, number, boolean, date and datetime.

Values in CSV and TSV files are texts. A column is of the first type in this order that all its values have:

    boolean    true, false
    integer    17, -3: no leading zeros, at most 18 digits
    number     1.5, -3e8
    date       2020-01-31
    datetime   2020-01-31T12:30:00, also with a space or an offset; converted to UTC
    text       everything else
"""

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal, get_args

__all__ = ["INFERRED", "NOUNS", "FieldType", "convert_value", "merge_types", "parse_value", "plain_value", "type_of"]

FieldType = Literal["text", "integer", "number", "boolean", "date", "datetime", "nested", "mixed"]
FIELD_TYPES: tuple[FieldType, ...] = get_args(FieldType)
INFERRED: tuple[FieldType, ...] = ("boolean", "integer", "number", "date", "datetime")
PYTHON_TYPES: dict[type, FieldType] = {bool: "boolean", int: "integer", float: "number", str: "text"}
PYTHON_TYPES |= {datetime: "datetime", date: "date"}  # a bool is an int, and a datetime a date
NOUNS: dict[str, str] = {
    "text": "texts",
    "integer": "whole numbers",
    "number": "numbers",
    "boolean": "true or false",
    "date": "dates",
    "datetime": "times",
    "nested": "lists or objects",
    "mixed": "values of several types",
}
INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})", re.ASCII)
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?", re.ASCII)
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
DATETIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?",
    re.ASCII,
)


def _to_utc(value: datetime) -> datetime:
    return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)


PARSERS: dict[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    "boolean": (re.compile("true|false", re.IGNORECASE), lambda text: text.lower() == "true"),
    "integer": (INTEGER, int),
    "number": (NUMBER, float),
    "date": (DATE, date.fromisoformat),
    "datetime": (DATETIME, lambda text: _to_utc(datetime.fromisoformat(text))),
}


def parse_value(text: str, kind: FieldType) -> Any:
    """Return the value that a text has as a type, or None if it has none.

    >>> parse_value("1815", "integer"), parse_value("007", "integer"), parse_value("2020-01-31", "date")
    (1815, None, datetime.date(2020, 1, 31))
    """
    if kind == "text":
        return text
    if kind not in PARSERS:
        return None
    pattern, parse = PARSERS[kind]
    if pattern.fullmatch(text) is None:
        return None
    try:
        return parse(text)
    except (ValueError, OverflowError):  # 2020-02-31
        return None


def type_of(value: Any) -> FieldType | None:
    """Return the type of a value, or None for None.

    >>> type_of(3), type_of(2.5), type_of("x"), type_of(["x"])
    ('integer', 'number', 'text', 'nested')
    """
    if value is None:
        return None
    return next((kind for python, kind in PYTHON_TYPES.items() if isinstance(value, python)), "nested")


def merge_types(known: FieldType | None, new: FieldType | None) -> FieldType | None:
    """Return the type of a field that holds values of two types, or "mixed" if there is none; None has no values.

    >>> merge_types("integer", "number"), merge_types("text", None), merge_types("text", "date")
    ('number', 'text', 'mixed')
    """
    if known is None or new is None or known == new:
        return known or new
    return "number" if {known, new} == {"integer", "number"} else "mixed"


def plain_value(value: Any) -> Any:
    """Return a value for JSON: dates become texts such as 2020-01-31.

    >>> plain_value(date(2020, 1, 31)), plain_value([1, date(2020, 1, 31)])
    ('2020-01-31', [1, '2020-01-31'])
    """
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: plain_value(part) for key, part in value.items()}
    return [plain_value(part) for part in value] if isinstance(value, list | tuple) else value


def clean_value(value: Any) -> Any:
    """Return a Python value for one of any library: NumPy scalars, decimals; NaN becomes None, times become UTC."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 and not isinstance(value, str):
        value = value.item()
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, datetime):
        if value != value:
            return None
        return _to_utc(value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value)
    return value


def convert_value(value: Any, kind: FieldType) -> Any:
    """Return a value as a type that the user declares, or None if it cannot be converted.

    >>> convert_value(7, "text"), convert_value("7", "number"), convert_value("x", "number")
    ('7', 7.0, None)
    """
    if kind == "text":
        return value if isinstance(value, str) else str(plain_value(value))
    if isinstance(value, str):
        return parse_value(value.strip(), kind)
    if kind == "number" and type_of(value) == "integer":
        return float(value)
    return value if type_of(value) == kind else None
