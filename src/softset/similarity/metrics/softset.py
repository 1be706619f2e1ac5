"""softset's own metric: graded sets, tokens measured by what they have in their own, the worst covered counting most.

With unit rows T of a text and C = T' (T T' + ridge)^-1 T its graded set, a token u of A has the membership
m(u) = sqrt(u' C_B u / u' C_A u) in B, at most 1. Precision is the mean of min(m(u), m(v)) over two tokens of A that are
drawn by their weights: how much are *both* in B. Recall is the same with the sides exchanged, the score their mean.

It was chosen on STS-B dev and SICK train and trial; docs/results.md has the tables of the test sets.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.similarity.idf import Idf
from softset.similarity.kernels.all_pairs import mean_of_two
from softset.similarity.kernels.bases import bases
from softset.similarity.kernels.gram import relative_memberships
from softset.similarity.metrics.base import PRF, MembershipMetric, ScoreKind, must_be_one_of, parts_of_memberships
from softset.similarity.metrics.weights import WEIGHTS, Weights, weigh
from softset.similarity.pairs import Pairs, alike_all, alone

__all__ = ["SoftsetScore"]

TINY = 1e-30
LEAST_RIDGE, MOST_RIDGE = 1e-3, 1e4  # of larger ones, what a row has in its own set would have no digits left


@dataclass(frozen=True, repr=False)
class SoftsetScore(MembershipMetric):
    """How much two tokens of a text are both in the other text's graded set; rare tokens count more.

    Where the encoder's second moment is not known, and with it what is rare, all tokens count the same.
    """

    NAME: ClassVar[str] = "softset"
    ABOUT: ClassVar[str] = "membership of any two tokens in the other text's graded set, rare ones first (the default)"
    LINKS: ClassVar[str] = "share"
    SCORE_KIND: ClassVar[ScoreKind] = "mean"

    weights: Weights = "rare"
    ridge: float = 1.0

    def __post_init__(self) -> None:
        must_be_one_of(self, "weights", WEIGHTS)
        number = isinstance(self.ridge, int | float | np.number) and not isinstance(self.ridge, bool)
        if not number or not LEAST_RIDGE <= self.ridge <= MOST_RIDGE:
            wanted = f"from {LEAST_RIDGE:g} to {MOST_RIDGE:g}"
            raise InputError(f"the ridge must be a number {wanted}, but {str(self.ridge)[:80]} was given")
        object.__setattr__(self, "ridge", float(self.ridge))  # 1 and 1.0 are one metric

    def served(self, *, moment: bool) -> "SoftsetScore":
        """Return the metric for an encoder whose second moment is known or not."""
        return self if moment or self.weights != "rare" else replace(self, weights="none")

    def combined(self, P: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return the mean of precision and recall: what is contained in the other text counts as alike."""
        mean: np.ndarray = (P + R) / 2
        return mean

    def memberships(self, pairs: Pairs) -> np.ndarray:
        """Return each row's membership in the other side, measured by that in its own."""
        rows = pairs.distinct_rows()
        given, lengths = pairs.for_kernel(rows)
        found: np.ndarray = relative_memberships(
            given,
            rows.offsets,
            cut=pairs.cut,
            ridge=self.ridge / rows.copies,  # a row that occurs twice counts twice
            lengths=lengths,
            exact=lambda start, stop: pairs.exact_rows(rows.places[start:stop]),
        )
        return rows.for_all(found)

    def shares(self, pairs: Pairs) -> np.ndarray:
        """Return what each row counts in its set's mean, (rows,): the less it belongs, the more."""
        return self._drawn(pairs, self.memberships(pairs))

    def _of_pairs(self, pairs: Pairs) -> PRF:
        m = self.memberships(pairs)
        means = np.clip(pairs.sums(self._drawn(pairs, m) * m), 0.0, 1.0)
        P, R = means[0::2], means[1::2]
        return PRF(P, R, self.combined(P, R))

    def _drawn(self, pairs: Pairs, m: np.ndarray) -> np.ndarray:
        """Return how likely each row is the less covered one of two rows of its set, drawn by their weights.

        Of rows that are covered alike, with the weight W, all count by their weights: w (W + 2 c), with c the weight of
        those that are covered better.
        """
        w = pairs.shares(weigh(pairs, self.weights))
        if not len(w):
            return w
        owner = np.repeat(np.arange(len(pairs.counts)), pairs.counts)
        order = np.lexsort((-m, owner))
        total = np.concatenate([[0.0], np.cumsum(w[order])])
        of_set, of_row = owner[order], m[order]
        begins = np.flatnonzero(np.concatenate([[True], (np.diff(of_set) != 0) | (np.diff(of_row) != 0)]))
        ends = np.append(begins[1:], len(w))
        better = total[begins] - total[pairs.offsets[of_set[begins]]]
        drawn = np.empty_like(w)
        drawn[order] = w[order] * np.repeat(total[ends] - total[begins] + 2 * better, ends - begins)
        return drawn

    def of_all(
        self, candidates: TokenSets, references: TokenSets, idf: Idf | None = None, moment: np.ndarray | None = None
    ) -> PRF:
        """Return precision, recall and the mean of every candidate with every reference, (n, m), by large products."""
        A, B = alone(candidates, idf, moment), alone(references, idf, moment)
        sets_A, sets_B = self._asked(A), self._asked(B)
        P = mean_of_two(*sets_B, *self._asking(A, *sets_A)).T
        R = mean_of_two(*sets_A, *self._asking(B, *sets_B))
        empty = A.empty[::2, None], B.empty[None, ::2]
        clipped = PRF(*(np.clip(one, 0.0, 1.0) for one in (P, R, self.combined(P, R))))
        return self._with_empty(clipped, *empty, alike_all(candidates, references))

    def _asked(self, sets: Pairs) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows F with |F u|^2 = u' C u of each set, and where each set's begin."""
        ridge = np.full(len(sets.norms), self.ridge)
        F, ends = bases(sets.exact_rows, sets.offsets, d=sets.dimensions, cut=sets.cut, ridge=ridge)
        return F.astype(sets.units.dtype), ends[::2]

    def _asking(
        self, sets: Pairs, F: np.ndarray, ends: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return unit rows, where each set begins, what each row weighs, and what it has in its own set."""
        offsets = sets.offsets[::2]
        own = np.ones(len(sets.norms))
        for start, stop, first, last in zip(offsets, offsets[1:], ends, ends[1:], strict=False):
            part = F[first:last] @ sets.units[start:stop].T
            own[start:stop] = np.sqrt(np.maximum(np.einsum("ij,ij->j", part, part), TINY))
        return sets.units, offsets, sets.shares(weigh(sets, self.weights)), own

    def links(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the part of each other row in the membership: m^2 is a sum of coefficient times cosine."""
        return parts_of_memberships(rows, others, self.ridge)
