"""The approximate engine: an inverted file of faiss finds candidates, and their exact scores rank them.

The index holds 4 bits for each number of a vector (product quantization), which faiss scans 10 times as fast as the
vectors themselves. The vectors of the source refine the candidates, so that the index needs no second copy of them.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.errors import FileError, InputError
from softset.io.atomic import write_atomically
from softset.io.registry import cache_folder
from softset.io.text import import_extra
from softset.query.background import NOT_FINITE
from softset.query.centroid import Centroid
from softset.query.expression import has_neighbours, positive_leaves
from softset.query.plan import Leaf, Plan
from softset.search.exact import Ranking, rescore, search
from softset.search.source import VectorSource

# With 341,479 vectors of 100 dimensions, top 100: a fifth of the exact engine's time, recall .99.
MIN_CANDIDATES = 512  # enough to rank groups of near duplicates, whose codes are equal, by their vectors
MIN_LISTS, SHARE_OF_LISTS = 32, 1 / 24  # how many of the sqrt(n) lists are scanned for each probe
MIN_QUANTIZED = 65_536  # with fewer items, vectors are scanned as fast as their codes
MIN_CACHED = 10_000  # with fewer items, an index is built faster than it is read
MAX_CACHE_FILES = 16
ROWS_PER_BLOCK, ROWS_PER_LIST = 65_536, 64  # added at once; for training, where faiss asks for at least 39
VERSION = 5  # version of the cache files


class ApproximateIndex:
    """An inverted file over the unit vectors of all items that are not hidden.

    It is built at the first use. For sources with a checksum it is stored in the user's cache folder.
    """

    def __init__(self, source: VectorSource) -> None:
        self._source = source
        if len(source) < ROWS_PER_LIST:  # too few to train an index; they are searched exactly
            return
        self.index = _read_cache(source) or _build(source)
        self.index.nprobe = max(MIN_LISTS, round(self.index.nlist * SHARE_OF_LISTS))

    def search(self, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]]) -> list[Ranking]:
        """Return about the `top` items of each plan: the best candidates by their exact scores."""
        return [self._search(plan, top, indices) for plan, indices in zip(plans, excluded, strict=True)]

    def _search(self, plan: Plan, top: int, excluded: frozenset[int]) -> Ranking:
        if len(self._source) < ROWS_PER_LIST:
            return search(self._source, [plan], top, excluded=[excluded])[0]
        if not self.index.ntotal:
            return Ranking.empty()
        probes = probes_of(plan, "search exactly (without --approximate)")
        count = min(max(MIN_CANDIDATES, 2 * (top + len(excluded))), self.index.ntotal)
        neighbours = self.index.search(probes, count)[1]
        is_distinct = len(probes) == 1 and self._source.vectors_per_item == 1
        neighbours = neighbours[0] if is_distinct else np.unique(neighbours)
        candidates = neighbours[np.isin(neighbours, [-1, *excluded], invert=True)]  # -1 fills short lists of neighbours
        lexical = _lexical_candidates(self._source, plan, count, excluded)
        candidates = np.union1d(candidates, lexical) if len(lexical) else candidates
        if len(candidates) < min(top, len(self._source) - len(excluded)):
            return search(self._source, [plan], top, excluded=[excluded])[0]
        return rescore(self._source, plan, candidates, top)


# Probes: the vectors whose neighbours are candidates


def probes_of(plan: Plan, advice: str) -> np.ndarray:
    """Return unit vectors (k, d) whose nearest neighbours contain the best items of a plan.

    For a query with a single centroid, this is the centroid. For other queries, these are the examples, the first two
    principal directions and the mean of each set that is not negated; their opposites, because membership in a subspace
    ignores the sign; and the mean of all sets, because an item of an intersection may be far from each set. Complements
    are refused.
    """
    if plan.centroid is not None:
        return plan.centroid.factor().astype(np.float32)
    if not has_neighbours(plan.tree):
        raise InputError(
            f"nearly every item belongs to {plan.tree} or to a part of it, so neighbours cannot answer it: {advice}"
        )
    leaves = _positive_leaves(plan)
    means = unit_rows(np.stack([unit_rows(leaf.vectors).mean(axis=0) for leaf in leaves]))
    probes = np.concatenate([*map(_leaf_probes, leaves), means.mean(axis=0, keepdims=True)])
    return np.ascontiguousarray(unit_rows(probes), dtype=np.float32)


def _positive_leaves(plan: Plan) -> list[Leaf]:
    positive = set(positive_leaves(plan.tree))
    return [leaf for leaf in plan.leaves if leaf.tree in positive]


def _leaf_probes(leaf: Leaf) -> np.ndarray:
    rows = unit_rows(leaf.vectors)
    mean = rows.mean(axis=0)
    directions = np.linalg.svd(rows, full_matrices=False)[2][:2]
    directions = directions * np.where(directions @ mean < 0, -1, 1)[:, None]
    return np.concatenate([rows, directions, [mean, -mean], -directions[:1]])


# Building and caching


def _build(source: VectorSource) -> Any:
    faiss, n, d = _faiss(), len(source), source.dimensions
    lists = int(max(1, min(n**0.5, n / ROWS_PER_LIST)))
    kind = f"PQ{d}x4fsr" if n > MIN_QUANTIZED else "Flat"
    index = faiss.index_factory(d, f"IVF{lists},{kind}", faiss.METRIC_INNER_PRODUCT)
    if n > MIN_QUANTIZED:  # for 16 centroids, fewer rows and rounds suffice: training takes a fifth of the time
        index.pq.cp.niter, index.pq.cp.max_points_per_centroid = 8, 64
    sample = np.random.default_rng(0).choice(n, min(n, ROWS_PER_LIST * lists), replace=False)
    index.train(_units(source.take(np.sort(sample))))
    for start in range(0, n, ROWS_PER_BLOCK):
        indices = np.setdiff1d(np.arange(start, min(start + ROWS_PER_BLOCK, n)), list(source.hidden))
        if len(indices):
            rows, owners = source.all_vectors(indices)
            ids = indices if owners is None else np.concatenate([indices, indices[owners]])
            index.add_with_ids(_units(rows), ids)
    if n >= MIN_CACHED and source.checksum:
        _write_cache(source, index)
    return index


def _lexical_candidates(source: VectorSource, plan: Plan, count: int, excluded: frozenset[int]) -> np.ndarray:
    """Return the items with the highest BM25 scores for the words of each set that is not negated."""
    candidates: list[np.ndarray] = []
    for leaf in _positive_leaves(plan):
        lexical = leaf.members.lexical if isinstance(leaf.members, Centroid) else None
        scores = None if lexical is None else source.lexical_scores(lexical)
        if scores is not None:
            best = np.argpartition(-scores, min(count, len(scores) - 1))[:count]
            candidates.append(best[(scores[best] > 0) & (source.norms[best] > 0)])
    if not candidates:
        return np.zeros(0, dtype=np.int64)
    return np.setdiff1d(np.concatenate(candidates), list(excluded | source.hidden))


def _units(rows: np.ndarray) -> np.ndarray:
    if not np.isfinite(rows).all():
        raise FileError(NOT_FINITE)
    return np.ascontiguousarray(unit_rows(rows), dtype=np.float32)


def _cache_file(source: VectorSource) -> Path:
    key = sha256(f"{source.checksum}|{source.signature}|{VERSION}".encode()).hexdigest()
    return cache_folder("approximate") / f"{key}.faiss"


def _read_cache(source: VectorSource) -> Any:
    """Return the cached index, or None if there is none or it is damaged."""
    faiss, file = _faiss(), _cache_file(source)
    if source.checksum and file.is_file():
        with suppress(RuntimeError, OSError):
            index = faiss.read_index(str(file))
            os.utime(file)
            vectors = round(len(source) * source.vectors_per_item) - len(source.hidden)
            if (index.d, index.ntotal) == (source.dimensions, vectors):
                return index
    return None


def _write_cache(source: VectorSource, index: Any) -> None:
    """Write the index to the cache and delete the oldest files; a cache that cannot be written is not an error."""
    file = _cache_file(source)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, _faiss().serialize_index(index).tobytes())
        by_age = sorted(file.parent.glob("*.faiss"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in by_age[MAX_CACHE_FILES:]:
            old.unlink(missing_ok=True)


def _faiss() -> Any:
    return import_extra("faiss", "approximate search needs faiss: pip install 'softset[approximate]'")
