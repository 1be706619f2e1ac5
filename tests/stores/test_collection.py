"""Searches in a store in memory: rounds, limits, fresh results and bounded memory."""

import numpy as np
import pytest

from softset.errors import InputError
from softset.stores import Neighbours, Record
from softset.stores.collection import GROWTH, NEIGHBOURS, StoreCollection
from tests.stores.exact_store import ROWS, D, ExactStore, N

EXACT = StoreCollection(ExactStore())


class CoarseStore(ExactStore):
    """A store that finds a fifth of the items only in the second round of a search, and a fifth in the third."""

    def neighbours(self, ids: np.ndarray, cosines: np.ndarray, count: int) -> Neighbours:
        hidden = [count < NEIGHBOURS * GROWTH, count < N]
        known = np.array([not (int(name[1:]) % 5 < 2 and hidden[int(name[1:]) % 5]) for name in ids])
        return super().neighbours(ids[known], cosines[known], count)


@pytest.mark.parametrize("query", ["{i1, i2} | {i3}", "{i1, i2} & {i9}"])
def test_a_search_continues_until_a_round_changes_nothing(query: str) -> None:
    expected = StoreCollection(ExactStore()).find(query, 20, logic="graded")
    store = CoarseStore()
    result = StoreCollection(store).find(query, 20, logic="graded")
    assert [hit.id for hit in result] == [hit.id for hit in expected]
    assert store.searches == [200, 800, N]


def test_a_search_stops_when_a_round_changes_nothing() -> None:
    store = ExactStore()
    StoreCollection(store).find("{i1, i2} | {i3}", 20, logic="graded")
    assert store.searches == [200, 800]


def test_rounds_end_at_the_limit_of_the_database() -> None:
    store = CoarseStore()
    store.max_neighbours = 300
    StoreCollection(store).find("{i1, i2} | {i3}", 20, logic="graded")
    assert store.searches == [200, 300]


def test_a_round_is_not_repeated_at_the_limit_of_the_database() -> None:
    store = CoarseStore()
    store.max_neighbours = NEIGHBOURS
    StoreCollection(store).find("{i1, i2} | {i3}", 20, logic="graded")
    assert store.searches == [NEIGHBOURS]


@pytest.mark.parametrize("query", ["i5", "{i5} | {i6}"])
def test_a_filter_may_let_one_item_through(query: str) -> None:
    assert [hit.id for hit in StoreCollection(ExactStore()).find(query, filter="n < 1")] == ["i0"]


def test_one_centroid_needs_one_search() -> None:
    store = ExactStore()
    collection = StoreCollection(store)
    assert len(collection.background.units) == N
    store.fetched.clear()
    assert len(collection.find("{i1, i2}", 10)) == 10
    assert store.searches == [20] and len(store.fetched) == 10 + 2 + 8  # the examples are among them
    assert len(collection.find("{i1, i2}", 10, filter="n < 500")) == 10
    assert store.searches == [20, 20]


@pytest.mark.parametrize("top", [1, 10, 300])
@pytest.mark.parametrize("query", ["{i1, i2}", "{i1} | {i5, i9}", "{i1, i2} - {i3}"])
def test_results_do_not_depend_on_the_number_of_requested_items(query: str, top: int) -> None:
    everything = EXACT.find(query, N)
    assert [hit.id for hit in StoreCollection(ExactStore()).find(query, top)] == [hit.id for hit in everything][:top]


def test_a_filtered_collection_is_another_object() -> None:
    collection = StoreCollection(ExactStore())
    plan = collection.plan("{i1} | {i2}", logic="graded")
    filtered = collection.filtered("n < 30")
    (ranking,) = filtered.rank([plan], 50, excluded=[frozenset()])
    assert {filtered.item(index).id for index in ranking.indices} == {f"i{row}" for row in range(30)}
    assert len(collection.find("i1", 50)) == 50


def test_results_follow_changes_of_the_store() -> None:
    store = ExactStore()
    collection = StoreCollection(store)
    before = collection.find("i1", 1)[0]
    store.add([Record(before.id, "new", {}, -ROWS[1])])
    assert collection.find("i1", 1)[0].id != before.id
    store.add([Record("i1", "", {}, ROWS[7])])
    assert collection.find("i1", 1, include_examples=True)[0].membership == pytest.approx(
        collection.find("i7", 1, include_examples=True)[0].membership
    )
    assert np.array_equal(collection.resolve("i1").vector, ROWS[7])
    store.remove([before.id])
    assert len(collection) == N - 1 and f"|items:{N - 1}|" in collection.find("i2", 1).signature


def test_nothing_is_kept_between_searches() -> None:
    collection = StoreCollection(ExactStore())
    for row in range(5):
        collection.find(f"{{i{row}}} | {{i{row + 100}}}", 50, logic="graded")
        collection.membership(f"i{row}", ["i3"])
    assert not collection._records and not collection._indices


def test_a_search_of_many_queries_keeps_only_examples_and_results(monkeypatch) -> None:
    sizes: list[int] = []
    keep = StoreCollection._keep

    def measured(self: StoreCollection, indices: set[int]) -> None:
        keep(self, indices)
        sizes.append(len(self._records))

    monkeypatch.setattr(StoreCollection, "_keep", measured)
    queries = [f"{{i{row}}} | {{i{row + 100}}}" for row in range(20)]
    results = StoreCollection(ExactStore()).find_many(queries, 5, logic="graded", explain=True)
    assert max(sizes) <= 40 + 5 * len(queries)
    expected = EXACT.find_many(queries, 5, logic="graded", explain=True)
    assert [[hit.id for hit in result] for result in results] == [[hit.id for hit in result] for result in expected]


def test_a_projection_shows_the_items_of_its_search() -> None:
    projection = StoreCollection(ExactStore()).map("{i1, i2} | {i3}", 5)
    assert [point.name for point in projection.items] == [hit.id for hit in EXACT.find("{i1, i2} | {i3}", 5)]


def test_examples_are_excluded_unless_they_are_requested() -> None:
    assert "i1" not in {hit.id for hit in EXACT.find("{i1, i2}", 30)}
    assert [hit.id for hit in EXACT.find("i1", 1, include_examples=True)] == ["i1"]


def test_vectors_cannot_be_listed() -> None:
    with pytest.raises(InputError, match="a store cannot list items 0 to 5 in order"):
        EXACT.rows(0, 5)
    with pytest.raises(InputError, match="returns only nearest neighbours"):
        _ = EXACT.norms
    assert EXACT.dimensions == D


class UnindexedStore(ExactStore):
    """A store whose index has no items yet, so that no search finds any."""

    def neighbours(self, ids: np.ndarray, cosines: np.ndarray, count: int) -> Neighbours:
        return super().neighbours(ids[:0], cosines[:0], count)


def test_a_store_that_finds_no_neighbours_gives_no_results() -> None:
    assert len(StoreCollection(UnindexedStore()).find("i1")) == 0


@pytest.mark.parametrize(("new", "rounds"), [(1, 2), (2, 3)])
def test_a_search_stops_if_a_round_changes_at_most_one_percent(new: int, rounds: int) -> None:
    """The store finds one or two of the 100 best items only in the second round."""
    best = [hit.id for hit in EXACT.find("{i1, i2} | {i3}", 100, logic="graded")]

    class LateStore(ExactStore):
        def neighbours(self, ids: np.ndarray, cosines: np.ndarray, count: int) -> Neighbours:
            late = np.isin(ids, best[:new]) if count == NEIGHBOURS + 6 else np.zeros(len(ids), dtype=bool)
            return super().neighbours(ids[~late], cosines[~late], count)

    store = LateStore()
    StoreCollection(store).find("{i1, i2} | {i3}", 100, logic="graded")
    assert len(store.searches) == rounds
