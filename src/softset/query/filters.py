"""Filters on metadata: `year > 1900 and lang in ("en", "de")`.

A filter compares fields with values: `==`, `!=`, `<`, `<=`, `>`, `>=`, `in (...)`, `not in (...)`, `is null` and
`is not null`, joined by `and`, `or`, `not` and brackets. A value is a text in quotes, a number, a date such as
2020-01-31, `true` or `false`. A comparison with a missing value is false, and `not` makes it true.

`parse_filter` makes a tree, and `check_filter` compares it with the types of the fields. Collections evaluate the
checked tree (`select`); stores translate it to the language of their database.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from difflib import get_close_matches
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import numpy as np

from softset.errors import QueryError
from softset.query.field_types import NOUNS, FieldType, parse_value, type_of
from softset.query.filter_parser import AllOf, AnyOf, Condition, FieldComparison, Negation, NullTest, parse_filter

__all__ = ["check_filter", "select"]


def check_filter(text: str, fields: Mapping[str, FieldType]) -> Condition:
    """Return the tree of a filter after a check of its fields and values; texts become dates where fields are dates.

    >>> check_filter("yaer > 1900", {"year": "integer"})
    Traceback (most recent call last):
    softset.errors.QueryError: there is no field 'yaer'; did you mean 'year'?
      yaer > 1900
      ^
    """

    def check(tree: Condition) -> Condition:
        if isinstance(tree, Negation):
            return Negation(check(tree.part))
        if isinstance(tree, AllOf | AnyOf):
            return replace(tree, parts=tuple(map(check, tree.parts)))
        position = tree.position if isinstance(tree, NullTest) else tree.positions[0]
        if tree.field not in fields:
            near = get_close_matches(tree.field, fields, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"fields: {', '.join(sorted(fields)[:20])}"
            raise QueryError(f"there is no field {tree.field!r}; {hint}", text, position)
        return tree if isinstance(tree, NullTest) else _check_value(tree, fields[tree.field], text)

    return check(parse_filter(text))


def _check_value(tree: FieldComparison, kind: FieldType, text: str) -> FieldComparison:
    value = tree.value
    if kind in ("mixed", "nested"):
        problem = f"the field {tree.field!r} holds {NOUNS[kind]}, which cannot be compared: use is null or is not null"
        raise QueryError(problem, text, tree.positions[0])
    if kind in ("date", "datetime"):
        parsed = parse_value(value, kind) if isinstance(value, str) else value
        if kind == "datetime" and type(parsed) is date:
            parsed = datetime(parsed.year, parsed.month, parsed.day)
        matches = parsed is not None and type_of(parsed) == kind
    elif kind in ("integer", "number"):
        matches = type_of(value) in ("integer", "number")
        parsed = int(value) if kind == "integer" and isinstance(value, float) and value.is_integer() else value
    else:
        parsed, matches = value, type_of(value) == kind
    if not matches:
        given = NOUNS[type_of(value) or "mixed"]
        raise QueryError(f"the field {tree.field!r} holds {NOUNS[kind]}, not {given}", text, tree.positions[1])
    if kind == "boolean" and tree.operator not in ("==", "!="):
        raise QueryError(f"the field {tree.field!r} holds {NOUNS[kind]}: use == or !=", text, tree.positions[1])
    return replace(tree, value=parsed)


# Evaluation

COMPARISONS = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def select(tree: Condition, column: Callable[[str], Sequence[Any]]) -> np.ndarray:
    """Return a boolean array: which items match a checked filter. `column` returns the values of a field.

    >>> select(check_filter("year > 1900 or year is null", {"year": "integer"}), lambda _: [1815, None, 1999]).tolist()
    [False, True, True]
    """
    if isinstance(tree, Negation):
        return ~select(tree.part, column)
    if isinstance(tree, AllOf | AnyOf):
        if isinstance(tree, AnyOf) and (values := one_of(tree)):
            allowed = frozenset(part.value for part in values)
            return np.array([value in allowed for value in column(values[0].field)], dtype=bool)
        masks = [select(part, column) for part in tree.parts]
        join = np.logical_and if isinstance(tree, AllOf) else np.logical_or
        return np.asarray(join.reduce(masks))
    if isinstance(tree, NullTest):
        return np.array([value is None for value in column(tree.field)], dtype=bool)
    compare, wanted = COMPARISONS[tree.operator], tree.value
    return np.array([value is not None and compare(value, wanted) for value in column(tree.field)], dtype=bool)


def one_of(tree: AnyOf) -> list[FieldComparison]:
    """Return the comparisons of `FIELD in (...)`, or an empty list for other conditions."""
    parts = [part for part in tree.parts if isinstance(part, FieldComparison) and part.operator == "=="]
    return parts if len(parts) == len(tree.parts) and len({part.field for part in parts}) == 1 else []
