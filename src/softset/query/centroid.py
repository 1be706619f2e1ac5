"""A set as the direction of its examples' mean and a threshold: the leaves of the logic "logistic"."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.query.thresholds import probability

__all__ = ["Centroid", "mean_direction"]


@dataclass(frozen=True, eq=False, repr=False)
class Centroid:
    """A set given by a unit vector (d,) and the cosine at which the membership is one half.

    >>> near = Centroid(np.array([1.0, 0.0]), threshold=0.5)
    >>> near
    Centroid(ambient=2, threshold=0.500)
    >>> near.membership(np.array([[2.0, 0.0], [1.0, 1.732], [-1.0, 0.0], [0.0, 0.0]])).round(2).tolist()
    [0.88, 0.5, 0.12, 0.0]
    """

    direction: np.ndarray
    threshold: float
    dim: ClassVar[int] = 1

    @property
    def ambient(self) -> int:
        """The dimension of the space that contains the set."""
        return len(self.direction)

    def factor(self) -> np.ndarray:
        """Return the direction as one row (1, d)."""
        return self.direction[None, :]

    def probability(self, cosines: np.ndarray) -> np.ndarray:
        """Return the memberships (n,) of items with the given cosines."""
        return probability(cosines, self.threshold)

    def membership(self, v: Any) -> Any:
        """Return the membership of one vector (d,) or of (n, d) vectors; that of a zero vector is 0."""
        rows = unit_rows(np.atleast_2d(np.asarray(v)))
        memberships = np.where(rows.any(axis=1), self.probability(rows @ self.direction), 0.0)
        return memberships[0] if np.ndim(v) == 1 else memberships

    def __repr__(self) -> str:
        return f"Centroid(ambient={self.ambient}, threshold={self.threshold:.3f})"


def mean_direction(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the direction (d,) of the weighted mean of (k, d) vectors, each scaled to length 1 first.

    The result is zero if the vectors cancel out.

    >>> mean_direction(np.array([[2.0, 0], [0, 3.0]]), np.array([1.0, 1.0])).round(3).tolist()
    [0.707, 0.707]
    """
    mean: np.ndarray = weights @ unit_rows(rows)
    length = sqrt(mean @ mean)
    return mean / length if length > 1e-12 else mean * 0
