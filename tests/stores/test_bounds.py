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
from tests.query.reference import score_vectors
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
    names = [name for leaf in (left, right, third) for name in leaf.strip("{}").split(", ")]
    assume(len(set(names)) == len(names))  # an example on both sides of BUT NOT is refused
    query = form.format(left, right, third)
    expected, result = local.find(query, 20), StoreCollection(ExactStore()).find(query, 20)
    assert [hit.membership for hit in result] == pytest.approx([hit.membership for hit in expected], abs=1e-6)


def test_bounds_fetch_few_items() -> None:
    store = ExactStore()
    collection = StoreCollection(store)
    assert len(collection.background.units) == N  # whose items are fetched once
    store.fetched.clear()
    collection.find("{i1, i2} | {i3}", 20)
    assert len(store.fetched) <= N / 5


def test_a_set_that_is_positive_and_negated_has_no_bounds(local: Collection) -> None:
    both = "{i1} & {i3} | {i2} - {i1}"
    plans = [local.plan(query) for query in (both, "({i1} | {i2}) - {i3}", "~(~{i1} | {i2})")]
    assert [ScoreBounds.apply_to(plan) for plan in plans] == [False, True, True]
    expected, result = local.find(both, 5), StoreCollection(ExactStore()).find(both, 5)
    assert [hit.id for hit in result] == [hit.id for hit in expected]


def test_bounds_hold_for_items_opposite_to_a_negated_set() -> None:
    """The best item has the cosine -1 with the negated set, and comes last in the neighbour list."""
    angles = np.radians([0, 90, *np.linspace(-20, 20, 60), -25])
    rows = np.stack([np.cos(angles), np.sin(angles), np.zeros(63)], axis=1)
    rows[62] = [np.cos(angles[62]), np.sin(angles[62]), 0]
    rows[1] = -rows[62]
    rows = np.concatenate([rows, np.random.default_rng(0).standard_normal((500, 3))]).astype("f4")
    query, items = "i0 -- i1", [Item(f"i{row}", "") for row in range(len(rows))]
    store = ExactStore(rows)
    plan = StoreCollection(store).plan(query)
    bounds = ScoreBounds(plan)
    upper = bounds.compute(store.nearest(bounds.directions, len(rows), None), len(rows))
    scores = dict(zip([item.id for item in items], score_vectors(plan, rows), strict=True))
    assert all(bound >= scores[name] for name, bound in zip(upper.ids, upper.scores, strict=True))
    assert upper.scores[upper.ids.index("i62")] == pytest.approx(scores["i62"], abs=0.01)  # the bound is nearly reached


def test_a_short_neighbour_list_contains_all_items() -> None:
    store = ExactStore()
    result = StoreCollection(store).find("{i1, i2} - {i50}", 100, filter="n < 30")
    assert len(result) == 28 and all(int(hit.id[1:]) < 30 for hit in result)
    assert len(store.searches) == 1  # its list has all items


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
    assert bounds.compute([short, full], 2).others == -np.inf
    assert bounds.compute([full, short], 2).others == -np.inf
    farthest = Neighbours(["i6", "i7"], np.array([0.0, -1.0]))
    assert bounds.compute([farthest, farthest], 2).others > -np.inf  # others may have the cosine -1, too
    both_full = bounds.compute([full, full], 2)
    assert -np.inf < both_full.others <= both_full.scores.min() and both_full.ids == ["i4", "i5"]


def test_an_item_in_no_list_is_at_most_as_near_as_the_last_of_each(local: Collection) -> None:
    bounds = ScoreBounds(local.plan("{i1} | {i2}"))
    left, right = Neighbours(["i4", "i5"], np.array([0.5, 0.4])), Neighbours(["i6", "i4"], np.array([0.9, 0.8]))
    upper = bounds.compute([left, right], 2)
    assert upper.ids[0] == "i6" and upper.ids[-1] == "i5"
    assert upper.others == upper.scores[-1] < upper.scores[0]  # i5 is the last of the left list, and not in the right
