"""The background of a store: frozen by the indexing that reaches 1,000 items, in a companion collection."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import softset
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.stores import Record, Store, create_store
from softset.stores import background as module
from softset.stores.background import freeze_background, read_background
from softset.stores.collection import StoreCollection
from softset.stores.ingest import ingest
from tests.jobs.conftest import QUIET
from tests.stores.exact_store import ROWS, D, ExactStore

pytestmark = QUIET
ITEMS = [Item(f"i{row}", f"text {row}") for row in range(1_200)]


def embed(texts: list[str]) -> np.ndarray:
    return np.stack([ROWS[int(text.split()[1])] if text.startswith("text ") else 0 * ROWS[0] for text in texts])


@pytest.fixture(params=["memory", "milvus", "lance"])
def store(request, tmp_path: Path) -> Store:
    if request.param == "memory":
        return ExactStore(np.zeros((0, D), "f4"))
    if find_spec({"milvus": "pymilvus", "lance": "lancedb"}[request.param]) is None:
        pytest.skip(f"needs the extra {request.param}")
    return create_store(f"{request.param}://{tmp_path / 'store.db'}#books", D, "none")


def test_a_background_is_frozen_once_1000_items_are_in(store: Store, tmp_path: Path) -> None:
    ingest(store, ITEMS[:500], embed)
    assert read_background(store) is None and store.companion() is None
    assert "no encoder" in StoreCollection(store).find("i1").notes[0]
    ingest(store, ITEMS[500:1_000], embed)
    local = Collection.create(tmp_path / "c", ITEMS[:1_000], vectors=ROWS[:1_000])
    frozen = StoreCollection(store)
    assert frozen.background.units == pytest.approx(local.background.units, abs=1e-6)
    assert frozen.background.reach == local.background.reach and not frozen.find("i1").notes
    before = frozen.membership("{i1, i2} - i5", ["i3", "i4"])
    ingest(store, ITEMS[1_000:], embed)
    store.remove([f"i{row}" for row in range(100, 400)])
    after = StoreCollection(store).membership("{i1, i2} - i5", ["i3", "i4"])
    assert [item.membership for item in after] == pytest.approx([item.membership for item in before], abs=1e-9)
    assert len(StoreCollection(store).background.units) == 1_000


def test_an_interrupted_background_is_written_again(store: Store, monkeypatch) -> None:
    ingest(store, ITEMS, embed)
    companion = store.companion()
    ids = list(companion.ids())
    assert sorted(ids) == sorted(item.id for item in ITEMS)
    companion.remove(ids[:10])
    companion.add([Record("i1999", companion.fetch(ids[10:11])[0].text, {}, ROWS[1_999])])
    assert read_background(store) is None
    assert ingest(store, ITEMS, embed).unchanged == len(ITEMS)
    assert len(read_background(store)) == len(ITEMS) and "i1999" not in set(store.companion().ids())


def test_items_without_a_background(store: Store, tmp_path: Path) -> None:
    """A store of an earlier version, or one whose items were added by other means."""
    store.add([Record(item.id, item.text, {}, row) for item, row in zip(ITEMS, ROWS, strict=False)])
    store.add([Record("zero", "", {}, 0 * ROWS[0])])
    local = Collection.create(tmp_path / "c", ITEMS, vectors=ROWS[: len(ITEMS)], lexical=False)
    collection = StoreCollection(store)
    result, expected = collection.find("{i1, i2}", 5), local.find("{i1, i2}", 5)
    assert "has no stored background" in result.notes[0] and store.companion() is None
    assert [hit.membership for hit in result] == pytest.approx([hit.membership for hit in expected], abs=1e-6)
    freeze_background(store)
    assert len(read_background(store)) == len(ITEMS) and not StoreCollection(store).find("i1").notes


def test_a_new_collection_does_not_take_the_background_of_an_older_one(tmp_path: Path) -> None:
    for kind, extra in (("milvus", "pymilvus"), ("lance", "lancedb")):
        if find_spec(extra) is None:
            continue
        address = f"{kind}://{tmp_path / kind}.db#books"
        store = create_store(address, D, "none")
        ingest(store, ITEMS, embed)
        if kind == "lance":
            store._database.drop_table("books")
        else:
            store._client.drop_collection("books")
        again = create_store(address, D, "none")
        assert len(again) == 0 and again.companion() is None


def test_the_background_is_read_once() -> None:
    store = ExactStore()
    collection = StoreCollection(store)
    collection.find("i1")
    store.fetched.clear()
    collection.find("i2")
    assert len(store.fetched) < 100


def test_few_texts_are_measured_against_sentences(tmp_path: Path) -> None:
    encoder, texts = softset.load_encoder("words"), ["red wine", "a calm sea", "a garden"]
    items = [Item(str(row), text) for row, text in enumerate(texts)]
    store = ExactStore(np.zeros((0, 300), "f4"))
    ingest(store, items, encoder.embed)
    local = Collection.create(tmp_path / "c", items, encoder=encoder, lexical=False)
    result, expected = StoreCollection(store, embed=encoder.embed).find("ocean"), local.find("ocean")
    assert result.notes == expected.notes and "general English sentences" in result.notes[0]
    assert [hit.membership for hit in result] == pytest.approx([hit.membership for hit in expected], abs=1e-6)


def test_large_samples_are_fetched_in_batches(monkeypatch) -> None:
    store = ExactStore()
    expected = module.sample_items(store)
    monkeypatch.setattr(module, "ITEMS_PER_CALL", 7)
    monkeypatch.setattr(module.background, "SIZE", 100)
    store.fetched.clear()
    assert np.array_equal(module.sample_items(store), expected[:100]) and len(store.fetched) == 105
