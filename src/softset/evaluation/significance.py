"""Whether a difference between two systems is more than chance, from their scores of the same segments.

Paired bootstrap (Koehn 2004) and approximate randomisation (Noreen 1989; Riezler and Maxwell 2005), both two-sided.
Given the same seed they make the draws of sacrebleu 2, and differ from its p values in two ways, on purpose:

* A draw that is *as* extreme as what was seen counts as evidence for chance. sacrebleu counts only more extreme
  ones, by which a system differs "significantly" from itself (p = 1 / 1001).
* The bootstrap centres differences and then takes their size. sacrebleu takes the size first, by which p is about
  that of a one-sided test: of pairs without any difference it calls 10 to 12 in 100 significant at .05, not 5.
  `folded=True` does the same.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from softset.errors import InputError, ShapeError
from softset.evaluation.resampling import as_scores, check_draws, resampled_means, swapped_means

__all__ = [
    "Interval",
    "approximate_randomisation",
    "bootstrap_p_values",
    "check_confidence",
    "interval",
    "intervals",
    "paired_bootstrap",
    "randomisation_p_values",
]

Rows = npt.NDArray[np.float64]

# Sums of the same numbers in another order differ by up to 1e-11 of their size for 100,000 segments; such are equal.
TIE = 1e-10


class Interval(NamedTuple):
    """A mean, and the interval that it lies in with the confidence that was asked for.

    >>> Interval(0.5, low=0.4, high=0.6)
    Interval(mean=0.5, low=0.4, high=0.6)
    """

    mean: float
    low: float
    high: float


def interval(values: npt.ArrayLike, *, samples: int = 1000, seed: int = 12345, confidence: float = 0.95) -> Interval:
    """Return the mean of scores (n,) with its bootstrap percentile interval.

    >>> mean, low, high = interval([0.1, 0.4, 0.5, 0.9, 0.6])
    >>> print(f"{mean:.2f}, from {low:.2f} to {high:.2f}")
    0.50, from 0.28 to 0.72
    """
    return intervals(as_scores(values)[None], samples=samples, seed=seed, confidence=confidence)[0]


def paired_bootstrap(
    baseline: npt.ArrayLike, system: npt.ArrayLike, *, samples: int = 1000, seed: int = 12345, folded: bool = False
) -> float:
    """Return the p value of the paired bootstrap test of two lists of scores (n,), in (0, 1].

    Args:
        baseline: One score a segment.
        system: The scores of another system for the same segments.
        samples: How many times segments are drawn with replacement.
        seed: The same seed gives the same p value.
        folded: Take sizes of differences before they are centred, as sacrebleu does: about half the p value.

    >>> round(paired_bootstrap([0.1, 0.4, 0.5, 0.9], [0.2, 0.5, 0.7, 0.9]), 3)
    0.007
    >>> paired_bootstrap([0.1, 0.4, 0.5, 0.9], [0.1, 0.4, 0.5, 0.9])
    1.0
    """
    return float(bootstrap_p_values(_differences(baseline, system), samples=samples, seed=seed, folded=folded)[0])


def approximate_randomisation(
    baseline: npt.ArrayLike, system: npt.ArrayLike, *, samples: int = 10_000, seed: int = 12345
) -> float:
    """Return the p value of the approximate randomisation test of two lists of scores (n,), in (0, 1].

    If the systems were alike, their scores of a segment could be exchanged: p is the share of random exchanges that
    separate the means at least as far. With few segments it is the more careful test: 4 give no p below 1 / 8.

    >>> round(approximate_randomisation([0.1, 0.4, 0.5, 0.9], [0.2, 0.5, 0.7, 0.9]), 2)
    0.25
    """
    return float(randomisation_p_values(_differences(baseline, system), samples=samples, seed=seed)[0])


def intervals(rows: Rows, *, samples: int, seed: int, confidence: float) -> list[Interval]:
    """Return the interval of each of the rows (k, n), all from the same draws.

    >>> intervals(np.array([[0.5, 0.5], [1.0, 1.0]]), samples=10, seed=1, confidence=0.9)[1]
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    check_draws(samples, seed)
    check_confidence(confidence)
    origin = rows[:, :1]  # means of equal scores are then these scores to the last digit
    means = origin[:, 0] + (rows - origin).mean(axis=1)
    drawn = np.sort(origin + resampled_means(rows - origin, samples, seed), axis=1)
    outside = int(samples * (1 - confidence) / 2 + 1e-9)  # draws beyond either end; (1 - .9) / 2 is .0499999...
    low, high = drawn[:, outside], drawn[:, samples - outside - 1]
    return [Interval(*map(float, one)) for one in zip(means, low, high, strict=True)]


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is no share, or all or nothing.

    >>> check_confidence(95)
    Traceback (most recent call last):
    softset.errors.InputError: confidence is 95: a number between 0 and 1 was wanted, such as 0.95
    """
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence!r}: a number between 0 and 1 was wanted, such as 0.95")


def bootstrap_p_values(differences: Rows, *, samples: int, seed: int, folded: bool = False) -> Rows:
    """Return the p value (k,) of each row of differences (k, n) between two systems' scores.

    >>> bootstrap_p_values(np.array([[0.1, 0.1, 0.2], [0.1, -0.1, 0.0]]), samples=999, seed=1).tolist()
    [0.001, 1.0]
    """
    check_draws(samples, seed)
    if differences.shape[1] == 1:
        return np.ones(len(differences))  # all draws are the one segment: nothing is known about chance
    drawn = resampled_means(differences, samples, seed)
    sizes = np.abs(drawn) if folded else drawn
    centred = sizes - sizes.mean(axis=1, keepdims=True)
    return _share_as_extreme(centred if folded else np.abs(centred), differences)


def randomisation_p_values(differences: Rows, *, samples: int, seed: int) -> Rows:
    """Return the p value (k,) of each row of differences (k, n) between two systems' scores.

    >>> randomisation_p_values(np.array([[0.1, -0.1, 0.0], [0.0, 0.0, 0.0]]), samples=999, seed=1).tolist()
    [1.0, 1.0]
    """
    check_draws(samples, seed)
    return _share_as_extreme(np.abs(swapped_means(differences, samples, seed)), differences)


def _share_as_extreme(statistics: Rows, differences: Rows) -> Rows:
    """Return (c + 1) / (draws + 1), c being how many statistics (k, draws) reach the size of the mean difference."""
    seen = np.abs(differences.mean(axis=1)) - TIE * np.abs(differences).mean(axis=1)
    reached = (statistics >= seen[:, None]).sum(axis=1)
    shares: Rows = (reached + 1) / (statistics.shape[1] + 1)
    return shares


def _differences(baseline: npt.ArrayLike, system: npt.ArrayLike) -> Rows:
    """Return system - baseline as one row (1, n)."""
    first, second = as_scores(baseline, "baseline's scores"), as_scores(system, "system's scores")
    if len(first) != len(second):
        raise ShapeError(
            f"the baseline has {len(first):,} scores and the system {len(second):,}: one a segment was wanted of both"
        )
    return (second - first)[None]
