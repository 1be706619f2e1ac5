"""The approximate engine: an inverted file of faiss finds candidates, and their exact scores rank them.

The index holds 4 bits for each number of a vector (product quantization), which faiss scans 10 times as fast as the
vectors themselves. The vectors of the source refine the candidates, so that the index needs no second copy of them.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.errors import FileError, InputError, MissingExtraError
from softset.io.registry import cache_folder
from softset.query.expression import And, Minus, Not, Or, Tree, positive_leaves
from softset.query.plan import Leaf, Plan
from softset.query.thresholds import NOT_FINITE
from softset.search.exact import Ranking, rescore, search
from softset.search.source import VectorSource

__all__ = ["ApproximateIndex", "probes_of"]

# Measured with 341,479 and with 2,000,000 GloVe vectors of 100 dimensions, 64 sets of 5 words, top 100.
CANDIDATES = 512  # at least; items with the same code, such as near duplicates, are told apart by their vectors
LISTS_PER_PROBE, MIN_LISTS = 1 / 24, 32  # of all sqrt(n) lists: recall .97
MIN_QUANTIZED = 65_536  # items; fewer are scanned as fast without quantization
TRAINING_ROWS_PER_LIST = 64  # faiss asks for at least 39
ROWS_PER_BLOCK = 65_536
MIN_CACHED = 10_000  # items; a smaller index is built faster than it is read
MAX_CACHED = 16  # index files; the oldest are deleted
VERSION = 4  # of the cache files


class ApproximateIndex:
    """An inverted file over the unit vectors of all items that are not hidden.

    It is built at the first use. For sources with a checksum it is kept in the user's cache folder.
    """

    def __init__(self, source: VectorSource) -> None:
        self._source = source
        self.index = _cached(source) or _build(source)
        self.index.nprobe = max(MIN_LISTS, round(self.index.nlist * LISTS_PER_PROBE))

    def search(self, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]]) -> list[Ranking]:
        """Return about the `top` items of each plan: the best candidates by their exact scores."""
        return [self._search(plan, top, indices) for plan, indices in zip(plans, excluded, strict=True)]

    def _search(self, plan: Plan, top: int, excluded: frozenset[int]) -> Ranking:
        if not self.index.ntotal:
            return Ranking.empty()
        probes = probes_of(plan, "search exactly (without --approximate)")
        count = min(max(CANDIDATES, 2 * (top + len(excluded))), self.index.ntotal)
        found = self.index.search(probes, count)[1]
        found = found[0] if len(probes) == 1 else np.unique(found)
        candidates = found[np.isin(found, [-1, *excluded], invert=True)]  # -1 fills short lists of neighbours
        if len(candidates) < min(top, self.index.ntotal - len(excluded)):
            return search(self._source, [plan], top, excluded=[excluded])[0]
        return rescore(self._source, plan, candidates, top)


# Probes: the vectors whose neighbours are candidates


def probes_of(plan: Plan, advice: str) -> np.ndarray:
    """Return unit vectors (k, d) whose nearest neighbours contain the best items of a plan.

    For a single centroid it is the centroid. For other queries these are, for each set that is not negated, its
    examples, its first two principal directions, its mean and, because membership in a subspace ignores the sign, their
    opposites; and the mean of all sets, because an item of an intersection may be far from each of them.

    Raises:
        InputError: the query is, or contains the union with, a complement, which has no near neighbours.
    """
    if plan.centroid is not None:
        return plan.centroid.factor().astype(np.float32)
    if not _has_neighbours(plan.tree):
        raise InputError(f"one side of {plan.tree} holds nearly everything, so it has no near candidates: {advice}")
    positive = set(positive_leaves(plan.tree))
    leaves = [leaf for leaf in plan.leaves if leaf.tree in positive]
    means = unit_rows(np.stack([unit_rows(leaf.vectors).mean(axis=0) for leaf in leaves]))
    probes = np.concatenate([*map(_leaf_probes, leaves), means.mean(axis=0, keepdims=True)])
    return np.ascontiguousarray(unit_rows(probes), dtype=np.float32)


def _leaf_probes(leaf: Leaf) -> np.ndarray:
    rows = unit_rows(leaf.vectors)
    mean = rows.mean(axis=0)
    directions = np.linalg.svd(rows, full_matrices=False)[2][:2]
    directions = directions * np.where(directions @ mean < 0, -1, 1)[:, None]
    return np.concatenate([rows, directions, [mean, -mean], -directions[:1]])


def _has_neighbours(tree: Tree, *, negated: bool = False) -> bool:
    """Return whether each item of a tree is near some leaf: not so for complements and for unions with one."""
    match tree:
        case Not(inner):
            return _has_neighbours(inner, negated=not negated)
        case And(left, right) | Or(left, right) | Minus(left, right):
            negated_right = negated != isinstance(tree, Minus)
            sides = (_has_neighbours(left, negated=negated), _has_neighbours(right, negated=negated_right))
            is_intersection = isinstance(tree, Or) == negated  # by De Morgan, a negated union is an intersection
            return any(sides) if is_intersection else all(sides)
    return not negated


# Building and caching


def _build(source: VectorSource) -> Any:
    faiss, n, d = _faiss(), len(source), source.dimensions
    lists = int(max(1, min(n**0.5, n / TRAINING_ROWS_PER_LIST)))
    kind = f"PQ{d}x4fsr" if n > MIN_QUANTIZED else "Flat"
    index = faiss.index_factory(d, f"IVF{lists},{kind}", faiss.METRIC_INNER_PRODUCT)
    if (
        n > MIN_QUANTIZED
    ):  # 16 centroids for each number: with fewer rows and rounds, training takes a fifth of the time
        index.pq.cp.niter, index.pq.cp.max_points_per_centroid = 8, 64
    sample = np.random.default_rng(0).choice(n, min(n, TRAINING_ROWS_PER_LIST * lists), replace=False)
    index.train(_units(source, np.sort(sample)))
    for start in range(0, n, ROWS_PER_BLOCK):
        indices = np.setdiff1d(np.arange(start, min(start + ROWS_PER_BLOCK, n)), list(source.hidden))
        if len(indices):
            index.add_with_ids(_units(source, indices), indices)
    if n >= MIN_CACHED and source.checksum:
        _write_cache(source, index)
    return index


def _units(source: VectorSource, indices: np.ndarray) -> np.ndarray:
    rows = source.take(indices)
    if not np.isfinite(rows).all():
        raise FileError(NOT_FINITE)
    return np.ascontiguousarray(unit_rows(rows), dtype=np.float32)


def _cache_file(source: VectorSource) -> Path:
    key = sha256(f"{source.checksum}|{source.signature}|{VERSION}".encode()).hexdigest()
    return cache_folder("approximate") / f"{key}.faiss"


def _cached(source: VectorSource) -> Any:
    """Return the cached index, or None if there is none or it is damaged."""
    faiss, file = _faiss(), _cache_file(source)
    if not source.checksum or not file.is_file():
        return None
    with suppress(RuntimeError, OSError):
        index = faiss.read_index(str(file))
        os.utime(file)
        if (index.d, index.ntotal) == (source.dimensions, len(source) - len(source.hidden)):
            return index
    return None


def _write_cache(source: VectorSource, index: Any) -> None:
    """Write the index to the cache atomically; a cache that cannot be written is not an error."""
    file = _cache_file(source)
    temporary = file.with_suffix(f".{token_hex(8)}")
    with suppress(OSError, RuntimeError):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            _faiss().write_index(index, str(temporary))
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
        by_age = sorted(file.parent.glob("*.faiss"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in by_age[MAX_CACHED:]:
            old.unlink(missing_ok=True)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("approximate search needs faiss: pip install 'softset[approximate]'") from None
    return faiss
