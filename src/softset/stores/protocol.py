"""What an engine must do to hold a collection: neighbours of probes, records by their ids, and more records.

Everything else is done here, the same for all: `stored.py` turns queries into probes, and ranks what they find exactly.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

__all__ = ["Neighbours", "Record", "Store"]


class Record(NamedTuple):
    """An item with its vector (d,)."""

    id: str
    text: str
    metadata: dict[str, Any]
    vector: np.ndarray


class Neighbours(NamedTuple):
    """Ids of items near a probe, nearest first, and their cosines with it (n,)."""

    ids: list[str]
    cosines: np.ndarray


class Store(Protocol):
    """A collection in an engine."""

    name: str
    dimensions: int
    encoder: str
    most: int

    def __len__(self) -> int:
        """Return how many items there are."""
        ...

    def nearest(self, probes: np.ndarray, count: int, where: str | None) -> list[Neighbours]:
        """Return about the nearest items to each of some unit vectors (k, d), of those that a filter lets through."""
        ...

    def fetch(self, ids: Sequence[str]) -> list[Record]:
        """Return the items of some ids; an id that is not there is passed over."""
        ...

    def add(self, records: Sequence[Record]) -> None:
        """Add items, or replace those of the same ids."""
        ...

    def remove(self, ids: Sequence[str]) -> None:
        """Take items away; an id that is not there is passed over."""
        ...

    def finish(self) -> None:
        """Make what was added ready to be searched, when all has come."""
        ...
