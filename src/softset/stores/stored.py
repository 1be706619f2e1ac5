"""A collection in a store, asked by set queries: probes find candidates, and the exact score ranks them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.collections.id_collection import IdCollection
from softset.collections.segment import Embed
from softset.errors import InputError
from softset.query.plan import Plan, Resolved
from softset.query.thresholds import expected_size
from softset.search.approximate import probes_of
from softset.search.exact import Ranking, rescore
from softset.search.results import Item
from softset.stores.base import Neighbours, Record, Store
from softset.stores.threshold import Bounds

__all__ = ["Stored"]

SPARE, NEIGHBOURS = 8, 200  # neighbours beyond those of a direction, and of each probe
FURTHER = 4  # times as many neighbours in the next round
SETTLED = 0.01  # of the best items may be new in a round that is the last
ADVICE = "a store has only neighbours to offer; search a local collection exactly"


class Stored(IdCollection):
    """The items of a store.

    Args:
        store: the engine's collection.
        embed: what reads the texts of queries; ids alone are known without it.
        where: a filter in the engine's own words, such as 'metadata["year"] > 2000' for Milvus.
    """

    checksum, engine = "", "probes"

    def __init__(self, store: Store, *, embed: Embed | None = None, where: str | None = None) -> None:
        self._store, self._embed, self._where = store, embed, where
        self._records: list[Record] = []  # what was fetched: a record's place is where it came
        self._places: dict[str, int] = {}
        self._lists: dict[bytes, Neighbours] = {}  # of the directions that were looked at last
        self._size = len(store)

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return self._store.dimensions

    @property
    def encoder(self) -> str:
        """The name of what reads texts."""
        return self._store.encoder

    @property
    def signature(self) -> str:
        """What results depend on."""
        limits = f"|where:{self._where}" if self._where else ""
        facts = f"items:{len(self)}|d:{self.dimensions}|encoder:{self._store.encoder}"
        return f"store:{self._store.name}|{facts}{limits}"

    def __len__(self) -> int:
        return self._size

    @property
    def norms(self) -> np.ndarray:
        """Refuse: a store's vectors are not looked at one by one."""
        raise InputError(ADVICE)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Refuse: a store's vectors are not looked at one by one."""
        raise InputError(f"items {start} to {stop} were asked for in their order, but {ADVICE}")

    def take(self, places: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors of items that were fetched."""
        return np.stack([self._records[place].vector for place in places])

    def item(self, place: int) -> Item:
        """Return what is known of an item that was fetched."""
        record = self._records[place]
        return Item(record.id, record.text, record.metadata)

    def _fetched(self, ids: Iterable[str]) -> list[int]:
        """Return the places of items, fetched if they are not here; an id that is not there is passed over."""
        wanted = list(dict.fromkeys(ids))
        for record in self._store.fetch([one for one in wanted if one not in self._places]):
            self._places[record.id] = len(self._records)
            self._records.append(record)
        return [self._places[one] for one in wanted if one in self._places]

    def resolve_ids(self, ids: Sequence[str]) -> dict[str, Resolved]:
        """Return those of some ids that items have; every query comes here first."""
        if not len(self):
            raise InputError(f"the collection {self._store.name!r} is empty: index items first")
        found = [(place, self._records[place]) for place in self._fetched(ids)]
        return {one.id: Resolved(one.vector, "the item with this id", (place,)) for place, one in found}

    def thresholds(self, directions: np.ndarray) -> np.ndarray:
        """Return where sets end: the cosine of the ceil(sqrt(n))-th neighbour, or the last that the engine gives."""
        count = min(expected_size(len(self)), self._store.max_neighbours)
        rows = unit_rows(directions, np.float32)
        found = self._store.nearest(rows, count, None)
        self._lists = {row.tobytes(): one for row, one in zip(rows, found, strict=True)}
        return np.clip([float(one.cosines[-1]) if len(one.cosines) else 0.0 for one in found], 0.0, 1.0)

    def _nearest(self, directions: np.ndarray, count: int) -> list[Neighbours]:
        """Return the neighbours of directions that the filter lets through; without one, `borders` may have them."""
        rows = unit_rows(directions, np.float32)
        known = [self._lists.get(row.tobytes()) for row in rows] if self._where is None else []
        if known and all(one is not None and len(one.ids) >= count for one in known):
            return [Neighbours(one.ids[:count], one.cosines[:count]) for one in known if one is not None]
        return self._store.nearest(rows, count, self._where)

    def rank(
        self, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]], stop: int | None = None
    ) -> list[Ranking]:
        """Return about the best items of each plan: those of the neighbours of its probes, by their exact scores."""
        if stop is not None:
            raise InputError("a search in a store cannot be restricted: give a filter (--where)")
        return [self._best(plan, top, out) for plan, out in zip(plans, excluded, strict=True)]

    @property
    def approximate_index(self) -> Any:
        """Refuse: an engine has an index of its own."""
        raise InputError("a store is searched through its own index: leave out --approximate")

    def recall(self, *_: Any, **__: Any) -> float:
        """Refuse: what an exact search would find is not known of a store."""
        raise InputError(f"recall cannot be measured here, for {ADVICE}")

    def _best(self, plan: Plan, top: int, excluded: frozenset[int]) -> Ranking:
        probes, needed = probes_of(plan, ADVICE), top + len(excluded)
        wanted = needed + SPARE if plan.centroid is not None else max(NEIGHBOURS, 2 * needed)
        if Bounds.apply_to(plan):
            return self._by_bounds(plan, top, excluded, wanted)
        return self._by_probes(plan, top, excluded, probes, wanted)

    def _by_bounds(self, plan: Plan, top: int, excluded: frozenset[int], wanted: int) -> Ranking:
        """Look further until nothing further can be among the best, and fetch only what can."""
        bounds, best = Bounds(plan), Ranking.empty()
        known = 0 if self._where else expected_size(len(self))  # neighbours, of the search for borders
        for count in self._rounds(max(wanted, known)):
            found = bounds.of(self._nearest(bounds.directions, count), count)
            best, looked = Ranking.empty(), 0
            while looked < len(found.ids) and not _is_full(best, top, found.scores[looked]):
                looked = max(wanted, 2 * looked)
                best = self._scored(plan, top, excluded, found.ids[:looked])
            if found.others < 0 or _is_full(best, top, found.others):  # below 0: there are no others
                break
        return best

    def _by_probes(self, plan: Plan, top: int, excluded: frozenset[int], probes: np.ndarray, wanted: int) -> Ranking:
        """Look further until that changes nothing: what is left of a difference may be far out."""
        best = Ranking.empty()
        for count in self._rounds(wanted):
            lists = self._store.nearest(probes, count, self._where)
            found = self._scored(plan, top, excluded, [one for neighbours in lists for one in neighbours.ids])
            fresh, best = len(np.setdiff1d(found.indices, best.indices)), found
            if fresh <= SETTLED * top:
                break
        return best

    def _rounds(self, count: int) -> Iterator[int]:
        """Yield how many neighbours to look at in each round: as many as the engine gives in the last."""
        limit = min(self._store.max_neighbours, len(self))
        while count < limit:
            yield count
            count *= FURTHER
        yield limit

    def _scored(self, plan: Plan, top: int, excluded: frozenset[int], ids: Iterable[str]) -> Ranking:
        """Return the best of some items, which are fetched."""
        kept = np.array(sorted(set(self._fetched(ids)) - excluded), dtype=np.int64)
        return rescore(self, plan, kept, top) if len(kept) else Ranking.empty()


def _is_full(best: Ranking, top: int, score: float) -> bool:
    """Tell whether a ranking has as many items as are wanted, and none gives way to an item of some score."""
    return len(best.indices) >= top and float(best.scores[-1]) >= score
