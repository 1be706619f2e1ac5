"""Pages of a ranking: the items after an offset, without variants of the examples and near duplicates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.search.exact import Ranking
from softset.search.source import VectorSource

GROWTH = 4  # factor by which more items are ranked if too many were left out
EXPECTED_VARIANTS = 32  # number of variants among the best items: a few for each example
MAX_COMPARED = 10_000  # number of best items checked for near duplicates: 30 MB for 384 dimensions

VariantTest = Callable[[np.ndarray], np.ndarray]  # from indices (k,) to booleans (k,)


@dataclass(frozen=True)
class Page:
    """A part of a ranking, and the positions (k,) of its items among all items."""

    ranking: Ranking
    positions: np.ndarray

    @classmethod
    def of(cls, ranking: Ranking, positions: np.ndarray) -> "Page":
        """Return the items at the given positions of a ranking."""
        return cls(Ranking(ranking.indices[positions], ranking.scores[positions]), positions)


def rank_pages(
    rank: Callable[[int], list[Ranking]],
    source: VectorSource,
    top: int,
    *,
    offset: int,
    distinct: float | None,
    variants: Sequence[VariantTest | None],
) -> list[Page]:
    """Return the `top` items of each query after the first `offset`.

    Args:
        rank: a function from a number of items to the rankings of all queries.
        source: the source of the items.
        top: the number of items on a page.
        offset: the number of items before the page.
        distinct: the cosine with a better item from which on an item is left out. Near duplicates are looked for among
            the best 10,000 items.
        variants: for each query, a function that tells which items are left out as variants of its examples, or None.
    """
    last = top + offset
    expected = EXPECTED_VARIANTS if any(variants) else 0
    limit = len(source) if distinct is None else max(last + expected, MAX_COMPARED)
    ranked = last + expected if distinct is None else min(GROWTH * last, limit)
    while True:
        rankings = rank(ranked)
        tests = zip(rankings, variants, strict=True)
        positions = [_shown_positions(source, ranking, last, distinct, are_variants) for ranking, are_variants in tests]
        pairs = list(zip(rankings, positions, strict=True))
        if ranked >= limit or all(len(shown) == last or len(ranking.indices) < ranked for ranking, shown in pairs):
            return [Page.of(ranking, shown[offset:]) for ranking, shown in pairs]
        ranked = min(GROWTH * ranked, limit)


def _shown_positions(
    source: VectorSource, ranking: Ranking, count: int, distinct: float | None, are_variants: VariantTest | None
) -> np.ndarray:
    """Return the positions of the first `count` items that are neither variants nor like one of those before them."""
    hidden = np.zeros(len(ranking.indices), dtype=bool) if are_variants is None else are_variants(ranking.indices)
    if distinct is None or hidden.all():
        return np.flatnonzero(~hidden)[:count]
    kept: list[int] = []
    units = unit_rows(source.take(ranking.indices))
    while len(kept) < count and not hidden.all():
        kept.append(int(np.argmin(hidden)))  # the first that is left
        hidden |= units @ units[kept[-1]] >= distinct
        hidden[kept[-1]] = True  # also a zero vector
    return np.array(kept, dtype=np.int64)
