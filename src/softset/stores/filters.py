"""Filters in the languages of databases: Milvus expressions, and SQL conditions for LanceDB.

A comparison with a missing value is false in every database, also below `not`: each comparison tests first that the
value exists.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

from softset.query.filter_parser import AllOf, Condition, FieldComparison, Negation, NullTest

__all__ = ["column_name", "milvus_text", "to_milvus", "to_sql"]

ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})  # Milvus Lite does not support \\u
OWN_FIELDS = ("id", "text")  # columns of every store


def _translate(tree: Condition, compare: Callable[[FieldComparison], str], exists: Callable[[str], str]) -> str:
    """Return a condition, given the translations of a comparison and of the test that a value exists."""
    if isinstance(tree, FieldComparison):
        return f"({exists(tree.field)} and {compare(tree)})"
    if isinstance(tree, NullTest):
        return f"(not {exists(tree.field)})"
    if isinstance(tree, Negation):
        return f"(not {_translate(tree.part, compare, exists)})"
    word = "and" if isinstance(tree, AllOf) else "or"
    return _join([_translate(part, compare, exists) for part in tree.parts], word)


def _join(parts: Sequence[str], word: str) -> str:
    """Join conditions in a balanced tree: databases limit the depth of a condition, not its size."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_join(parts[:half], word)} {word} {_join(parts[half:], word)})"


def milvus_text(text: str) -> str:
    """Return a text as a literal of Milvus."""
    return f'"{text.translate(ESCAPES)}"'


def to_milvus(tree: Condition, fields: Sequence[str]) -> str:
    """Return a Milvus expression; `fields` are the fields of the metadata.

    >>> to_milvus(FieldComparison("year", ">", 1900), ["year"])
    '(exists metadata["year"] and metadata["year"] > 1900)'
    """

    def path(name: str) -> str:
        return name if name in OWN_FIELDS and name not in fields else f"metadata[{milvus_text(name)}]"

    def exists(name: str) -> str:
        return f"exists {path(name)}" if path(name).startswith("metadata") else 'id != ""'

    def compare(part: FieldComparison) -> str:  # dates are stored as texts, which have the same order
        return f"{path(part.field)} {part.operator} {_literal(part.value, milvus_text, ('', ''))}"

    return _translate(tree, compare, exists)


def column_name(field: str) -> str:
    """Return the column of a field: SQL ignores case, and names may have only letters, digits and underscores.

    >>> column_name("year"), column_name("Page count")
    ('m_year', 'm__50_age_20_count')
    """
    return "m_" + re.sub(r"[^a-z0-9]", lambda match: f"_{ord(match[0]):x}_", field)


def field_name(column: str) -> str | None:
    """Return the field of a column, or None for other columns.

    >>> field_name("m__50_age_20_count"), field_name("vector")
    ('Page count', None)
    """
    if not column.startswith("m_"):
        return None
    return re.sub(r"_([0-9a-f]{1,6})_", lambda match: chr(int(match[1], 16)), column[2:])


def to_sql(tree: Condition, fields: Sequence[str]) -> str:
    """Return an SQL condition; `fields` are the fields of the metadata.

    >>> to_sql(FieldComparison("lang", "==", "it's"), ["lang"])
    "(m_lang is not null and m_lang = 'it''s')"
    """

    def column(name: str) -> str:
        return name if name in OWN_FIELDS and name not in fields else column_name(name)

    def compare(part: FieldComparison) -> str:
        operator = "=" if part.operator == "==" else part.operator
        # LanceDB does not compare a column of integers with a fraction.
        left = f"cast({column(part.field)} as double)" if isinstance(part.value, float) else column(part.field)
        return f"{left} {operator} {_literal(part.value, sql_text, ('date ', 'timestamp '))}"

    return _translate(tree, compare, lambda name: f"{column(name)} is not null")


def sql_text(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _literal(value: Any, quote: Callable[[str], str], date_types: tuple[str, str]) -> str:
    """Return a value as a literal, given how a language writes texts, and the words before a date and before a time."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return date_types[isinstance(value, datetime)] + quote(value.isoformat())
    return quote(value) if isinstance(value, str) else repr(value)
