"""One vector a text, and the cosine of two: what sets of vectors have to beat."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.similarity.idf import Idf
from softset.similarity.metrics.base import PRF, SimilarityMetric, Weighted
from softset.similarity.metrics.weights import weigh
from softset.similarity.pairs import Pairs, alike_all, alone

__all__ = ["Average", "Cls"]


class _Pooled(SimilarityMetric):
    """A cosine of one vector a set, which `pooled` gives."""

    def pooled(self, pairs: Pairs) -> np.ndarray:
        """Return one vector a set, (2n, d)."""
        raise NotImplementedError

    def similarity(self, pairs: Pairs) -> np.ndarray:
        """Return the cosine of the two sides' vectors."""
        units = unit_rows(self.pooled(pairs))
        cosines: np.ndarray = np.einsum("ij,ij->i", units[0::2], units[1::2])
        np.clip(cosines, -1.0, 1.0, out=cosines)  # which rounding goes beyond
        return cosines

    def of_all(
        self, candidates: TokenSets, references: TokenSets, idf: Idf | None = None, moment: np.ndarray | None = None
    ) -> PRF:
        """Return the cosines of every candidate with every reference, (n, m), by one product."""
        A, B = alone(candidates, idf, moment), alone(references, idf, moment)
        S = np.clip(unit_rows(self.pooled(A)[::2]) @ unit_rows(self.pooled(B)[::2]).T, -1.0, 1.0)
        empty = A.empty[::2, None], B.empty[None, ::2]
        return self._with_empty(PRF(S, S.copy(), S.copy()), *empty, alike_all(candidates, references))


@dataclass(frozen=True, repr=False)
class Average(Weighted, _Pooled):
    """Avg-cos: the cosine of the two texts' mean token vectors."""

    NAME: ClassVar[str] = "average"
    ABOUT: ClassVar[str] = "cosine of the mean token vectors (Avg-cos)"

    def pooled(self, pairs: Pairs) -> np.ndarray:
        """Return the weighted mean vector of each set."""
        means = np.zeros((len(pairs.counts), pairs.dimensions))
        filled = ~pairs.empty
        if filled.any():
            rows = pairs.vectors * pairs.shares(weigh(pairs, self.weights))[:, None]
            means[filled] = np.add.reduceat(rows, pairs.offsets[:-1][filled], axis=0)
        return means


@dataclass(frozen=True, repr=False)
class Cls(_Pooled):
    """CLS-cos: the cosine of the vectors of the mark that begins each text."""

    NAME: ClassVar[str] = "cls"
    ABOUT: ClassVar[str] = "cosine of the vectors of the first mark, such as [CLS] (CLS-cos)"

    def pooled(self, pairs: Pairs) -> np.ndarray:
        """Return the vector of each set's first mark."""
        found = np.zeros((len(pairs.counts), pairs.dimensions))
        candidates, left, references, right = pairs.sources
        for side, sets, places in ((0, candidates, left), (1, references, right)):
            if not pairs.empty[side::2].all():
                found[side::2] = _first_marks(sets, places)
        return found


def _first_marks(sets: TokenSets, places: np.ndarray) -> np.ndarray:
    """Return the vector of the mark before each text at some places, (n, d); an empty text may lack it."""
    aside = sets.special
    if aside is None or aside.spans is None or not len(aside.vectors):
        raise InputError(
            "the metric cls needs the vectors of marks such as [CLS], which these token sets have not kept aside: use "
            "a model that has them, with special_tokens=False, and no union of references"
        )
    first = np.minimum(aside.offsets[:-1][places], len(aside.vectors) - 1)
    found = (aside.counts[places] > 0) & (aside.spans[first] == 0).all(axis=1)
    without = np.flatnonzero(~found & ~sets.empty[places])
    if without.size:
        raise InputError(
            f"text {places[without[0]]} has no mark at its beginning: the metric cls needs a model with one"
        )
    return np.where(found[:, None], aside.vectors[first], 0.0)
