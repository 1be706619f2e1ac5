"""Set queries over a store: neighbour searches find candidates, and exact scores rank them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.collections.background import Sample, make_background, text_background
from softset.collections.embedder import Embed
from softset.collections.id_collection import IdCollection
from softset.collections.schema import with_dates
from softset.errors import InputError
from softset.query.background import Background
from softset.query.field_types import FieldType
from softset.query.filters import check_filter
from softset.query.logic import Logic
from softset.query.parsed import Query
from softset.query.plan import Plan
from softset.query.resolution import Resolved
from softset.search.approximate import probes_of
from softset.search.exact import Ranking, rescore
from softset.search.filtered import ItemFilter
from softset.search.find import SearchableSource
from softset.search.options import FindOptions
from softset.search.projection_2d import Projection2D
from softset.search.results import Item
from softset.stores.background import read_background, sample_items
from softset.stores.base import Record, Store
from softset.stores.bounds import ScoreBounds

if TYPE_CHECKING:
    from softset.query.filter_parser import Condition

SPARE, NEIGHBOURS = 8, 200  # additional neighbours of a single centroid; minimum neighbours of each probe otherwise
GROWTH = 4  # factor between the neighbours of two rounds
CONVERGED = 0.01  # a search stops if a round changes at most this share of the best items
NOT_STORED_NOTE = (
    "this collection has no stored background: memberships are measured against its present items until items are "
    "indexed again (unchanged items are skipped)"
)
ADVICE = "a store returns only nearest neighbours: for an exact search, use a collection in a folder"


class StoreCollection(IdCollection):
    """The items of a store, searched by set queries.

    Args:
        store: the collection in a database.
        embed: function from texts to vectors (n, d); without it, examples must be ids.
    """

    checksum, engine = "", "probes"

    def __init__(
        self,
        store: Store,
        *,
        embed: Embed | None = None,
        _size: int | None = None,
        _parent: "StoreCollection | None" = None,
    ) -> None:
        self._store, self._embed = store, embed
        self._condition: Condition | None = None  # the filter of one search
        self._size = _size  # None except in the object of one search
        self._records: dict[int, Record] = {}  # fetched by this search, by index
        self._indices: dict[str, int] = {}
        self._next_index = count()
        self._parent = _parent

    def _search(self) -> "StoreCollection":
        """Return an object for one search: it fetches each item once, and nothing is kept for the next search."""
        if self._size is not None:
            return self
        return StoreCollection(self._store, embed=self._embed, _size=len(self._store), _parent=self)

    def _text_encoder(self) -> Embed | None:
        return self._embed

    @property
    def fields(self) -> dict[str, FieldType]:
        """The types of the metadata fields, by name."""
        return dict(self._store.fields)

    def filtered(self, condition: ItemFilter) -> "StoreCollection":
        """Return the object that searches the items that match a condition; the database selects them."""
        if self._size is None:
            return self._search().filtered(condition)
        if not isinstance(condition, str):
            wanted = "a condition such as 'year > 1900' as its filter"
            raise InputError(f"a store takes {wanted}, not a function or an array")
        self._condition = check_filter(condition, {"id": "text", "text": "text", **self.fields})
        return self

    def preprocessed(self, preprocessing: str | None, logic: Logic) -> SearchableSource:
        """Return the object that runs a search; a preprocessing is an error."""
        super().preprocessed(preprocessing, logic)
        return self._search()

    def map(self, query: Query, top: int = 10, **options: Unpack[FindOptions]) -> Projection2D:
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
        return f"store:{self._store.name}|items:{len(self)}|d:{self.dimensions}|encoder:{self._store.encoder}"

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
        return with_dates(Item(record.id, record.text, record.metadata), self._store.fields)

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

    @cached_property
    def background(self) -> Background:
        """The background that scores are compared with: the stored one, or one of the present items.

        It is read once, so that memberships do not change while this object is used.
        """
        if self._parent is not None:
            return self._parent.background
        rows = read_background(self._store)
        if rows is not None:
            return text_background("items", Sample(rows))
        return make_background(
            len(self._store), lambda: Sample(sample_items(self._store)), self._embed, NOT_STORED_NOTE
        )

    def rank(
        self, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]], stop: int | None = None
    ) -> list[Ranking]:
        """Return the (approximately) best items of each plan, ranked by their exact scores."""
        if stop is not None:
            raise InputError("restrict_vocab is for word vectors: in a store, use a filter (--filter)")
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
        directions = unit_rows(bounds.directions, np.float32)
        for size in self._rounds(first):
            upper = bounds.compute(self._store.nearest(directions, size, self._condition), size)
            best, scored = Ranking.empty(), 0
            while scored < len(upper.ids) and not _is_final(best, top, upper.scores[scored]):
                scored = max(first, 2 * scored)
                best = self._score(plan, top, excluded, upper.ids[:scored])
            if upper.others == -np.inf or _is_final(best, top, upper.others):
                break
        return best

    def _search_until_stable(
        self, plan: Plan, top: int, excluded: frozenset[int], probes: np.ndarray, first: int
    ) -> Ranking:
        """Search with more neighbours until the best items barely change."""
        best = Ranking.empty()
        for size in self._rounds(first):
            lists = self._store.nearest(probes, size, self._condition)
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
    """Return whether a ranking is full and an item with this score would not enter it."""
    return len(best.indices) >= top and float(best.scores[-1]) >= score
