"""Items in memory that belong to no source: the texts that `membership` and `calibrate` are given."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from softset.query.centroid import LexicalSet
from softset.query.lexical import LexicalIndex
from softset.search.source import VectorSource
from softset.vectors.rows import row_norms


class GivenItems(VectorSource):
    """Items with vectors (n + m, d), the owners (m,) of those of their chunks, and a lexical index.

    >>> GivenItems(np.eye(3)[:2]).cosines(np.eye(3)[:1], np.arange(2)).tolist()
    [[1.0, 0.0]]
    """

    checksum = signature = ""

    def __init__(
        self, vectors: np.ndarray, owners: np.ndarray | None = None, lexical: LexicalIndex | None = None
    ) -> None:
        self._vectors, self._owners, self._lexical = vectors, owners, lexical

    @property
    def dimensions(self) -> int:
        """The number of dimensions d."""
        return int(self._vectors.shape[1])

    @cached_property
    def norms(self) -> np.ndarray:
        """The norms (n,) of the items' own vectors."""
        return row_norms(self._vectors[: len(self)])

    def __len__(self) -> int:
        return len(self._vectors) - (0 if self._owners is None else len(self._owners))

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the items' own vectors (stop - start, d)."""
        return self._vectors[start : min(stop, len(self))]

    def take(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the items' own vectors (k, d) at the given indices."""
        return self._vectors[np.asarray(indices, dtype=np.int64)]

    def all_vectors(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the vectors of all items; `indices` always names all of them, in their order."""
        del indices
        return self._vectors, self._owners

    def lexical_scores(self, lexical: LexicalSet) -> np.ndarray | None:
        """Return the BM25 scores (n,) of the items for the words of a set."""
        return None if self._lexical is None else self._lexical.scores(lexical.weights, lexical.average_length)
