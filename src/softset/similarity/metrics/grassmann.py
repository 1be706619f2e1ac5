"""The geodesic distance of two texts' subspaces on the Grassmannian."""

from dataclasses import dataclass
from math import pi, sqrt
from typing import ClassVar

import numpy as np

from softset.algebra import Subspace
from softset.similarity.metrics.base import SimilarityMetric
from softset.similarity.metrics.pairs import Pairs

__all__ = ["Grassmann"]


@dataclass(frozen=True, repr=False)
class Grassmann(SimilarityMetric):
    """1 - the geodesic distance of the two subspaces over the largest possible distance.

    Subspaces of k and l dimensions have |k - l| right angles, so texts of different lengths are never very similar.
    `Subspace.distance` has other distances.
    """

    NAME: ClassVar[str] = "grassmann"
    ABOUT: ClassVar[str] = "1 - geodesic distance of the two subspaces over the largest possible"

    def similarity(self, pairs: Pairs) -> np.ndarray:
        """Return the similarity of each pair."""
        values = np.zeros(len(pairs))
        ends = pairs.offsets.tolist()
        for pair in np.flatnonzero(~pairs.empty[0::2] & ~pairs.empty[1::2]).tolist():
            start, middle, stop = ends[2 * pair : 2 * pair + 3]
            A, B = Subspace.span(pairs.vectors[start:middle]), Subspace.span(pairs.vectors[middle:stop])
            values[pair] = 1 - A.distance(B, "geodesic") / (sqrt(max(A.dim, B.dim)) * pi / 2)
        return np.clip(values, 0.0, 1.0)
