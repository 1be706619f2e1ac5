"""The exact engine: every item is scored, block by block. Memory is that of a block, whatever the number of items."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from softset.algebra import SoftSet
from softset.retrieval.plan import Plan

__all__ = ["Items", "Ranking", "search"]

BLOCK_BYTES = 16 * 2**20


class Items(Protocol):
    """Vectors that can be read in blocks."""

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""

    @property
    def norms(self) -> np.ndarray:
        """The lengths (n,) of all vectors."""

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors (stop - start, d) of consecutive items."""

    def take(self, places: Sequence[int]) -> np.ndarray:
        """Return the vectors (k, d) of items at some places."""

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Ranking:
    """The best items of one query: places, scores and ranks, best first; ties in the items' order."""

    places: np.ndarray
    scores: np.ndarray

    @classmethod
    def empty(cls) -> "Ranking":
        """Return a ranking of nothing."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))

    def merged(self, places: np.ndarray, scores: np.ndarray, top: int) -> "Ranking":
        """Return the best of this ranking and of some later items."""
        if len(scores) > top:  # only those that can be among the best: at least the top-th score
            least = np.partition(scores, len(scores) - top)[len(scores) - top]
            places, scores = places[scores >= least], scores[scores >= least]
        places, scores = np.concatenate([self.places, places]), np.concatenate([self.scores, scores])
        order = np.lexsort((places, -scores))[:top]
        return Ranking(places[order], scores[order])


def search(
    items: Items, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]] | None = None
) -> list[Ranking]:
    """Return the `top` items of each plan, all plans in one pass over the items."""
    left_out = [np.array(sorted(places), dtype=np.int64) for places in excluded or [frozenset()] * len(plans)]
    rankings = [Ranking.empty() for _ in plans]
    scorer = Scorer([one for plan in plans for one in plan.sets])
    size = max(BLOCK_BYTES // (4 * items.dimensions), 1)
    for start in range(0, len(items), size):
        rows = items.rows(start, start + size)
        memberships = iter(scorer(rows, items.norms[start : start + len(rows)]))
        for i, plan in enumerate(plans):
            scores = np.asarray(plan.score([next(memberships) for _ in plan.sets]))
            places = np.arange(start, start + len(rows))
            kept = ~np.isin(places, left_out[i])
            rankings[i] = rankings[i].merged(places[kept], scores[kept], top)
    return rankings


class Scorer:
    """Memberships in many sets at once: sets with few rows share one matrix product."""

    def __init__(self, sets: Sequence[SoftSet]) -> None:
        self.sets = list(sets)
        self.factors = [one.factor() for one in sets]
        stacked = [factor for factor in self.factors if factor is not None]
        self.stacked: Any = np.concatenate(stacked).astype(np.float32) if stacked else None

    def __call__(self, rows: np.ndarray, norms: np.ndarray) -> list[np.ndarray]:
        """Return for each set the memberships (n,) of (n, d) rows of known lengths."""
        safe = np.where(norms > 0, norms, 1)
        coordinates = rows @ self.stacked.T if self.stacked is not None else None
        found, at = [], 0
        for one, factor in zip(self.sets, self.factors, strict=True):
            if factor is None or coordinates is None:
                found.append(np.asarray(one.membership(rows)))
                continue
            part = coordinates[:, at : at + len(factor)]
            at += len(factor)
            found.append(np.minimum(np.sqrt(np.vecdot(part, part)) / safe, 1))
        return found
