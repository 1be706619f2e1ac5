"""The approximate engine: probes find candidates in an inverted file (faiss), and the exact score ranks them.

`probing.py` says what the probes are. 341,479 GloVe vectors of 100 dimensions, sets of 5 words, top 100,
as `python -m benchmarks --case engines` compares them, on two cores:

=========================  ==========  ============  ==========
index                      build, s    a set, ms     recall
=========================  ==========  ============  ==========
faiss IVF, coded           4.6         0.09          .983
hnswlib, M 16, ef 200      35.9        0.20          1.000
usearch, connectivity 16   58.4        0.37          1.000
=========================  ==========  ============  ==========

The graphs find a little more, but take seven times as long to build and more; an inverted file can be built when it is
first needed. Of many items it holds four bits a number, of what differs from the middle of their list: a sixth of the
memory, and half the time of faiss's own part. Half as many candidates again make up for what they blur. Where that is
not enough, as around items that are nearly the same, it looks further (`_are_settled`); where it is mostly not enough,
the vectors themselves are held instead (`_tells_apart`).
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol

import numpy as np

from softset.errors import FileError, MissingExtraError
from softset.io.registry import cache_folder
from softset.query.plan import Plan
from softset.search.exact import Items, Ranking, best_of, exact_scores, search
from softset.search.probing import SPARE, probes_of, units
from softset.search.thresholds import FEW, NOT_FINITE, rank_among

__all__ = ["FURTHER", "Approximate"]

TRAINING_ROWS_PER_LIST = 64  # faiss wants at least 39
SHARE_PROBED, LEAST_PROBED = 24, 24  # one list in so many is read for a probe, but at least
LEAST_PROBED_OF_FEW = 32  # where there are few items: reading more takes little
ONE_BY_ONE = 11  # faiss's way of reading lists for each probe by itself: a tenth quicker, for one as for twenty
AT_ONCE = 128  # codes of the sample that are looked at together: a tenth quicker than with 32, which is usual
FURTHER = 1.5  # times as many candidates as are wanted, where vectors are coded
LEAST_WANTED, LEAST_BEST = 64, 32  # of them, so that there are enough to see whether codes tell them apart
MOST_LATE = 1 / 8  # of the best may come in the last third; with more, so many times as many are looked at:
MUCH_FURTHER = 4
TRIED, NEIGHBOURS_TRIED = 256, 2_048  # items, and neighbours of each, that show whether codes are good enough
TOLD_APART = 0.98  # of the nearest are to be among the candidates
SAMPLE_FURTHER = 4  # times as many of the sample as the border's rank
LEAST_DIMENSIONS = 64  # below, a product with the sample is as quick, and codes are coarse
LEAST_SAMPLE = 2_048  # items of the sample that are not hidden: enough to learn codes from
ROWS_AT_ONCE = 65_536
LEAST_WORTH_KEEPING = 10_000  # items; below, making the index takes less than reading the file
MOST_KEPT = 16
VERSION = 3


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

    def thresholds(self, directions: np.ndarray) -> np.ndarray:
        """Return where the sets of some directions (k, d) end."""


class Approximate:
    """An inverted file over the directions of all items that a search may return.

    It is made at the first use, and kept in the user's cache for items that lie in files.

    Attributes:
        index: faiss's own, which knows items by their places.
        coded: whether it holds codes, or the vectors themselves.
    """

    def __init__(self, items: Searched) -> None:
        self._items = items
        self.index = _kept(items, "items", len(items) - len(items.hidden)) or _built(items)
        self.coded = not isinstance(self.index, _faiss().IndexIVFFlat)
        least = LEAST_PROBED if len(items) > FEW else LEAST_PROBED_OF_FEW
        self.index.nprobe = max(least, self.index.nlist // SHARE_PROBED)
        if self.coded:
            self.index.implem = ONE_BY_ONE

    # Where sets end

    def thresholds(self, directions: np.ndarray) -> np.ndarray:
        """Return where the sets of some directions (k, d) end, which is nearly always where the exact engine says.

        Of many items it asks the same sample: codes find the nearest of them, and their own cosines tell the border.
        """
        if self._sample is None:
            return self._items.thresholds(directions)
        index, rows, rank = self._sample
        found = []
        for probe in directions.astype(np.float32):  # one by one: faiss 1.9 knows larger blocks for one probe only
            near = index.search(probe[None], SAMPLE_FURTHER * rank)[1][0]
            found.append(np.partition(rows.take(near, axis=0) @ probe, -rank)[-rank])
        return np.array([min(max(float(border), 0.0), 1.0) for border in found])

    @cached_property
    def _sample(self) -> tuple[Any, np.ndarray, int] | None:
        """An index of the sample, its rows, and the border's rank; None where codes do not help, or few are left."""
        if not self.coded or self._items.dimensions < LEAST_DIMENSIONS:
            return None
        rows, places = self._items.sample
        _finite(rows)  # whatever the index was made of
        if self._items.hidden:
            rows = rows[~np.isin(places, list(self._items.hidden))]
        m, d = rows.shape
        rank = rank_among(m, len(self._items) - len(self._items.hidden)) if m else 0
        if m < LEAST_SAMPLE or SAMPLE_FURTHER * rank > m:
            return None
        index = _kept(self._items, "sample", m)
        if index is None:
            index = _made(d, f"PQ{d}x4fs_{AT_ONCE}", rows)
            index.add(rows)
            _keep(self._items, "sample", index)
        return index, rows, rank

    # What belongs to them

    def search(self, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]]) -> list[Ranking]:
        """Return about the `top` items of each plan: those of the candidates, by their exact scores."""
        return [self._search(plan, top, out) for plan, out in zip(plans, excluded, strict=True)]

    def _search(self, plan: Plan, top: int, excluded: frozenset[int]) -> Ranking:
        if not self.index.ntotal:
            return Ranking.empty()
        others = excluded - self._items.hidden  # what is hidden is not in the index
        probes, wanted = probes_of(plan, top + len(others), "search exactly (without --approximate)")
        for count in self._rounds(wanted):
            found = self.index.search(probes, count)[1]
            places = _candidates(found, others)
            if len(places) < min(top, len(self._items) - len(excluded)):  # not enough near by: look at all
                return search(self._items, [plan], top, excluded=[excluded])[0]
            scores = exact_scores(self._items, plan, places)
            best = best_of(places, scores, max(top, LEAST_BEST))
            if (len(probes) == 1 and not self.coded) or _are_settled(found, places, scores, best):
                break
        return Ranking(best.indices[:top], best.scores[:top])

    def _rounds(self, wanted: int) -> Iterator[int]:
        """Yield how many neighbours of a probe to look at; most often, the first number will do."""
        count = int(FURTHER * max(wanted, LEAST_WANTED)) if self.coded else wanted
        while count < self.index.ntotal:
            yield count
            count *= MUCH_FURTHER
        yield self.index.ntotal


def _candidates(found: np.ndarray, others: frozenset[int]) -> np.ndarray:
    """Return the places that were found for some probes (k, count), without others; of one probe in their order.

    >>> _candidates(np.array([[7, 3, 5, -1]]), frozenset({3})).tolist()
    [7, 5]
    """
    kept = found[np.isin(found, [-1, *others], invert=True)]  # -1 stands for nothing
    return kept if len(found) == 1 else np.unique(kept)


def _are_settled(found: np.ndarray, places: np.ndarray, scores: np.ndarray, best: Ranking) -> bool:
    """Tell whether the best were found first: if some of them came late, there may be more of them further out.

    Items that are nearly the same have the same codes, so that a third of the best come in the last third; of words,
    less than a tenth do. What is best in sets that are joined need not be nearest to either.
    """
    first = int(found.shape[1] / FURTHER)
    late = scores[first:] if len(found) == 1 else scores[np.isin(places, found[:, :first], invert=True)]
    return int(np.count_nonzero(late >= best.scores[-1:])) <= MOST_LATE * len(best.scores)


# Making and keeping indexes


def _made(d: int, kind: str, rows: np.ndarray) -> Any:
    """Return an index without items, of cosines, that has learnt from rows (m, d).

    On one thread: codes are learnt number by number, and threads that meet thousands of times wait each time for
    whoever else uses the machine. Few rows and few rounds are enough to learn 16 levels.
    """
    faiss = _faiss()
    index = faiss.index_factory(d, kind, faiss.METRIC_INNER_PRODUCT)
    if hasattr(index, "pq"):
        index.pq.cp.niter, index.pq.cp.max_points_per_centroid = 8, 64
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        index.train(rows)
    finally:
        faiss.omp_set_num_threads(threads)
    return index


def _built(items: Searched) -> Any:
    """Return a new index of all items that are not hidden, and keep it."""
    d = items.dimensions
    index = _filled(items, f"PQ{d}x4fsr") if len(items) > FEW else None
    if index is None or not _tells_apart(items, index):
        index = _filled(items, "Flat")
    if len(items) >= LEAST_WORTH_KEEPING:
        _keep(items, "items", index)
    return index


def _filled(items: Searched, kind: str) -> Any:
    n = len(items)
    lists = int(max(1, min(n**0.5, n / TRAINING_ROWS_PER_LIST)))
    sample = np.random.default_rng(0).choice(n, min(n, TRAINING_ROWS_PER_LIST * lists), replace=False)
    index = _made(items.dimensions, f"IVF{lists},{kind}", _finite(units(items.take(np.sort(sample)))))
    for start in range(0, n, ROWS_AT_ONCE):
        places = np.setdiff1d(np.arange(start, min(start + ROWS_AT_ONCE, n)), list(items.hidden))
        if len(places):
            index.add_with_ids(_finite(units(items.take(places))), places)
    return index


def _tells_apart(items: Searched, index: Any) -> bool:
    """Tell whether the nearest of many neighbours of some items are among the first by their codes."""
    places = np.random.default_rng(1).choice(len(items), TRIED, replace=False)
    probes, shares = units(items.take(np.sort(places))), []
    index.nprobe = LEAST_PROBED
    for probe, found in zip(probes, index.search(probes, min(NEIGHBOURS_TRIED, index.ntotal))[1], strict=True):
        cosines = np.nan_to_num(items.cosines(probe[None].astype(np.float64), found[found >= 0])[0])
        nearest = np.argsort(-cosines, kind="stable")
        shares += [np.mean(nearest[:top] < FURTHER * (top + SPARE)) for top in (10, 100) if len(nearest) >= top]
    return bool(shares) and bool(np.mean(shares) >= TOLD_APART)


def _finite(rows: np.ndarray) -> np.ndarray:
    if not np.isfinite(rows).all():
        raise FileError(NOT_FINITE)
    return rows


def _file(items: Searched, what: str) -> Path:
    key = sha256(f"{items.checksum}|{items.signature}|{what}|{VERSION}".encode()).hexdigest()
    return cache_folder("approximate") / f"{key}.faiss"


def _kept(items: Searched, what: str, count: int) -> Any:
    """Return the index of so many rows that an earlier process has kept, or None."""
    faiss, file = _faiss(), _file(items, what)
    if not items.checksum or not file.is_file():
        return None
    try:
        index = faiss.read_index(str(file))
    except RuntimeError:  # cut short, or of another version: it is made again
        return None
    with suppress(OSError):
        os.utime(file)
    return index if (index.d, index.ntotal) == (items.dimensions, count) else None


def _keep(items: Searched, what: str, index: Any) -> None:
    """Write an index beside its place and rename it, if the items have a checksum to know it by.

    Of all that are kept, only the latest stay.
    """
    if not items.checksum:
        return
    file = _file(items, what)
    with suppress(OSError, RuntimeError):  # faiss's; a cache that cannot be written is no reason to fail
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(f".{token_hex(8)}")
        try:  # not as bytes, which `write_atomically` wants: that would be the index twice more in memory
            _faiss().write_index(index, str(beside))
            beside.replace(file)
        finally:
            beside.unlink(missing_ok=True)
        by_age = sorted(file.parent.glob("*.faiss"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in by_age[MOST_KEPT:]:
            old.unlink(missing_ok=True)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("approximate search needs faiss: pip install 'softset[approximate]'") from None
    return faiss
