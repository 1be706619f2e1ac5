"""BERTScore and the paper's SubspaceBERTScore: the largest cosine of each token, or its membership in a span."""

from collections import Counter
from dataclasses import dataclass
from math import inf, pi, sqrt
from typing import ClassVar, Literal

import numpy as np

from softset.algebra import Subspace
from softset.algebra.graded import SMALLEST_APERTURE
from softset.similarity.kernels.all_pairs import mean_max_cosine, mean_membership, set_factors
from softset.similarity.kernels.gram import memberships
from softset.similarity.metrics.base import PRF, MembershipMetric, SimilarityMetric, SumMetric, check_number
from softset.similarity.metrics.pairs import DistinctRows, Pairs

MAX_COSINES = 1 << 24  # computed at once: two texts of 4,096 tokens; longer texts are split to bound the memory


@dataclass(frozen=True, repr=False)
class BertScore(MembershipMetric):
    """Precision, recall and F1 of the largest cosines (Zhang et al. 2020)."""

    NAME: ClassVar[str] = "bertscore"
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


@dataclass(frozen=True, repr=False)
class SubspaceBertScore(MembershipMetric):
    """The paper's precision, recall and F1; a finite `aperture` makes the sets graded.

    No token has membership 1 in a graded set, so identical texts score below 1 with a finite aperture.
    """

    NAME: ClassVar[str] = "subspace"

    aperture: float = inf

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "aperture", SMALLEST_APERTURE, inf)

    def memberships(self, pairs: Pairs, tally: Counter[str] | None = None) -> np.ndarray:
        """Return the membership of each row in the other side; `tally` counts the paths of the kernel."""
        distinct = pairs.distinct_rows()
        ridge = self._ridge(pairs, distinct)
        return distinct.expand(memberships(pairs.kernel_rows(distinct), cut=pairs.cut, ridge=ridge, tally=tally))

    def _ridge(self, pairs: Pairs, distinct: DistinctRows) -> np.ndarray | None:
        """Return the ridge of graded sets, in which copies count, or None for crisp sets."""
        if self.aperture**-2 == 0:
            return None
        sizes = np.repeat(pairs.counts, pairs.counts)[distinct.indices]
        return np.asarray(self.aperture**-2 * sizes / distinct.copies)

    def _ridge_of(self, k: int) -> float:
        return k * self.aperture**-2

    def set_factors(self, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
        """Return the factors of all sets: see `kernels.all_pairs.set_factors`."""
        distinct = pairs.distinct_rows()
        rows = pairs.vectors if distinct.complete else pairs.vectors[distinct.indices]
        return set_factors(rows, distinct.offsets, cut=pairs.cut, ridge=self._ridge(pairs, distinct))

    def _compute_matrix(self, A: Pairs, B: Pairs) -> PRF:
        P = mean_membership(self._factors(B), self._queries(A)).T
        return self._from_means(P, mean_membership(self._factors(A), self._queries(B)))

    def _factors(self, sets: Pairs) -> tuple[np.ndarray, np.ndarray]:
        F, offsets = self.set_factors(sets)
        return F.astype(sets.units.dtype), offsets[::2]


@dataclass(frozen=True, repr=False)
class Johnson(SumMetric, SubspaceBertScore):
    """The sum of the subspace precision and recall, from 0 to 2, as in the paper's code."""

    NAME: ClassVar[str] = "johnson"


@dataclass(frozen=True, repr=False)
class Grassmann(SimilarityMetric):
    """1 - the geodesic distance of the two subspaces over the largest possible distance.

    Subspaces of k and l dimensions have |k - l| right angles, so texts of different lengths are never very similar.
    `Subspace.distance` has other distances.
    """

    NAME: ClassVar[str] = "grassmann"

    def _similarity(self, pairs: Pairs) -> np.ndarray:
        values = np.zeros(len(pairs))
        for pair, left, right in pairs.filled():
            A, B = (Subspace.span(pairs.vectors[side].astype(pairs.precision)) for side in (left, right))
            values[pair] = 1 - A.distance(B, "geodesic") / (sqrt(max(A.dim, B.dim)) * pi / 2)
        return np.clip(values, 0.0, 1.0)
