"""P values and intervals equal those of sacrebleu and scipy."""

from unittest.mock import Mock

import numpy as np
import pytest

from softset.evaluation.significance import bootstrap, mean_statistic
from tests.evaluation.test_significance import approximate_randomisation, interval, paired_bootstrap

SHIFTS = (0.0, 0.01, 0.03, 0.05, 0.08)


def systems(shift: float, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Two systems; of n random numbers no two exchanges give the same mean, so there are no ties."""
    rng = np.random.default_rng(int(shift * 100) + 1)
    a = rng.beta(5, 2, size=n)
    return a, a + rng.normal(shift / 2, 0.2, size=n)


def rounded(values: np.ndarray) -> np.ndarray:
    """Sums of multiples of 1/4096 are exact in float32 too, in which sacrebleu resamples."""
    return np.round(values * 4096) / 4096


class MeanMetric:
    """What sacrebleu wants to know of a metric; a "hypothesis" is its own score."""

    class Score:
        name = "mean"

        def __init__(self, score: float) -> None:
            self.score = score

    def _extract_corpus_statistics(self, hypotheses, _references) -> list[list[float]]:
        return [[score, 1.0] for score in hypotheses]

    def _aggregate_and_compute(self, statistics):
        return self._compute_score_from_stats(np.sum(statistics, axis=0))

    def _compute_score_from_stats(self, statistics):
        return self.Score(float(statistics[0]) / float(statistics[1]))

    def get_signature(self) -> Mock:
        return Mock()


def sacrebleu_results(kind: str, a: np.ndarray, b: np.ndarray, samples: int):
    significance = pytest.importorskip("sacrebleu.significance", reason="sacrebleu is not installed")
    named = [("a", a.tolist()), ("b", b.tolist())]
    _, results = significance.PairedTest(named, {"mean": MeanMetric()}, None, kind, samples, samples)()
    return results["mean"]


@pytest.fixture(params=[12345, 7])
def seed(request, monkeypatch) -> int:
    monkeypatch.setenv("SACREBLEU_SEED", str(request.param))
    return request.param


@pytest.mark.parametrize("shift", SHIFTS)
def test_bootstrap_equals_sacrebleu_exactly(seed, shift) -> None:
    a, b = map(rounded, systems(shift))
    of_a, of_b = sacrebleu_results("bs", a, b, 1000)
    draws = np.abs(bootstrap(mean_statistic((b - a)[None]), len(a), samples=1000, seed=seed)[0])
    reached = (draws - draws.mean() > abs((b - a).mean())).sum()  # sacrebleu takes absolute values before centring
    assert (reached + 1) / 1001 == of_b.p_value
    for values, theirs in ((a, of_a), (b, of_b)):
        ours = interval(values, seed=seed)
        assert ours.value == pytest.approx(theirs.score, abs=1e-12)
        assert (ours.high - ours.low) / 2 == pytest.approx(theirs.ci, abs=1e-12)
        assert (ours.high + ours.low) / 2 == pytest.approx(theirs.mean, abs=theirs.ci / 10)


@pytest.mark.parametrize("shift", SHIFTS)
def test_approximate_randomisation_equals_sacrebleu_exactly(seed, shift) -> None:
    a, b = systems(shift)
    assert approximate_randomisation(a, b, seed=seed) == sacrebleu_results("ar", a, b, 10_000)[1].p_value


def test_deliberate_differences_from_sacrebleu() -> None:
    """Tests of a system against itself, and bootstrap p values of small differences."""
    a, b = systems(0.03)
    assert sacrebleu_results("bs", a, a, 1000)[1].p_value == 1 / 1001 and paired_bootstrap(a, a) == 1
    assert sacrebleu_results("ar", a, a, 1000)[1].p_value == 1 / 1001 and approximate_randomisation(a, a) == 1
    folded, exchanged = sacrebleu_results("bs", a, b, 5000)[1].p_value, approximate_randomisation(a, b)
    assert abs(paired_bootstrap(a, b, samples=5000) - exchanged) < 0.02 < abs(folded - exchanged)


@pytest.mark.parametrize("shift", SHIFTS)
def test_p_values_and_intervals_agree_with_scipy(shift) -> None:
    stats = pytest.importorskip("scipy.stats")
    a, b = systems(shift)
    exchanged = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10_000,
        rng=np.random.default_rng(1),
    )
    assert approximate_randomisation(a, b) == pytest.approx(exchanged.pvalue, abs=0.02)
    assert paired_bootstrap(a, b, samples=10_000) == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=0.02)
    options = {"n_resamples": 10_000, "method": "percentile", "rng": np.random.default_rng(1)}
    theirs = stats.bootstrap((b,), np.mean, confidence_level=0.9, **options).confidence_interval
    ours = interval(b, samples=10_000, confidence=0.9)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=2e-3)
