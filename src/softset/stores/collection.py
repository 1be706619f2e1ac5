"""Set queries over a store: neighbour searches find candidates, and exact scores rank them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any, Unpack

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.collections.id_collection import IdCollection
from softset.collections.segment import Embed
from softset.errors import InputError
from softset.query.logic import Logic
from softset.query.plan import Plan, Resolved
from softset.query.thresholds import expected_size
from softset.search.approximate import probes_of
from softset.search.exact import Ranking, rescore
from softset.search.find import FindOptions, SearchableSource
from softset.search.projection_2d import Projection2D
from softset.search.results import Item
from softset.stores.base import Neighbours, Record, Store
from softset.stores.bounds import ScoreBounds

SPARE, NEIGHBOURS = 8, 200  # additional neighbours of a single centroid; minimum neighbours of each probe otherwise
GROWTH = 4  # factor between the neighbours of two rounds
CONVERGED = 0.01  # a search stops if a round changes at most this share of the best items
ADVICE = "a store returns only nearest neighbours: for an exact search, use a collection in a folder"


class StoreCollection(IdCollection):
    """The items of a store, searched by set queries.

    Args:
        store: the collection in a database.
        embed: function from texts to vectors (n, d); without it, examples must be ids.
        where: filter in the database's syntax, such as 'metadata["year"] > 2000' for Milvus.
    """

    checksum, engine = "", "probes"

    def __init__(
        self, store: Store, *, embed: Embed | None = None, where: str | None = None, _size: int | None = None
    ) -> None:
        self._store, self._embed, self._where = store, embed, where
        self._size = _size  # None except in the object of one search
        self._records: dict[int, Record] = {}  # fetched by this search, by index
        self._indices: dict[str, int] = {}
        self._next_index = count()
        self._lists: dict[bytes, Neighbours] = {}  # neighbours from the last computation of thresholds

    def _search(self) -> "StoreCollection":
        """Return an object for one search: it fetches each item once, and nothing is kept for the next search."""
        if self._size is not None:
            return self
        return StoreCollection(self._store, embed=self._embed, where=self._where, _size=len(self._store))

    def preprocessed(self, preprocessing: str | None, logic: Logic) -> SearchableSource:
        """Return the object that runs a search; a preprocessing is an error."""
        super().preprocessed(preprocessing, logic)
        return self._search()

    def map(self, query: str, top: int = 10, **options: Unpack[FindOptions]) -> Projection2D:
        """Return the sets of a query and its best items in two dimensions; `FindOptions` describes the options."""
        return super(StoreCollection, self._search()).map(query, top, **options)

    @property
    def dimensions(self) -> int:
        """The number of dimensions d."""
        return self._store.dimensions

    @property
    def encoder(self) -> str:
        """The name of the encoder."""
        return self._store.encoder

    @property
    def signature(self) -> str:
        """A description of everything that results depend on."""
        where = f"|where:{self._where}" if self._where else ""
        return f"store:{self._store.name}|items:{len(self)}|d:{self.dimensions}|encoder:{self._store.encoder}{where}"

    def __len__(self) -> int:
        return len(self._store) if self._size is None else self._size

    @property
    def norms(self) -> np.ndarray:
        """Not available: raises InputError."""
        raise InputError(ADVICE)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Raise InputError: a store has no order of items."""
        raise InputError(f"a store cannot list items {start} to {stop} in order: {ADVICE}")

    def take(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors (k, d) of fetched items."""
        return np.stack([self._records[index].vector for index in indices])

    def item(self, index: int) -> Item:
        """Return a fetched item."""
        record = self._records[index]
        return Item(record.id, record.text, record.metadata)

    def _fetch(self, ids: Iterable[str]) -> list[int]:
        """Return the indices of items, fetching those that are missing; unknown ids are ignored."""
        distinct = list(dict.fromkeys(ids))
        for record in self._store.fetch([item_id for item_id in distinct if item_id not in self._indices]):
            index = next(self._next_index)
            self._indices[record.id], self._records[index] = index, record
        return [self._indices[item_id] for item_id in distinct if item_id in self._indices]

    def _keep(self, indices: set[int]) -> None:
        """Forget all fetched items except these."""
        self._records = {index: record for index, record in self._records.items() if index in indices}
        self._indices = {record.id: index for index, record in self._records.items()}

    def resolve_ids(self, ids: Sequence[str]) -> dict[str, Resolved]:
        """Return the vectors of those ids that items have."""
        if self._size is None:
            return self._search().resolve_ids(ids)
        if not self._size:
            raise InputError(f"the collection {self._store.name!r} is empty: index items first")
        records = [(index, self._records[index]) for index in self._fetch(ids)]
        return {record.id: Resolved(record.vector, "the item with this id", (index,)) for index, record in records}

    def thresholds(self, directions: np.ndarray) -> np.ndarray:
        """Return the cosine (k,) of the ceil(sqrt(n))-th neighbour of each direction (k, d)."""
        size = min(expected_size(len(self)), self._store.max_neighbours)
        rows = unit_rows(directions, np.float32)
        lists = self._store.nearest(rows, size, None)
        self._lists = {row.tobytes(): neighbours for row, neighbours in zip(rows, lists, strict=True)}
        return np.clip([float(each.cosines[-1]) if len(each.cosines) else 0.0 for each in lists], 0.0, 1.0)

    def _nearest(self, directions: np.ndarray, size: int) -> list[Neighbours]:
        """Return the neighbours that match the filter; without a filter, `thresholds` may have found them already."""
        rows = unit_rows(directions, np.float32)
        known = [self._lists.get(row.tobytes()) for row in rows] if self._where is None else []
        if known and all(each is not None and len(each.ids) >= size for each in known):
            return [Neighbours(each.ids[:size], each.cosines[:size]) for each in known if each is not None]
        return self._store.nearest(rows, size, self._where)

    def rank(
        self, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]], stop: int | None = None
    ) -> list[Ranking]:
        """Return the (approximately) best items of each plan, ranked by their exact scores."""
        if stop is not None:
            raise InputError("restrict_vocab is for word vectors: in a store, use a filter (--where)")
        rankings, kept = [], set(self._records)  # the examples
        for plan, indices in zip(plans, excluded, strict=True):
            rankings.append(self._best(plan, top, indices))
            kept.update(rankings[-1].indices.tolist())
            self._keep(kept)
        return rankings

    @property
    def approximate_index(self) -> Any:
        """Not available: raises InputError."""
        raise InputError("a store is searched through its own index: leave out --approximate")

    def recall(self, *_: Any, **__: Any) -> float:
        """Raise InputError: a store has no exact search to compare with."""
        raise InputError(f"recall cannot be measured here: {ADVICE}")

    def _best(self, plan: Plan, top: int, excluded: frozenset[int]) -> Ranking:
        probes, needed = probes_of(plan, ADVICE), top + len(excluded)
        first = needed + SPARE if plan.centroid is not None else max(NEIGHBOURS, 2 * needed)
        if ScoreBounds.apply_to(plan):
            return self._search_with_bounds(plan, top, excluded, first)
        return self._search_until_stable(plan, top, excluded, probes, first)

    def _search_with_bounds(self, plan: Plan, top: int, excluded: frozenset[int], first: int) -> Ranking:
        """Search until no further item can be among the best; fetch only items that can be."""
        bounds, best = ScoreBounds(plan), Ranking.empty()
        known = 0 if self._where else expected_size(len(self))  # the neighbours that `thresholds` has found
        for size in self._rounds(max(first, known)):
            upper = bounds.compute(self._nearest(bounds.directions, size), size)
            best, scored = Ranking.empty(), 0
            while scored < len(upper.ids) and not _is_final(best, top, upper.scores[scored]):
                scored = max(first, 2 * scored)
                best = self._score(plan, top, excluded, upper.ids[:scored])
            if upper.others < 0 or _is_final(best, top, upper.others):  # below 0: there are no other items
                break
        return best

    def _search_until_stable(
        self, plan: Plan, top: int, excluded: frozenset[int], probes: np.ndarray, first: int
    ) -> Ranking:
        """Search with more neighbours until the best items hardly change."""
        best = Ranking.empty()
        for size in self._rounds(first):
            lists = self._store.nearest(probes, size, self._where)
            ranking = self._score(plan, top, excluded, [name for neighbours in lists for name in neighbours.ids])
            new, best = len(np.setdiff1d(ranking.indices, best.indices)), ranking
            if new <= CONVERGED * top:
                break
        return best

    def _rounds(self, size: int) -> Iterator[int]:
        """Yield the number of neighbours of each round, up to the limit of the database."""
        limit = min(self._store.max_neighbours, len(self))
        while size < limit:
            yield size
            size *= GROWTH
        yield limit

    def _score(self, plan: Plan, top: int, excluded: frozenset[int], ids: Iterable[str]) -> Ranking:
        """Fetch items and return the best of them."""
        indices = np.array(sorted(set(self._fetch(ids)) - excluded), dtype=np.int64)
        return rescore(self, plan, indices, top) if len(indices) else Ranking.empty()


def _is_final(best: Ranking, top: int, score: float) -> bool:
    """Tell whether a ranking is full and an item with this score would not enter it."""
    return len(best.indices) >= top and float(best.scores[-1]) >= score
