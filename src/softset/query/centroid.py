"""The set of all that points where its examples point together: its members are those beyond a border.

Of n items a set is presumed to hold the sqrt(n) nearest to the middle of its examples. With b the cosine of the last
of them, an item with the cosine m has the chance 1 / (1 + exp(2 - 2 m / b)) to belong: one half at the border, .12 for
what has nothing to do with the set, whatever the scale of its cosines. Chances can be multiplied, NOT takes the rest.
"""

from math import ceil, sqrt
from typing import Any

import numpy as np

from softset.algebra.arrays import unit_rows

__all__ = ["MIN_THRESHOLD", "Centroid", "expected_size", "probability"]

MIN_THRESHOLD = 0.1  # a cosine: below, nothing is near the set, and of few items all would be members


def expected_size(n: int) -> int:
    """Return how many of n items are presumed to be members.

    >>> expected_size(33_753)
    184
    """
    return ceil(sqrt(n))


def probability(scores: np.ndarray, threshold: Any) -> np.ndarray:
    """Return the chances to belong of items with scores from 0 to 1, given the border's; negative ones count as 0.

    >>> probability(np.array([0.4, 0.2, -1.0]), 0.2).round(2).tolist()
    [0.88, 0.5, 0.12]
    """
    found: np.ndarray = 1 / (1 + np.exp(2 - 2 * np.minimum(np.maximum(scores, 0.0), 1.0) / threshold))
    return found


class Centroid:
    """A direction (d,) of length 1, and the cosine where the set's members end: known when the items are.

    >>> near = Centroid(np.array([1.0, 0.0]), threshold=0.5)
    >>> near.membership(np.array([[2.0, 0.0], [1.0, 1.732], [-1.0, 0.0], [0.0, 0.0]])).round(2).tolist()
    [0.88, 0.5, 0.12, 0.0]
    """

    dim = 1

    def __init__(self, direction: np.ndarray, threshold: float = 1.0) -> None:
        self.direction = direction
        self.end_at(threshold)

    @classmethod
    def of(cls, rows: np.ndarray, weights: np.ndarray) -> "Centroid":
        """Return the set of (k, d) examples, each counting by its weight; where it ends has yet to be said.

        >>> Centroid.of(np.array([[2.0, 0], [0, 3.0]]), np.array([1.0, 1.0])).direction.round(3).tolist()
        [0.707, 0.707]
        """
        lengths = np.sqrt(np.vecdot(rows, rows, dtype=np.float64))
        plain = all(1e-15 < one < 1e15 for one in lengths.tolist())  # else squares may overflow or vanish
        middle = (weights / lengths) @ rows if plain else weights @ unit_rows(rows)
        length = sqrt(middle @ middle)
        return cls(middle / length if length > 1e-12 else middle * 0)  # opposite examples have no middle

    def end_at(self, threshold: float) -> None:
        """Let the members end at a cosine.

        >>> near = Centroid(np.array([1.0, 0.0]))
        >>> near.end_at(0.5)
        >>> near
        Centroid(ambient=2, threshold=0.500)
        """
        self.threshold = max(float(threshold), MIN_THRESHOLD)

    @property
    def ambient(self) -> int:
        """The dimension of the space that the set lives in."""
        return len(self.direction)

    def factor(self) -> np.ndarray:
        """Return the direction as a row (1, d)."""
        return self.direction[None, :]

    def probability(self, cosines: np.ndarray) -> np.ndarray:
        """Return the chances (n,) of items with these cosines."""
        return probability(cosines, self.threshold)

    def membership(self, v: Any) -> Any:
        """Return the chance of one (d,) vector, or of each of (n, d) vectors; a vector of zero length has none."""
        rows = np.atleast_2d(np.asarray(v))
        lengths = np.sqrt(np.vecdot(rows, rows))
        if lengths.min(initial=1.0) > 1e-15 and lengths.max(initial=1.0) < 1e15:
            found = self.probability(rows @ self.direction / lengths)
        else:  # squares may overflow or vanish
            found = np.where(rows.any(axis=1), self.probability(unit_rows(rows) @ self.direction), 0.0)
        return found[0] if np.ndim(v) == 1 else found

    def __repr__(self) -> str:
        return f"Centroid(ambient={self.ambient}, threshold={self.threshold:.3f})"
