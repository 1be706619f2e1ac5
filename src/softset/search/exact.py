"""The exact engine: every item is scored, block by block.

Memory is that of a block, whatever the number of items; only who asks for many sets again and again has the items'
codes in memory as well (`coding.py`).

The pass over all items is in float32. What may be among the best is then scored again in float64, alone, so that equal
vectors have equal scores (a product of matrices rounds its last rows otherwise), ties are in the items' order, and NOT
of a membership near 1 has its digits.

Of many sets that are asked for by themselves, it is known from their borders which cosines can be among the best: their
pass looks for those only (`_near`). All others are scored and ranked block by block (`_pass`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np

from softset.query.centroid import MIN_THRESHOLD, Centroid, expected_size
from softset.query.expression import Examples, Named
from softset.query.plan import Members, Plan
from softset.runtime.threads import in_threads
from softset.search.coding import Codes, Coding, Screen
from softset.search.products import FEW_COLUMNS, ROUNDING, Along, Beyond

__all__ = ["Items", "Ranking", "best_of", "exact_scores", "rescored", "search"]

BLOCK_BYTES = 16 * 2**20
NEAR_SETS, NEAR_ROWS = 256, 8_192  # in one product: 8 MB of cosines
ROOM = 1.5  # so many times as many items as are wanted shall lie beyond a border, for it is known from a sample
TRIED = 512  # items that show whether codes tell enough of them apart
MOST_COLUMNS = 2_048  # directions of all sets that share a pass: 8 KB for an item


class Items(Protocol):
    """Vectors that can be read in blocks, and know how much of each lies along some directions."""

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""

    @property
    def norms(self) -> np.ndarray:
        """The lengths (n,) of all vectors."""

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors (stop - start, d) of consecutive items."""

    def take(self, places: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors (k, d) of items at some places."""

    def projections(self, directions: np.ndarray, start: int, stop: int) -> np.ndarray:
        """Return the coordinates (k, n) of consecutive items, each scaled to length 1, along k directions (k, d)."""

    def along(self, directions: np.ndarray) -> Along:
        """Return what gives, of the items from start to stop, what these coordinates are made of."""

    @property
    def coding(self) -> Coding:
        """Codes of what `along` multiplies."""

    def cosines(self, directions: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the coordinates (k, m) of items at m places in float64; NaN of an item without a direction."""

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Ranking:
    """The best items of one query, best first: their places and scores; ties in the items' order."""

    indices: np.ndarray
    scores: np.ndarray

    @classmethod
    def empty(cls) -> "Ranking":
        """Return a ranking of nothing."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))

    def merged(self, start: int, scores: np.ndarray, top: int, left_out: np.ndarray) -> "Ranking":
        """Return the best of this ranking and of later items, consecutive from `start` on, but for those left out."""
        here = left_out[(left_out >= start) & (left_out < start + len(scores))] - start
        scores = _without(scores, here, -np.inf)
        least = self.scores[-1] if len(self.indices) == top else -np.inf
        at = np.flatnonzero(scores > least)
        if len(at) > top:  # only those that can be among the best
            some = scores[at]
            at = at[some >= np.partition(some, len(at) - top)[len(at) - top]]
        places, scores = np.concatenate([self.indices, at + start]), np.concatenate([self.scores, scores[at]])
        order = np.lexsort((places, -scores))[:top]
        return Ranking(places[order], scores[order])


def search(
    items: Items, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]], stop: int | None = None
) -> list[Ranking]:
    """Return the `top` items of each plan among the first `stop`, as many plans in one pass as their sets allow."""
    n = len(items) if stop is None else min(stop, len(items))
    # Float32 scores are good to about 1e-6, those under a NOT to 1e-3: a margin for the order in float64.
    margin = top + max(64, top // 2)
    rankings = _near(items, plans, top, margin, excluded, n)
    rest = [at for at in range(len(plans)) if at not in rankings]
    for first, last in _batches([plans[at] for at in rest]):
        these = rest[first:last]
        found = _pass(items, [plans[at] for at in these], margin, [excluded[at] for at in these], n)
        rankings |= dict(zip(these, found, strict=True))
    return [rescored(items, plan, rankings[at].indices, top) for at, plan in enumerate(plans)]


def _batches(plans: Sequence[Plan]) -> Iterator[tuple[int, int]]:
    """Cut plans into runs whose sets have at most so many directions together."""
    first, columns = 0, 0
    for at, plan in enumerate(plans):
        size = sum(min(one.dim, one.ambient - one.dim) for one in plan.sets)
        if at > first and columns + size > MOST_COLUMNS:
            yield first, at
            first, columns = at, 0
        columns += size
    if plans:
        yield first, len(plans)


def _near(
    items: Items, plans: Sequence[Plan], top: int, margin: int, excluded: Sequence[frozenset[int]], n: int
) -> dict[int, Ranking]:
    """Return what may be among the best of those plans that are one set each, if enough items lie beyond its border."""
    expected = expected_size(len(items)) * n / max(len(items), 1)
    near = {at: one for at, plan in enumerate(plans) if (one := _alone(plan)) is not None and expected > ROOM * margin}
    if len(near) < FEW_COLUMNS:
        return {}
    rankings, codes = {}, items.coding.codes()
    for start in range(0, len(near), NEAR_SETS):
        some = dict(islice(near.items(), start, start + NEAR_SETS))
        for at, (places, scores) in zip(some, _beyond_borders(items, list(some.values()), n, codes), strict=True):
            kept = ~np.isin(places, list(excluded[at]))
            places, scores = places[kept], scores[kept]
            if len(places) >= margin:  # else the border was too high, and all are looked at
                kept = scores >= np.partition(scores, -top)[-top] - ROUNDING
                rankings[at] = Ranking(places[kept], scores[kept])
    return rankings


def _beyond_borders(
    items: Items, sets: Sequence[Centroid], n: int, codes: Codes | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each set the places of the items beyond its border, and their cosines."""
    directions = np.stack([one.direction for one in sets])
    least = np.array([one.threshold for one in sets], dtype=np.float32)

    along = items.along(directions)
    screen = None if codes is None else Screen(codes, along.directions)
    if screen is not None:
        middle = n // 2
        tried = along.block(middle, min(middle + TRIED, n))
        screen = screen if screen.pays(tried, middle, least) else None

    def block(start: int) -> Beyond:
        products = along.block(start, min(start + NEAR_ROWS, n))
        found = products.beyond(least) if screen is None else screen.beyond(products, start, least)
        return found._replace(places=found.places + start)

    parts = list(in_threads(block, range(0, n, NEAR_ROWS)))
    which, places, scores = (np.concatenate(some) for some in zip(*parts, strict=True))
    order = np.argsort(which.astype(np.uint16), kind="stable")  # few bits are sorted by counting
    ends = np.cumsum(np.bincount(which, minlength=len(sets)))[:-1]
    return zip(np.split(places[order], ends), np.split(scores[order], ends), strict=True)


def _alone(plan: Plan) -> Centroid | None:
    """Return the set of a plan that asks for nothing else, if it has a border that is more than the least of all."""
    members = plan.sets[0]
    if not isinstance(plan.tree, Examples | Named) or not isinstance(members, Centroid):
        return None
    return members if members.threshold > MIN_THRESHOLD else None


def _pass(items: Items, plans: Sequence[Plan], top: int, excluded: Sequence[frozenset[int]], n: int) -> list[Ranking]:
    """Return the best items of some plans, scored in blocks and ranked in their order."""
    left_out = [np.array(sorted(places), dtype=np.int64) for places in excluded]
    rankings = [Ranking.empty() for _ in plans]
    # Of one set alone, chances and cosines have one order: what counts is scored again anyway.
    plain = [isinstance(plan.tree, Examples | Named) for plan in plans for _ in plan.sets]
    scorer = Scorer([one for plan in plans for one in plan.sets], plain)
    size = max(BLOCK_BYTES // (4 * (items.dimensions + scorer.columns)), 256)
    all_norms = items.norms

    def block(start: int) -> tuple[int, list[np.ndarray]]:
        memberships = iter(scorer(items, start, min(start + size, n)))
        nowhere = np.flatnonzero(~(all_norms[start : min(start + size, n)] > 0))
        found = [np.asarray(plan.score([next(memberships) for _ in plan.sets])) for plan in plans]
        return start, [_without(scores, nowhere, -1.0) for scores in found]  # below all that have a direction

    # With few directions a block is one product, which has threads of its own; with many, there is more to do.
    blocks = (map if scorer.columns < FEW_COLUMNS else in_threads)(block, range(0, n, size))
    for start, found in blocks:
        for i, scores in enumerate(found):
            rankings[i] = rankings[i].merged(start, scores, top, left_out[i])
    return rankings


def _without(scores: np.ndarray, places: np.ndarray, value: float) -> np.ndarray:
    """Return scores (n,) with another value at some places."""
    if not len(places):
        return scores
    scores = scores.copy()
    scores[places] = value
    return scores


def rescored(items: Items, plan: Plan, places: np.ndarray, top: int) -> Ranking:
    """Return the best of the items at some places by their scores in float64."""
    return best_of(places, exact_scores(items, plan, places), top)


def best_of(places: np.ndarray, scores: np.ndarray, top: int) -> Ranking:
    """Return the best of items with these scores; what differs only in the last digits is in the items' order.

    >>> best_of(np.array([4, 2, 7]), np.array([0.5, 0.5, 0.9]), top=2).indices.tolist()
    [7, 2]
    """
    order = np.lexsort((places, -scores.round(12)))[:top]
    return Ranking(places[order], scores[order])


def exact_scores(items: Items, plan: Plan, places: np.ndarray) -> np.ndarray:
    """Return the scores (m,) in float64 of the items at m places; one without a direction has 0."""
    middles = [one for one in plan.sets if isinstance(one, Centroid)]
    if len(middles) == len(plan.sets):
        cosines = items.cosines(np.array([one.direction for one in middles]), places)
        nowhere = np.isnan(cosines[0])
        if nowhere.any():
            cosines = np.where(nowhere, 0.0, cosines)
        scores = plan.score([one.probability(row) for one, row in zip(middles, cosines, strict=True)])
    else:
        rows = items.take(places).astype(np.float64)
        nowhere = ~rows.any(axis=1)
        scores = plan.score([np.asarray(one.membership(rows)) for one in plan.sets])
    found: np.ndarray = scores
    found[nowhere] = 0.0
    return found


class Scorer:
    """Memberships in many sets at once: sets with few directions share one matrix product."""

    def __init__(self, sets: Sequence[Members], alone: Sequence[bool]) -> None:
        self.sets, self.alone = list(sets), list(alone)
        self.factors = [one.factor() for one in sets]
        stacked = [factor for factor in self.factors if factor is not None]
        self.stacked: Any = np.concatenate(stacked).astype(np.float32) if stacked else None
        self.columns = 0 if self.stacked is None else len(self.stacked)

    def __call__(self, items: Items, start: int, stop: int) -> list[np.ndarray]:
        """Return for each set the memberships (n,) of consecutive items."""
        coordinates: Any = items.projections(self.stacked, start, stop) if self.columns else None
        rows = items.rows(start, stop) if any(factor is None for factor in self.factors) else None
        found, at = [], 0
        for one, factor, alone in zip(self.sets, self.factors, self.alone, strict=True):
            if factor is None:
                found.append(np.asarray(one.membership(rows)))
                continue
            part = coordinates[at : at + len(factor)]
            at += len(factor)
            if isinstance(one, Centroid):
                found.append(np.maximum(part[0], 0) if alone else one.probability(part[0]))
            else:
                found.append(np.minimum(np.sqrt(np.einsum("ij,ij->j", part, part)), 1))
        return found
