"""Rescale scores so that unrelated texts score about 0 and identical texts score 1.

A random token's RMS membership in a set with projector P is c = sqrt(tr(P S)), where S is the second moment of the
encoder's unit vectors. c is sqrt(k / d) for k tokens if the vectors are isotropic, and much higher for real encoders.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from softset.errors import InputError
from softset.similarity.calibration import Calibration
from softset.similarity.metrics.base import PRF, Metric, harmonic_mean
from softset.similarity.metrics.bertscore import Johnson, SubspaceBertScore
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.metrics.softset import SoftsetScore

Rescale = Literal["chance"] | Calibration | None

MIN_RANGE = 1e-6  # a level within this of the maximum leaves no range to rescale to
MAX_LEVEL = 0.95  # sets with a higher chance level are saturated


class ChanceLevels(NamedTuple):
    """The chance level of each set (2n,), if a second moment is known, and which pairs are saturated, (n,)."""

    of_sets: np.ndarray | None
    saturated: np.ndarray


def chance_levels(metric: Metric, pairs: Pairs, moment: np.ndarray | None, min_rows: int = 0) -> ChanceLevels:
    """Return the chance levels sqrt(tr(P S)) of the pairs' sets for a second moment S (d, d), and which are saturated.

    A pair is saturated if a set spans more than half of the space, or if its chance level is above .95. Metrics that
    are not based on subspaces have no levels and are never saturated. No level is computed if all sets have fewer than
    `min_rows` rows, see `min_saturated_rows`.
    """
    if not has_chance_levels(metric):
        return ChanceLevels(None, np.zeros(len(pairs), dtype=bool))
    levels, ranks = None, pairs.counts
    needs_levels = moment is not None and (pairs.counts >= min_rows).any()
    if needs_levels or (pairs.counts > pairs.dimensions / 2).any():  # otherwise no rank can be that large
        span = metric if isinstance(metric, SubspaceBertScore) else SubspaceBertScore()
        factors, offsets = span.set_factors(pairs)
        ranks = np.diff(offsets)
        if moment is not None:
            squares = np.einsum("ij,ij->i", factors @ moment, factors)  # their sum over a set is tr(F S F')
            owner = np.repeat(np.arange(len(ranks)), ranks)
            levels = np.sqrt(np.clip(np.bincount(owner, squares, len(ranks)), 0.0, 1.0))
    saturated = ranks > pairs.dimensions / 2
    if levels is not None:
        saturated = saturated | (levels > MAX_LEVEL)
    return ChanceLevels(levels, saturated[0::2] | saturated[1::2])


def has_chance_levels(metric: Metric) -> bool:
    """Return whether a metric is based on subspaces, which have a chance level in closed form."""
    return isinstance(metric, SubspaceBertScore | SoftsetScore)


def has_closed_form(metric: Metric) -> bool:
    """Return whether the chance level of a metric's score has a closed form."""
    return isinstance(metric, SubspaceBertScore) and not isinstance(metric, Johnson)


def min_saturated_rows(moment: np.ndarray) -> int:
    """Return how many rows a set needs at least for a chance level above .95.

    For k rows, tr(P S) is at most the sum of the k largest eigenvalues of S.
    """
    totals = np.cumsum(np.linalg.eigvalsh(moment)[::-1])
    return int(np.searchsorted(totals, MAX_LEVEL**2 - MIN_RANGE)) + 1


def pair_levels(of_candidates: np.ndarray, of_references: np.ndarray) -> PRF:
    """Return the chance levels of precision (of the reference's set), recall (of the candidate's) and F1."""
    return PRF(of_references, of_candidates, harmonic_mean(of_references, of_candidates))


def check_rescale(rescale: Any, metric: Metric) -> None:
    """Raise an error unless the scores of a metric can be rescaled this way."""
    if rescale is None or isinstance(rescale, Calibration):
        return
    if not isinstance(rescale, str) or rescale != "chance":
        raise InputError(f'rescale is {rescale!r}, but "chance", a softset.Calibration or None was expected')
    if not has_closed_form(metric):
        raise InputError(
            f"the chance level of {metric} has no closed form: use metric subspace, or measure the level with "
            "softset.Calibration.fit(texts, metric=...), on the command line with softset fit calibration"
        )


def rescale_scores(
    numbers: PRF, levels: Sequence[np.ndarray | float], empty: np.ndarray, max_score: float = 1.0
) -> PRF:
    """Return (x - c) / (best - c) for precision, recall and score, so that identical texts score 1.

    The best score is `max_score`, 2 for sums of precision and recall. The result is x / best for pairs with an `empty`
    side, and where c is so close to the best score that it says nothing.
    """
    rescaled = []
    for x, c, best in zip(numbers, levels, (1.0, 1.0, max_score), strict=True):
        fixed = empty | (best - np.asarray(c) < MIN_RANGE)
        rescaled.append(np.where(fixed, x / best, (x - c) / np.where(fixed, 1.0, best - c)))
    return PRF(*rescaled)
