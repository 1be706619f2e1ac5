"""DynaMax: texts as fuzzy sets over the words of both (Zhelezniak et al. 2019)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from softset.similarity.metrics.base import SimilarityMetric, must_be_one_of
from softset.similarity.pairs import Pairs

__all__ = ["DynaMax"]


@dataclass(frozen=True, repr=False)
class DynaMax(SimilarityMetric):
    """Each token of either text is a dimension of the universe; a text's degree in it is its largest product there.

    With degrees x and y, both cut at 0: Jaccard is sum min(x, y) / sum max(x, y), Otsuka divides by the root of the
    product of both sums, Dice by the mean of both sums.
    """

    NAME: ClassVar[str] = "dynamax"
    ABOUT: ClassVar[str] = "fuzzy sets over the words of both texts: Jaccard, Otsuka or Dice"

    index: Literal["jaccard", "otsuka", "dice"] = "jaccard"

    def __post_init__(self) -> None:
        must_be_one_of(self, "index", ("jaccard", "otsuka", "dice"))

    def similarity(self, pairs: Pairs) -> np.ndarray:
        """Return the fuzzy similarity of each pair."""
        found = np.zeros(len(pairs))
        ends = pairs.offsets.tolist()
        for at in np.flatnonzero(~pairs.empty[0::2] & ~pairs.empty[1::2]).tolist():
            start, middle, stop = ends[2 * at : 2 * at + 3]
            rows = pairs.vectors[start:stop].astype(np.float64)
            rows /= np.abs(rows).max()  # the indices do not change by a factor, and squares of 1e200 would overflow
            G = rows @ rows.T
            x, y = (np.maximum(part.max(axis=0), 0.0) for part in (G[: middle - start], G[middle - start :]))
            found[at] = self._index(x, y)
        return found

    def _index(self, x: np.ndarray, y: np.ndarray) -> float:
        common = float(np.minimum(x, y).sum())
        if self.index == "jaccard":
            return common / float(np.maximum(x, y).sum())
        if self.index == "dice":
            return 2 * common / float(x.sum() + y.sum())
        product = float(np.sqrt(x.sum()) * np.sqrt(y.sum()))
        return common / product if product else 0.0  # one text's vectors vanish beside the other's
