"""The approximate engine: probes find candidates in an inverted file (faiss), and the exact score ranks them.

`probing.py` says what the probes are. 341,479 GloVe vectors of 100 dimensions, sets of 5 words, top 100,
as `python -m benchmarks --case engines` compares them, on two cores:

==========================  ==========  ============  ==========
index                       build, s    a set, ms     recall
==========================  ==========  ============  ==========
faiss IVF, 2 sqrt(n) lists  2.2         0.17          .990
hnswlib, M 16, ef 200       29.2        0.17          1.000
usearch, connectivity 16    50.6        0.33          1.000
==========================  ==========  ============  ==========

The graphs find a little more, but take ten times as long to build and more; an inverted file can be built when it is
first needed. Of many items it holds four bits a number, of what differs from the middle of their list: a sixth of the
memory, and half the time of a search. Half as many candidates again make up for what they blur, for the exact score
ranks them: the same are found.

Where sets end among many items is asked of a second, small file of the items that the exact engine asks, its sample:
most borders are the same, some are lower by a hundredth at the most.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from softset.embed.shelf import cache_folder
from softset.errors import MissingExtraError
from softset.retrieval.borders import FEW, rank_among
from softset.retrieval.exact import Items, Ranking, rescored, search
from softset.retrieval.plan import Plan
from softset.retrieval.probing import probes_of, units

__all__ = ["Approximate"]

TRAINING_ROWS_PER_LIST = 64  # faiss wants at least 39
SHARE_PROBED = 32  # one list in so many is read for a probe, but at least
LEAST_PROBED = 32
SHARE_OF_SAMPLE_PROBED = 8
FURTHER = 1.5  # so many times as many candidates as are wanted, and a few more, where vectors are coded
ROWS_AT_ONCE = 65_536
LEAST_WORTH_KEEPING = 10_000  # items; below, making the index takes less than reading the file
LEAST_CODED = 10_000  # items that codes are worth learning from
MOST_KEPT = 8
VERSION = 2


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

    @property
    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Some of many items, scaled to length 1 (m, d), and their places (m,)."""

    def borders(self, directions: np.ndarray) -> np.ndarray:
        """Return where the sets of some directions (k, d) end."""


class Approximate:
    """An inverted file over the directions of all items that a search may return.

    It is made at the first use, and kept in the user's cache for items that lie in files.
    """

    def __init__(self, items: Searched) -> None:
        self._items = items
        self._index = _kept(items) or _built(items)

    def borders(self, directions: np.ndarray) -> np.ndarray:
        """Return where the sets of some directions (k, d) end: among few items exactly, else by a file of a sample."""
        n = len(self._items) - len(self._items.hidden)
        if len(self._items) <= FEW:
            return self._items.borders(directions)
        rank = rank_among(self._sample.ntotal, n)
        cosines, found = self._sample.search(directions.astype(np.float32), rank)
        if found[:, -1].min() < 0:  # fewer than that near by
            return self._items.borders(directions)
        borders: np.ndarray = np.minimum(np.maximum(cosines[:, -1], 0.0), 1.0)
        return borders

    @cached_property
    def _sample(self) -> Any:
        units, places = self._items.sample
        units = units[~np.isin(places, list(self._items.hidden))]
        lists = max(1, int(len(units) ** 0.5))
        index = _lists(units.shape[1], lists, "Flat")
        index.train(units)
        index.add(units)
        index.nprobe = max(1, lists // SHARE_OF_SAMPLE_PROBED)
        return index

    def search(self, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]]) -> list[Ranking]:
        """Return about the `top` items of each plan: those of the candidates, by their exact scores."""
        return [self._search(plan, top, out) for plan, out in zip(plans, excluded, strict=True)]

    def _search(self, plan: Plan, top: int, excluded: frozenset[int]) -> Ranking:
        others = len(excluded - self._items.hidden)  # what is hidden is not in the index
        probes, wanted = probes_of(plan, top + others, "search exactly (without --approximate)")
        _, found = self._index.search(probes, min(int(FURTHER * wanted), self._index.ntotal))
        distinct = {*found.ravel().tolist()}
        distinct -= excluded
        distinct.discard(-1)  # which stands for nothing
        places = np.fromiter(distinct, dtype=np.int64, count=len(distinct))
        if len(places) < min(top, len(self._items) - len(excluded)):  # not enough near by: look at all
            return search(self._items, [plan], top, excluded=[excluded])[0]
        return rescored(self._items, plan, places, top)


def _lists(d: int, lists: int, coded: str) -> Any:
    """Return an inverted file without items, of cosines."""
    faiss = _faiss()
    return faiss.index_factory(d, f"IVF{lists},{coded}", faiss.METRIC_INNER_PRODUCT)


def _built(items: Searched) -> Any:
    """Return a new index, and keep it if the items have a checksum to know it by."""
    n, d = len(items), items.dimensions
    lists = int(max(1, min(2 * n**0.5, n / TRAINING_ROWS_PER_LIST)))
    index = _lists(d, lists, f"PQ{d}x4fsr" if n >= LEAST_CODED else "Flat")
    sample = np.random.default_rng(0).choice(n, min(n, TRAINING_ROWS_PER_LIST * lists), replace=False)
    index.train(units(items.take(np.sort(sample))))
    for start in range(0, n, ROWS_AT_ONCE):
        places = np.setdiff1d(np.arange(start, min(start + ROWS_AT_ONCE, n)), list(items.hidden))
        if len(places):
            index.add_with_ids(units(items.take(places)), places)
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
