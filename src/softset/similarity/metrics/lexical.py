"""Metrics of the tokens' text alone: exact overlap, as sets of symbols have it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from softset.errors import InputError
from softset.similarity.idf import Idf
from softset.similarity.metrics.base import PRF, Metric, SimilarityMetric, Summed, must_be_one_of
from softset.similarity.pairs import Pairs

__all__ = ["Jaccard", "JohnsonSymbolic", "Symbolic", "TfIdf"]


@dataclass(frozen=True, repr=False)
class Symbolic(Metric):
    """P, R and F of the sets of tokens: which share of one text's different tokens the other text has too."""

    NAME: ClassVar[str] = "symbolic"
    ABOUT: ClassVar[str] = "share of the different tokens that the other text has too (exact overlap)"

    weights: Literal["none", "idf"] = "none"

    def __post_init__(self) -> None:
        must_be_one_of(self, "weights", ("none", "idf"))

    def _of_pairs(self, pairs: Pairs) -> PRF:
        P, R = np.zeros(len(pairs)), np.zeros(len(pairs))
        for at, (A, B) in enumerate(_sets(pairs)):
            P[at], R[at] = self._share(pairs, A, B), self._share(pairs, B, A)
        return PRF(P, R, self.combined(P, R))

    def _share(self, pairs: Pairs, tokens: set[str], others: set[str]) -> float:
        """Return the part of the tokens' weight that is among the others."""
        if self.weights == "idf":
            idf = _idf(pairs)
            total = sum(idf[one] for one in tokens)
            if total > 0:
                return sum(idf[one] for one in tokens & others) / total
        return len(tokens & others) / max(1, len(tokens))


@dataclass(frozen=True, repr=False)
class JohnsonSymbolic(Summed, Symbolic):
    """The sum of symbolic precision and recall, from 0 to 2."""

    NAME: ClassVar[str] = "johnson-symbolic"
    ABOUT: ClassVar[str] = "symbolic precision plus recall, from 0 to 2"


@dataclass(frozen=True, repr=False)
class Jaccard(SimilarityMetric):
    """The share of common tokens among all different tokens of both texts."""

    NAME: ClassVar[str] = "jaccard"
    ABOUT: ClassVar[str] = "common tokens over all different tokens of both texts"

    def similarity(self, pairs: Pairs) -> np.ndarray:
        """Return |A and B| / |A or B| of each pair."""
        return np.array([len(A & B) / max(1, len(A | B)) for A, B in _sets(pairs)], dtype=np.float64)


@dataclass(frozen=True, repr=False)
class TfIdf(SimilarityMetric):
    """The cosine of counts of tokens times (1 + idf), so that tokens of every text still count a little."""

    NAME: ClassVar[str] = "tfidf"
    ABOUT: ClassVar[str] = "cosine of the tokens' counts times (1 + idf)"

    @property
    def needs_idf(self) -> bool:
        """Whether the metric weighs tokens by their rarity: always."""
        return True

    def similarity(self, pairs: Pairs) -> np.ndarray:
        """Return the cosine of each pair."""
        idf, tokens = _idf(pairs), pairs.named()
        found = np.zeros(len(pairs))
        for at, (left, right) in enumerate(_ranges(pairs)):
            names, places = np.unique(tokens[left.start : right.stop], return_inverse=True)
            weights = 1 + idf.weights(names.tolist())
            middle = left.stop - left.start
            a = np.bincount(places[:middle], minlength=len(names)) * weights
            b = np.bincount(places[middle:], minlength=len(names)) * weights
            length = np.linalg.norm(a) * np.linalg.norm(b)
            found[at] = a @ b / length if length else 0.0
        return found


def _ranges(pairs: Pairs) -> Iterator[tuple[slice, slice]]:
    ends = pairs.offsets.tolist()
    for at in range(len(pairs)):
        yield slice(ends[2 * at], ends[2 * at + 1]), slice(ends[2 * at + 1], ends[2 * at + 2])


def _sets(pairs: Pairs) -> Iterator[tuple[set[str], set[str]]]:
    """Yield the different tokens of both sides."""
    tokens = pairs.named()
    for left, right in _ranges(pairs):
        yield set(tokens[left]), set(tokens[right])


def _idf(pairs: Pairs) -> Idf:
    if pairs.idf is None:
        raise InputError("this metric needs idf weights: give idf=softset.Idf.fit(texts), or score with references")
    return pairs.idf
