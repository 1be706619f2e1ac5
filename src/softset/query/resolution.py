"""Resolve examples to vectors: the part of a vector source that the planner uses."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from softset.errors import UnknownWordError
from softset.query.background import Background

EXACT_MATCH = "exact match"


class Resolved(NamedTuple):
    """The vector (d,) of an example, how it was found, the indices of the items that it consists of, and its text."""

    vector: np.ndarray
    resolved_as: str
    indices: tuple[int, ...]
    text: str = ""


class QuerySource(ABC):
    """The part of a vector source that the planner uses."""

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The number of dimensions d."""

    @abstractmethod
    def resolve(self, text: str) -> Resolved:
        """Return the vector of a text, or raise UnknownWordError."""

    @abstractmethod
    def resolve_many(self, texts: Iterable[str]) -> dict[str, Resolved]:
        """Return the vectors of those texts that have one, read in one batch."""

    @abstractmethod
    def resolve_ids(self, ids: Sequence[str]) -> dict[str, Resolved]:
        """Return the vectors of those ids that items have."""

    def nearest_ids(self, item_id: str) -> list[str]:
        """Return ids with a similar spelling, for messages; a source that cannot list its ids has none."""
        del item_id
        return []

    def terms(self, text: str) -> list[str] | None:
        """Return the terms of a text, or None if the items have no lexical index."""
        del text
        return None

    def prepare_vectors(self, rows: np.ndarray) -> np.ndarray:
        """Return vectors (k, d) of the caller as vectors of this source; a preprocessing changes them."""
        return rows

    @property
    @abstractmethod
    def background(self) -> Background:
        """The background that scores are compared with."""


def resolve_all(source: QuerySource, texts: Iterable[str], *, skip_unknown: bool) -> dict[str, Resolved]:
    """Return the vectors of texts; a text without a vector raises UnknownWordError, or is left out on request."""
    distinct = list(dict.fromkeys(texts))
    resolved = source.resolve_many(distinct)
    if not skip_unknown:
        resolved |= {text: source.resolve(text) for text in distinct if text not in resolved}  # raises the error
    return resolved


def resolve_ids(source: QuerySource, ids: Iterable[str], *, skip_unknown: bool = False) -> dict[str, Resolved]:
    """Return the vectors of items by their ids; an unknown id raises UnknownWordError, or is left out on request."""
    distinct = list(dict.fromkeys(ids))
    resolved = source.resolve_ids(distinct) if distinct else {}
    missing = [item_id for item_id in distinct if item_id not in resolved]
    if missing and not skip_unknown:
        near = source.nearest_ids(missing[0])
        hint = f"; did you mean {near[0]!r}?" if near else ": give the id of an item"
        raise UnknownWordError(f"there is no item with the id {missing[0]!r}{hint}")
    return {item_id: row._replace(resolved_as=EXACT_MATCH) for item_id, row in resolved.items()}
