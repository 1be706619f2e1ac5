"""The exact engine: every item is scored, block by block. Memory is that of a block, whatever the number of items.

The pass over all items is in float32. What may be among the best is then scored again in float64, alone, so that equal
vectors have equal scores (a product of matrices rounds its last rows otherwise), ties are in the items' order, and NOT
of a membership near 1 has its digits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from softset.algebra.threads import in_threads
from softset.retrieval.centroid import Centroid
from softset.retrieval.plan import Members, Plan
from softset.retrieval.tree import Examples, Named

__all__ = ["Items", "Ranking", "multiplied", "projected", "rescored", "search"]

BLOCK_BYTES = 16 * 2**20
FEW_COLUMNS = 32
ROWS_AT_ONCE = 4_096  # that are scored again
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

    def take(self, places: Sequence[int]) -> np.ndarray:
        """Return the vectors (k, d) of items at some places."""

    def projections(self, directions: np.ndarray, start: int, stop: int) -> np.ndarray:
        """Return the coordinates (k, n) of consecutive items, each scaled to length 1, along k directions (k, d)."""

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Ranking:
    """The best items of one query, best first: their places and scores; ties in the items' order."""

    places: np.ndarray
    scores: np.ndarray

    @classmethod
    def empty(cls) -> "Ranking":
        """Return a ranking of nothing."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))

    def merged(self, start: int, scores: np.ndarray, top: int, left_out: np.ndarray) -> "Ranking":
        """Return the best of this ranking and of later items, consecutive from `start` on, but for those left out."""
        here = left_out[(left_out >= start) & (left_out < start + len(scores))] - start
        scores = _without(scores, here, -np.inf)
        least = self.scores[-1] if len(self.places) == top else -np.inf
        at = np.flatnonzero(scores > least)
        if len(at) > top:  # only those that can be among the best
            some = scores[at]
            at = at[some >= np.partition(some, len(at) - top)[len(at) - top]]
        places, scores = np.concatenate([self.places, at + start]), np.concatenate([self.scores, scores[at]])
        order = np.lexsort((places, -scores))[:top]
        return Ranking(places[order], scores[order])


def search(
    items: Items, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]], stop: int | None = None
) -> list[Ranking]:
    """Return the `top` items of each plan among the first `stop`, as many plans in one pass as their sets allow."""
    n = len(items) if stop is None else min(stop, len(items))
    # Float32 scores are good to about 1e-6, those under a NOT to 1e-3: a margin for the order in float64.
    margin = top + max(64, top // 2)
    rankings: list[Ranking] = []
    for first, last in _batches(plans):
        rankings += _pass(items, plans[first:last], margin, excluded[first:last], n)
    some = max(1, ROWS_AT_ONCE // margin)
    found = [
        _all_rescored(items, plans[at : at + some], rankings[at : at + some], top) for at in range(0, len(plans), some)
    ]
    return [ranking for part in found for ranking in part]


def _all_rescored(items: Items, plans: Sequence[Plan], rankings: Sequence[Ranking], top: int) -> list[Ranking]:
    """Return `rescored` of some plans; the rows of all are read at once, which costs less than a look for each."""
    rows = items.take(np.concatenate([one.places for one in rankings]).tolist())
    parts = np.split(rows, np.cumsum([len(one.places) for one in rankings])[:-1])
    return [_rescored(*given, top) for given in zip(plans, parts, (one.places for one in rankings), strict=True)]


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
    """Return the best of some items by their scores in float64; an item without a direction has 0."""
    return _rescored(plan, items.take(places.tolist()), places, top)


def _rescored(plan: Plan, vectors: np.ndarray, places: np.ndarray, top: int) -> Ranking:
    rows = vectors.astype(np.float64)
    scores = np.asarray(plan.score([np.asarray(one.membership(rows)) for one in plan.sets]), dtype=np.float64)
    scores = np.where(rows.any(axis=1), scores, 0)
    order = np.lexsort((places, -scores.round(12)))[:top]
    return Ranking(places[order], scores[order])


def projected(rows: np.ndarray, norms: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return the coordinates (k, n) of rows (n, d) of known lengths, scaled to length 1, along k directions (k, d)."""
    rows, norms = _tamed(rows, norms)
    coordinates = multiplied(rows, directions)
    coordinates *= 1 / np.where(norms > 0, norms, 1)  # one division an item, not one for each direction
    return coordinates


def multiplied(rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return the products (k, n) of rows (n, d) and directions (k, d), in the rows' own type.

    One with a slim matrix is quicker with the items first, and with one direction as a vector.
    """
    Q = directions.astype(rows.dtype)
    slim = (rows @ Q[0])[None, :] if len(Q) == 1 else None
    products: np.ndarray = slim if slim is not None else (rows @ Q.T).T if len(Q) < FEW_COLUMNS else Q @ rows.T
    return products


def _tamed(rows: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and lengths with those rows scaled to length 1 whose squares would overflow or vanish."""
    odd = ~((norms > 1e-15) & (norms < 1e15))
    if not odd.any():
        return rows, norms
    some = rows[odd].astype(np.float64)
    largest = np.abs(some).max(axis=1, keepdims=True)
    some = some / np.where(largest > 0, largest, 1)
    lengths = np.linalg.norm(some, axis=1)
    rows, norms = rows.copy(), norms.copy()
    rows[odd], norms[odd] = some / np.where(lengths > 0, lengths, 1)[:, None], lengths > 0
    return rows, norms


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
                found.append(np.maximum(part[0], 0) if alone else one.chances(part[0]))
            else:
                found.append(np.minimum(np.sqrt(np.einsum("ij,ij->j", part, part)), 1))
        return found
