"""What a metric is: a name, parameters as data, and a rule that turns pairs of token sets into three numbers each."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.runtime.threads import on_one_thread
from softset.similarity.idf import Idf
from softset.similarity.metrics.weights import WEIGHTS, Weights, weigh
from softset.similarity.pairs import Pairs, blocks

__all__ = [
    "PRF",
    "MembershipMetric",
    "Metric",
    "ScoreKind",
    "SimilarityMetric",
    "Summed",
    "Weighted",
    "harmonic_mean",
    "parts_of_memberships",
]


ScoreKind = Literal["f1", "mean", "sum", "similarity"]


class PRF(NamedTuple):
    """Precision over the candidates, recall over the references, and the score; arrays of one shape."""

    precision: np.ndarray
    recall: np.ndarray
    score: np.ndarray


@dataclass(frozen=True, repr=False)
class Metric(ABC):
    """How alike two token sets are. Its repr names what differs from the defaults, and parses back.

    Identical texts score 1, and so do two empty ones; a text against an empty one scores 0. (Two exceptions: graded
    sets hold no token in full, and a mean vector of 0 has no direction.)
    """

    NAME: ClassVar[str]
    ABOUT: ClassVar[str]
    BEST: ClassVar[float] = 1.0  # what identical texts score
    SCORE_KIND: ClassVar[ScoreKind] = "f1"  # what the third number is

    @abstractmethod
    def _of_pairs(self, pairs: Pairs) -> PRF:
        """Return the numbers (n,) of each pair; those of pairs with an empty side do not matter."""

    def combined(self, P: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return the score of precision and recall: their harmonic mean."""
        return harmonic_mean(P, R)

    @property
    def needs_idf(self) -> bool:
        """Whether the metric weighs tokens by their rarity."""
        return getattr(self, "weights", None) == "idf"

    @property
    def needs_moment(self) -> bool:
        """Whether the metric weighs tokens by the encoder's second moment."""
        return getattr(self, "weights", None) == "rare"

    def served(self, *, moment: bool) -> "Metric":  # noqa: ARG002 (for those that can do without)
        """Return the metric for an encoder whose second moment is known or not: itself, unless it can do without."""
        return self

    @on_one_thread
    def of_pairs(self, pairs: Pairs) -> PRF:
        """Return precision, recall and F of each pair, (n,)."""
        return self._with_empty(self._of_pairs(pairs), pairs.empty[0::2], pairs.empty[1::2], pairs.alike)

    def of_all(
        self, candidates: TokenSets, references: TokenSets, idf: Idf | None = None, moment: np.ndarray | None = None
    ) -> PRF:
        """Return precision, recall and F of every candidate with every reference, (n, m)."""
        n, m = len(candidates), len(references)
        left, right = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
        found = np.zeros((3, n * m))
        for here, pairs in blocks(candidates, references, left, right, idf, moment):
            found[:, here] = self.of_pairs(pairs)
        return PRF(*found.reshape(3, n, m))

    def _with_empty(self, numbers: PRF, left: np.ndarray, right: np.ndarray, alike: np.ndarray) -> PRF:
        """Apply the rule for empty sets: nothing is all of nothing, and no part of something.

        Two texts that are empty only because the model knows none of their tokens are alike only if they are the same.
        """
        both = left & right & alike
        one = (left | right) & ~both
        if not (both | one).any():
            return numbers
        P, R, F = (np.where(one, 0.0, values) for values in numbers)
        return PRF(np.where(both, 1.0, P), np.where(both, 1.0, R), np.where(both, self.BEST, F))

    def __repr__(self) -> str:
        given = [(one.name, getattr(self, one.name), one.default) for one in fields(self)]
        shown = ", ".join(f"{name}={_plain(value)}" for name, value, default in given if value != default)
        return f"{self.NAME}({shown})" if shown else self.NAME

    __str__ = __repr__


def _plain(value: Any) -> str:
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


@dataclass(frozen=True, repr=False)
class Weighted(Metric):
    """A metric that may weigh tokens."""

    weights: Weights = "none"

    def __post_init__(self) -> None:
        must_be_one_of(self, "weights", WEIGHTS)


@dataclass(frozen=True, repr=False)
class MembershipMetric(Weighted):
    """A metric that says how much each token belongs to the other text: P and R are the weighted means of that."""

    LINKS: ClassVar[str]  # what `links` gives: see `View`

    @abstractmethod
    def memberships(self, pairs: Pairs) -> np.ndarray:
        """Return how much each row belongs to the other side of its pair, (rows,)."""

    @abstractmethod
    def links(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return (k, l): what each of l other unit rows gives to the membership of each of k unit rows."""

    def shares(self, pairs: Pairs) -> np.ndarray:
        """Return what each row counts in its set's mean, (rows,)."""
        return pairs.shares(weigh(pairs, self.weights))

    def _of_pairs(self, pairs: Pairs) -> PRF:
        means = np.clip(pairs.sums(self.shares(pairs) * self.memberships(pairs)), -1.0, 1.0)  # sums round up
        P, R = means[0::2], means[1::2]
        return PRF(P, R, self.combined(P, R))


class Summed(Metric):
    """A metric whose score is the sum of precision and recall, from 0 to 2: the form of the paper's code."""

    BEST: ClassVar[float] = 2.0
    SCORE_KIND: ClassVar[ScoreKind] = "sum"

    def combined(self, P: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return the sum of precision and recall."""
        total: np.ndarray = P + R
        return total


class SimilarityMetric(Metric):
    """A metric with one number a pair, which is precision, recall and score at once."""

    SCORE_KIND: ClassVar[ScoreKind] = "similarity"

    @abstractmethod
    def similarity(self, pairs: Pairs) -> np.ndarray:
        """Return the number of each pair, (n,); what it is for pairs with an empty side does not matter."""

    def _of_pairs(self, pairs: Pairs) -> PRF:
        value = self.similarity(pairs)
        return PRF(value, value.copy(), value.copy())


def harmonic_mean(P: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return 2 P R / (P + R); 0 where one of them is 0, or they have opposite signs and the formula has no bound.

    >>> harmonic_mean(np.array([1.0, 0.0, 0.2]), np.array([0.5, 0.0, -0.19])).round(4).tolist()
    [0.6667, 0.0, 0.0]
    """
    alike = P * R > 0
    F: np.ndarray = np.minimum(np.where(alike, 2 * P * R / np.where(alike, P + R, 1.0), 0.0), 1.0)
    return F


def parts_of_memberships(rows: np.ndarray, others: np.ndarray, ridge: float) -> np.ndarray:
    """Return (k, l): the part of each of l other unit rows in the squared membership of k unit rows, which sum to 1.

    m^2 is a sum of coefficient times cosine over the others, whose set is crisp without a ridge.

    >>> parts_of_memberships(np.array([[0.6, 0.8]]), np.eye(2), 0.0).round(2).tolist()
    [[0.36, 0.64]]
    """
    if not len(rows) or not len(others):
        return np.zeros((len(rows), len(others)))
    G, C = others @ others.T, others @ rows.T
    # Copies make G singular, unless there is a ridge.
    parts = (np.linalg.pinv(G + ridge * np.eye(len(G)), rtol=1e-10, hermitian=True) @ C * C).T
    total = parts.sum(axis=1, keepdims=True)
    shares: np.ndarray = parts / np.where(total > 0, total, 1)
    return shares


def must_be_one_of(metric: Metric, name: str, choices: tuple[str, ...]) -> None:
    """Refuse a parameter that is none of the choices."""
    value = getattr(metric, name)
    if value not in choices:
        raise InputError(f"{metric.NAME} has no {name} {value!r}: use one of {', '.join(choices)}")
