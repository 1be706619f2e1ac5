"""The vectors that engines search: one declaration for word vectors, collections, stores and Ray jobs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from softset.query.background import Background, sample_indices, value_per_item
from softset.query.centroid import LexicalSet
from softset.runtime.threads import in_threads

ITEMS_PER_BLOCK = 2_048  # the cosines of 64 directions then stay in a processor's cache
MANY_DIRECTIONS = 32  # from here on, blocks in several threads are faster than one product with several threads


class Coordinates(NamedTuple):
    """The coordinates (k, n + m) of the vectors of n items along k directions.

    The first n columns belong to the items' own vectors, the others to their further vectors, such as those of
    sentences.

    Attributes:
        values: the coordinates in float32.
        errors: bounds (k,) of their errors.
        owners: for each further vector, the position (m,) of its item, in ascending order; None if there are none.
    """

    values: np.ndarray
    errors: np.ndarray
    owners: np.ndarray | None = None


# From `start, stop` to the coordinates of these items.
Projector = Callable[[int, int], Coordinates]
BlockResult = TypeVar("BlockResult")


class VectorSource(ABC):
    """Items with vectors (n, d) that are read in blocks.

    `engine` is the name of the default engine, which is part of signatures.
    """

    engine = "exact"

    @property
    @abstractmethod
    def checksum(self) -> str:
        """The SHA-256 of the stored vectors, or "" for vectors that are not in a file."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """A description of everything that results depend on."""

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The number of dimensions d."""

    @property
    @abstractmethod
    def norms(self) -> np.ndarray:
        """The norms (n,) of all vectors."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors (stop - start, d) of consecutive items."""

    @abstractmethod
    def take(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors (k, d) of the items at the given indices."""

    @property
    def hidden(self) -> frozenset[int]:
        """The indices of items that no search may return."""
        return frozenset()

    @property
    def vectors_per_item(self) -> float:
        """The mean number of vectors of an item."""
        return 1.0

    def all_vectors(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return all vectors (n + m, d) of n items, and the owners of the further ones; see `Coordinates`."""
        return self.take(indices), None

    def projector(self, directions: np.ndarray) -> Projector:
        """Return a function from `start, stop` to the coordinates of these items along k directions (k, d).

        Vectors are scaled to length 1, so that coordinates along unit vectors are cosines.
        """
        norms, errors = self.norms, rounding_errors(directions)

        def project(start: int, stop: int) -> Coordinates:
            return Coordinates(divide_by_norms(multiply(self.rows(start, stop), directions), norms[start:stop]), errors)

        return project

    def cosines(self, directions: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return the cosines (k, n) of n items with k unit vectors (k, d) in float64; NaN for zero vectors.

        That of an item with several vectors is the mean of its own and of the largest.
        """
        rows, owners = self.all_vectors(indices)
        rows = rows.astype(np.float64)
        norms = np.sqrt(np.vecdot(rows, rows))
        cosines: np.ndarray = np.vecdot(directions[:, None], rows) / np.where(norms > 0, norms, np.nan)
        return value_per_item(cosines, len(indices), owners)

    def passages(self, indices: np.ndarray, directions: Sequence[np.ndarray]) -> list[list[str]]:
        """Return, for each item, the part of its text that is nearest to each direction; nothing without such parts."""
        del indices, directions
        return []

    def lexical_scores(self, lexical: LexicalSet) -> np.ndarray | None:
        """Return the BM25 scores (n,) of all items for the words of a set, or None without a lexical index."""
        del lexical
        return None

    @cached_property
    def background(self) -> Background:
        """The background that scores are compared with: vectors of items at equal distances."""
        return Background.of(self.take(sample_indices(len(self))))


def rounding_errors(directions: np.ndarray) -> np.ndarray:
    """Return bounds (k,) of the errors of products in float32 of k directions (k, d) with unit vectors.

    A sum of d products has a relative error of at most d eps / 2 (Higham 2002, section 3.1). Norms, divisions and the
    conversion of the directions add less than 4 eps, and the factor 2 that is left covers terms of second order.
    """
    bounds: np.ndarray = (directions.shape[1] + 8) * np.finfo(np.float32).eps * np.linalg.norm(directions, axis=1)
    return bounds


def multiply(rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return the products (k, n) of rows (n, d) and directions (k, d) in the type of the rows."""
    Q = directions.astype(rows.dtype)
    with np.errstate(invalid="ignore", over="ignore"):  # NaN in a damaged file
        if len(Q) == 1:  # a product with one vector is faster
            return np.asarray(rows @ Q[0])[None, :]
        products: np.ndarray = (rows @ Q.T).T if len(Q) < MANY_DIRECTIONS else Q @ rows.T
    return products


def divide_by_norms(values: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Return values over the norms of their vectors; those of zero vectors are unchanged."""
    with np.errstate(over="ignore"):  # a norm of 1e-40 in a damaged file
        return np.asarray(values / np.where(norms > 0, norms, 1))


def run_blocks(
    function: Callable[[int, int], BlockResult], n: int, size: int, directions: int
) -> Iterator[BlockResult]:
    """Yield `function(start, stop)` for the blocks of n items, in order; in threads if there are many directions."""
    run = map if directions < MANY_DIRECTIONS else in_threads
    return iter(run(lambda start: function(start, min(start + size, n)), range(0, n, size)))
