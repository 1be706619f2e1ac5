"""Lexical metrics: they compare the strings of the tokens and ignore the vectors."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum
from typing import ClassVar, Literal

import numpy as np

from softset.similarity.metrics.base import PRF, Metric, SimilarityMetric, SumMetric, check_choice
from softset.similarity.metrics.pairs import Pairs


@dataclass(frozen=True, repr=False)
class Symbolic(Metric):
    """Precision, recall and F1 of the sets of distinct tokens: the share that the other text has too."""

    NAME: ClassVar[str] = "symbolic"

    weights: Literal["none", "idf"] = "none"

    def __post_init__(self) -> None:
        check_choice(self, "weights", ("none", "idf"))

    def _compute(self, pairs: Pairs) -> PRF:
        P, R = np.zeros((2, len(pairs)))
        for pair, A, B in _distinct_tokens(pairs):
            P[pair], R[pair] = self._share(pairs, A, B), self._share(pairs, B, A)
        return PRF(P, R, self._combine(P, R))

    def _share(self, pairs: Pairs, tokens: set[str], others: set[str]) -> float:
        """Return the share of the tokens' weight that the other text has too."""
        if self.weights == "idf":
            idf = pairs.required_idf()
            total = fsum(idf[token] for token in tokens)  # exact, because the order of a set depends on the process
            if total > 0:
                return fsum(idf[token] for token in tokens & others) / total
        return len(tokens & others) / len(tokens)


@dataclass(frozen=True, repr=False)
class JohnsonSymbolic(SumMetric, Symbolic):
    """The sum of symbolic precision and recall, from 0 to 2."""

    NAME: ClassVar[str] = "johnson-symbolic"


@dataclass(frozen=True, repr=False)
class Jaccard(SimilarityMetric):
    """The number of common tokens over the number of distinct tokens of both texts."""

    NAME: ClassVar[str] = "jaccard"

    def _similarity(self, pairs: Pairs) -> np.ndarray:
        shares = np.zeros(len(pairs))
        for pair, A, B in _distinct_tokens(pairs):
            shares[pair] = len(A & B) / len(A | B)
        return shares


@dataclass(frozen=True, repr=False)
class TfIdf(SimilarityMetric):
    """The cosine of token counts times (1 + idf), so that tokens that occur in every text still count."""

    NAME: ClassVar[str] = "tfidf"

    @property
    def needs_idf(self) -> bool:
        """Whether the metric weights tokens by idf: always."""
        return True

    def _similarity(self, pairs: Pairs) -> np.ndarray:
        idf, tokens = pairs.required_idf(), pairs.required_tokens()
        cosines = np.zeros(len(pairs))
        for pair, left, right in pairs.filled():
            names, token = np.unique(tokens[left.start : right.stop], return_inverse=True)
            weights = 1 + idf.weights(names.tolist())
            k = left.stop - left.start
            a = np.bincount(token[:k], minlength=len(names)) * weights
            b = np.bincount(token[k:], minlength=len(names)) * weights
            cosines[pair] = a @ b / (np.linalg.norm(a) * np.linalg.norm(b))
        return cosines


def _distinct_tokens(pairs: Pairs) -> Iterator[tuple[int, set[str], set[str]]]:
    """Yield the distinct tokens of both sides of each pair with its number, except for empty sides."""
    tokens = pairs.required_tokens()
    for pair, left, right in pairs.filled():
        yield pair, set(tokens[left]), set(tokens[right])
