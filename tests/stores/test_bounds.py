"""The threshold algorithm over an exact store: the results of an exact search, with fewer fetched items."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.stores import Neighbours, Record
from softset.stores.bounds import ScoreBounds
from softset.stores.collection import StoreCollection

RANDOM = np.random.default_rng(5)
N, D = 2_000, 12
ROWS = (RANDOM.standard_normal((N, D)) + 2 * RANDOM.standard_normal((12, D))[RANDOM.integers(0, 12, N)]).astype("f4")
NAMES = [f"i{at}" for at in range(N)]


class Exact:
    """A store that looks at everything, and counts what it gives."""

    name, encoder, dimensions, max_neighbours = "exact", "none", D, N

    def __init__(self) -> None:
        self.units = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
        self.fetched = 0

    def __len__(self) -> int:
        return N

    def nearest(self, probes: np.ndarray, count: int, where: str | None) -> list[Neighbours]:
        cosines = probes @ self.units.T
        if where:
            cosines[:, int(where) :] = -2
        kept = count if where is None else min(count, int(where))
        orders = np.argsort(-cosines, axis=1)[:, :kept]
        return [Neighbours([NAMES[at] for at in order], row[order]) for order, row in zip(orders, cosines, strict=True)]

    def fetch(self, ids: Sequence[str]) -> list[Record]:
        known = [int(one[1:]) for one in ids if one in NAMES]
        self.fetched += len(known)
        return [Record(NAMES[at], "", {}, ROWS[at]) for at in known]


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> Collection:
    return Collection.create(tmp_path_factory.mktemp("local") / "c", [Item(one, "") for one in NAMES], vectors=ROWS)


LEAF = st.lists(st.integers(0, N - 1), min_size=1, max_size=3).map(
    lambda some: "{" + ", ".join(f"i{at}" for at in some) + "}"
)


FORMS = ["{0}", "{0} | {1}", "{0} & {1}", "{0} - {1}", "{0} & ~{1} | {2}", "({0} | {1}) - {2}", "{0} & {1} & {2}"]


@settings(max_examples=60, deadline=None)
@given(left=LEAF, right=LEAF, third=LEAF, form=st.sampled_from(FORMS))
def test_bounds_find_the_same_items_as_an_exact_search(local: Collection, left: str, right: str, third: str, form: str):
    assume(len({left, right, third}) == 3)
    query = form.format(left, right, third)
    expected, found = local.find(query, 20), StoreCollection(Exact()).find(query, 20)
    assert [hit.membership for hit in found] == pytest.approx([hit.membership for hit in expected], abs=1e-5)


def test_bounds_fetch_few_items() -> None:
    store = Exact()
    StoreCollection(store).find("{i1, i2} | {i3}", 20)
    assert store.fetched < N / 5


def test_a_set_that_is_positive_and_negated_has_no_bounds(local: Collection) -> None:
    plans = [local.plan(query) for query in ("({i1} | {i2}) - {i1}", "({i1} | {i2}) - {i3}", "~(~{i1} | {i2})")]
    assert [ScoreBounds.apply_to(plan) for plan in plans] == [False, True, True]
    expected = local.find("({i1} | {i2}) - {i1}", 5)
    assert [hit.id for hit in StoreCollection(Exact()).find("({i1} | {i2}) - {i1}", 5)] == [hit.id for hit in expected]


def test_a_short_neighbour_list_contains_all_items() -> None:
    stored = StoreCollection(Exact(), where="30")
    found = stored.find("{i1, i2} - {i50}", 100)
    assert len(found) == 28 and all(int(hit.id[1:]) < 30 for hit in found)
