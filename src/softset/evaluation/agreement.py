"""How well several methods agree with people on the same pairs: correlations, their intervals, and a paired test."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from softset.evaluation.correlation import Ranking, pearson, spearman
from softset.evaluation.correlation_draws import bounds, drawn_counts, drawn_pearson, drawn_spearman, paired_p
from softset.evaluation.sts_data import SentencePairs

__all__ = ["Agreement", "Finding", "averaged", "measure"]

Numbers = npt.NDArray[np.float64]

BEYOND = 1.959964  # standard errors of a normal number that 95 in 100 stay within


class Finding(NamedTuple):
    """One correlation, its interval, the p value of its difference to the baseline's, and the variances of both."""

    value: float
    low: float
    high: float
    p: float | None
    variance: float
    variance_of_difference: float


@dataclass(frozen=True, eq=False)
class Agreement:
    """The correlation of k methods with people, (k,), and the same in every draw, (k, samples)."""

    values: Numbers
    drawn: Numbers

    def findings(self, baseline: int | None) -> list[Finding]:
        """Return what was found of each method; `baseline` is the place of the one that others are held against."""
        found = []
        for at, (value, drawn) in enumerate(zip(self.values.tolist(), self.drawn, strict=True)):
            low, high = bounds(drawn)
            if baseline is None or at == baseline:
                found.append(Finding(value, low, high, None, float(drawn.var()), 0.0))
                continue
            difference, differences = value - float(self.values[baseline]), drawn - self.drawn[baseline]
            p = paired_p(difference, differences)
            found.append(Finding(value, low, high, p, float(drawn.var()), float(differences.var())))
        return found


def measure(pairs: SentencePairs, rows: Numbers, *, samples: int, seed: int, every: bool) -> dict[str, Agreement]:
    """Return the agreement of scores (k, n) with people's, by the name of the correlation.

    It is Spearman's rho over all pairs; with `every` also the mean over sub-datasets, where there are some, and
    Pearson's r. All methods are drawn alike.

    >>> pairs = SentencePairs("STS12", np.array([1.0, 2.0, 3.0]), *[["", "", ""]] * 2, ["a", "a", "b"])
    >>> measure(pairs, np.array([[0.1, 0.2, 0.3]]), samples=9, seed=1, every=False)["spearman"].values
    array([1.])
    """
    parts = pairs.parts if every else []
    rankings = {"spearman": [_Orders.of(pairs, rows, slice(None))]}
    if parts:
        rankings["spearman-mean"] = [_Orders.of(pairs, rows, places) for places in parts]
    names = [*rankings, *(["pearson"] if every else [])]
    drawn = {name: np.empty((len(rows), samples)) for name in names}
    for here, counts in drawn_counts(len(pairs), samples, seed, pairs.name):
        for name, orders in rankings.items():
            drawn[name][:, here] = np.mean([one.drawn(counts) for one in orders], axis=0)
        if every:
            drawn["pearson"][:, here] = drawn_pearson(counts, pairs.gold, rows)
    values = {name: np.mean([one.values for one in orders], axis=0) for name, orders in rankings.items()}
    values["pearson"] = np.array([pearson(pairs.gold, row) for row in rows])
    return {name: Agreement(values[name], drawn[name]) for name in names}


class _Orders(NamedTuple):
    """The pairs of a dataset or of a part of it, ordered by people's scores and by each method's."""

    places: slice | np.ndarray
    gold: Ranking
    rankings: list[Ranking]
    values: Numbers

    @classmethod
    def of(cls, pairs: SentencePairs, rows: Numbers, places: slice | np.ndarray) -> "_Orders":
        gold, rows = pairs.gold[places], rows[:, places]
        values = np.array([spearman(gold, row) for row in rows])
        return cls(places, Ranking.of(gold), [Ranking.of(row) for row in rows], values)

    def drawn(self, counts: Numbers) -> Numbers:
        return drawn_spearman(counts[self.places], self.gold, self.rankings)


def averaged(findings: Sequence[Finding], baseline: Sequence[Finding] | None, samples: int) -> Finding:
    """Return the mean of a method's findings over datasets; `baseline` are those of the method it is held against.

    Each dataset is drawn by itself, so that variances add up; means of so many pairs are normal.

    >>> one = Finding(0.5, 0.4, 0.6, None, 0.0025, 0.0)
    >>> mean = averaged([one, one], None, samples=1000)
    >>> round(mean.low, 3), round(mean.high, 3), mean.p
    (0.431, 0.569, None)
    """
    k = len(findings)
    value = sum(one.value for one in findings) / k
    variance = sum(one.variance for one in findings) / k**2
    other = sum(one.variance_of_difference for one in findings) / k**2
    reach = BEYOND * sqrt(variance)
    low, high = max(value - reach, -1.0), min(value + reach, 1.0)
    if baseline is None:
        return Finding(value, low, high, None, variance, 0.0)
    difference = abs(value - sum(one.value for one in baseline) / k)
    extreme = difference / sqrt(2 * other) if other > 0 else float("inf") if difference > 0 else 0.0
    # No p value claims more than as many draws could show.
    return Finding(value, low, high, max(erfc(extreme), 1 / (samples + 1)), variance, other)
