"""BERTScore: the largest cosine of each token with a token of the other text."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from softset.similarity.kernels.all_pairs import mean_max_cosine
from softset.similarity.metrics.base import PRF, MembershipMetric
from softset.similarity.metrics.pairs import Pairs

MAX_COSINES = 1 << 24  # computed at once: two texts of 4,096 tokens; longer texts are split to bound the memory


@dataclass(frozen=True, repr=False)
class BertScore(MembershipMetric):
    """Precision, recall and F1 of the largest cosines (Zhang et al. 2020)."""

    NAME: ClassVar[str] = "bertscore"
    ABOUT: ClassVar[str] = "largest cosine of each token with a token of the other text"
    LINKS: ClassVar[Literal["cosine", "share"]] = "cosine"

    def memberships(self, pairs: Pairs) -> np.ndarray:
        """Return the largest cosine of each row with the other side."""
        cosines = _largest_cosines(pairs.units, pairs.offsets).astype(np.float64)
        return np.clip(cosines, -1.0, 1.0)

    def links(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the cosines."""
        return np.asarray(rows @ others.T)

    def _compute_matrix(self, A: Pairs, B: Pairs) -> PRF:
        left, right = (
            (sets.units, sets.offsets[::2], self.token_weights(sets).astype(sets.units.dtype)) for sets in (A, B)
        )
        P, R = mean_max_cosine(*left, *right)
        return PRF(P, R, self.combine(P, R))


def _largest_cosines(units: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the largest cosine of each unit row (rows, d) with the other side of its pair, (rows,).

    Only real rows are compared: in a padded product a zero would win over negative cosines.
    """
    largest = np.zeros(len(units), dtype=units.dtype)
    ends = offsets.tolist()
    for start, middle, stop in zip(ends[0:-2:2], ends[1:-1:2], ends[2::2], strict=True):
        if start < middle < stop:
            step = max(1, MAX_COSINES // (stop - middle))
            largest[middle:stop] = -np.inf
            for first in range(start, middle, step):
                last = min(first + step, middle)
                C = units[first:last] @ units[middle:stop].T
                largest[first:last] = C.max(axis=1)
                np.maximum(largest[middle:stop], C.max(axis=0), out=largest[middle:stop])
    return largest
