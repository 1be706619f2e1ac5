"""Items are added to a store in blocks; unchanged items are skipped, and addresses name stores."""

from dataclasses import replace

import numpy as np
import pytest

from softset.collections.items import Item
from softset.errors import InputError, NotFiniteError, ShapeError
from softset.stores import addresses, create_store
from softset.stores.ingest import ITEMS_PER_BLOCK, IngestReport, ingest
from tests.stores.exact_store import ExactStore

N = 2 * ITEMS_PER_BLOCK + 300
ITEMS = [Item(f"x{row}", f"text {row}", {"n": row}) for row in range(N)]


def embed(texts: list[str]) -> np.ndarray:
    """Return a vector for texts that begin with "text", and zeros for others."""
    return np.array([[1.0, len(text)] if text.startswith("text") else [0.0, 0.0] for text in texts], dtype=np.float32)


@pytest.fixture
def store() -> ExactStore:
    return ExactStore(np.zeros((0, 2), dtype=np.float32))


def test_all_items_are_added_and_the_index_is_built(store: ExactStore) -> None:
    assert ingest(store, ITEMS, embed) == IngestReport(N, 0, 0)
    assert len(store) == N and store.finished == 1
    assert (store.records["x7"].text, store.records["x7"].metadata) == ("text 7", {"n": 7})
    assert store.records["x7"].vector.tolist() == [1.0, 6.0]


def test_unchanged_items_are_not_encoded_again(store: ExactStore) -> None:
    encoded: list[str] = []

    def counting(texts: list[str]) -> np.ndarray:
        encoded.extend(texts)
        return embed(texts)

    ingest(store, ITEMS[:500], embed)
    changed = [
        replace(ITEMS[0], text="text"),
        replace(ITEMS[1], metadata={}),
        replace(ITEMS[2], text="none"),
        *ITEMS[3:],
    ]
    assert ingest(store, changed, counting) == IngestReport(N - 498, 497, 1)
    assert encoded[:3] == ["text", "text 1", "none"] and len(encoded) == N - 497
    assert "x2" not in store.records and store.records["x1"].metadata == {} and len(store) == N - 1
    assert ingest(store, changed[3:], counting) == IngestReport(0, N - 3, 0)


def test_a_new_item_without_a_vector_is_not_added(store: ExactStore) -> None:
    assert ingest(store, [ITEMS[0], Item("none", "none")], embed) == IngestReport(1, 0, 1)
    assert list(store.records) == ["x0"]


def test_bad_items_are_errors(store: ExactStore) -> None:
    with pytest.raises(InputError, match="two items have the id 'x0': ids must be unique"):
        ingest(store, [*ITEMS, ITEMS[0]], embed)
    with pytest.raises(InputError, match="no item has a vector"):
        ingest(ExactStore(np.zeros((0, 2))), [Item("a", "none")], embed)
    with pytest.raises(NotFiniteError, match="not finite for a text after 'x0'"):
        ingest(ExactStore(np.zeros((0, 2))), ITEMS, lambda texts: np.full((len(texts), 2), np.nan))


class NamedStore(ExactStore):
    """A store that remembers how it was opened."""

    @classmethod
    def create(cls, uri: str, name: str, dimensions: int, encoder: str) -> "NamedStore":
        store = cls(np.zeros((0, 2)))
        store.opened = (uri, name, dimensions, encoder)
        return store


def test_an_address_names_the_class_the_database_and_the_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(addresses.STORES, "named", NamedStore)
    store = create_store("named://http://host:1/#a#books", 2, "none")
    assert store.opened == ("http://host:1/#a", "books", 2, "none")
    with pytest.raises(ShapeError, match="'books' has vectors of 2 dimensions, but these have 3"):
        create_store("named://x#books", 3, "none")
    with pytest.raises(InputError, match="'books' was made with none, not with words"):
        create_store("named://x#books", 2, "words")
    for address in ("named://#books", "named://x#", "named://x", "other://x#books"):
        with pytest.raises(InputError, match="is not the address of a store"):
            create_store(address, 2, "none")
