"""DynaMax: texts as fuzzy sets over the words of both (Zhelezniak et al. 2019)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from softset.similarity.metrics.base import SimilarityMetric, check_choice
from softset.similarity.metrics.pairs import Pairs


@dataclass(frozen=True, repr=False)
class DynaMax(SimilarityMetric):
    """Each token of either text is a dimension of the universe; a text's degree in it is its largest product with it.

    With degrees x and y, cut at 0: Jaccard is sum min(x, y) / sum max(x, y), Otsuka divides by the root of the product
    of both sums, Dice by the mean of both sums.
    """

    NAME: ClassVar[str] = "dynamax"
    ABOUT: ClassVar[str] = "fuzzy sets over the words of both texts: Jaccard, Otsuka or Dice"

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
