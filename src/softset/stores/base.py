"""The `Store` protocol: what a database must do to hold a collection.

A store finds the nearest neighbours of vectors and returns records by id. Everything else is the same for all stores:
`collection.py` turns set queries into neighbour searches and ranks the candidates exactly.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from softset.errors import InputError, SoftsetError
from softset.io.text import first_line
from softset.query.field_types import FieldType
from softset.query.filter_parser import Condition

BACKGROUND = "_background"  # the end of a companion's name
ENGINE_MODULES = {"pymilvus", "milvus_lite", "grpc", "lancedb", "lance", "pyarrow"}
SOURCE_LOCATION = re.compile(r",? ?\S*/src/\S+\.rs:[\d:]+")  # positions in the source code of LanceDB
Result = TypeVar("Result")


class Record(NamedTuple):
    """An item with its vector (d,)."""

    id: str
    text: str
    metadata: dict[str, Any]
    vector: np.ndarray


class Neighbours(NamedTuple):
    """The ids of the items nearest to a vector, nearest first, and their cosines (n,)."""

    ids: list[str]
    cosines: np.ndarray


class Store(Protocol):
    """A collection in a database.

    Attributes:
        name: the name of the collection.
        dimensions: the dimension of its vectors.
        encoder: the name of the encoder that made them.
        fields: the types of the metadata fields that filters may use.
        max_neighbours: the largest number of neighbours that a search returns.
    """

    name: str
    dimensions: int
    encoder: str
    fields: Mapping[str, FieldType]
    max_neighbours: int

    def __len__(self) -> int:
        """Return the number of items."""

    def nearest(self, vectors: np.ndarray, count: int, condition: Condition | None) -> list[Neighbours]:
        """Return the (approximately) nearest items of each unit vector (k, d), among those that match a filter."""

    def fetch(self, ids: Sequence[str]) -> list[Record]:
        """Return the items with these ids; unknown ids are ignored."""

    def declare(self, fields: Mapping[str, FieldType]) -> None:
        """Record the types of all metadata fields, before items with them are added."""

    def add(self, records: Sequence[Record]) -> None:
        """Add items; items with the same ids are replaced. Dates in their metadata are texts."""

    def remove(self, ids: Sequence[str]) -> None:
        """Delete the items with these ids; unknown ids are ignored."""

    def ids(self) -> Iterable[str]:
        """Return the ids of all items, in any order."""
        ...

    def companion(self, *, create: bool = False) -> "Store | None":
        """Return the collection beside this one that holds its background; None if it does not exist.

        If a new collection is created, an older companion with its name is deleted.
        """
        ...

    def finish(self) -> None:
        """Build or update the index after items were added."""


def call_engine(engine: str, call: Callable[[], Result], where: str = "") -> Result:
    """Return the result of a call to a database; its exceptions become an InputError with their first line.

    Exceptions that only a mistake in the code raises, such as TypeError and KeyError, are not changed.
    """
    try:
        return call()
    except SoftsetError:
        raise
    except Exception as error:
        is_engine_error = type(error).__module__.partition(".")[0] in ENGINE_MODULES
        if not is_engine_error and not isinstance(error, OSError | RuntimeError | ValueError):
            raise
        message = first_line(Exception(getattr(error, "message", "") or first_line(error)))
        message = SOURCE_LOCATION.sub("", message)[:300]
        advice = "; free some space and run the command again: it continues" if "No space left" in message else ""
        raise InputError(f"{engine} reports{where}: {message}{advice}") from error
