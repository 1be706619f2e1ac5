"""Sides of nearly the same size in one stack, so that many small matrices are factored by few calls."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from softset.algebra.arrays import Array

__all__ = ["Bucket", "Stacks", "stacked"]

STEP = 8  # rows: sizes are rounded up to its multiples
BYTES = 16 << 20  # of stacked matrices


@dataclass(frozen=True, eq=False)
class Bucket:
    """Sides that are padded to one size: their Gram matrices, and their products with the other side of their pair.

    Attributes:
        sides: (b,) which they are: 2i and 2i + 1 are the sides of pair i.
        G: (b, K, K) with ones on the diagonal behind a side's own rows, so that a pad changes nothing.
        C: (b, K, L) with zeros there.
    """

    sides: np.ndarray
    G: Array
    C: Array


class Stacks:
    """Buckets for both sides of some pairs, to be filled pair by pair."""

    def __init__(self, counts: np.ndarray, pairs: np.ndarray, xp: Any, places: dict[str, Any]) -> None:
        sides = np.stack([2 * pairs, 2 * pairs + 1], axis=1).ravel()
        own, other = counts[sides], counts[sides ^ 1]
        sizes = -(-own // STEP) * STEP
        self.buckets: list[Bucket] = []
        self._where: list[tuple[Array, Array, int]] = [None] * len(sides)  # type: ignore[list-item]
        for K in np.unique(sizes).tolist():
            members = np.flatnonzero(sizes == K)
            G = xp.zeros((len(members), K, K), **places)
            G += xp.eye(K, **places)
            C = xp.zeros((len(members), K, int(other[members].max())), **places)
            self.buckets.append(Bucket(sides[members], G, C))
            for at, member in enumerate(members.tolist()):
                self._where[member] = (G, C, at)

    def put(self, at: int, products: Array, k: int) -> None:
        """Take in the products (n, n) of the rows of the at-th pair, whose first k rows are side 0."""
        G, C, i = self._where[2 * at]
        l = products.shape[0] - k
        G[i, :k, :k], C[i, :k, :l] = products[:k, :k], products[:k, k:]
        G, C, i = self._where[2 * at + 1]
        G[i, :l, :l], C[i, :l, :k] = products[k:, k:], products[k:, :k]


def stacked(
    counts: np.ndarray, pairs: np.ndarray, xp: Any, places: dict[str, Any]
) -> Iterator[tuple[np.ndarray, Stacks]]:
    """Yield runs of pairs and the stacks that hold both sides of each, of bounded size.

    >>> counts = np.array([3, 9, 4, 5])
    >>> ((some, stacks),) = stacked(counts, np.array([0, 1]), np, {})
    >>> [(bucket.sides.tolist(), bucket.G.shape, bucket.C.shape) for bucket in stacks.buckets]
    [([0, 2, 3], (3, 8, 8), (3, 8, 9)), ([1], (1, 16, 16), (1, 16, 3))]
    """
    sizes = 8 * (-(-(counts[2 * pairs] + counts[2 * pairs + 1]) // STEP) * STEP + STEP) ** 2
    run = np.cumsum(sizes) // BYTES
    for some in np.split(pairs, np.flatnonzero(np.diff(run)) + 1) if len(pairs) else ():
        yield some, Stacks(counts, some, xp, places)
