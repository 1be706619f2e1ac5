"""The default logic, written again in float64 from the formulas of the documentation, without code of softset.query.

Expressions are nested tuples: an index or a tuple of indices is a set of examples; ("&", A, B), ("|", A, B), ("~", A)
and ("-", A, B, strictness) combine sets.
"""

from math import ceil, log
from typing import Any

import numpy as np

from softset.query.plan import Plan
from softset.search.exact import exact_scores
from softset.search.given_items import GivenItems

GRID = np.linspace(-4, 16, 1_001)


def to_text(tree: Any) -> str:
    """Return the query text of an expression."""
    match tree:
        case ("~", inner):
            return f"~({to_text(inner)})"
        case ("-", left, right, strict):
            return f"({to_text(left)}) -^{strict:g} ({to_text(right)})"
        case ("&" | "|" as operator, left, right):
            return f"({to_text(left)}) {operator} ({to_text(right)})"
        case int():
            return f"w{tree}"
    return "{" + ", ".join(f"w{index}" for index in tree) + "}"


def unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def scale_of(scores: np.ndarray, min_spread: float) -> tuple[float, float]:
    """Return the mean, and the mean of the highest 1.5 %."""
    highest = np.sort(scores)[::-1][: ceil(0.015 * len(scores))]
    return scores.mean(), max(highest.mean(), scores.mean() + min_spread)


class Reference:
    """The memberships of vectors (n, d) in queries; the nonzero vectors are also the background."""

    def __init__(self, vectors: np.ndarray, *, reach: float = 0.2) -> None:
        self.units = unit(vectors.astype(np.float64))
        self.background = self.units[self.units.any(axis=1)]
        self.reach = reach

    def log_odds(self, direction: np.ndarray, rows: np.ndarray) -> np.ndarray:
        mean, reference = scale_of(self.background @ direction, 0.02)
        return 2 * ((rows @ direction - mean) / (reference - mean) - 0.5)

    def rows_of(self, leaf: Any) -> np.ndarray:
        return self.units[[leaf] if isinstance(leaf, int) else list(leaf)]

    def odds(self, tree: Any, rows: np.ndarray, *, with_exclusions: bool = True) -> np.ndarray:
        """Return the log-odds of rows in an expression without NOT."""
        match tree:
            case ("&", left, right):
                a, b = (self.odds(side, rows, with_exclusions=with_exclusions) for side in (left, right))
                return -np.log(np.exp(-a) + np.exp(-b) + np.exp(-a - b))  # of the product of the probabilities
            case ("|", left, right):
                a, b = (self.odds(side, rows, with_exclusions=with_exclusions) for side in (left, right))
                return np.log(np.exp(a) + np.exp(b) + np.exp(a + b))
            case ("-", left, right, strict):
                odds = self.odds(left, rows, with_exclusions=with_exclusions)
                return odds + self.penalty(left, right, strict, rows) if with_exclusions else odds
        return self.log_odds(unit(self.rows_of(tree).mean(axis=0)), rows)

    def penalty(self, left: Any, right: Any, strict: float, rows: np.ndarray) -> np.ndarray:
        groups = [self.rows_of(leaf) for leaf in dict.fromkeys(kept_leaves(left))]
        if strict <= 0.5 and max(map(len, groups)) == 1:
            odds = self.odds(left, self.background, with_exclusions=False)
            mean, reference = scale_of(odds, 0.1)
            y = (odds + self.penalty_of(groups, right, 0.5, self.background) - mean) / (reference - mean)
            if (1 / (1 + np.exp(-4 * (y - 2)))).max() < 0.01:
                strict = min(strict, 0.35)
        return self.penalty_of(groups, right, strict, rows)

    def penalty_of(self, groups: list[np.ndarray], right: Any, strict: float, rows: np.ndarray) -> np.ndarray:
        excess = max(2 * strict - 1, 0)
        weight = 0.5 if max(map(len, groups)) == 1 else 0.25 * (1 + excess)
        least = max(1 - 2 * strict, 0) ** 3
        outside = self.outside(right, groups, 1 - excess / 2, rows)
        return weight * np.log(least + (1 - least) * outside)

    def outside(self, tree: Any, groups: list[np.ndarray], share_of_A: float, rows: np.ndarray) -> np.ndarray:
        """Return the probabilities to be outside an expression without NOT."""
        match tree:
            case ("&", left, right):
                a, b = (self.outside(side, groups, share_of_A, rows) for side in (left, right))
                return 1 - (1 - a) * (1 - b)
            case ("|", left, right):
                a, b = (self.outside(side, groups, share_of_A, rows) for side in (left, right))
                return a * b
            case ("-", left, right, _):
                a, b = (self.outside(side, groups, share_of_A, rows) for side in (left, right))
                return 1 - (1 - a) * b
        values = self.log_odds(unit(self.rows_of(tree).mean(axis=0)), rows)
        return np.interp(values, GRID, self.border(self.rows_of(tree), groups, share_of_A))

    def border(self, rows_of_B: np.ndarray, groups: list[np.ndarray], share_of_A: float) -> np.ndarray:
        """Return the probability that the border is above each value of the grid."""
        direction = unit(rows_of_B.mean(axis=0))
        density = np.zeros(len(GRID))
        for number, t in enumerate(GRID):
            z = 3 * (t - 2 * (self.reach - 0.5))
            density[number] = -2 * np.logaddexp(z / 2, -z / 2)
        for rows in groups:
            if len(rows) >= 2:
                points = self.log_odds(direction, np.vstack([spread(rows), unit(spread(rows).mean(axis=0))]))
                for value in np.sort(points)[: ceil(share_of_A * len(points))]:  # those that are least like B
                    density += min(1, 4 / len(points)) * np.where(value < GRID, log(0.995), log(0.005))
        examples = spread(rows_of_B)
        for number in range(len(examples) if len(examples) >= 2 else 0):
            others = unit(np.delete(examples, number, axis=0).mean(axis=0))
            value = self.log_odds(others, examples[number])
            density += min(1, 4 / len(examples)) * np.where(value >= GRID, log(0.8), log(0.2))
        probabilities = np.exp(density - density.max())
        return np.clip(1 - np.cumsum(probabilities) / probabilities.sum(), 1e-9, 1 - 1e-9)

    def scores(self, tree: Any, *, negated: bool = False) -> np.ndarray:
        """Return the log-odds of all vectors, -inf for zero vectors; `negated` stands for one NOT at the root."""
        odds = self.odds(tree, self.units)
        return np.where(self.units.any(axis=1), -odds if negated else odds, -np.inf)

    def memberships(self, tree: Any, *, negated: bool = False) -> np.ndarray:
        """Return the memberships of all vectors; those of zero vectors are 0."""
        mean, reference = scale_of(self.odds(tree, self.background, with_exclusions=False), 0.1)
        y = (self.odds(tree, self.units) - mean) / (reference - mean)
        memberships = 1 / (1 + np.exp(-4 * (y - 2)))
        memberships = 1 - memberships if negated else memberships
        return np.where(self.units.any(axis=1), memberships, 0.0)


def spread(rows: np.ndarray) -> np.ndarray:
    """Return at most eight rows, at equal distances."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), 8)).astype(int)]


def kept_leaves(tree: Any) -> list[Any]:
    """Return the sets of the left sides of an expression without NOT."""
    match tree:
        case ("&" | "|", left, right):
            return kept_leaves(left) + kept_leaves(right)
        case ("-", left, *_):
            return kept_leaves(left)
    return [tree]


def score_vectors(plan: Plan, rows: np.ndarray) -> np.ndarray:
    """Return the scores (n,) of vectors (n, d) by the package's own code."""
    return exact_scores(GivenItems(rows), plan, np.arange(len(rows)))
