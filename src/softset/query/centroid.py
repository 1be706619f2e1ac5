"""Sets of the default logic: a direction, the words of the examples, and the scale of both.

The relative value of an item is that of its cosine with the direction. In collections with a lexical index, the BM25
score of its text is added, and the sum is compared with the background again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.query.background import DEFAULT_CALIBRATION, Background, MembershipCalibration, Scale

MIN_SPREAD = 0.02  # smallest difference of reference and mean, for vectors that are nearly equal
ZERO, GAIN = 0.5, 2.0  # log-odds for AND, OR and BUT NOT are GAIN (y - ZERO)
LEXICAL_WEIGHT = 6.0  # of BM25 scores, whose maximum is 1, beside relative values of cosines
MIN_FUSED_SPREAD = 0.5  # of the sum of both, between the mean and the reference of the background


@dataclass(frozen=True, eq=False)
class LexicalSet:
    """The words of a set's examples, for the BM25 scores of texts.

    Attributes:
        weights: the weight of each term; their sum is 1, so that scores are from 0 to 1.
        average_length: the mean number of terms in the texts of the background.
        mean: the mean score of the background.
        weight: the weight of scores above the mean, beside the relative values of cosines.
        scale: the scale of the background's sums of both.
    """

    weights: Mapping[str, float]
    average_length: float
    mean: float
    weight: float
    scale: Scale

    def relative(self, values: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return the relative values of items, from those of their cosines and their BM25 scores."""
        combined: np.ndarray = self.scale.relative(values + self.weight * (scores - self.mean))
        return combined


@dataclass(frozen=True, eq=False, repr=False)
class Centroid:
    """A set given by the direction (d,) of the mean of its examples, and the scale of the cosines with it.

    In collections with a lexical index, it also has the words of its examples.

    >>> near = Centroid(np.array([1.0, 0.0]), Scale(0.0, 0.25))
    >>> near
    Centroid(ambient=2, mean=0.000, reference=0.250)
    >>> near.membership(np.array([[2.0, 0.0], [0.5, 0.866], [-1.0, 0.0], [0.0, 0.0]])).round(2).tolist()
    [1.0, 0.5, 0.0, 0.0]
    """

    direction: np.ndarray
    scale: Scale
    calibration: MembershipCalibration = DEFAULT_CALIBRATION
    lexical: LexicalSet | None = None
    dim: ClassVar[int] = 1

    @property
    def ambient(self) -> int:
        """The dimension of the space that contains the set."""
        return len(self.direction)

    @property
    def max_slope(self) -> float:
        """The derivative of the log-odds by the cosine."""
        slope = GAIN / (self.scale.reference - self.scale.mean)
        return slope if self.lexical is None else slope / (self.lexical.scale.reference - self.lexical.scale.mean)

    def max_lexical(self, lexical_scores: np.ndarray | None) -> float:
        """Return the largest absolute log-odds that the words of items with the given BM25 scores add."""
        if self.lexical is None or lexical_scores is None:
            return 0.0
        return GAIN * float(np.abs(self.lexical.relative(np.zeros(1), lexical_scores)).max(initial=0))

    def membership_of(self, log_odds: np.ndarray) -> np.ndarray:
        """Return the memberships (n,) of items with the given log-odds."""
        return self.calibration.apply(log_odds / GAIN + ZERO)

    def factor(self) -> np.ndarray:
        """Return the direction as one row (1, d)."""
        return self.direction[None, :]

    def relative(self, cosines: np.ndarray, lexical_scores: np.ndarray | None = None) -> np.ndarray:
        """Return the relative values (n,) of items with the given cosines and BM25 scores."""
        values: np.ndarray = self.scale.relative(cosines)
        if self.lexical is None or lexical_scores is None:
            return values
        return self.lexical.relative(values, lexical_scores)

    def log_odds(self, cosines: np.ndarray, lexical_scores: np.ndarray | None = None) -> np.ndarray:
        """Return the log-odds (n,) of items with the given cosines and BM25 scores."""
        odds: np.ndarray = GAIN * (self.relative(cosines, lexical_scores) - ZERO)
        return odds

    def membership(self, v: Any) -> Any:
        """Return the membership of one vector (d,) or of (n, d) vectors; that of a zero vector is 0."""
        rows = unit_rows(np.atleast_2d(np.asarray(v, dtype=np.float64)))
        values = self.calibration.apply(self.scale.relative(rows @ self.direction))
        memberships = np.where(rows.any(axis=1), values, 0.0)
        return memberships[0] if np.ndim(v) == 1 else memberships

    def __repr__(self) -> str:
        mean, reference = self.scale.mean, self.scale.reference
        return f"Centroid(ambient={self.ambient}, mean={mean:.3f}, reference={reference:.3f})"


def make_centroids(
    directions: Sequence[np.ndarray], background: Background, words: Sequence[Mapping[str, float]] = ()
) -> tuple[list[Centroid], np.ndarray]:
    """Return the centroids with k unit directions (d,), and the log-odds (k, b) of the background in them.

    `words` has the weights of the terms of each set; without it, sets have no words.
    """
    if not len(directions):
        return [], np.zeros((0, 0))
    cosines, centroids, odds = background.cosines(np.stack(directions)), list[Centroid](), list[np.ndarray]()
    for index, (direction, row) in enumerate(zip(directions, cosines, strict=True)):
        scale = Scale.of(row, MIN_SPREAD)
        lexical, scores = make_lexical_set(words[index] if words else {}, background, scale.relative(row))
        centroids.append(Centroid(direction, scale, background.calibration, lexical))
        odds.append(centroids[-1].log_odds(row, scores))
    return centroids, np.stack(odds)


def make_lexical_set(
    weights: Mapping[str, float], background: Background, values: np.ndarray
) -> tuple[LexicalSet | None, np.ndarray | None]:
    """Return the set of terms with weights, and the BM25 scores (b,) of the background for it; None without terms.

    `values` are the relative values (b,) of the background's cosines.
    """
    total = sum(weights.values())
    if not total or background.lexical is None:
        return None, None
    shares, average_length = (
        {term: weight / total for term, weight in weights.items()},
        background.lexical.average_length,
    )
    scores = background.lexical.scores(shares, average_length)
    mean = float(scores.mean()) if len(scores) else 0.0
    scale = Scale.of(values + LEXICAL_WEIGHT * (scores - mean), MIN_FUSED_SPREAD)
    return LexicalSet(shares, average_length, mean, LEXICAL_WEIGHT, scale), scores
