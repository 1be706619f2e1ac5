"""The threshold algorithm over an exact store: the results of an exact search, with fewer fetched items."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.stores import Neighbours
from softset.stores.bounds import ROUNDING, ScoreBounds
from softset.stores.collection import StoreCollection
from tests.stores.exact_store import ROWS, ExactStore, N


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> Collection:
    items = [Item(name, "") for name in ExactStore()]
    return Collection.create(tmp_path_factory.mktemp("local") / "c", items, vectors=ROWS)


LEAF = st.lists(st.integers(0, N - 1), min_size=1, max_size=3).map(
    lambda rows: "{" + ", ".join(f"i{row}" for row in rows) + "}"
)
FORMS = ["{0}", "{0} | {1}", "{0} & {1}", "{0} - {1}", "{0} & ~{1} | {2}", "({0} | {1}) - {2}", "{0} & {1} & {2}"]


@settings(max_examples=60, deadline=None)
@given(left=LEAF, right=LEAF, third=LEAF, form=st.sampled_from(FORMS))
def test_bounds_find_the_same_items_as_an_exact_search(local: Collection, left: str, right: str, third: str, form: str):
    assume(len({left, right, third}) == 3)
    query = form.format(left, right, third)
    expected, result = local.find(query, 20), StoreCollection(ExactStore()).find(query, 20)
    assert [hit.membership for hit in result] == pytest.approx([hit.membership for hit in expected], abs=1e-5)


def test_bounds_fetch_few_items() -> None:
    store = ExactStore()
    StoreCollection(store).find("{i1, i2} | {i3}", 20)
    assert len(store.fetched) < N / 5


def test_a_set_that_is_positive_and_negated_has_no_bounds(local: Collection) -> None:
    plans = [local.plan(query) for query in ("({i1} | {i2}) - {i1}", "({i1} | {i2}) - {i3}", "~(~{i1} | {i2})")]
    assert [ScoreBounds.apply_to(plan) for plan in plans] == [False, True, True]
    expected = local.find("({i1} | {i2}) - {i1}", 5)
    result = StoreCollection(ExactStore()).find("({i1} | {i2}) - {i1}", 5)
    assert [hit.id for hit in result] == [hit.id for hit in expected]


def test_a_short_neighbour_list_contains_all_items() -> None:
    store = ExactStore()
    result = StoreCollection(store, where="30").find("{i1, i2} - {i50}", 100)
    assert len(result) == 28 and all(int(hit.id[1:]) < 30 for hit in result)
    assert len(store.searches) == 2  # one for the thresholds; the first list of the search has all items already


class RoundedStore(ExactStore):
    """A store whose cosines are too small, by nearly as much as the search tolerates."""

    def neighbours(self, ids: np.ndarray, cosines: np.ndarray, count: int) -> Neighbours:
        shifts = {"i30": 0.8 * ROUNDING}
        return super().neighbours(ids, cosines - np.array([shifts.get(name, 0.0) for name in ids]), count)


def test_cosines_of_a_database_may_be_rounded() -> None:
    """The nearest item comes last in the neighbour list, behind 29 items that are 0.5 ROUNDING farther away."""
    angles = np.full(31, np.arccos(0.9))
    angles[30] = np.arccos(0.9 + 0.5 * ROUNDING)
    angles[0] = 0.0
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float64)
    result = StoreCollection(RoundedStore(np.concatenate([rows, -rows]))).find("i0", 1)
    assert [hit.id for hit in result] == ["i30"]


def test_no_item_is_outside_of_the_lists_if_one_list_has_all_items(local: Collection) -> None:
    bounds = ScoreBounds(local.plan("{i1} | {i2}"))
    short, full = Neighbours(["i3"], np.array([0.5])), Neighbours(["i4", "i5"], np.array([0.4, 0.3]))
    assert bounds.compute([short, full], 2).others == -1
    assert bounds.compute([full, short], 2).others == -1
    both_full = bounds.compute([full, full], 2)
    assert 0 < both_full.others <= both_full.scores.min() and both_full.ids == ["i4", "i5"]
