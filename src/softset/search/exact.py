"""The exact engine: it scores every item, block by block, so that memory does not depend on the number of items.

The pass over all items is in float32. The best candidates are then scored again in float64, each by itself, so that
equal vectors have equal scores (a matrix product may round its last rows differently), ties are in the order of the
items, and NOT of a membership near 1 keeps its digits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from softset.query.plan import LeafSet, Plan
from softset.query.thresholds import Centroid, kth_largest
from softset.search.source import VectorSource, run_blocks

__all__ = ["Ranking", "largest", "rescore", "search"]

BLOCK_BYTES = 16 * 2**20
MAX_DIRECTIONS = 2_048  # directions of all sets in one pass: 8 KB of coordinates for each item
MAX_CANDIDATES = 2**20  # candidates of all plans, after which the worst are dropped: 20 MB


@dataclass(frozen=True)
class Ranking:
    """The indices and scores of the best items of one query, best first; ties are in the order of the items.

    >>> Ranking.of(np.array([4, 2, 7]), np.array([0.5, 0.5, 0.9]), top=2).indices.tolist()
    [7, 2]
    """

    indices: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, indices: np.ndarray, scores: np.ndarray, top: int) -> "Ranking":
        """Return the best of the given items; scores that differ only after the 12th digit are ties."""
        order = np.lexsort((indices, -scores.round(12)))[:top]
        return cls(indices[order], scores[order])

    @classmethod
    def empty(cls) -> "Ranking":
        """Return a ranking without items."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0))


def search(
    source: VectorSource,
    plans: Sequence[Plan],
    top: int,
    *,
    excluded: Sequence[frozenset[int]],
    stop: int | None = None,
) -> list[Ranking]:
    """Return the `top` items of each plan among the first `stop` items, without hidden and excluded items."""
    n = len(source) if stop is None else min(stop, len(source))
    # Scores in float32 are accurate to 1e-6, those under a NOT to 1e-3: a margin for the order in float64.
    count = top + max(64, top // 2)
    rankings = []
    for first, last in _batches(plans):
        candidates = _scan(source, plans[first:last], count, excluded[first:last], n)
        pairs = zip(plans[first:last], candidates, strict=True)
        rankings += [rescore(source, plan, indices, top) for plan, indices in pairs]
    return rankings


def _batches(plans: Sequence[Plan]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of runs of plans whose sets have at most `MAX_DIRECTIONS` directions together."""
    first, total = 0, 0
    for index, plan in enumerate(plans):
        size = sum(min(leaf.dim, leaf.ambient - leaf.dim) for leaf in plan.sets)
        if index > first and total + size > MAX_DIRECTIONS:
            yield first, index
            first, total = index, 0
        total += size
    if plans:
        yield first, len(plans)


def rescore(source: VectorSource, plan: Plan, indices: np.ndarray, top: int) -> Ranking:
    """Return the best of the items at the given indices by their scores in float64; zero vectors score 0."""
    centroids = [leaf for leaf in plan.sets if isinstance(leaf, Centroid)]
    if len(centroids) == len(plan.sets):
        cosines = source.cosines(np.array([leaf.direction for leaf in centroids]), indices)
        zero = np.isnan(cosines[0])
        pairs = zip(centroids, np.nan_to_num(cosines), strict=True)
        scores = plan.score([leaf.probability(row) for leaf, row in pairs])
    else:
        rows = source.take(indices).astype(np.float64)
        zero = ~rows.any(axis=1)
        scores = plan.score([np.asarray(leaf.membership(rows)) for leaf in plan.sets])
    return Ranking.of(indices, np.where(zero, 0.0, scores), top)


# The pass in float32


# An item that may be among the best of a plan: the plan's number, the item's index, its score.
CANDIDATE = np.dtype([("plan", np.int64), ("index", np.int64), ("score", np.float32)])


def _scan(
    source: VectorSource, plans: Sequence[Plan], count: int, excluded: Sequence[frozenset[int]], n: int
) -> list[np.ndarray]:
    """Return the indices of the `count` best items of each plan, by their scores in float32."""
    scorer = _BlockScorer(source, plans, excluded)
    size = max(BLOCK_BYTES // (4 * (source.dimensions + scorer.directions)), 256)
    # The first block gives each plan a lower bound, and few items of later blocks are above it.
    scores = scorer(0, min(size, n))
    scores[np.isnan(scores)] = -np.inf  # from a damaged file; later comparisons are false for NaN
    bounds = np.array([kth_largest(row, count) if len(row) > count else -np.inf for row in scores])
    parts = [_select((scores >= bounds[:, None]) & (scores > -np.inf), scores, 0)]

    def scan_block(start: int, stop: int) -> np.ndarray:
        scores = scorer(start + size, stop + size)
        return _select(scores > bounds[:, None], scores, start + size)

    limit = max(MAX_CANDIDATES, 2 * count * len(plans))
    for candidates in run_blocks(scan_block, max(n - size, 0), size, scorer.directions):
        parts.append(candidates)
        if sum(map(len, parts)) > limit:
            best = _prune(parts, len(plans), count)
            parts = [np.concatenate(best)]
            lowest = [group["score"].min() if len(group) == count else -np.inf for group in best]
            bounds = np.maximum(bounds, lowest)
    return [group["index"] for group in _prune(parts, len(plans), count)]


def _select(mask: np.ndarray, scores: np.ndarray, start: int) -> np.ndarray:
    """Return the candidates where the mask (plans, n) is true; the first item has the index `start`."""
    plan, item = divmod(np.flatnonzero(mask), mask.shape[1] or 1)
    candidates = np.empty(len(plan), CANDIDATE)
    candidates["plan"], candidates["index"], candidates["score"] = plan, item + start, scores[plan, item]
    return candidates


def _prune(parts: Sequence[np.ndarray], plans: int, count: int) -> list[np.ndarray]:
    """Return the `count` best candidates of each plan; of ties, the first."""
    candidates = np.concatenate(parts)
    order = np.argsort(candidates["plan"].astype(np.uint16), kind="stable")  # 16 bits are sorted by counting
    groups = np.split(candidates[order], np.cumsum(np.bincount(candidates["plan"], minlength=plans))[:-1])
    return [group[largest(group["score"], count)[0]] for group in groups]


def largest(values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted positions of the `count` largest values, of equal ones the first, and these values.

    >>> largest(np.array([0.5, 0.1, 0.9, 0.5]), 2)[0].tolist()
    [0, 2]
    """
    if len(values) <= count:
        return np.arange(len(values)), values
    bound = np.partition(values, -count)[-count] if count else np.inf
    above, equal = np.flatnonzero(values > bound), np.flatnonzero(values == bound)
    positions = np.sort(np.concatenate([above, equal[: count - len(above)]]))
    return positions, values[positions]


class _BlockScorer:
    """Scores of consecutive items for many plans; the directions of all sets share one matrix product."""

    def __init__(self, source: VectorSource, plans: Sequence[Plan], excluded: Sequence[frozenset[int]]) -> None:
        self.source, self.plans = source, plans
        factors = [[leaf.factor() for leaf in plan.sets] for plan in plans]
        self.sizes = [[None if factor is None else len(factor) for factor in row] for row in factors]
        stacked = [factor for row in factors for factor in row if factor is not None]
        self.directions = sum(len(factor) for factor in stacked)
        self.project = source.projector(np.concatenate(stacked).astype(np.float32)) if stacked else None
        self.has_complements = any(None in row for row in self.sizes)
        self.only_centroids = all(plan.centroid is not None for plan in plans)
        pairs = sorted((index, plan) for plan, indices in enumerate(excluded) for index in indices)
        self.excluded = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        self.hidden = np.array(sorted(source.hidden), dtype=np.int64)

    def __call__(self, start: int, stop: int) -> np.ndarray:
        """Return the scores (plans, n): -1 for zero vectors, -inf for items that must not be found."""
        coordinates = self.project(start, stop) if self.project is not None else np.zeros((0, stop - start))
        # The probabilities of a single centroid have the order of its cosines.
        scores = np.maximum(coordinates, 0) if self.only_centroids else self._combine(coordinates, start, stop)
        scores[:, ~(self.source.norms[start:stop] > 0)] = -1
        first, last = np.searchsorted(self.hidden, [start, stop])
        scores[:, self.hidden[first:last] - start] = -np.inf
        first, last = np.searchsorted(self.excluded[0], [start, stop])
        scores[self.excluded[1, first:last], self.excluded[0, first:last] - start] = -np.inf
        return scores

    def _combine(self, coordinates: np.ndarray, start: int, stop: int) -> np.ndarray:
        rows = self.source.rows(start, stop) if self.has_complements else np.zeros((0, 0))
        scores, used = np.empty((len(self.plans), stop - start), dtype=np.float32), 0
        for row, plan, sizes in zip(scores, self.plans, self.sizes, strict=True):
            memberships = []
            for leaf, size in zip(plan.sets, sizes, strict=True):
                if size is None:
                    memberships.append(np.asarray(leaf.membership(rows)))
                else:
                    memberships.append(_memberships(leaf, coordinates[used : used + size]))
                    used += size
            row[:] = plan.score(memberships)
        return scores


def _memberships(leaf: LeafSet, coordinates: np.ndarray) -> np.ndarray:
    """Return the memberships (n,) in one set from the coordinates (k, n) along its directions."""
    if isinstance(leaf, Centroid):
        return leaf.probability(coordinates[0])
    memberships: np.ndarray = np.minimum(np.sqrt(np.einsum("ij,ij->j", coordinates, coordinates)), 1)
    return memberships
