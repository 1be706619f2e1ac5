"""The scale of memberships: scores are compared with those of a fixed background, never with the items searched.

The background is a fixed sample of vectors: of the vocabulary, or of a collection when it reaches 1,000 items. A
score s has the relative value y = (s - m) / (r - m), where m is the mean score of the background, and r the mean score
of the 1.5 % of the background that score highest. So an average item has the value 0. On the development data (sets of
LDA-1k and categories of common words), half of the words with y = 2 belong to a set, whether the set is given by one
example or by five, or is a union, an intersection or a difference of two sets.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, isfinite, isnan, sqrt
from typing import Any

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.errors import FileError, InputError
from softset.query.lexical import LexicalIndex

SIZE = 8_192  # vectors in a background: with fewer, memberships depend too much on the sample
COMMON_WORDS = 35_000  # the background of words is sampled from this many frequent words
SHARE = 0.015  # the reference is the mean score of this share of the background, the highest scores
MIDPOINT, SLOPE = 2.0, 4.0  # the membership is 1 / (1 + exp(-SLOPE (y - MIDPOINT))), fitted on the development data
PRIOR_COUNT, MIN_SLOPE = 4.0, 0.25  # weight of the default and smallest slope in fitted calibrations
WHITENING = 0.25  # power of the whitening of directions; .5 is worse on Reuters and QUEST
MIN_DISTANCE = 1e-6  # of an example from the mean of the texts
MIN_WHITENED, MIN_VARIANCE = 256, 0.01  # texts that a whitening needs; smallest variance, relative to the mean
WORD_REACH, TEXT_REACH = 0.2, 0.8  # value of y up to which items are outside a set if nothing else is known
NOT_FINITE = "a vector has a number that is not finite: its file was changed after it was written; create it again"
GROUP = 32  # `kth_largest` compares the maxima of groups of this size first


@dataclass(frozen=True)
class Scale:
    """The mean score of a background, and the mean score of its highest 1.5 %.

    >>> Scale(0.1, 0.5).relative(np.array([0.1, 0.5, 0.9]))
    array([0., 1., 2.])
    """

    mean: float
    reference: float

    @classmethod
    def of(cls, scores: np.ndarray, min_spread: float) -> "Scale":
        """Return the scale of the scores (b,) of a background."""
        if not len(scores):
            return cls(0.0, min_spread)
        best = ceil(SHARE * len(scores))
        mean, reference = float(scores.mean()), float(np.partition(scores, -best)[-best:].mean())
        if isnan(mean):
            raise FileError(NOT_FINITE)
        return cls(mean, max(reference, mean + min_spread))

    def relative(self, scores: Any) -> Any:
        """Return the relative values y of scores."""
        return (scores - self.mean) / (self.reference - self.mean)


@dataclass(frozen=True)
class MembershipCalibration:
    """The logistic function from relative values to memberships; `SearchableSource.calibrate` fits one.

    Attributes:
        midpoint: the relative value whose membership is one half.
        slope: the steepness at the midpoint, above 0.

    >>> DEFAULT_CALIBRATION.apply(np.array([-np.inf, 1.5, 2, 4])).round(3)
    array([0.   , 0.119, 0.5  , 1.   ])
    """

    midpoint: float = MIDPOINT
    slope: float = SLOPE

    def __post_init__(self) -> None:
        if not (isfinite(self.midpoint) and 0 < self.slope < inf):
            raise InputError(f"a calibration needs a finite midpoint and a slope above 0, but {self!r} was given")

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Return the memberships of relative values."""
        with np.errstate(over="ignore"):
            memberships: np.ndarray = 1 / (1 + np.exp(-self.slope * (values - self.midpoint)))
        return memberships

    @classmethod
    def fit(cls, values: np.ndarray, belongs: np.ndarray) -> "MembershipCalibration":
        """Return the calibration that fits relative values (n,) of known members and non-members best.

        The default counts as `PRIOR_COUNT` further observations, so that a few examples, also ones that are easily
        separated, change it only a little. Members that score below the non-members raise InputError.

        >>> values, belongs = np.array([0.5, 1.0, 3.0, 3.5]), np.array([False, False, True, True])
        >>> 1 < MembershipCalibration.fit(values, belongs).midpoint < 3
        True
        """
        grid = np.linspace(MIDPOINT - 2, MIDPOINT + 2, 9)
        default = DEFAULT_CALIBRATION.apply(grid)
        x = np.concatenate([values, grid])
        target = np.concatenate([belongs.astype(np.float64), default])
        weight = np.concatenate([np.ones(len(values)), np.full(len(grid), PRIOR_COUNT / len(grid))])
        columns = np.stack([np.ones(len(x)), x])
        parameters = np.array([-SLOPE * MIDPOINT, SLOPE])

        def loss(candidate: np.ndarray) -> float:
            z = candidate @ columns
            return float(weight @ (np.logaddexp(0, z) - target * z))

        for _ in range(100):  # Newton's method for a convex function; a full step may go too far
            p = 1 / (1 + np.exp(-np.clip(parameters @ columns, -50, 50)))
            curvature = columns * (weight * p * (1 - p)) @ columns.T + 1e-9 * np.eye(2)
            step = np.linalg.solve(curvature, columns @ (weight * (target - p)))
            while loss(parameters + step) > loss(parameters) and np.abs(step).max() > 1e-9:
                step = step / 2
            parameters = parameters + step
        intercept, slope = parameters.tolist()
        if slope < MIN_SLOPE:
            raise InputError("the members do not score above the non-members: check that they are not exchanged")
        return cls(-intercept / slope, slope)


DEFAULT_CALIBRATION = MembershipCalibration()


@dataclass(frozen=True, eq=False)
class Background:
    """The vectors of b items, and the words of their texts, that scores are compared with.

    Attributes:
        units: unit vectors (b + m, d) in float64, so that scores do not depend on how many directions are multiplied at
            once. The first b are the items' own, the others their further vectors, such as those of sentences.
        owners: for each further vector, the position (m,) of its item, in ascending order; None if there are none.
        lexical: the lexical index of the texts, if there is one.
        is_text: whether the items are texts, for which AND, OR and directions differ: see `softset.query.log_odds`.
        reach: the value y up to which an item is outside a set if there is no other evidence.
        note: what a user should know about the background, or "".
        calibration: the function from relative values to memberships.
    """

    units: np.ndarray
    reach: float = WORD_REACH
    note: str = ""
    calibration: MembershipCalibration = DEFAULT_CALIBRATION
    owners: np.ndarray | None = None
    lexical: LexicalIndex | None = None
    is_text: bool = False

    @classmethod
    def of(
        cls,
        vectors: np.ndarray,
        *,
        reach: float = WORD_REACH,
        note: str = "",
        calibration: MembershipCalibration = DEFAULT_CALIBRATION,
    ) -> "Background":
        """Return the background of vectors (b, d); zero vectors are left out.

        >>> Background.of(np.array([[3.0, 4.0], [0.0, 0.0]])).units
        array([[0.6, 0.8]])
        """
        units = finite_units(vectors)
        return cls(units[units.any(axis=1)], reach, note, calibration)

    def direction(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the unit direction (d,) of a set with (k, d) examples; zero if the examples cancel out.

        It is the mean of the unit examples. For texts, examples are centred and partly whitened before, and the mean is
        whitened again: directions in which all texts vary count less. Items are not changed, so that every engine
        compares them with one direction.
        """
        if self._whitening is None:
            return mean_direction(rows, weights)
        mean, matrix = self._whitening
        if np.linalg.norm(unit_rows(rows) - mean, axis=1).min() < MIN_DISTANCE:  # the rest would be rounding
            return mean_direction(rows, weights)
        direction: np.ndarray = unit_rows(mean_direction((unit_rows(rows) - mean) @ matrix, weights)[None] @ matrix)[0]
        return direction

    @cached_property
    def _whitening(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The mean (d,) and the symmetric matrix (d, d) of the whitening, or None if directions are not whitened."""
        own = self.units[: len(self.units) - (0 if self.owners is None else len(self.owners))]
        if not self.is_text or len(own) < MIN_WHITENED:
            return None
        mean = own.mean(axis=0)
        values, axes = np.linalg.eigh(np.atleast_2d(np.cov(own, rowvar=False)))
        relative = np.maximum(values / values.mean(), MIN_VARIANCE) if values.mean() > 0 else np.ones(len(values))
        return mean, (axes * relative ** (-WHITENING / 2)) @ axes.T

    def cosines(self, directions: np.ndarray) -> np.ndarray:
        """Return the cosines (k, b) with unit vectors (k, d)."""
        n = len(self.units) - (0 if self.owners is None else len(self.owners))
        return value_per_item(directions @ self.units.T, n, self.owners)


def finite_units(vectors: np.ndarray) -> np.ndarray:
    """Return vectors (b, d) scaled to length 1 in float64; numbers that are not finite raise FileError."""
    if not np.isfinite(vectors).all():
        raise FileError(NOT_FINITE)
    units: np.ndarray = unit_rows(np.asarray(vectors, dtype=np.float64))
    return units


def value_per_item(values: np.ndarray, n: int, owners: np.ndarray | None) -> np.ndarray:
    """Return the value of each of n items, given the values (..., n + m) of all their vectors.

    It is the mean of the value of the item's own vector and the largest value of all its vectors. The first n values
    belong to the items' own vectors; `owners` (m,) has the positions of the items to which the others belong, in
    ascending order. NaN is the value of a zero vector, which does not count.

    >>> value_per_item(np.array([0.2, 0.5, 0.1, 0.3, 0.4]), 3, np.array([0, 0])).round(2).tolist()
    [0.3, 0.5, 0.1]
    """
    if owners is None or not len(owners):
        return values
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    result, items = values[..., :n].copy(), owners[starts]
    own, best = result[..., items], np.fmax.reduceat(values[..., n:], starts, axis=-1)
    result[..., items] = np.where(np.isnan(own), best, (own + np.fmax(own, best)) / 2)
    return result


def sample_words(n: int) -> np.ndarray:
    """Return the indices of words at equal distances among the most frequent of n words, which come first.

    Rare words of large vocabularies are unlike everything else, and would make all sets look narrow.

    >>> len(sample_words(1_000_000)), int(sample_words(1_000_000)[-1])
    (8192, 34999)
    """
    return sample_indices(min(n, COMMON_WORDS))


def sample_indices(n: int, size: int = SIZE) -> np.ndarray:
    """Return the indices of at most `size` of n items, at equal distances."""
    return np.linspace(0, n - 1, min(n, size)).astype(np.int64) if n else np.zeros(0, dtype=np.int64)


def mean_direction(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the direction (d,) of the weighted mean of (k, d) vectors, each scaled to length 1 first.

    The result is zero if the vectors cancel out.
    """
    mean: np.ndarray = weights / np.abs(weights).max() @ unit_rows(rows)
    length = sqrt(mean @ mean)
    return mean / length if length > 1e-12 else mean * 0


def kth_largest(values: np.ndarray, k: int) -> float:
    """Return the k-th largest value.

    At least k values reach the k-th largest maximum of groups, so all smaller values are dropped before sorting. For
    56 of 32,768 values this takes a fifth of the time of `np.partition`.
    """
    grouped = values[: len(values) // GROUP * GROUP].reshape(GROUP, -1).max(axis=0) if len(values) >= GROUP else values
    if len(grouped) > k:
        values = values[values >= np.partition(grouped, -k)[-k]]
    value = float(np.partition(values, -k)[-k]) if len(values) >= k else float("nan")
    if isnan(value):
        raise FileError(NOT_FINITE)
    return value
