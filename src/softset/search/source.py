"""The vectors that engines search: one declaration for word vectors, collections, stores and Ray jobs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np

from softset.query.thresholds import thresholds_of
from softset.runtime.threads import in_threads

MAX_UNSAMPLED = 65_536  # up to so many items, thresholds are computed from all of them
SAMPLE_SIZE = 32_768  # else from so many; the threshold for a million items is then the 33rd largest sampled cosine
DIRECTIONS_PER_BATCH = 128  # whose thresholds are computed together: 16 MB of cosines with the sample
ITEMS_PER_BLOCK = 2_048  # the cosines of 64 directions then stay in a processor's cache
MANY_DIRECTIONS = 32  # from here on, blocks in several threads are faster than one product with several threads

# From `start, stop` to the coordinates (k, n) of these items along k directions, and bounds (k,) of their errors.
Projector = Callable[[int, int], tuple[np.ndarray, np.ndarray]]
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

    def projector(self, directions: np.ndarray) -> Projector:
        """Return a function from `start, stop` to the coordinates (k, n) of these items along k directions (k, d).

        Items are scaled to length 1, so that coordinates along unit vectors are cosines. They are in float32; the
        function also returns bounds (k,) of their errors.
        """
        norms, errors = self.norms, rounding_errors(directions)

        def project(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
            block = norms[start:stop]
            return multiply(self.rows(start, stop), directions) / np.where(block > 0, block, 1), errors

        return project

    def cosines(self, directions: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return the cosines (k, m) of m items with k unit vectors (k, d) in float64; NaN for zero vectors."""
        rows = self.take(indices).astype(np.float64)
        norms = np.sqrt(np.vecdot(rows, rows))
        cosines: np.ndarray = np.vecdot(directions[:, None], rows) / np.where(norms > 0, norms, np.nan)
        return cosines

    @cached_property
    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Unit vectors (m, d) and indices (m,) of items at equal distances, from which thresholds are estimated.

        A sample of long runs would be faster to read, but words are often in the order of their frequency, and
        frequent words are similar to each other.
        """
        indices = np.linspace(0, len(self) - 1, SAMPLE_SIZE).astype(np.int64)
        units = np.empty((SAMPLE_SIZE, self.dimensions), dtype=np.float32)
        for start in range(0, SAMPLE_SIZE, ITEMS_PER_BLOCK):
            block = indices[start : start + ITEMS_PER_BLOCK]
            norms = np.asarray(self.norms)[block, None]
            units[start : start + ITEMS_PER_BLOCK] = self.take(block) / np.where(norms > 0, norms, 1)
        return units, indices

    def thresholds(self, directions: np.ndarray) -> np.ndarray:
        """Return the cosines (k,), with unit vectors (k, d), of the ceil(sqrt(n))-th nearest of the n items.

        For more than 65,536 items they are estimated from a sample.

        >>> import softset
        >>> softset.load_words().thresholds(np.eye(300)[:2]).round(2)
        array([0.16, 0.14])
        """
        n = len(self) - len(self.hidden)
        batches = range(0, len(directions), DIRECTIONS_PER_BATCH)
        cosines = (self._sample_cosines(directions[start : start + DIRECTIONS_PER_BATCH]) for start in batches)
        return np.concatenate([thresholds_of(batch, n) for batch in cosines])

    def _sample_cosines(self, directions: np.ndarray) -> np.ndarray:
        """Return the cosines (k, m) with all items, or with the sample if there are many; hidden items are left out."""
        if len(self) <= MAX_UNSAMPLED:
            project, indices = self.projector(directions), np.arange(len(self))
        else:
            units, indices = self.sample

            def project(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
                return multiply(units[start:stop], directions), np.zeros(0)

        size = ITEMS_PER_BLOCK if len(directions) >= MANY_DIRECTIONS else 8 * ITEMS_PER_BLOCK
        blocks = (cosines for cosines, _ in run_blocks(project, len(indices), size, len(directions)))
        cosines = np.concatenate([np.zeros((len(directions), 0), np.float32), *blocks], axis=1)
        return cosines[:, ~np.isin(indices, list(self.hidden))] if self.hidden else cosines


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
    with np.errstate(invalid="ignore", over="ignore"):  # NaN in a damaged file: `thresholds` reports it
        if len(Q) == 1:  # a product with one vector is faster
            return np.asarray(rows @ Q[0])[None, :]
        products: np.ndarray = (rows @ Q.T).T if len(Q) < MANY_DIRECTIONS else Q @ rows.T
    return products


def run_blocks(
    function: Callable[[int, int], BlockResult], n: int, size: int, directions: int
) -> Iterator[BlockResult]:
    """Yield `function(start, stop)` for the blocks of n items, in order; in threads if there are many directions."""
    run = map if directions < MANY_DIRECTIONS else in_threads
    return iter(run(lambda start: function(start, min(start + size, n)), range(0, n, size)))
