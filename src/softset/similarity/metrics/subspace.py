"""Metrics of the span of a text's tokens: SubspaceBERTScore and the geodesic distance on the Grassmannian."""

from collections import Counter
from dataclasses import dataclass
from math import pi, sqrt
from typing import ClassVar, Literal

import numpy as np

from softset.algebra import Subspace
from softset.algebra.graded import SMALLEST_APERTURE
from softset.errors import InputError
from softset.similarity.kernels.all_pairs import mean_membership, set_factors
from softset.similarity.kernels.gram import memberships
from softset.similarity.metrics.base import PRF, MembershipMetric, SimilarityMetric, SumMetric, membership_contributions
from softset.similarity.metrics.pairs import DistinctRows, Pairs


@dataclass(frozen=True, repr=False)
class SubspaceBertScore(MembershipMetric):
    """The paper's precision, recall and F1; a finite `aperture` makes the sets graded.

    A graded set does not contain any token in full, so identical texts score below 1 with a finite aperture.
    """

    NAME: ClassVar[str] = "subspace"
    ABOUT: ClassVar[str] = "membership of each token in the span of the other text's tokens (the paper's metric)"
    LINKS: ClassVar[Literal["cosine", "share"]] = "share"

    aperture: float = float("inf")

    def __post_init__(self) -> None:
        super().__post_init__()
        number = isinstance(self.aperture, int | float | np.number) and not isinstance(self.aperture, bool)
        if not number or not SMALLEST_APERTURE <= self.aperture or float("1e308") < self.aperture < float("inf"):
            raise InputError(
                f"the aperture must be from {SMALLEST_APERTURE} to inf (crisp), but {str(self.aperture)[:80]} was given"
            )
        object.__setattr__(self, "aperture", float(self.aperture))  # 2 and 2.0 are one metric

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

    def links(self, rows: np.ndarray, others: np.ndarray, cut: float) -> np.ndarray:
        """Return the share of each other row in the squared membership."""
        return membership_contributions(rows, others, self.aperture**-2 * len(others), cut)

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
    ABOUT: ClassVar[str] = "subspace precision plus recall, from 0 to 2 (the sum form of the paper's code)"


@dataclass(frozen=True, repr=False)
class Grassmann(SimilarityMetric):
    """1 - the geodesic distance of the two subspaces over the largest possible distance.

    Subspaces of k and l dimensions have |k - l| right angles, so texts of different lengths are never very similar.
    `Subspace.distance` has other distances.
    """

    NAME: ClassVar[str] = "grassmann"
    ABOUT: ClassVar[str] = "1 - geodesic distance of the two subspaces over the largest possible"

    def _similarity(self, pairs: Pairs) -> np.ndarray:
        values = np.zeros(len(pairs))
        for pair, left, right in pairs.filled():
            A, B = Subspace.span(pairs.vectors[left]), Subspace.span(pairs.vectors[right])
            values[pair] = 1 - A.distance(B, "geodesic") / (sqrt(max(A.dim, B.dim)) * pi / 2)
        return np.clip(values, 0.0, 1.0)
