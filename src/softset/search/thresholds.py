"""Where a set ends among n items: at the cosine of the ceil(sqrt(n))-th nearest. Of many items, a sample tells."""

from collections.abc import Callable, Sequence
from math import isnan
from typing import Protocol

import numpy as np

from softset.errors import FileError
from softset.query.centroid import expected_size
from softset.runtime.threads import in_threads
from softset.search.products import FEW_COLUMNS

__all__ = ["FEW", "NOT_FINITE", "SAMPLE", "ends", "filled", "largest", "rank_among", "sampled"]

NOT_FINITE = "a vector has a number that is not finite: its file was changed since; make it again"
FEW = 65_536  # items up to which the border of a set is sought among all of them
SAMPLE = 32_768  # of more: the border of a set among a million is then a quantile over some 30 items
GROUP = 32  # of them, in each of which the largest is looked for first
BLOCK = 4_096  # items that are looked at together
FEWER = 2_048  # of them where there are many directions: their cosines with 64 stay in a processor's cache


class Sampled(Protocol):
    """Items of which a sample can be taken."""

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""

    @property
    def norms(self) -> np.ndarray:
        """The lengths (n,) of all vectors."""

    def take(self, places: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors (k, d) of items at some places."""

    def __len__(self) -> int: ...


def sampled(items: Sampled) -> tuple[np.ndarray, np.ndarray]:
    """Return some of many items, scaled to length 1 (m, d), and their places (m,), each as far from the next.

    Pieces in a row would take less time to read, but words often come by how frequent they are, and frequent words are
    near each other.
    """
    places = np.linspace(0, len(items) - 1, SAMPLE).astype(np.int64)
    units = np.empty((SAMPLE, items.dimensions), dtype=np.float32)
    for at in range(0, SAMPLE, BLOCK):
        some = places[at : at + BLOCK]
        lengths = np.asarray(items.norms)[some, None]
        units[at : at + BLOCK] = items.take(some) / np.where(lengths > 0, lengths, 1)
    return units, places


def filled(product: Callable[[int, int], np.ndarray], k: int, m: int) -> np.ndarray:
    """Return the cosines (k, m) of m items, from what gives those of the items from one place to another, in blocks.

    >>> filled(lambda start, stop: np.arange(start, stop)[None], 1, 3).tolist()
    [[0.0, 1.0, 2.0]]
    """
    cosines = np.empty((k, m), dtype=np.float32)
    size = BLOCK if k < FEW_COLUMNS else FEWER

    def block(start: int) -> None:
        stop = min(start + size, m)
        cosines[:, start:stop] = product(start, stop)

    for _ in (map if k < FEW_COLUMNS else in_threads)(block, range(0, m, size)):
        pass
    return cosines


def rank_among(m: int, n: int) -> int:
    """Return which of the largest cosines with m of n items is the border.

    >>> rank_among(32_768, 341_479)
    56
    """
    return max(1, round(expected_size(n) * m / n))


def ends(cosines: np.ndarray, n: int) -> np.ndarray:
    """Return where sets end (k,), from their cosines (k, m) with m of n items.

    >>> ends(np.array([[0.1, 0.7, 0.3, 0.2]]), 4).tolist()
    [0.3]
    """
    k, m = cosines.shape
    if not m:
        return np.zeros(k)
    rank = rank_among(m, n)
    return np.clip([largest(row, rank) for row in cosines], 0.0, 1.0)


def largest(values: np.ndarray, rank: int) -> float:
    """Return the rank-th largest of some values.

    So many groups have a maximum at least as large as the rank-th largest maximum of groups: what is below it does not
    count, and that is nearly everything.

    >>> largest(np.array([0.1, 0.7, 0.3]), 2)
    0.3
    """
    groups = values[: len(values) // GROUP * GROUP].reshape(GROUP, -1).max(axis=0) if len(values) >= GROUP else values
    if len(groups) > rank:
        values = values[values >= np.partition(groups, -rank)[-rank]]
    found = float(np.partition(values, -rank)[-rank]) if len(values) >= rank else float("nan")
    if isnan(found):
        raise FileError(NOT_FINITE)
    return found
