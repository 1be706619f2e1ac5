"""Tau is what counting gives, a tie is a mistake, and the bootstrap draws segments."""

from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset.errors import InputError
from softset.evaluation.kendall import kendall, surplus, tau

RNG = np.random.default_rng(5)


def judged(segments: int = 40, systems: int = 4, metrics: int = 3, seed: int = 0):
    """Return scores of translations and random judgements of them; every segment has some, in no order."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, (metrics, segments * systems)) / 4  # many ties
    segment = np.concatenate([np.arange(segments), rng.integers(0, segments, 3 * segments)])
    better, worse = np.array([rng.choice(systems, 2, replace=False) for _ in segment]).T
    return scores, segment * systems + better, segment * systems + worse, segment


def literal_tau(scores, better, worse) -> float:
    concordant = discordant = 0
    for good, bad in zip(better, worse, strict=True):
        if scores[good] > scores[bad]:
            concordant += 1
        else:
            discordant += 1
    return (concordant - discordant) / (concordant + discordant)


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(2, 6))
def test_tau_is_what_counting_gives(seed, segments, systems) -> None:
    scores, better, worse, segment = judged(segments, systems, seed=seed)
    found = tau(surplus(scores, better, worse, segment), np.bincount(segment))
    assert found == pytest.approx([literal_tau(one, better, worse) for one in scores], abs=1e-12)


def test_a_tie_is_discordant_and_so_is_what_only_rounding_tells_apart() -> None:
    better, worse, segment = np.array([0, 1]), np.array([1, 2]), np.array([0, 1])
    scores = np.array([[0.5, 0.5, 0.1], [0.5 + 1e-9, 0.5, 0.1], [0.5 + 1e-5, 0.5, 0.1]])
    assert surplus(scores, better, worse, segment).tolist() == [[-1, 1], [-1, 1], [1, 1]]


def test_the_bootstrap_is_that_of_a_loop_over_the_same_draws() -> None:
    scores, better, worse, segment = judged(segments=17)
    counts = np.bincount(segment)
    found = kendall(surplus(scores, better, worse, segment), counts, baseline=0, samples=200, seed=9, name="cs-en")
    drawn = np.random.default_rng([9, crc32(b"cs-en")]).integers(17, size=(200, 17))
    taus = np.empty((3, 200))
    for at, some in enumerate(drawn):
        rows = np.concatenate([np.flatnonzero(segment == one) for one in some])
        taus[:, at] = [literal_tau(one, better[rows], worse[rows]) for one in scores]
    for at, one in enumerate(found):
        assert one.value == pytest.approx(literal_tau(scores[at], better, worse))
        assert [one.low, one.high] == pytest.approx(np.sort(taus[at])[[5, 194]].tolist())
    centred = np.abs(taus[1] - taus[0] - (taus[1] - taus[0]).mean())
    seen = abs(found[1].value - found[0].value)
    assert found[1].p == pytest.approx(((centred >= seen - 1e-10).sum() + 1) / 201)


def test_what_is_better_is_significantly_so_and_what_is_equal_is_not() -> None:
    counts = np.full(300, 4)
    base = RNG.integers(-1, 3, 300) * 1.0
    better = base + (RNG.random(300) < 0.2) * 2 * (base < 2)
    noise = base + RNG.choice([-2, 0, 2], 300)
    first, second, third, same = kendall(np.stack([base, better, noise, base]), counts, baseline=0)
    assert first.p is None and same.p == 1
    assert second.p < 0.01 < third.p
    assert first.low < first.value < first.high and same[:3] == first[:3]
    assert kendall(np.stack([base, better]), counts, baseline=1)[0].p == second.p  # worse is as far as better


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """Judgements of a segment hang together: intervals of single judgements would be about half as wide."""
    rng, inside = np.random.default_rng(1), 0
    for seed in range(100):
        surpluses = 4.0 * np.where(rng.random(150) < 0.7, 1, -1)  # tau is .4
        (one,) = kendall(surpluses[None], np.full(150, 4), samples=200, seed=seed)
        inside += one.low <= 0.4 <= one.high
    assert 88 <= inside <= 99


def test_one_segment_tells_nothing_about_chance() -> None:
    a, b = kendall(np.array([[3.0], [1.0]]), [3], baseline=0, samples=10)
    assert (a.value, a.low, a.high) == (1, 1, 1) and b.p == 1


def test_no_baseline_no_p() -> None:
    assert [one.p for one in kendall(np.array([[1.0, 2.0], [0.0, 0.0]]), [1, 2], samples=10)] == [None, None]


@pytest.mark.parametrize("options", [{"samples": 0}, {"seed": -1}])
def test_draws_that_cannot_be_made_are_refused(options) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        kendall(np.array([[1.0, 2.0]]), [1, 2], **options)
