"""Correlations equal scipy's, ties included, for the data and for every bootstrap draw."""

import numpy as np
import pytest
from scipy import stats

from softset.evaluation.significance import estimates, pearson_statistic, spearman_statistic

RNG = np.random.default_rng(7)
LISTS = {
    "plain": RNG.normal(size=200),
    "halves": RNG.integers(0, 11, size=200) / 2,
    "two values": RNG.integers(0, 2, size=200).astype(float),
    "shifted": 1e6 + RNG.normal(size=200),
}


def correlate(statistic, x, y) -> float:
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return float(statistic(x, y[None])(np.ones((len(x), 1)))[0, 0])


@pytest.mark.parametrize("first", LISTS)
@pytest.mark.parametrize("second", LISTS)
def test_correlations_equal_scipy(first, second) -> None:
    x, y = LISTS[first], LISTS[second]
    assert correlate(spearman_statistic, x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert correlate(pearson_statistic, x, y) == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-7)


def test_correlation_with_itself_is_1_and_with_its_negative_is_minus_1() -> None:
    for x in LISTS.values():
        assert correlate(spearman_statistic, x, x) == pytest.approx(1, abs=1e-12)
        assert correlate(spearman_statistic, x, -x) == pytest.approx(-1, abs=1e-12)


@pytest.mark.parametrize("statistic", [spearman_statistic, pearson_statistic])
def test_correlation_with_a_constant_is_0(statistic) -> None:
    assert correlate(statistic, [1, 2, 3], [0.1, 0.1, 0.1]) == 0 == correlate(statistic, [0.1] * 3, [1, 2, 3])
    assert correlate(statistic, [1], [2]) == 0
    counts = np.array([[2.0, 0.0], [0.0, 2.0]])  # each draw contains one pair twice
    rows = np.array([[1.0, 2.0], [3.0, 3.0]])
    assert statistic(np.array([1.0, 2.0]), rows)(counts).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("gold", ["plain", "halves", "two values"])
def test_each_draw_equals_scipy_on_the_drawn_pairs(gold) -> None:
    rows = np.stack([LISTS["plain"] + LISTS["halves"], LISTS["halves"], LISTS["two values"]])
    counts = RNG.multinomial(200, np.full(200, 1 / 200), size=20).T.astype(float)
    rho, r = (statistic(LISTS[gold], rows)(counts) for statistic in (spearman_statistic, pearson_statistic))
    for draw in range(20):
        indices = np.repeat(np.arange(200), counts[:, draw].astype(int))
        for index, row in enumerate(rows):
            x, y = LISTS[gold][indices], row[indices]
            assert rho[index, draw] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
            assert r[index, draw] == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)


def test_intervals_cover_the_true_correlation() -> None:
    true = 6 / np.pi * np.arcsin(0.6 / 2)  # Spearman's rho of normal pairs whose Pearson's r is .6
    rng, covered = np.random.default_rng(0), 0
    for trial in range(200):
        x, y = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=80).T
        (result,) = estimates(spearman_statistic(x, y[None]), 80, samples=300, seed=trial, stream="n")
        covered += result.low <= true <= result.high
    assert 178 <= covered <= 199  # 190 are expected; a bootstrap of 80 pairs is a little narrow
