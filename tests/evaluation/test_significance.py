"""Identities of the significance tests and intervals, and how often chance is reported as significant."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset.errors import InputError
from softset.evaluation import significance
from softset.evaluation.significance import (
    Estimate,
    average_estimates,
    bootstrap,
    estimates,
    mean_statistic,
    randomisation_p_values,
)


def paired_bootstrap(baseline, system, **options) -> float:
    rows = np.array([baseline, system], dtype=float)
    return estimates(mean_statistic(rows), rows.shape[1], baseline=0, **options)[1].p


def approximate_randomisation(baseline, system, **options) -> float:
    difference = np.subtract(system, baseline, dtype=float)
    return float(randomisation_p_values(difference[None], **options)[0])


def interval(values, **options):
    return estimates(mean_statistic(np.array([values], dtype=float)), len(values), **options)[0]


TESTS = (paired_bootstrap, approximate_randomisation)

# Multiples of 1/1024: their sums and shifts are exact, so equal values stay exactly equal.
score = st.integers(-2048, 2048).map(lambda number: number / 1024)
scores = st.lists(score, min_size=1, max_size=40)
pairs = st.lists(st.tuples(score, score), min_size=1, max_size=40).map(lambda rows: np.array(rows).T)


@pytest.mark.parametrize("test", TESTS)
@given(values=scores)
def test_system_does_not_differ_from_itself(test, values) -> None:
    assert test(values, values, samples=50) == 1


@pytest.mark.parametrize("test", TESTS)
@given(pair=pairs, seed=st.integers(0, 9), shift=score)
def test_p_value_is_invariant_to_order_shift_scale_and_sign(test, pair, seed, shift) -> None:
    a, b = pair
    p = test(a, b, samples=50, seed=seed)
    assert 1 / 51 <= p <= 1 and p * 51 == pytest.approx(round(p * 51))
    assert p == test(b, a, samples=50, seed=seed)
    assert p == test(a + shift, b + shift, samples=50, seed=seed)
    assert p == test(a * 8, b * 8, samples=50, seed=seed)
    assert p == test(-a, -b, samples=50, seed=seed)


@pytest.mark.parametrize("test", TESTS)
@given(pair=pairs, more=st.integers(0, 1024).map(lambda number: number / 1024))
def test_improving_the_better_system_never_raises_p(test, pair, more) -> None:
    worse, better = sorted(pair, key=lambda values: values.sum())
    assert test(worse, better + more, samples=50) <= test(worse, better, samples=50)


@pytest.mark.parametrize("test", TESTS)
def test_large_difference_is_significant_and_small_one_is_not(test) -> None:
    a = np.random.default_rng(3).normal(size=300)
    noise = np.random.default_rng(4).normal(size=300)
    ps = [test(a, a + noise - noise.mean() + shift, samples=999) for shift in (0.0, 0.05, 0.1, 0.2, 0.5)]
    assert ps[0] > 0.99 and 0.3 < ps[1] < 0.5 and ps[-1] == 0.001
    assert sorted(ps, reverse=True) == ps


@given(pair=st.lists(st.tuples(score, score), min_size=1, max_size=6).map(lambda rows: np.array(rows).T))
@settings(max_examples=25)
def test_randomisation_of_few_segments_matches_all_exchanges(pair) -> None:
    d = pair[1] - pair[0]
    signs = np.array(list(itertools.product([-1, 1], repeat=len(d))))
    exact = (np.abs(signs @ d) >= abs(d.sum())).mean()
    assert approximate_randomisation(*pair, samples=20_000) == pytest.approx(exact, abs=0.015)


def test_one_segment_is_never_significant() -> None:
    assert paired_bootstrap([0.0], [9.0]) == approximate_randomisation([0.0], [9.0]) == 1
    _, other = estimates(mean_statistic(np.array([[3.0], [1.0]])), 1, baseline=0, samples=10, seed=1)
    assert other.p == 1


def test_ties_are_recognised_despite_rounding() -> None:
    """All exchanges of equal differences of .1 with the same number of signs are equal, whatever their order."""
    a, b = np.zeros(3), np.array([0.1, 0.1, 0.1])
    assert approximate_randomisation(a, b, samples=20_000) == pytest.approx(0.25, abs=0.01)
    assert approximate_randomisation(a, b * [1, 1, -1], samples=500) == 1


@pytest.mark.parametrize(
    ("test", "tenths"),
    [
        *((approximate_randomisation, tenths) for tenths in ([3, 4, 4, 10], [6, 7, 1, 6], [7, 9, 1, 7, 9])),
        *((paired_bootstrap, tenths) for tenths in ([0, 1], [4, 0], [0, 7])),
    ],
)
def test_scores_in_tenths_give_the_p_value_of_whole_numbers(test, tenths) -> None:
    """Sums of tenths are rounded, so that without a tolerance fewer draws would reach the observed difference."""
    numbers = np.array(tenths, dtype=float)
    assert test(0 * numbers, numbers / 10, samples=50, seed=1) == test(0 * numbers, numbers, samples=50, seed=1)


@pytest.mark.parametrize(("samples", "confidence", "outside"), [(1000, 0.9, 50), (1000, 0.95, 25), (10, 0.95, 0)])
def test_interval_leaves_out_the_same_share_of_draws_on_both_sides(samples, confidence, outside) -> None:
    values = np.random.default_rng(2).random(30)
    draws = np.sort(bootstrap(mean_statistic(values[None]), 30, samples=samples, seed=7)[0])
    result = interval(values, samples=samples, seed=7, confidence=confidence)
    assert (result.low, result.high) == (draws[outside], draws[-1 - outside])


def test_false_positive_rate_is_five_percent() -> None:
    null = np.random.default_rng(7).normal(size=(2000, 100))
    assert 0.035 < (randomisation_p_values(null, samples=500, seed=1) < 0.05).mean() < 0.065
    rows = np.concatenate([np.zeros((1, 100)), null])
    results = estimates(mean_statistic(rows), 100, baseline=0, samples=500, seed=1)[1:]
    assert 0.035 < np.mean([result.p < 0.05 for result in results]) < 0.07


@given(values=scores, seed=st.integers(0, 9), confidence=st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_interval_lies_in_the_data_and_grows_with_confidence(values, seed, confidence) -> None:
    result = interval(values, samples=200, seed=seed, confidence=confidence)
    assert result.value == pytest.approx(np.mean(values), abs=1e-12)
    assert min(values) <= result.low <= result.high <= max(values)
    wider = interval(values, samples=200, seed=seed, confidence=(1 + confidence) / 2)
    assert wider.low <= result.low and result.high <= wider.high and wider.value == result.value


@given(value=st.floats(-1e6, 1e6), n=st.integers(1, 50))
def test_interval_of_equal_scores_is_a_point(value, n) -> None:
    assert interval([value] * n, samples=20)[:3] == (value, value, value)


def test_intervals_cover_the_true_mean() -> None:
    samples = np.random.default_rng(5).exponential(size=(1000, 100))
    results = estimates(mean_statistic(samples), 100, samples=500, seed=1, confidence=0.9)
    assert 0.86 < np.mean([result.low <= 1 <= result.high for result in results]) < 0.93


def test_seed_determines_the_draws() -> None:
    a, b = np.random.default_rng(1).random((2, 50))
    for test in TESTS:
        assert test(a, b, seed=5) == test(a, b, seed=5) == test(a, b, seed=np.int64(5))
        assert len({test(a, b, samples=200, seed=seed) for seed in range(8)}) > 1
    assert interval(a, seed=5) == interval(a, seed=5) != interval(a, seed=6)


@pytest.mark.parametrize("size", [1, 100, 5000])
def test_draws_depend_on_seed_and_stream_but_not_on_block_size(monkeypatch, size) -> None:
    def draw(stream: str) -> np.ndarray:
        return bootstrap(mean_statistic(rows), 37, samples=150, seed=9, stream=stream)

    rows = np.random.default_rng(1).integers(-1024, 1024, size=(3, 37)) / 1024
    before = draw("a")
    monkeypatch.setattr(significance, "COUNTS_PER_BLOCK", size)
    assert np.array_equal(draw("a"), before) and not np.array_equal(draw("b"), before)


def test_memory_does_not_grow_with_the_number_of_draws() -> None:
    """A thousand draws of 100,000 segments at once would take 800 MB of indices."""
    a, b = np.random.default_rng(1).random((2, 100_000))
    tracemalloc.start()
    interval(a, samples=100)
    paired_bootstrap(a, b, samples=100)
    approximate_randomisation(a, b, samples=200)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


def test_estimates_without_a_baseline_have_no_p_values() -> None:
    rows = np.random.default_rng(7).normal(size=(3, 100))
    assert [result.p for result in estimates(mean_statistic(rows), 100, samples=9)] == [None] * 3
    base, other, _ = estimates(mean_statistic(rows), 100, baseline=0, samples=9)
    assert base.p is None and other[:3] == pytest.approx(interval(rows[1], samples=9)[:3])


def test_average_over_datasets_is_more_precise_than_each() -> None:
    rng = np.random.default_rng(1)
    poor = rng.normal(size=150)
    rows = np.stack([poor, poor, poor + 1 + rng.normal(0, 0.5, 150)])
    base, same, better = estimates(mean_statistic(rows / 9), 150, baseline=0, samples=999, seed=1)
    mean = average_estimates([better] * 4, [base] * 4, 999)
    assert mean.value == pytest.approx(better.value) and mean.p == 0.001
    assert mean.high - mean.low == pytest.approx((better.high - better.low) / 2, rel=0.2)
    assert average_estimates([same] * 4, [base] * 4, 999).p == 1
    assert average_estimates([base] * 4, None, 999).p is None
    half = better._replace(value=0.5, variance=0.01, difference_variance=0.01)
    other = half._replace(value=0.5 + 1.959964 * np.sqrt(0.01 / 2))
    assert average_estimates([other, other], [half, half], 999).p == pytest.approx(0.05, abs=1e-6)


def test_an_average_of_estimates_without_variances_is_a_point() -> None:
    sure, other = Estimate(0.25, 0.25, 0.25), Estimate(0.75, 0.75, 0.75)
    assert average_estimates([sure, other], None, 999) == Estimate(0.5, 0.5, 0.5)
    assert average_estimates([sure, other], [other, sure], 999) == Estimate(0.5, 0.5, 0.5, 1.0)


@pytest.mark.parametrize("samples", [0, -1, 1_000_001, 1.5, None])
def test_invalid_samples_and_seeds_are_refused(samples) -> None:
    for test in (*TESTS, lambda a, _, **options: interval(a, **options)):
        with pytest.raises(InputError, match=r"samples is .*: give a whole number from 1 to 1,000,000"):
            test([1.0], [1.0], samples=samples)
        with pytest.raises(InputError, match=r"seed is .*: give a whole number from 0 up"):
            test([1.0], [1.0], seed=-1 if samples == 0 else 1.5)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, float("nan")])
def test_confidence_must_be_between_0_and_1(confidence) -> None:
    with pytest.raises(InputError, match=r"confidence is .*: give a number between 0 and 1"):
        interval([1.0], confidence=confidence)


def test_defaults_are_a_thousand_samples_and_95_percent() -> None:
    statistic = mean_statistic(np.random.default_rng(0).standard_normal((2, 30)))
    named = estimates(statistic, 30, baseline=0, samples=1_000, seed=12345, confidence=0.95)
    assert estimates(statistic, 30, baseline=0) == named
