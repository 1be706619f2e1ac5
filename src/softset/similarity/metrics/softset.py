"""softset's own metric: graded sets, relative memberships, and most weight on tokens with low membership.

With unit rows T of a text and C = T' (T T' + ridge)^-1 T its graded set, a token u of A has the membership
m(u) = sqrt(u' C_B u / u' C_A u) in B, at most 1. Precision is the expected value of min(m(u), m(v)) for two tokens of A
drawn by their weights: how much both of them are in B. Recall exchanges the sides; the score is the mean of both.

The metric was chosen on STS-B dev and SICK train and trial; docs/results.md has the tables of the test sets.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from softset.similarity.kernels.all_pairs import expected_min, set_factors
from softset.similarity.kernels.gram import relative_memberships
from softset.similarity.metrics.base import PRF, MembershipMetric, ScoreKind, check_number
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.metrics.weights import Weights

MIN_SQUARE = 1e-30
MIN_RIDGE, MAX_RIDGE = 1e-3, 1e4  # with a larger ridge, the membership of a row in its own set has no digits left


@dataclass(frozen=True, repr=False)
class SoftsetScore(MembershipMetric):
    """The expected membership of two tokens of a text in the other text's graded set; rare tokens weigh more.

    If the encoder's second moment is unknown, all tokens have the same weight.
    """

    NAME: ClassVar[str] = "softset"
    SCORE_KIND: ClassVar[ScoreKind] = "mean"

    weights: Weights = "rare"
    ridge: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "ridge", MIN_RIDGE, MAX_RIDGE)

    def resolve(self, *, has_moment: bool) -> "SoftsetScore":
        """Return the metric for an encoder with or without a known second moment."""
        return self if has_moment or self.weights != "rare" else replace(self, weights="none")

    def _combine(self, P: np.ndarray, R: np.ndarray) -> np.ndarray:
        return np.asarray((P + R) / 2)

    def memberships(self, pairs: Pairs) -> np.ndarray:
        """Return the membership of each row in the other side, divided by the membership in its own side."""
        distinct = pairs.distinct_rows()
        ridge = self.ridge / distinct.copies  # a row that occurs twice counts twice
        return distinct.expand(relative_memberships(pairs.kernel_rows(distinct), cut=pairs.cut, ridge=ridge))

    def mean_weights(self, pairs: Pairs, m: np.ndarray) -> np.ndarray:
        """Return the probability that a row has the smaller membership of two rows drawn by their weights.

        Rows with equal memberships and the total weight W share it by their weights: w (W + 2 c), where c is the weight
        of all rows with a greater membership.
        """
        w = self.token_weights(pairs)
        if not len(w):
            return w
        owner = np.repeat(np.arange(len(pairs.counts)), pairs.counts)
        order = np.lexsort((-m, owner))
        total = np.concatenate([[0.0], np.cumsum(w[order])])
        of_set, of_row = owner[order], m[order]
        begins = np.flatnonzero(np.concatenate([[True], (np.diff(of_set) != 0) | (np.diff(of_row) != 0)]))
        ends = np.append(begins[1:], len(w))
        greater = total[begins] - total[pairs.offsets[of_set[begins]]]
        weights = np.empty_like(w)
        weights[order] = w[order] * np.repeat(total[ends] - total[begins] + 2 * greater, ends - begins)
        return weights

    def _compute_matrix(self, A: Pairs, B: Pairs) -> PRF:
        factors_A, factors_B = self._factors(A), self._factors(B)
        P = expected_min(factors_B, self._queries(A), self._in_own(A, *factors_A)).T
        return self._from_means(P, expected_min(factors_A, self._queries(B), self._in_own(B, *factors_B)))

    def _factors(self, sets: Pairs) -> tuple[np.ndarray, np.ndarray]:
        """Return the factors F with |F u|^2 = u' C u of each set, and where each of them begins."""
        ridge = np.full(len(sets.norms), self.ridge)
        F, offsets = set_factors(sets.vectors, sets.offsets, cut=sets.cut, ridge=ridge)
        return F.astype(sets.units.dtype), offsets[::2]

    def _in_own(self, sets: Pairs, F: np.ndarray, factor_offsets: np.ndarray) -> np.ndarray:
        """Return the membership of each row in its own set, (rows,)."""
        offsets = sets.offsets[::2]
        in_own = np.ones(len(sets.norms))
        ranges = zip(offsets, offsets[1:], factor_offsets, factor_offsets[1:], strict=False)
        for start, stop, first, last in ranges:
            projections = F[first:last] @ sets.units[start:stop].T
            in_own[start:stop] = np.sqrt(np.maximum(np.einsum("ij,ij->j", projections, projections), MIN_SQUARE))
        return in_own

    def _ridge_of(self, k: int) -> float:  # noqa: ARG002 (the ridge is the same for sets of all sizes)
        return self.ridge
