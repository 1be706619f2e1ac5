"""The approximate engine: probes find candidates in an inverted file (faiss), and the exact score ranks them.

Candidates of a set that is a direction and a border are the neighbours of that direction. Those of other sets are the
neighbours of its examples, of its first directions and of its mean, and of the opposites of the last two, for
membership in a subspace does not mind the sign. 341,479 GloVe vectors of 100 dimensions, sets of 5 words, top 100,
as `python -m benchmarks --case engines` compares them, on two cores:

==========================  ==========  ============  ==========
index                       build, s    a set, ms     recall
==========================  ==========  ============  ==========
faiss IVF, 2 sqrt(n) lists  2.2         0.17          .990
hnswlib, M 16, ef 200       29.2        0.17          1.000
usearch, connectivity 16    50.6        0.33          1.000
==========================  ==========  ============  ==========

The graphs find a little more, but take ten times as long to build and more; an inverted file can be built when it is
first needed.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from softset.embed.shelf import cache_folder
from softset.errors import InputError, MissingExtraError
from softset.retrieval.centroid import Centroid
from softset.retrieval.exact import Items, Ranking, rescored, search
from softset.retrieval.plan import Leaf, Plan
from softset.retrieval.tree import And, Minus, Not, Or, Tree, sought

__all__ = ["Approximate"]

TRAINING_ROWS_PER_LIST = 64  # faiss wants at least 39
SHARE_PROBED = 32  # one list in so many is read for a probe, but at least
LEAST_PROBED = 32
NEIGHBOURS = 200
SPARE = 8  # neighbours of a direction beyond those that are wanted: the order in float64 may be another
ROWS_AT_ONCE = 65_536
LEAST_WORTH_KEEPING = 10_000  # items; below, making the index takes less than reading the file
MOST_KEPT = 8
VERSION = 1


class Searched(Items, Protocol):
    """What the index needs to know of the items beside their vectors."""

    @property
    def checksum(self) -> str:
        """A SHA-256 of the stored vectors, or ""."""

    @property
    def signature(self) -> str:
        """What results depend on."""

    @property
    def hidden(self) -> frozenset[int]:
        """The places that no search may return."""


class Approximate:
    """An inverted file over the directions of all items that a search may return.

    It is made at the first use, and kept in the user's cache for items that lie in files.
    """

    def __init__(self, items: Searched) -> None:
        self._items = items
        self._index = _kept(items) or _built(items)

    def search(self, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]]) -> list[Ranking]:
        """Return about the `top` items of each plan: those of the candidates, by their exact scores."""
        return [self._search(plan, top, out) for plan, out in zip(plans, excluded, strict=True)]

    def _search(self, plan: Plan, top: int, excluded: frozenset[int]) -> Ranking:
        leaves = _positive(plan)
        if len(plan.leaves) == 1 and isinstance(leaves[0].members, Centroid):
            # Cosines with this direction are the order that is asked for: what comes first is all that is needed.
            probes, wanted = leaves[0].members.factor().astype(np.float32), top + len(excluded) + SPARE
        else:
            probes = _units(np.concatenate([_probes(leaf) for leaf in leaves] + _between(leaves)))
            wanted = max(NEIGHBOURS, 2 * top)
        _, found = self._index.search(probes, wanted)
        places = np.setdiff1d(found, [-1, *excluded])
        if len(places) < min(top, len(self._items) - len(excluded)):  # not enough near by: look at all
            return search(self._items, [plan], top, excluded=[excluded])[0]
        return rescored(self._items, plan, places, top)


def _built(items: Searched) -> Any:
    """Return a new index, and keep it if the items have a checksum to know it by."""
    faiss = _faiss()
    n, d = len(items), items.dimensions
    lists = int(max(1, min(2 * n**0.5, n / TRAINING_ROWS_PER_LIST)))
    index = faiss.index_factory(d, f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT)
    sample = np.random.default_rng(0).choice(n, min(n, TRAINING_ROWS_PER_LIST * lists), replace=False)
    index.train(_units(items.take(np.sort(sample).tolist())))
    for start in range(0, n, ROWS_AT_ONCE):
        places = np.setdiff1d(np.arange(start, min(start + ROWS_AT_ONCE, n)), list(items.hidden))
        if len(places):
            index.add_with_ids(_units(items.take(places.tolist())), places)
    index.nprobe = max(LEAST_PROBED, lists // SHARE_PROBED)
    if items.checksum and n >= LEAST_WORTH_KEEPING:
        _keep(index, _file(items))
    return index


def _file(items: Searched) -> Path:
    key = sha256(f"{items.checksum}|{items.signature}|{VERSION}".encode()).hexdigest()
    return cache_folder("approximate") / f"{key}.faiss"


def _kept(items: Searched) -> Any:
    """Return the index that an earlier process has kept, or None."""
    faiss = _faiss()
    if not items.checksum or not _file(items).is_file():
        return None
    try:
        index = faiss.read_index(str(_file(items)))
    except RuntimeError:  # cut short, or of another version: it is made again
        return None
    os.utime(_file(items))
    return index if (index.d, index.ntotal) == (items.dimensions, len(items) - len(items.hidden)) else None


def _keep(index: Any, file: Path) -> None:
    """Write an index beside its place and rename it; of all that are kept, only the latest stay."""
    with suppress(OSError):  # a cache that cannot be written is no reason to fail
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(f".{os.getpid()}")
        _faiss().write_index(index, str(beside))
        beside.replace(file)
        by_age = sorted(file.parent.glob("*.faiss"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in by_age[MOST_KEPT:]:
            old.unlink(missing_ok=True)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("approximate search needs faiss: pip install 'softset[approximate]'") from None
    return faiss


def _units(rows: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(norms > 0, norms, 1), dtype=np.float32)


def _probes(leaf: Leaf) -> np.ndarray:
    """Return the examples, the first two directions, the mean, and the opposites of mean and first direction."""
    units = _units(leaf.vectors)
    mean = units.mean(axis=0)
    directions = np.linalg.svd(units, full_matrices=False)[2][:2]
    directions = directions * np.where(directions @ mean < 0, -1, 1)[:, None]
    return np.concatenate([units, directions, [mean, -mean], -directions[:1]])


def _between(leaves: Sequence[Leaf]) -> list[np.ndarray]:
    """Return the middle of the positive sets' means: what belongs to both of two sets need not be near to either."""
    means = [_units(leaf.vectors).mean(axis=0) for leaf in leaves]
    return [np.mean(_units(np.stack(means)), axis=0, keepdims=True)] if len(means) > 1 else []


def _positive(plan: Plan) -> list[Leaf]:
    """Return the leaves that candidates are looked for around, or refuse a query that has none on some side."""
    by_tree = {leaf.tree: leaf for leaf in plan.leaves}
    if not _has_candidates(plan.tree):
        raise InputError(
            f"one side of {plan.tree} holds nearly everything, so that there are no near candidates: "
            "search exactly (without --approximate)"
        )
    return [by_tree[tree] for tree in dict.fromkeys(sought(plan.tree))]


def _has_candidates(tree: Tree, *, negated: bool = False) -> bool:
    """Tell whether every item that belongs to a tree is near some leaf: false for complements, and for OR with one."""
    match tree:
        case Not(inner):
            return _has_candidates(inner, negated=not negated)
        case Minus(left, right):
            sides = (_has_candidates(left, negated=negated), _has_candidates(right, negated=not negated))
        case And(left, right) | Or(left, right):
            sides = (_has_candidates(left, negated=negated), _has_candidates(right, negated=negated))
        case _:
            return not negated
    any_will_do = isinstance(tree, Or) == negated  # an AND, or by De Morgan a negated OR
    return any(sides) if any_will_do else all(sides)
