"""Identities of the tests, of intervals and of the draws they stand on; how often chance is called significant."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset.errors import InputError, NotFiniteError, ShapeError
from softset.evaluation import resampling
from softset.evaluation.resampling import resampled_means, swapped_means
from softset.evaluation.significance import (
    approximate_randomisation,
    bootstrap_p_values,
    interval,
    intervals,
    paired_bootstrap,
    randomisation_p_values,
)

TESTS = (paired_bootstrap, approximate_randomisation)

# Multiples of 1/1024: sums and shifts of them are exact, so that equal means equal and not nearly equal.
score = st.integers(-2048, 2048).map(lambda number: number / 1024)
scores = st.lists(score, min_size=1, max_size=40)
pairs = st.lists(st.tuples(score, score), min_size=1, max_size=40).map(lambda rows: np.array(rows).T)


@pytest.mark.parametrize("test", TESTS)
@given(values=scores)
def test_a_system_does_not_differ_from_itself(test, values) -> None:
    assert test(values, values, samples=50) == 1


@pytest.mark.parametrize("test", TESTS)
@given(pair=pairs, seed=st.integers(0, 9), shift=score)
def test_p_is_a_share_that_knows_no_order_no_zero_and_no_unit(test, pair, seed, shift) -> None:
    a, b = pair
    p = test(a, b, samples=50, seed=seed)
    assert 1 / 51 <= p <= 1 and p * 51 == pytest.approx(round(p * 51))
    assert p == test(b, a, samples=50, seed=seed)
    assert p == test(a + shift, b + shift, samples=50, seed=seed)
    assert p == test(a * 8, b * 8, samples=50, seed=seed)
    assert p == test(-a, -b, samples=50, seed=seed)


@pytest.mark.parametrize("test", TESTS)
@given(pair=pairs, more=st.integers(0, 1024).map(lambda number: number / 1024))
def test_what_makes_the_better_system_better_never_raises_p(test, pair, more) -> None:
    worse, better = sorted(pair, key=lambda one: one.sum())
    assert test(worse, better + more, samples=50) <= test(worse, better, samples=50)


@pytest.mark.parametrize("test", TESTS)
def test_a_large_difference_is_significant_and_a_small_one_is_not(test) -> None:
    a = np.random.default_rng(3).normal(size=300)
    noise = np.random.default_rng(4).normal(size=300)
    ps = [test(a, a + noise - noise.mean() + shift, samples=999) for shift in (0.0, 0.05, 0.1, 0.2, 0.5)]
    assert ps[0] > 0.99 and 0.3 < ps[1] < 0.5 and ps[-1] == 0.001
    assert sorted(ps, reverse=True) == ps


@given(pair=st.lists(st.tuples(score, score), min_size=1, max_size=6).map(lambda rows: np.array(rows).T))
@settings(max_examples=25)
def test_few_segments_give_the_p_of_all_exchanges(pair) -> None:
    d = pair[1] - pair[0]
    signs = np.array(list(itertools.product([-1, 1], repeat=len(d))))
    exact = (np.abs(signs @ d) >= abs(d.sum())).mean()
    assert approximate_randomisation(*pair, samples=20_000) == pytest.approx(exact, abs=0.015)


def test_one_segment_proves_nothing() -> None:
    assert paired_bootstrap([0.0], [9.0]) == approximate_randomisation([0.0], [9.0]) == 1


def test_ties_are_ties_after_rounding_too() -> None:
    """All exchanges of equal differences of .1 with the same number of signs are equal, whatever their order."""
    a, b = np.zeros(3), np.array([0.1, 0.1, 0.1])
    assert approximate_randomisation(a, b, samples=20_000) == pytest.approx(0.25, abs=0.01)
    assert approximate_randomisation(a, b * [1, 1, -1], samples=500) == 1


def test_of_pairs_without_a_difference_five_in_a_hundred_are_significant() -> None:
    """And of those that sacrebleu's way of folding differences tests, twice as many."""
    null = np.random.default_rng(7).normal(size=(2000, 100))
    assert 0.035 < (randomisation_p_values(null, samples=500, seed=1) < 0.05).mean() < 0.065
    assert 0.035 < (bootstrap_p_values(null, samples=500, seed=1) < 0.05).mean() < 0.07
    assert 0.09 < (bootstrap_p_values(null, samples=500, seed=1, folded=True) < 0.05).mean() < 0.15


@given(values=scores, seed=st.integers(0, 9), confidence=st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_an_interval_lies_in_the_data_and_grows_with_confidence(values, seed, confidence) -> None:
    found = interval(values, samples=200, seed=seed, confidence=confidence)
    assert found.mean == pytest.approx(np.mean(values), abs=1e-12)
    assert min(values) <= found.low <= found.high <= max(values)
    wider = interval(values, samples=200, seed=seed, confidence=(1 + confidence) / 2)
    assert wider.low <= found.low and found.high <= wider.high and wider.mean == found.mean


@given(value=st.floats(-1e6, 1e6), n=st.integers(1, 50))
def test_the_interval_of_equal_scores_is_a_point(value, n) -> None:
    assert interval([value] * n, samples=20) == (value, value, value)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    samples = np.random.default_rng(5).exponential(size=(1000, 100))
    found = intervals(samples, samples=500, seed=1, confidence=0.9)
    assert 0.86 < np.mean([one.low <= 1 <= one.high for one in found]) < 0.93


def test_a_seed_decides_and_another_changes_the_draws() -> None:
    a, b = np.random.default_rng(1).random((2, 50))
    for test in TESTS:
        assert test(a, b, seed=5) == test(a, b, seed=5) == test(a, b, seed=np.int64(5))
        assert len({test(a, b, samples=200, seed=seed) for seed in range(8)}) > 1
    assert interval(a, seed=5) == interval(a, seed=5) != interval(a, seed=6)


@pytest.mark.parametrize("cells", [1, 100, 5000])
def test_draws_do_not_depend_on_the_size_of_blocks(monkeypatch, cells) -> None:
    rows = np.random.default_rng(1).integers(-1024, 1024, size=(3, 37)) / 1024
    drawn, swapped = resampled_means(rows, 150, 9), swapped_means(rows, 150, 9)
    monkeypatch.setattr(resampling, "CELLS", cells)
    monkeypatch.setattr(resampling, "CACHED", cells)
    assert np.array_equal(resampled_means(rows, 150, 9), drawn)
    assert np.array_equal(swapped_means(rows, 150, 9), swapped)
    assert np.array_equal(swapped_means(rows[1:2], 150, 9), swapped[1:2])


def test_memory_does_not_grow_with_the_draws() -> None:
    """A thousand draws of 100,000 segments at once would be 800 MB of indices."""
    a, b = np.random.default_rng(1).random((2, 100_000))
    tracemalloc.start()
    interval(a, samples=100)
    paired_bootstrap(a, b, samples=100)
    approximate_randomisation(a, b, samples=200)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


@pytest.mark.parametrize(
    ("a", "b", "error", "sentence"),
    [
        ([], [], InputError, "the baseline's scores are empty: at least 1 segment"),
        ([1.0], [], InputError, "the system's scores are empty"),
        ([1.0, 2.0], [1.0], ShapeError, "the baseline has 2 scores and the system 1"),
        ([[1.0]], [1.0], ShapeError, r"baseline's scores have shape \(1, 1\)"),
        ([[1.0], [1.0, 2.0]], [1.0], ShapeError, "baseline's scores are ragged"),
        ([1.0, np.nan], [1.0, 1.0], NotFiniteError, "baseline's scores hold nan at segment 1"),
        ([1.0], [-np.inf], NotFiniteError, "system's scores hold -inf at segment 0"),
        (["a"], ["b"], InputError, "baseline's scores are of type <U1"),
        ([1e200], [1.0], InputError, r"go up to 1e\+200: scale them down"),
    ],
)
@pytest.mark.parametrize("test", TESTS)
def test_scores_that_cannot_be_used_are_one_sentence(test, a, b, error, sentence) -> None:
    with pytest.raises(error, match=sentence):
        test(a, b)


@pytest.mark.parametrize("samples", [0, -1, 1_000_001, 1.5, True, "9", None])
def test_samples_and_seeds_have_limits(samples) -> None:
    for test in (*TESTS, lambda a, _, **options: interval(a, **options)):
        with pytest.raises(InputError, match=r"samples is .*: a whole number from 1 to 1,000,000 was wanted"):
            test([1.0], [1.0], samples=samples)
        with pytest.raises(InputError, match=r"seed is .*: a whole number from 0 up"):
            test([1.0], [1.0], seed=-1 if samples == 0 else 1.5)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, float("nan")])
def test_confidence_is_between_0_and_1(confidence) -> None:
    with pytest.raises(InputError, match=r"confidence is .*: a number between 0 and 1"):
        interval([1.0], confidence=confidence)
