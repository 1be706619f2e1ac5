"""The two texts as points on a Grassmannian: how near their whole subspaces are."""

from dataclasses import dataclass
from math import pi, sqrt
from typing import ClassVar

import numpy as np

from softset.algebra import Subspace as Span
from softset.algebra.angles import DISTANCES
from softset.similarity.metrics.base import SimilarityMetric, must_be_one_of
from softset.similarity.pairs import Pairs

__all__ = ["Grassmann"]


@dataclass(frozen=True, repr=False)
class Grassmann(SimilarityMetric):
    """1 - the distance of the two subspaces over the largest possible: see `algebra.distance` for the kinds.

    Sets of k and l dimensions have |k - l| right angles, so that a text of other length is never very near.
    """

    NAME: ClassVar[str] = "grassmann"
    ABOUT: ClassVar[str] = "1 - distance of the two whole subspaces over the largest possible"

    distance: str = "geodesic"

    def __post_init__(self) -> None:
        must_be_one_of(self, "distance", DISTANCES)

    def similarity(self, pairs: Pairs) -> np.ndarray:
        """Return the similarity of each pair."""
        found = np.zeros(len(pairs))
        ends = pairs.offsets.tolist()
        for at in np.flatnonzero(~pairs.empty[0::2] & ~pairs.empty[1::2]).tolist():
            start, middle, stop = ends[2 * at : 2 * at + 3]
            A, B = Span.span(pairs.vectors[start:middle]), Span.span(pairs.vectors[middle:stop])
            found[at] = 1 - A.distance(B, self.distance) / self._largest(max(A.dim, B.dim))
        return np.clip(found, 0.0, 1.0)

    def _largest(self, angles: int) -> float:
        """Return the distance of two subspaces with that many right angles between them."""
        if self.distance == "squared-angles":
            return angles * pi**2 / 4
        return {"geodesic": sqrt(angles) * pi / 2, "chordal": sqrt(angles)}.get(self.distance, 1.0)
