"""The chance level of a score, and scores counted from it.

An unrelated token belongs to a set with projector P to sqrt(tr(P S)) in the root mean square, where S is the second
moment of the encoder's unit vectors: sqrt(k / d) if they point everywhere alike, and far more for real encoders.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.similarity.calibration import Calibration, rescaled
from softset.similarity.metrics.base import PRF, Metric, harmonic_mean
from softset.similarity.metrics.softset import SoftsetScore
from softset.similarity.metrics.subspace import Johnson, SubspaceBertScore
from softset.similarity.pairs import Pairs, alone

__all__ = ["Levels", "Rescaling", "rescaling"]

TOO_HIGH = 0.95  # a chance level above this leaves no room to tell texts apart


@dataclass(frozen=True, eq=False)
class Levels:
    """The chance level of each set (2n,), where it is known, and whether a pair is saturated, (n,)."""

    of_sets: np.ndarray | None
    saturated: np.ndarray

    @classmethod
    def of(cls, metric: Metric, pairs: Pairs, moment: np.ndarray | None) -> "Levels":
        """Return the levels of pairs; without a second moment only what their ranks tell."""
        if not isinstance(metric, SubspaceBertScore | SoftsetScore):
            return cls(None, np.zeros(len(pairs), dtype=bool))
        levels, ranks = None, pairs.counts
        span = metric if isinstance(metric, SubspaceBertScore) else SubspaceBertScore()
        if moment is not None:
            levels, ranks = span.chance(pairs, moment)
        elif (pairs.counts > pairs.dimensions / 2).any():  # else no rank can be so large
            ranks = span.ranks(pairs)
        full = ranks > pairs.dimensions / 2
        if levels is not None:
            full = full | (levels > TOO_HIGH)
        return cls(levels, full[0::2] | full[1::2])


class Rescaling(Protocol):
    """A way to count scores from chance."""

    name: str

    def of_pairs(self, numbers: PRF, pairs: Pairs, levels: Levels, signature: str) -> PRF:
        """Return the rescaled numbers of pairs, (n,)."""
        ...

    def of_all(self, numbers: PRF, A: TokenSets, B: TokenSets, moment: np.ndarray | None, signature: str) -> PRF:
        """Return the rescaled numbers of all pairs, (n, m)."""
        ...


def rescaling(given: Any, metric: Metric) -> Rescaling | None:
    """Return what rescales the scores of a metric, or None."""
    if given is None:
        return None
    if isinstance(given, Calibration):
        return _Measured(given, metric.BEST)
    if not isinstance(given, str) or given != "chance":
        raise InputError(f'rescale is {given!r}, but "chance", a softset.Calibration or None was wanted')
    if not isinstance(metric, SubspaceBertScore) or isinstance(metric, Johnson):
        raise InputError(
            f"the chance level of {metric} has no closed form: use metric subspace, or measure the level with "
            "softset.Calibration.fit(texts, metric=...), on the command line with softset fit calibration"
        )
    return _Chance(metric)


class _Chance:
    """Rescaling by the closed form: precision counts from the reference's level, recall from the candidate's."""

    name = "chance"

    def __init__(self, metric: SubspaceBertScore) -> None:
        self.metric = metric

    def of_pairs(self, numbers: PRF, pairs: Pairs, levels: Levels, signature: str) -> PRF:  # noqa: ARG002 (Rescaling's)
        """Return the rescaled numbers of pairs; those with an empty side stay as they are."""
        assert levels.of_sets is not None  # noqa: S101 (a moment was asked for)
        chance = _level(levels.of_sets[1::2], levels.of_sets[0::2])
        return _kept(numbers, rescaled(numbers, chance), pairs.empty[0::2] | pairs.empty[1::2])

    def of_all(self, numbers: PRF, A: TokenSets, B: TokenSets, moment: np.ndarray | None, signature: str) -> PRF:  # noqa: ARG002 (Rescaling's)
        """Return the rescaled numbers of all pairs."""
        assert moment is not None  # noqa: S101 (it was asked for)
        left, right = alone(A, None), alone(B, None)
        of_A, of_B = self.metric.chance(left, moment)[0][::2], self.metric.chance(right, moment)[0][::2]
        shape = numbers.score.shape
        chance = _level(np.broadcast_to(of_B[None, :], shape), np.broadcast_to(of_A[:, None], shape))
        return _kept(numbers, rescaled(numbers, chance), left.empty[::2, None] | right.empty[None, ::2])


class _Measured:
    """Rescaling by a measured level."""

    def __init__(self, calibration: Calibration, best: float) -> None:
        self.calibration, self.best = calibration, best
        self.name = f"measured({calibration.precision:.6g},{calibration.recall:.6g},{calibration.score:.6g})"

    def of_pairs(self, numbers: PRF, pairs: Pairs, levels: Levels, signature: str) -> PRF:  # noqa: ARG002 (Rescaling's)
        """Return the rescaled numbers of pairs; those with an empty side stay as they are."""
        return _kept(numbers, self._rescaled(numbers, signature), pairs.empty[0::2] | pairs.empty[1::2])

    def of_all(self, numbers: PRF, A: TokenSets, B: TokenSets, moment: np.ndarray | None, signature: str) -> PRF:  # noqa: ARG002 (Rescaling's)
        """Return the rescaled numbers of all pairs."""
        empty = alone(A, None).empty[::2, None] | alone(B, None).empty[None, ::2]
        return _kept(numbers, self._rescaled(numbers, signature), empty)

    def _rescaled(self, numbers: PRF, signature: str) -> PRF:
        self.calibration.must_fit(signature)
        levels = PRF(*(np.full(numbers.score.shape, level) for level in self.calibration.levels))
        return rescaled(numbers, levels, self.best)


def _level(precision: np.ndarray, recall: np.ndarray) -> PRF:
    """Return the chance levels of precision, recall and F."""
    return PRF(precision, recall, harmonic_mean(precision, recall))


def _kept(before: PRF, after: PRF, empty: np.ndarray) -> PRF:
    return PRF(*(np.where(empty, old, new) for old, new in zip(before, after, strict=True)))
