"""Metrics that pool token vectors: cosines of mean and [CLS] vectors, and DynaMax, which takes maxima."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.similarity.metrics.base import PRF, SimilarityMetric, WeightedMetric, check_choice
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.metrics.weights import MAX_LENGTH, token_weights


class _Pooled(SimilarityMetric):
    """The cosine of two pooled vectors."""

    @abstractmethod
    def _pooled(self, pairs: Pairs) -> np.ndarray:
        """Return one vector per set, (2n, d)."""

    def _similarity(self, pairs: Pairs) -> np.ndarray:
        units = unit_rows(self._pooled(pairs))
        return np.asarray(np.clip(np.einsum("ij,ij->i", units[0::2], units[1::2]), -1.0, 1.0))

    def _compute_matrix(self, A: Pairs, B: Pairs) -> PRF:
        cosines = unit_rows(self._pooled(A)[::2]) @ unit_rows(self._pooled(B)[::2]).T
        cosines = np.clip(cosines, -1.0, 1.0)
        return PRF(cosines, cosines.copy(), cosines.copy())


@dataclass(frozen=True, repr=False)
class Average(WeightedMetric, _Pooled):
    """Avg-cos: the cosine of the two texts' mean token vectors."""

    NAME: ClassVar[str] = "average"

    def _pooled(self, pairs: Pairs) -> np.ndarray:
        means = np.zeros((len(pairs.counts), pairs.dimensions))
        filled = ~pairs.empty
        if filled.any():
            weights = pairs.normalized(token_weights(pairs, self.weights))
            if pairs.rescaled is not None:  # any multiple of the mean has the same direction
                weights = pairs.normalized(weights * np.minimum(pairs.lengths, MAX_LENGTH) / pairs.norms)
            means[filled] = np.add.reduceat(pairs.vectors * weights[:, None], pairs.offsets[:-1][filled], axis=0)
        return means


@dataclass(frozen=True, repr=False)
class Cls(_Pooled):
    """CLS-cos: the cosine of the vectors of each text's first special token."""

    NAME: ClassVar[str] = "cls"

    def _pooled(self, pairs: Pairs) -> np.ndarray:
        vectors = np.zeros((len(pairs.counts), pairs.dimensions))
        for number, side in enumerate(pairs.sides):
            if not pairs.empty[number::2].all():
                vectors[number::2] = _first_special(side.sets, side.texts)
        return vectors


def _first_special(sets: TokenSets, texts: np.ndarray) -> np.ndarray:
    """Return the vector (n, d) of the special token at the start of each text; zero if an empty text has none."""
    special = sets.special
    if special is None or special.spans is None or not len(special.vectors):
        raise InputError(
            "the metric cls needs the vectors of special tokens such as [CLS], which these token sets do not have: use "
            "a model that has them, with special_tokens=False, and no union of references"
        )
    first = np.minimum(special.offsets[:-1][texts], len(special.vectors) - 1)
    exists = (special.counts[texts] > 0) & (special.spans[first] == 0).all(axis=1)
    missing = np.flatnonzero(~exists & ~sets.empty[texts])
    if missing.size:
        raise InputError(
            f"text {texts[missing[0]]} has no special token at its start: the metric cls needs a model with one"
        )
    return np.where(exists[:, None], special.vectors[first], 0.0)


@dataclass(frozen=True, repr=False)
class DynaMax(SimilarityMetric):
    """The DynaMax similarity of two fuzzy sets of words (Zhelezniak et al. 2019).

    The universe consists of the tokens of both texts. The membership of one of them in a text is its largest inner
    product with a token of that text, at least 0. With the memberships x and y in the two texts, Jaccard is
    sum min(x, y) / sum max(x, y); Otsuka divides by the root of the product of both sums, Dice by their mean.
    """

    NAME: ClassVar[str] = "dynamax"

    index: Literal["jaccard", "otsuka", "dice"] = "jaccard"

    def __post_init__(self) -> None:
        check_choice(self, "index", ("jaccard", "otsuka", "dice"))

    def _similarity(self, pairs: Pairs) -> np.ndarray:
        values = np.zeros(len(pairs))
        for pair, left, right in pairs.filled():
            A, B, _ = pairs.with_lengths(left, right)  # the indices do not depend on the scale
            universe = np.concatenate([A, B])
            x, y = (np.maximum((side @ universe.T).max(axis=0), 0.0) for side in (A, B))
            values[pair] = self._index(x, y)
        return values

    def _index(self, x: np.ndarray, y: np.ndarray) -> float:
        common = float(np.minimum(x, y).sum())
        if self.index == "jaccard":
            return common / float(np.maximum(x, y).sum())
        if self.index == "dice":
            return 2 * common / float(x.sum() + y.sum())
        return common / float(np.sqrt(x.sum()) * np.sqrt(y.sum()))
