"""Centroids and their thresholds: the leaves of the logic "logistic".

A set is expected to hold the ceil(sqrt(n)) items, of all n, that are nearest to the centroid of its examples. Its
threshold t is the cosine of the last of them. An item with the cosine c has the membership 1 / (1 + exp(2 - 2 c / t)):
one half at the threshold and 0.12 for an item with nothing in common with the set, whatever the scale of the cosines.
"""

from dataclasses import dataclass
from math import ceil, isnan, sqrt
from typing import Any, ClassVar

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.errors import FileError

MIN_THRESHOLD = 0.1  # with a lower one, every item of a small collection would be a member
NOT_FINITE = "a vector has a number that is not finite: its file was changed after it was written; create it again"
GROUP = 32  # values whose maxima are compared first


def expected_size(n: int) -> int:
    """Return how many of n items a set is expected to hold."""
    return ceil(sqrt(n))


def probability(cosines: np.ndarray, threshold: Any) -> np.ndarray:
    """Return the memberships of items with the given cosines; negative cosines count as 0."""
    memberships: np.ndarray = 1 / (1 + np.exp(2 - 2 * np.minimum(np.maximum(cosines, 0.0), 1.0) / threshold))
    return memberships


def thresholds_of(cosines: np.ndarray, n: int) -> np.ndarray:
    """Return the thresholds (k,) of k sets from the cosines (k, m) with a sample of m of the n items."""
    k, m = cosines.shape
    if not m:
        return np.zeros(k)
    rank = max(1, round(expected_size(n) * m / n))  # 56 for 32,768 sampled cosines of 341,479 items
    return np.clip([kth_largest(row, rank) for row in cosines], 0.0, 1.0)


def kth_largest(values: np.ndarray, k: int) -> float:
    """Return the k-th largest value.

    At least k values reach the k-th largest maximum of groups, so all smaller values are dropped before sorting. For
    56 of 32,768 values this takes a fifth of the time of `np.partition`.
    """
    grouped = values[: len(values) // GROUP * GROUP].reshape(GROUP, -1).max(axis=0) if len(values) >= GROUP else values
    if len(grouped) > k:
        values = values[values >= np.partition(grouped, -k)[-k]]
    value = float(np.partition(values, -k)[-k]) if len(values) >= k else float("nan")
    if isnan(value):
        raise FileError(NOT_FINITE)
    return value


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

    @property
    def max_slope(self) -> float:
        """The largest derivative of the membership by the cosine, at the threshold."""
        return 0.5 / self.threshold

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
    """
    mean: np.ndarray = weights / np.abs(weights).max() @ unit_rows(rows)
    length = sqrt(mean @ mean)
    return mean / length if length > 1e-12 else mean * 0
