"""BUT NOT: how much the log-odds of an item in A fall by what it has in common with B.

A few examples of B do not say how far B reaches. Its border, as a value of the log-odds in B, therefore has a
distribution: a logistic prior, updated by evidence. The examples of A and their centroid are outside B, if there are at
least two of them; each example of B is inside the set of the others. So a sibling of A's examples, as in
`{monday, tuesday} - friday`, moves the border close around B, while B keeps a wide border if it is far from A, as in
`bass - {guitar, drums}`. With a single example in A, everything like B is removed, unless nothing would be left.

Texts are more than examples: a text in A that mentions B is no evidence for a close border. So for texts the border has
its prior only.

`A - B` adds nu log P(x is outside B) to the log-odds of A. Its strictness is .5. From 0 to .5, this penalty has a
limit, which is 0 at 0 (nothing is removed). From .5 to 1 (`A -- B`), nu grows to that of a single example, and the
examples of A that are most like B no longer count as evidence: at 1, half of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, log

import numpy as np

from softset.query.background import Background
from softset.query.centroid import GAIN, ZERO, Centroid, make_centroids

GRID = np.linspace(-4, 16, 1_001)  # log-odds at which the probability of being outside is tabulated
PRIOR_SLOPE = 3.0  # slope of the logistic prior of the border, per unit of log-odds
A_ERROR, B_ERROR = 0.005, 0.2  # probabilities that an example of A lies inside B, and one of B outside it
WEIGHT, WEIGHT_OF_ONE = 0.25, 0.5  # nu, and nu if A has one example: then all evidence comes from B
MAX_EVIDENCE = 8  # largest number of examples of one set that count as evidence
MAX_WEIGHT = 4.0  # largest total weight of the examples of a set, because they are not independent
MIN_PROBABILITY = 1e-9


@dataclass(frozen=True, eq=False)
class Border:
    """The probability of being outside a set, as a function of the log-odds in it, tabulated at `GRID`."""

    outside: np.ndarray

    def __call__(self, log_odds: np.ndarray) -> np.ndarray:
        """Return the probabilities of items being outside, given their log-odds in the set."""
        outside: np.ndarray = np.interp(log_odds, GRID, self.outside)
        return outside

    @property
    def max_slopes(self) -> tuple[float, float]:
        """The largest derivatives of the log-probability of being outside, and of that of being inside.

        Between two values of the grid a probability is linear, so the slope is largest at the smaller one.
        """
        slopes = np.abs(np.diff(self.outside)) / (GRID[1] - GRID[0])
        of_outside, of_inside = (slopes / np.minimum(p[1:], p[:-1]) for p in (self.outside, 1 - self.outside))
        return float(of_outside.max()), float(of_inside.max())


@dataclass(frozen=True)
class Strictness:
    """The numbers that follow from the strictness of one BUT NOT."""

    weight: float
    min_outside: float
    evidence_share: float

    @classmethod
    def of(cls, strict: float, examples: int, *, is_text: bool = False) -> "Strictness":
        """Return the numbers for a strictness from 0 to 1 and a number of examples of A."""
        excess = max(2 * strict - 1, 0.0)
        weight = WEIGHT + (WEIGHT_OF_ONE - WEIGHT) * excess if examples > 1 else WEIGHT_OF_ONE
        if is_text:
            weight = WEIGHT_OF_ONE * (1 + excess)
        return cls(weight, max(1 - 2 * strict, 0.0) ** 3, 1 - excess / 2)

    def penalty(self, outside: np.ndarray) -> np.ndarray:
        """Return what is added to the log-odds of A, given the probabilities of being outside B."""
        penalty: np.ndarray = self.weight * np.log(self.min_outside + (1 - self.min_outside) * outside)
        return penalty


def find_border(
    B: Centroid, rows_of_B: np.ndarray, groups_of_A: Iterable[np.ndarray], background: Background, evidence_share: float
) -> Border:
    """Return the border of the set B.

    Args:
        B: the set.
        rows_of_B: its examples, unit rows (k, d).
        groups_of_A: the examples (k, d), unit rows, of each set that B is subtracted from.
        background: the background of all log-odds.
        evidence_share: the share of the examples in each group that count as evidence: those that are least like B.
    """
    z = PRIOR_SLOPE * (GRID - GAIN * (background.reach - ZERO))
    density = -np.logaddexp(0, z) - np.logaddexp(0, -z)  # the logarithm of the logistic density
    for rows in groups_of_A:
        if len(rows) > 1 and not background.is_text:
            rows = _at_most(rows)
            centre = background.direction(rows, np.ones(len(rows)))
            odds = np.sort(B.log_odds(np.vstack([rows, centre]) @ B.direction))
            counted = odds[: ceil(evidence_share * len(odds))]
            density = density + _evidence(GRID > counted[:, None], A_ERROR, len(odds))
    if len(rows_of_B) > 1 and not background.is_text:
        rows = _at_most(rows_of_B)
        weights = np.ones(len(rows) - 1)
        rest = [background.direction(np.delete(rows, index, axis=0), weights) for index in range(len(rows))]
        others, _ = make_centroids(rest, background)
        inside = np.array([other.log_odds(other.direction @ row) for other, row in zip(others, rows, strict=True)])
        density = density + _evidence(GRID <= inside[:, None], B_ERROR, len(rows))
    probabilities = np.exp(density - density.max())
    outside = 1 - np.cumsum(probabilities) / probabilities.sum()
    return Border(np.clip(outside, MIN_PROBABILITY, 1 - MIN_PROBABILITY))


def _at_most(rows: np.ndarray) -> np.ndarray:
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), MAX_EVIDENCE)).astype(np.int64)]


def _evidence(agrees: np.ndarray, error: float, examples: int) -> np.ndarray:
    """Return the log-likelihood of each border in `GRID`, given which borders (g,) agree with k examples, (k, g).

    The weight of one example depends on the number of all, not of those that count: otherwise, BUT NOT could remove
    less with a higher strictness.
    """
    weight = min(1.0, MAX_WEIGHT / examples)
    likelihood: np.ndarray = weight * np.where(agrees, log(1 - error), log(error)).sum(axis=0)
    return likelihood
