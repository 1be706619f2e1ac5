"""How well scores agree with people's: Pearson's r, and Spearman's with average ranks for ties."""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from softset.errors import ShapeError
from softset.evaluation.resampling import as_scores

__all__ = ["Ranking", "pearson", "ranks", "ratio", "spearman"]

Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

FLAT = 1e-12  # of the size of the numbers: a spread below it is the rounding of equal numbers


class Ranking(NamedTuple):
    """An order of n values: their places from the smallest up, where each group of equal ones begins, whose it is."""

    places: Places
    begins: Places
    group: Places

    @classmethod
    def of(cls, values: Numbers) -> Self:
        """Return the order of values (n,).

        >>> Ranking.of(np.array([0.5, 0.1, 0.5])).group.tolist()
        [1, 0, 1]
        """
        places = np.argsort(values, kind="stable")
        ordered = values[places]
        first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        group = np.empty(len(values), dtype=np.int64)
        group[places] = np.cumsum(first) - 1
        return cls(places, np.flatnonzero(first), group)

    @property
    def tied(self) -> bool:
        """Whether some values are equal."""
        return len(self.begins) < len(self.places)

    def sums(self, values: Numbers) -> Numbers:
        """Return the sum over each group, (g, b), of values (n, b)."""
        ordered = values[self.places]
        return np.add.reduceat(ordered, self.begins, axis=0) if self.tied else ordered


def ranks(values: npt.ArrayLike) -> Numbers:
    """Return the rank of each value, from 1; equal ones share the mean of their ranks.

    >>> ranks([0.3, 0.1, 0.3, 0.9]).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    order = Ranking.of(as_scores(values))
    ends = np.append(order.begins[1:], len(order.places))
    means = (order.begins + ends + 1) / 2
    found: Numbers = means[order.group]
    return found


def pearson(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return Pearson's r of two lists of numbers; 0 where one of them is constant, since it orders nothing.

    >>> round(pearson([1, 2, 3], [1, 2, 4]), 4)
    0.982
    >>> pearson([1, 2, 3], [5, 5, 5])
    0.0
    """
    x, y = as_scores(first), as_scores(second)
    if len(x) != len(y):
        raise ShapeError(f"there are {len(x):,} and {len(y):,} numbers: as many were wanted on both sides")
    a, b = x - x.mean(), y - y.mean()
    flat = np.abs(a).max() <= FLAT * np.abs(x).max() or np.abs(b).max() <= FLAT * np.abs(y).max()
    # Scaled by its largest, a list of tiny numbers has squares that do not vanish.
    a, b = (one if flat else one / np.abs(one).max() for one in (a, b))
    return 0.0 if flat else float(ratio(a @ b, a @ a, b @ b))


def spearman(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return Spearman's rho: Pearson's r of the ranks.

    >>> spearman([1, 2, 3], [1, 2, 40])
    1.0
    """
    return pearson(ranks(first), ranks(second))


def ratio(product: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike) -> Numbers:
    """Return product / sqrt(first second), between -1 and 1; 0 where there is no spread.

    >>> ratio([3.0, 0.0], [9.0, 0.0], [1.0, 2.0]).tolist()
    [1.0, 0.0]
    """
    spread = np.sqrt(np.multiply(first, second))
    found: Numbers = np.clip(np.where(spread > 0, product, 0.0) / np.where(spread > 0, spread, 1.0), -1.0, 1.0)
    return found
