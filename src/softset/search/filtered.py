"""Searches among the items that match a filter: they are scored exactly, and all others are never read."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from softset.errors import ShapeError
from softset.query.centroid import LexicalSet
from softset.query.plan import Plan
from softset.search.exact import Ranking, search
from softset.search.results import Item
from softset.search.source import Coordinates, Projector, VectorSource, divide_by_norms, multiply, rounding_errors
from softset.vectors.rows import row_norms

if TYPE_CHECKING:
    from softset.search.find import SearchableSource

__all__ = ["ItemFilter", "SelectedItems", "filter_signature"]

# A condition on metadata, one bool for each item, or a function from an item to bool.
ItemFilter = str | Sequence[bool] | np.ndarray | Callable[[Item], Any]


def _mask(source: "SearchableSource", condition: ItemFilter) -> np.ndarray:
    """Return a boolean array (n,): which items match a filter."""
    n = len(source)
    if isinstance(condition, str):
        return source.matches(condition)
    if callable(condition):
        return np.array([bool(condition(source.item(index))) for index in range(n)], dtype=bool)
    mask = np.asarray(condition)
    if mask.dtype != bool or mask.shape != (n,):
        given = f"an array of {mask.dtype} of shape {mask.shape}"
        raise ShapeError(f"a filter must be a condition, a function or {n} booleans, but {given} was given")
    return mask


class SelectedItems(VectorSource):
    """The items of a source at some indices, which are searched exactly."""

    checksum = ""  # these items have no file of their own

    def __init__(self, source: VectorSource, selected: np.ndarray) -> None:
        self._source = source
        self.selected = selected  # in ascending order

    @classmethod
    def matching(cls, source: "SearchableSource", condition: ItemFilter) -> "SelectedItems":
        """Return the items that match a filter and are not hidden."""
        selected = np.flatnonzero(_mask(source, condition))
        return cls(source, np.setdiff1d(selected, list(source.hidden), assume_unique=True))

    def rank(
        self, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]], stop: int | None = None
    ) -> list[Ranking]:
        """Return the best of these items for each plan; indices are those of the whole source."""
        first = None if stop is None else int(np.searchsorted(self.selected, stop))
        if not len(self.selected) or first == 0:
            return [Ranking.empty() for _ in plans]
        positions = [self._positions(indices) for indices in excluded]
        rankings = search(self, plans, top, excluded=positions, stop=first)
        return [Ranking(self.selected[ranking.indices], ranking.scores) for ranking in rankings]

    def _positions(self, indices: frozenset[int]) -> frozenset[int]:
        """Return the positions of those indices of the whole source that are selected."""
        found = np.isin(self.selected, np.array(sorted(indices), dtype=np.int64))
        return frozenset(np.flatnonzero(found).tolist())

    def count(self, excluded: frozenset[int], stop: int | None) -> int:
        """Return how many of the first `stop` items of the whole source a search may return."""
        inside = self.selected if stop is None else self.selected[self.selected < stop]
        return len(inside) - int(np.isin(inside, np.array(sorted(excluded), dtype=np.int64)).sum())

    @property
    def signature(self) -> str:
        """The signature of the whole source."""
        return self._source.signature

    @property
    def dimensions(self) -> int:
        """The number of dimensions d."""
        return self._source.dimensions

    @cached_property
    def norms(self) -> np.ndarray:
        """The norms (n,) of the vectors."""
        return np.asarray(self._source.norms[self.selected])

    def __len__(self) -> int:
        return len(self.selected)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors (stop - start, d) of consecutive items."""
        return self._source.take(self.selected[start:stop])

    def take(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors (k, d) of the items at the given positions."""
        return self._source.take(self.selected[np.asarray(indices, dtype=np.int64)])

    @property
    def vectors_per_item(self) -> float:
        """The mean number of vectors of an item of the whole source."""
        return self._source.vectors_per_item

    def all_vectors(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return all vectors (n + m, d) of the items at the given positions, and the owners of the further ones."""
        return self._source.all_vectors(self.selected[indices])

    def projector(self, directions: np.ndarray) -> Projector:
        """Return a function from `start, stop` to the coordinates of these items along k directions (k, d)."""
        errors = rounding_errors(directions)

        def project(start: int, stop: int) -> Coordinates:
            rows, owners = self.all_vectors(np.arange(start, stop))
            return Coordinates(divide_by_norms(multiply(rows, directions), row_norms(rows)), errors, owners)

        return project

    def lexical_scores(self, lexical: LexicalSet) -> np.ndarray | None:
        """Return the BM25 scores (n,) of these items for the words of a set."""
        scores = self._source.lexical_scores(lexical)
        return None if scores is None else scores[self.selected]

    def cosines(self, directions: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return the cosines (k, m) of m items with k unit vectors (k, d) as the whole source computes them."""
        return self._source.cosines(directions, self.selected[indices])


def filter_signature(condition: ItemFilter) -> str:
    """Return the part of a signature that names a filter.

    >>> filter_signature("year > 1900")
    '|filter:year > 1900'
    """
    if isinstance(condition, str):
        return f"|filter:{quote(condition, safe=' =<>!(),')}"
    return "|filter:function" if callable(condition) else "|filter:array"
