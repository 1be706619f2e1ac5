"""BERTScore: the largest cosine of each token with a token of the other text."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from softset.similarity.kernels.all_pairs import mean_max_cosine
from softset.similarity.kernels.max_cosine import largest_cosines
from softset.similarity.metrics.base import PRF, MembershipMetric
from softset.similarity.metrics.pairs import Pairs

__all__ = ["BertScore"]


@dataclass(frozen=True, repr=False)
class BertScore(MembershipMetric):
    """Precision, recall and F1 of the largest cosines (Zhang et al. 2020)."""

    NAME: ClassVar[str] = "bertscore"
    ABOUT: ClassVar[str] = "largest cosine of each token with a token of the other text"
    LINKS: ClassVar[Literal["cosine", "share"]] = "cosine"

    def memberships(self, pairs: Pairs) -> np.ndarray:
        """Return the largest cosine of each row with the other side."""
        cosines = largest_cosines(pairs.units, pairs.offsets).astype(np.float64)
        return np.clip(cosines, -1.0, 1.0)

    def links(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the cosines."""
        cosines: np.ndarray = rows @ others.T
        return cosines

    def _compute_matrix(self, A: Pairs, B: Pairs) -> PRF:
        left, right = (
            (sets.units, sets.offsets[::2], self.token_weights(sets).astype(sets.units.dtype)) for sets in (A, B)
        )
        P, R = mean_max_cosine(*left, *right)
        return PRF(P, R, self.combine(P, R))
