"""The schema of a collection: the type of each metadata field, recorded in the manifest."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from softset.collections.items import Item
from softset.errors import InputError
from softset.query.field_types import FIELD_TYPES, NOUNS, FieldType, merge_types, parse_value, type_of

__all__ = ["SchemaTracker", "infer_schema", "parse_schema", "with_dates"]

Schema = Mapping[str, FieldType]


class SchemaTracker:
    """Collects the types of the fields of new items, and refuses a value that conflicts with an earlier one."""

    def __init__(self, known: Schema) -> None:
        self.schema: dict[str, FieldType] = dict(known)

    def check(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items after a check of their values."""
        for item in items:
            for name, value in item.metadata.items():
                known = self.schema.get(name)
                kind = merge_types(known, type_of(value))
                if kind == "mixed" and known is not None and known != "mixed":
                    given = f"the item {item.id!r} has {value!r:.40}"
                    advice = f"change the value, or declare another type ({name}=text)"
                    raise InputError(f"the field {name!r} holds {NOUNS[known]}, but {given}: {advice}")
                if kind is not None:
                    self.schema[name] = kind
            yield item


def infer_schema(items: Iterable[Item]) -> dict[str, FieldType]:
    """Return the types of the fields of stored items; a field with values of several types is "mixed"."""
    schema: dict[str, FieldType] = {}
    for item in items:
        for name, value in item.metadata.items():
            kind = merge_types(schema.get(name), type_of(value))
            if kind is not None:
                schema[name] = kind
    return schema


def parse_schema(value: Any) -> dict[str, FieldType]:
    """Return the schema of a manifest; a value of another form raises ValueError or AttributeError.

    >>> parse_schema({"year": "integer"})
    {'year': 'integer'}
    """
    schema = {str(name): kind for name, kind in value.items()}
    unknown = [kind for kind in schema.values() if kind not in FIELD_TYPES]
    if unknown:
        raise ValueError(f"there is no type {unknown[0]!r} of fields")
    return schema


def with_dates(item: Item, schema: Schema) -> Item:
    """Return an item whose dates are dates; JSON holds them as texts."""
    dates = {
        name: parsed
        for name, value in item.metadata.items()
        if schema.get(name) in ("date", "datetime")
        and isinstance(value, str)
        and (parsed := parse_value(value, schema[name])) is not None
    }
    return Item(item.id, item.text, {**item.metadata, **dates}) if dates else item
