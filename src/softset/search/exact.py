"""The exact engine: it scores every item, block by block, so that memory does not depend on the number of items.

The pass over all items is in float32, with bounds of its errors. Every item that may be among the best within these
bounds is scored again in float64, each by itself, so that the result is that of a search in float64: equal vectors have
equal scores (a matrix product may round its last rows differently), and ties are in the order of the items.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softset.query.background import kth_largest, value_per_item
from softset.query.centroid import Centroid
from softset.query.plan import LeafSet, Plan
from softset.search.source import MANY_DIRECTIONS, Coordinates, VectorSource, run_blocks

BLOCK_BYTES = 16 * 2**20
ITEMS_PER_BLOCK = 4_096  # the coordinates of 64 directions then stay in a processor's cache
MAX_DIRECTIONS = 2_048  # directions of all sets in one pass: 8 KB of coordinates for each item
MAX_CANDIDATES = 2**20  # candidates of all plans, after which the worst are dropped: 24 MB
RESCORED_ROWS = 8_192  # candidates that are scored in float64 at once
ROUNDING = 16 * float(np.finfo(np.float32).eps)  # error of a set's membership, computed from its coordinates


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
    rankings = []
    for first, last in _batches(plans):
        candidates = _scan(source, plans[first:last], top, excluded[first:last], n)
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
    """Return the best of the items at the given indices by their scores in float64; zero vectors score -inf."""
    starts = range(0, max(len(indices), 1), RESCORED_ROWS)
    scores = [exact_scores(source, plan, indices[start : start + RESCORED_ROWS]) for start in starts]
    return Ranking.of(indices, np.concatenate(scores), top)


def exact_scores(source: VectorSource, plan: Plan, indices: np.ndarray) -> np.ndarray:
    """Return the scores (n,) of items in float64; that of an item without a vector is -inf."""
    values = set_values(source, plan, indices)
    return np.where(np.isnan(values[0]), -np.inf, plan.score([np.nan_to_num(row) for row in values]))


def set_values(source: VectorSource, plan: Plan, indices: np.ndarray) -> list[np.ndarray]:
    """Return the values (n,) of items in each set of a plan, in float64; those of items without a vector are NaN.

    The values are log-odds in centroids, and memberships in other sets.
    """
    centroids = [leaf for leaf in plan.sets if isinstance(leaf, Centroid)]
    if len(centroids) == len(plan.sets):
        cosines = source.cosines(np.array([leaf.direction for leaf in centroids]), indices)
        words = (None if leaf.lexical is None else source.lexical_scores(leaf.lexical) for leaf in centroids)
        lexical = (None if scores is None else scores[indices] for scores in words)
        return [leaf.log_odds(row, scores) for leaf, row, scores in zip(centroids, cosines, lexical, strict=True)]
    rows, owners = source.all_vectors(indices)
    rows = rows.astype(np.float64)
    zero = ~rows.any(axis=1)
    memberships = (np.where(zero, np.nan, np.asarray(leaf.membership(rows))) for leaf in plan.sets)
    return [value_per_item(row, len(indices), owners) for row in memberships]


# The pass in float32


# An item that may be among the best of a plan: the plan's number, the item's index, bounds of its score.
CANDIDATE = np.dtype([("plan", np.int64), ("index", np.int64), ("lower", np.float32), ("upper", np.float32)])


def _scan(
    source: VectorSource, plans: Sequence[Plan], top: int, excluded: Sequence[frozenset[int]], n: int
) -> list[np.ndarray]:
    """Return the indices of all items that may be among the `top` best of each plan, in the order of the items."""
    scorer = _BlockScorer(source, plans, excluded)
    per_item = 4 * (source.dimensions + scorer.directions) * source.vectors_per_item
    size = max(int(BLOCK_BYTES / per_item), 256)
    # The first block gives each plan a lower bound, and few items of later blocks reach it.
    first = _ScoredBlock(0, *scorer(0, min(size, n)))
    bounds = first.lower_bounds(top)
    parts = [first.select(bounds)]
    step = size if scorer.directions < MANY_DIRECTIONS else ITEMS_PER_BLOCK

    def scan_block(start: int, stop: int) -> np.ndarray:
        return _ScoredBlock(start + size, *scorer(start + size, stop + size)).select(bounds)

    limit = MAX_CANDIDATES
    for candidates in run_blocks(scan_block, max(n - size, 0), step, scorer.directions):
        parts.append(candidates)
        if sum(map(len, parts)) > limit:
            groups = _prune(parts, len(plans), top)
            parts = [np.concatenate([group for group, _ in groups])]
            bounds = np.maximum(bounds, [bound for _, bound in groups])
            limit = max(MAX_CANDIDATES, 2 * len(parts[0]))
    return [group["index"] for group, _ in _prune(parts, len(plans), top)]


class _ScoredBlock(NamedTuple):
    """The scores (plans, n) of n items from the index `start` on, and bounds (plans,) of their errors."""

    start: int
    scores: np.ndarray
    errors: np.ndarray

    def lower_bounds(self, top: int) -> np.ndarray:
        """Return lower bounds (plans,) of the scores of each plan's `top`-th best item, from this block alone."""
        scores = np.where(np.isnan(self.scores), -np.inf, self.scores)  # from a damaged file
        best = [kth_largest(row, top) if len(row) >= top else -np.inf for row in scores]
        return np.asarray(best - self.errors)

    def select(self, bounds: np.ndarray) -> np.ndarray:
        """Return the items that may reach their plan's bound; comparisons with NaN are false."""
        lowest = np.maximum(bounds - self.errors, np.finfo(np.float32).min)  # -inf marks excluded items
        mask = self.scores >= lowest.astype(np.float32)[:, None]
        plan, item = divmod(np.flatnonzero(mask), mask.shape[1] or 1)
        candidates, scores, errors = np.empty(len(plan), CANDIDATE), self.scores[plan, item], self.errors[plan]
        candidates["plan"], candidates["index"] = plan, item + self.start
        candidates["lower"], candidates["upper"] = scores - errors, scores + errors
        return candidates


def _prune(parts: Sequence[np.ndarray], plans: int, top: int) -> list[tuple[np.ndarray, float]]:
    """Return, for each plan, the candidates that may be among its `top` best, and a lower bound of the last of them."""
    candidates = np.concatenate(parts)
    order = np.argsort(candidates["plan"].astype(np.uint16), kind="stable")  # 16 bits are sorted by counting
    groups = np.split(candidates[order], np.cumsum(np.bincount(candidates["plan"], minlength=plans))[:-1])
    bounds = [kth_largest(group["lower"], top) if len(group) >= top else -np.inf for group in groups]
    return [(group[group["upper"] >= bound], bound) for group, bound in zip(groups, bounds, strict=True)]


class _BlockScorer:
    """Scores of consecutive items for many plans; the directions of all sets share one matrix product."""

    def __init__(self, source: VectorSource, plans: Sequence[Plan], excluded: Sequence[frozenset[int]]) -> None:
        self.source, self.plans = source, plans
        factors = [[leaf.factor() for leaf in plan.sets] for plan in plans]
        self.sizes = [[None if factor is None else len(factor) for factor in row] for row in factors]
        stacked = [factor for row in factors for factor in row if factor is not None]
        self.directions = sum(len(factor) for factor in stacked)
        self.project = source.projector(np.concatenate(stacked)) if stacked else None
        self.has_complements = any(None in row for row in self.sizes)
        self.lexical = [[_lexical_scores(source, leaf) for leaf in plan.sets] for plan in plans]
        has_words = any(scores is not None for row in self.lexical for scores in row)
        self.only_centroids = not has_words and all(plan.centroid is not None for plan in plans)
        pairs = sorted((index, plan) for plan, indices in enumerate(excluded) for index in indices)
        self.excluded = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        zero = np.flatnonzero(~(source.norms > 0))
        self.hidden = np.union1d(zero, np.array(sorted(source.hidden), dtype=np.int64))

    def __call__(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Return scores (plans, n), -inf for zero vectors and excluded items, and the bounds of their errors."""
        coordinates = Coordinates(np.zeros((0, stop - start), np.float32), np.zeros(0))
        if self.project is not None:
            coordinates = self.project(start, stop)
        if self.only_centroids:  # the log-odds in a single centroid have the order of its cosines
            scores, errors = value_per_item(coordinates.values, stop - start, coordinates.owners), coordinates.errors
        else:
            scores, errors = self._combine(coordinates, start, stop)
        first, last = np.searchsorted(self.hidden, [start, stop])
        scores[:, self.hidden[first:last] - start] = -np.inf
        first, last = np.searchsorted(self.excluded[0], [start, stop])
        scores[self.excluded[1, first:last], self.excluded[0, first:last] - start] = -np.inf
        return scores, errors

    def _combine(self, coordinates: Coordinates, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        n, owners = stop - start, coordinates.owners
        rows = np.zeros((0, 0))
        if self.has_complements:
            rows, owners = self.source.all_vectors(np.arange(start, stop))
            rows = rows.astype(np.float64)
        scores, used = np.empty((len(self.plans), n), dtype=np.float32), 0
        score_errors = np.empty(len(self.plans))
        for index, (plan, sizes) in enumerate(zip(self.plans, self.sizes, strict=True)):
            values, errors = [], []
            for leaf, size, lexical in zip(plan.sets, sizes, self.lexical[index], strict=True):
                if size is None:  # a complement: NOT of a membership near 1 needs the digits of float64
                    value, error = np.asarray(leaf.membership(rows)), ROUNDING
                elif isinstance(leaf, Centroid):
                    cosines = value_per_item(coordinates.values[used], n, owners)
                    value = leaf.log_odds(cosines, None if lexical is None else lexical[start:stop])
                    error = leaf.max_slope * float(coordinates.errors[used]) + ROUNDING * (
                        1 + leaf.max_lexical(lexical)
                    )
                else:
                    value, error = _memberships(coordinates, slice(used, used + size))
                used += size or 0
                values.append(value if isinstance(leaf, Centroid) else value_per_item(value, n, owners))
                errors.append(error)
            scores[index], score_errors[index] = plan.score(values), plan.score_error(errors)
        return scores, score_errors


def _lexical_scores(source: VectorSource, leaf: LeafSet) -> np.ndarray | None:
    """Return the lexical scores (n,) of all items, for a set of the default logic that has words."""
    if not isinstance(leaf, Centroid) or leaf.lexical is None:
        return None
    scores = source.lexical_scores(leaf.lexical)
    return None if scores is None else scores.astype(np.float32)


def _memberships(coordinates: Coordinates, part: slice) -> tuple[np.ndarray, float]:
    """Return memberships in a subspace from the coordinates along its directions, and a bound of their errors."""
    values, errors = coordinates.values[part], coordinates.errors[part]
    memberships: np.ndarray = np.minimum(np.sqrt(np.einsum("ij,ij->j", values, values)), 1)
    return memberships, float(np.linalg.norm(errors)) + (len(errors) + 1) * ROUNDING
