"""Where a set ends among n items: at the cosine of the ceil(sqrt(n))-th nearest. Of many items, a sample tells."""

from collections.abc import Sequence
from math import isnan
from typing import Protocol

import numpy as np

from softset.errors import FileError
from softset.retrieval.centroid import presumed

__all__ = ["BLOCK", "FEW", "SAMPLE", "ends", "largest", "sampled"]

FEW = 65_536  # items up to which the border of a set is sought among all of them
SAMPLE = 32_768  # of more: the border of a set among a million is then a quantile over some 30 items
GROUP = 32  # of them, in each of which the largest is looked for first
BLOCK = 4_096  # items that are looked at together


class Sampled(Protocol):
    """Items of which a sample can be taken."""

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""

    @property
    def norms(self) -> np.ndarray:
        """The lengths (n,) of all vectors."""

    def take(self, places: Sequence[int]) -> np.ndarray:
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
        units[at : at + BLOCK] = items.take(some.tolist()) / np.where(lengths > 0, lengths, 1)
    return units, places


def ends(cosines: np.ndarray, n: int) -> np.ndarray:
    """Return where sets end (k,), from their cosines (k, m) with m of n items.

    >>> ends(np.array([[0.1, 0.7, 0.3, 0.2]]), 4).tolist()
    [0.3]
    """
    k, m = cosines.shape
    if not m:
        return np.zeros(k)
    rank = max(1, round(presumed(n) * m / n))
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
        raise FileError("a vector has a number that is not finite: its file was changed since; make it again")
    return found
