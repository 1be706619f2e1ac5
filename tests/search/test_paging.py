"""Pages of results, and near duplicates."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softset
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.errors import InputError
from softset.search import paging
from softset.stores.collection import StoreCollection
from tests.stores.exact_store import ROWS, ExactStore

WORDS = softset.load_words()
QUERY = "{red, blue} & {apple, peach}"


@pytest.mark.parametrize("distinct", [None, 0.6])
def test_pages_continue_each_other(distinct: float | None) -> None:
    whole = WORDS.find(QUERY, top=12, distinct=distinct)
    pages = [WORDS.find(QUERY, top=5, offset=offset, distinct=distinct) for offset in (0, 5, 10)]
    assert [hit for page in pages for hit in page][:12] == list(whole)
    assert len(pages[2]) == 5


def test_a_page_after_the_last_item_is_empty(tmp_path: Path) -> None:
    books = Collection.create(tmp_path / "c.softset", [Item("a", ""), Item("b", "")], vectors=np.eye(2) + 0.5)
    assert [hit.id for hit in books.find("id:a", offset=0)] == ["b"]
    for distinct in (None, 0.95):
        assert len(books.find("id:a", offset=1, distinct=distinct)) == 0


def near_duplicates(direction: np.ndarray, distinct: float, count: int) -> list[str]:
    """Return the hits of a search for i7 in the rows, by comparing every item with those before it."""
    units = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    kept: list[int] = []
    for index in np.argsort(-(units @ direction)):
        if index != 7 and all(units[index] @ units[other] < distinct for other in kept):
            kept.append(index)
    return [f"i{index}" for index in kept[:count]]


@pytest.mark.parametrize("kind", ["collection", "store", "approximate"])
def test_near_duplicates_of_better_hits_are_left_out(tmp_path: Path, kind: str) -> None:
    items = [Item(f"i{n}", "") for n in range(len(ROWS))]
    collection = Collection.create(tmp_path / "c.softset", items, vectors=ROWS)
    source: Any = StoreCollection(ExactStore()) if kind == "store" else collection
    if kind == "approximate":
        pytest.importorskip("faiss")
    options: Any = {"approximate": True} if kind == "approximate" else {}
    result = source.find("id:i7", top=6, distinct=0.8, **options)
    plain = [hit.id for hit in source.find("id:i7", top=6, **options)]
    expected = near_duplicates(result.plan.centroid.direction, 0.8, 6)
    assert [hit.id for hit in result] == expected != plain
    several = source.find_many(["id:i7", "id:i9"], top=6, distinct=0.8, **options)
    assert [hit.id for hit in several[0]] == expected and len(several[1]) == 6


def test_many_copies_do_not_shorten_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More items are ranked until the page is full, up to a limit."""
    vectors = np.concatenate([np.tile([1.0, 0.1, 0], (90, 1)), [[1, 0.5, 0.1], [1, 0.1, 0.9]]])
    items = [Item(f"i{n}", "") for n in range(92)]
    books = Collection.create(tmp_path / "c.softset", items, vectors=vectors)
    query = books.set(vector=[1.0, 0, 0])
    assert [hit.id for hit in books.find(query, top=3, distinct=0.99)] == ["i0", "i90", "i91"]
    monkeypatch.setattr(paging, "MAX_COMPARED", 50)
    assert [hit.id for hit in books.find(query, top=3, distinct=0.99)] == ["i0"]


def test_percentiles_count_the_items_that_were_left_out() -> None:
    by_id = {hit.id: hit.percentile for hit in WORDS.find("car", top=40)}
    result = WORDS.find("car", top=4, offset=2, distinct=0.6)
    assert [hit.percentile for hit in result] == [by_id[hit.id] for hit in result]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"offset": -1}, "offset must be a whole number, 0 or more, but -1"),
        ({"offset": 1.5}, "offset must be a whole number, 0 or more, but 1.5"),
        ({"offset": True}, "offset must be a whole number"),
        ({"top": True}, "top must be a positive whole number, but True"),
        ({"min_score": "0.3"}, "min_score must be a number from 0 to 1, but '0.3'"),
        ({"min_score": float("nan")}, "min_score must be a number from 0 to 1, but nan"),
        ({"min_score": 2}, "min_score must be a number from 0 to 1, but 2"),
        ({"distinct": 0}, "distinct must be a cosine above 0 and at most 1, such as 0.95, but 0"),
        ({"distinct": 1.5}, "distinct must be a cosine"),
        ({"distinct": float("nan")}, "distinct must be a cosine"),
        ({"ofset": 1}, "there is no option 'ofset'; did you mean 'offset'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        WORDS.find("red", **options)


def test_numbers_of_numpy_are_numbers() -> None:
    result = WORDS.find(QUERY, top=np.int64(2), offset=np.int32(1), min_score=np.float32(0.1), distinct=np.float64(1))
    assert list(result) == list(WORDS.find(QUERY, top=3))[1:]
