"""SubspaceBERTScore: how much each token lies in the span of the other text's tokens."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softset.algebra.graded import SMALLEST_APERTURE
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.similarity.idf import Idf
from softset.similarity.kernels.all_pairs import mean_membership
from softset.similarity.kernels.bases import bases
from softset.similarity.kernels.gram import memberships
from softset.similarity.metrics.base import PRF, MembershipMetric, Summed, parts_of_memberships
from softset.similarity.pairs import Distinct, Pairs, alike_all, alone

__all__ = ["Johnson", "SubspaceBertScore"]


@dataclass(frozen=True, repr=False)
class SubspaceBertScore(MembershipMetric):
    """The paper's P, R and F; graded sets instead of crisp ones with a finite `aperture`.

    A graded set holds no token in full, so that identical texts score below 1 with a finite aperture.
    """

    NAME: ClassVar[str] = "subspace"
    ABOUT: ClassVar[str] = "membership of each token in the span of the other text's tokens (the paper's metric)"
    LINKS: ClassVar[str] = "share"

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
        """Return each row's membership in the other side; `tally` counts the paths of the kernel."""
        rows = pairs.distinct_rows()
        given, lengths = pairs.for_kernel(rows)
        found: np.ndarray = memberships(
            given,
            rows.offsets,
            cut=pairs.cut,
            lengths=lengths,
            exact=lambda start, stop: pairs.exact_rows(rows.places[start:stop]),
            ridge=self._ridge(pairs, rows),
            tally=tally,
        )
        return rows.for_all(found)

    def _ridge(self, pairs: Pairs, rows: Distinct) -> np.ndarray | None:
        """Return what makes the sets graded: a copy adds nothing to a crisp set, and counts in a graded one."""
        if self.aperture**-2 == 0:  # crisp, or as good as
            return None
        sizes = np.repeat(pairs.counts, pairs.counts)[rows.places]
        ridge: np.ndarray = self.aperture**-2 * sizes / rows.copies
        return ridge

    def links(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the part of each other row in the projection: m^2 = sum of coefficient times cosine."""
        return parts_of_memberships(rows, others, self.aperture**-2 * len(others))

    def chance(self, pairs: Pairs, moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return each set's chance level sqrt(tr(P S)) (2n,), and its rank (2n,), for a second moment S (d, d)."""
        F, ends = self.bases(pairs)
        return chance_levels(F, ends, moment), np.diff(ends)

    def ranks(self, pairs: Pairs) -> np.ndarray:
        """Return the number of dimensions of each set, (2n,)."""
        return np.diff(self.bases(pairs)[1])

    def bases(self, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
        """Return the sets ready to be asked: see `kernels.bases`."""
        rows = pairs.distinct_rows()
        return bases(
            lambda at: pairs.exact_rows(rows.places[at]),
            rows.offsets,
            d=pairs.dimensions,
            cut=pairs.cut,
            ridge=self._ridge(pairs, rows),
        )

    def of_all(
        self, candidates: TokenSets, references: TokenSets, idf: Idf | None = None, moment: np.ndarray | None = None
    ) -> PRF:
        """Return precision, recall and F of every candidate with every reference, (n, m), by large products."""
        A, B = alone(candidates, idf, moment), alone(references, idf, moment)
        P = mean_membership(*self._asked(B), A.units, A.offsets[::2], self.shares(A).astype(A.units.dtype)).T
        R = mean_membership(*self._asked(A), B.units, B.offsets[::2], self.shares(B).astype(B.units.dtype))
        empty = A.empty[::2, None], B.empty[None, ::2]
        return self._with_empty(PRF(P, R, self.combined(P, R)), *empty, alike_all(candidates, references))

    def _asked(self, sets: Pairs) -> tuple[np.ndarray, np.ndarray]:
        F, ends = self.bases(sets)
        return F.astype(sets.units.dtype), ends[::2]


@dataclass(frozen=True, repr=False)
class Johnson(Summed, SubspaceBertScore):
    """The sum form of the paper's code: P + R, from 0 to 2."""

    NAME: ClassVar[str] = "johnson"
    ABOUT: ClassVar[str] = "subspace precision plus recall, from 0 to 2 (the sum form of the paper's code)"


def chance_levels(factors: np.ndarray, ends: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Return sqrt(tr(F S F')) for each set's rows F: the root of the mean squared membership of an unrelated token.

    >>> chance_levels(np.array([[1.0, 0, 0, 0]]), np.array([0, 1]), np.eye(4) / 4)
    array([0.5])
    """
    ranks = np.diff(ends)
    squares = np.einsum("ij,ij->i", factors @ moment, factors)
    levels = np.zeros(len(ranks))
    filled = ranks > 0
    if filled.any():
        levels[filled] = np.add.reduceat(squares, ends[:-1][filled])
    found: np.ndarray = np.sqrt(np.clip(levels, 0.0, 1.0))
    return found
