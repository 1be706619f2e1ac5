"""BERTScore: how near the nearest token of the other text is."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softset.encoders.tokensets import TokenSets
from softset.similarity.idf import Idf
from softset.similarity.kernels.all_pairs import mean_closest
from softset.similarity.kernels.max_cosine import largest_cosines
from softset.similarity.metrics.base import PRF, MembershipMetric
from softset.similarity.pairs import Pairs, alike_all, alone

__all__ = ["BertScore"]


@dataclass(frozen=True, repr=False)
class BertScore(MembershipMetric):
    """P, R and F of the largest cosine of each token with the other text's tokens (Zhang et al. 2020)."""

    NAME: ClassVar[str] = "bertscore"
    ABOUT: ClassVar[str] = "largest cosine of each token with a token of the other text"
    LINKS: ClassVar[str] = "cosine"

    def memberships(self, pairs: Pairs) -> np.ndarray:
        """Return each row's largest cosine with the other side."""
        found: np.ndarray = np.clip(largest_cosines(pairs.units, pairs.offsets).astype(np.float64), -1.0, 1.0)
        return found

    def links(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the cosines."""
        cosines: np.ndarray = rows @ others.T
        return cosines

    def of_all(
        self, candidates: TokenSets, references: TokenSets, idf: Idf | None = None, moment: np.ndarray | None = None
    ) -> PRF:
        """Return precision, recall and F of every candidate with every reference, (n, m), by large products."""
        A, B = alone(candidates, idf, moment), alone(references, idf, moment)
        sides = [(one.units, one.offsets[::2], self.shares(one).astype(one.units.dtype)) for one in (A, B)]
        P, R = mean_closest(*sides[0], *sides[1])
        empty = A.empty[::2, None], B.empty[None, ::2]
        return self._with_empty(PRF(P, R, self.combined(P, R)), *empty, alike_all(candidates, references))
