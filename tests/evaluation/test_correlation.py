"""Correlations: those of scipy, ties and all; and a draw is what scipy finds on the pairs that were drawn."""

import numpy as np
import pytest
from scipy import stats

from softset.errors import InputError, NotFiniteError, ShapeError
from softset.evaluation.correlation import Ranking, pearson, ranks, spearman
from softset.evaluation.correlation_draws import bounds, drawn_counts, drawn_pearson, drawn_spearman, paired_p
from softset.evaluation.significance import paired_bootstrap

RNG = np.random.default_rng(7)
LISTS = {
    "plain": RNG.normal(size=200),
    "halves": RNG.integers(0, 11, size=200) / 2,
    "two values": RNG.integers(0, 2, size=200).astype(float),
    "tiny": RNG.normal(size=200) * 1e-200,
    "shifted": 1e6 + RNG.normal(size=200),
}


@pytest.mark.parametrize("first", LISTS)
@pytest.mark.parametrize("second", LISTS)
def test_both_are_scipys(first, second) -> None:
    x, y = LISTS[first], LISTS[second]
    assert ranks(x) == pytest.approx(stats.rankdata(x), abs=0)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert pearson(x, y) == pytest.approx(np.corrcoef(x / np.abs(x).max(), y / np.abs(y).max())[0, 1], abs=1e-7)


def test_an_order_agrees_with_itself_and_opposes_its_reverse() -> None:
    for x in LISTS.values():
        assert spearman(x, x) == pytest.approx(1, abs=1e-12)
        assert spearman(x, -x) == pytest.approx(-1, abs=1e-12)
        assert spearman(x, LISTS["plain"]) == spearman(LISTS["plain"], x)


def test_a_constant_orders_nothing() -> None:
    assert spearman([1, 2, 3], [0.1, 0.1, 0.1]) == 0 == pearson([0.1] * 3, [1, 2, 3])
    assert spearman([1], [2]) == 0


def test_what_cannot_be_correlated_is_refused() -> None:
    with pytest.raises(ShapeError, match="3 and 2 numbers"):
        pearson([1, 2, 3], [1, 2])
    with pytest.raises(NotFiniteError):
        spearman([1, np.nan], [1, 2])
    with pytest.raises(InputError, match="empty"):
        spearman([], [])


@pytest.mark.parametrize("gold", ["plain", "halves", "two values"])
def test_a_draw_is_the_correlation_of_the_drawn_pairs(gold) -> None:
    rows = np.stack([LISTS["plain"] + LISTS["halves"], LISTS["halves"], LISTS["two values"]])
    orders = [Ranking.of(row) for row in rows]
    ((here, counts),) = drawn_counts(200, 20, seed=3, name="STS12")
    assert here == slice(0, 20) and (counts.sum(axis=0) == 200).all()
    found = drawn_spearman(counts, Ranking.of(LISTS[gold]), orders)
    linear = drawn_pearson(counts, LISTS[gold], rows)
    for draw in range(20):
        places = np.repeat(np.arange(200), counts[:, draw].astype(int))
        for at, row in enumerate(rows):
            x, y = LISTS[gold][places], row[places]
            assert found[at, draw] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
            assert linear[at, draw] == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)


def test_draws_without_spread_are_zero_and_never_nan() -> None:
    counts = np.array([[2.0, 0.0], [0.0, 2.0]])
    order = Ranking.of(np.array([1.0, 2.0]))
    assert drawn_spearman(counts, order, [order]).tolist() == [[0, 0]]
    assert drawn_pearson(counts, np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 3.0]])).tolist() == [[0, 0], [0, 0]]


def test_draws_depend_on_seed_and_name_and_not_on_blocks(monkeypatch) -> None:
    def all_of(*arguments):
        return np.concatenate([counts for _, counts in drawn_counts(*arguments)], axis=1)

    whole = all_of(30, 50, 1, "a")
    assert (whole == all_of(30, 50, 1, "a")).all()
    assert (whole != all_of(30, 50, 2, "a")).any() and (whole != all_of(30, 50, 1, "b")).any()
    monkeypatch.setattr("softset.evaluation.correlation_draws.CELLS", 90)
    assert (whole == all_of(30, 50, 1, "a")).all()


def test_intervals_cover_what_is_true_about_as_often_as_they_say() -> None:
    true = 6 / np.pi * np.arcsin(0.6 / 2)  # Spearman's rho of normal pairs whose Pearson's r is .6
    rng, covered = np.random.default_rng(0), 0
    for trial in range(200):
        x, y = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=80).T
        drawn = [drawn_spearman(c, Ranking.of(x), [Ranking.of(y)]) for _, c in drawn_counts(80, 300, trial, "n")]
        low, high = bounds(np.concatenate(drawn, axis=1)[0])
        covered += low <= true <= high
    assert 178 <= covered <= 199  # 190 are expected; a bootstrap of 80 pairs is a little narrow


def test_p_is_small_for_what_differs_and_one_for_what_does_not() -> None:
    assert paired_p(0.0, np.zeros(99)) == 1
    assert paired_p(0.3, RNG.normal(0.3, 0.01, 999)) == 1 / 1000
    assert paired_p(0.01, RNG.normal(0.01, 0.1, 999)) > 0.5


def test_p_of_means_is_that_of_the_paired_bootstrap() -> None:
    x, y = RNG.normal(size=100), RNG.normal(0.2, 1, size=100)
    rng = np.random.default_rng(5)
    drawn = (y - x)[rng.integers(100, size=(500, 100))].mean(axis=1)
    assert paired_p(float((y - x).mean()), drawn) == pytest.approx(paired_bootstrap(x, y, samples=500, seed=5))
