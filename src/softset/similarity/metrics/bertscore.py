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
        cosines = _largest_cosines(pairs).astype(np.float64)
        return np.clip(cosines, -1.0, 1.0)

    def links(self, rows: np.ndarray, others: np.ndarray, cut: float) -> np.ndarray:  # noqa: ARG002 (cosines need no rank)
        """Return the cosines."""
        return np.asarray(rows @ others.T)

    def _compute_matrix(self, A: Pairs, B: Pairs) -> PRF:
        return self._from_means(*mean_max_cosine(self._queries(A), self._queries(B)))


def _largest_cosines(pairs: Pairs) -> np.ndarray:
    """Return the largest cosine of each row with the other side of its pair, (rows,).

    Only real rows are compared: in a padded product a zero would win over negative cosines.
    """
    largest = np.zeros(len(pairs.units), dtype=pairs.units.dtype)
    for _, left, right in pairs.filled():
        A, B, of_A, of_B = pairs.units[left], pairs.units[right], largest[left], largest[right]
        of_B[:] = -np.inf
        step = max(1, MAX_COSINES // len(B))
        for first in range(0, len(A), step):
            C = A[first : first + step] @ B.T
            of_A[first : first + step] = C.max(axis=1)
            np.maximum(of_B, C.max(axis=0), out=of_B)
    return largest
