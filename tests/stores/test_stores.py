"""Milvus and LanceDB: the same results as a local collection, and clear errors."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date, datetime
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from softset.collections.collection import Collection
from softset.collections.embedder import Embedder, text_encoder
from softset.collections.items import Item
from softset.errors import FileError, InputError, QueryError, ShapeError, UnknownWordError
from softset.stores import Record, Store, create_store, lance, milvus, open_store
from softset.stores.collection import StoreCollection
from softset.stores.ingest import ingest
from tests.jobs.conftest import QUIET

pytestmark = QUIET
RANDOM = np.random.default_rng(3)
N, D = 1_500, 16
VECTORS = (RANDOM.standard_normal((N, D)) + 2 * RANDOM.standard_normal((15, D))[RANDOM.integers(0, 15, N)]).astype("f4")
ITEMS = [Item(f"i{row}", f"text {row}", {"n": row}) for row in range(N)]
QUERIES = ["{i1, i2, i3}", "{i1, i2} & {i50, i60}", "{i1, i2} | {i70}", "{i1, i2} - {i100, i200}", "~i5 & {i9, i11}"]


def embed_known(texts: list[str]) -> np.ndarray:
    """An encoder that knows the texts of the items, and nothing else."""
    return np.stack(
        [VECTORS[int(text.split()[1])] if text.startswith("text ") else np.zeros(D, "f4") for text in texts]
    )


@pytest.fixture(params=["milvus", "lance"])
def address(request, tmp_path: Path) -> str:
    if find_spec({"milvus": "pymilvus", "lance": "lancedb"}[request.param]) is None:
        pytest.skip(f"needs the extra {request.param}")
    return f"{request.param}://{tmp_path / 'store.db'}#books"


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    store = create_store(address, D, "none")
    assert ingest(store, ITEMS, embed_known) == (N, 0, 0)
    return store


@pytest.mark.parametrize("logic", ["logistic", "lattice", "graded"])
def test_a_store_gives_the_same_results_as_a_folder(store: Store, tmp_path: Path, logic: str) -> None:
    local = Collection.create(tmp_path / "c", ITEMS, vectors=VECTORS)
    stored = StoreCollection(store)
    options = {"logic": logic, "explain": True, **({"alpha": 0.9} if logic == "lattice" else {})}
    for query in QUERIES:
        expected, result = local.find(query, 10, **options), stored.find(query, 10, **options)
        same = {hit.id for hit in expected} & {hit.id for hit in result}
        assert len(same) >= 9, query
        memberships = {hit.id: hit.membership for hit in expected}
        for hit in result:
            if hit.id in same:
                assert hit.membership == pytest.approx(memberships[hit.id], abs=1e-6 if logic == "logistic" else 1e-5)
                assert hit.text == f"text {hit.id[1:]}" and hit.metadata == {"n": int(hit.id[1:])}
        assert "|engine:probes|" in result.signature


def test_a_filter_selects_the_same_items_as_in_a_folder(store: Store, tmp_path: Path) -> None:
    local, stored = Collection.create(tmp_path / "c", ITEMS, vectors=VECTORS), StoreCollection(store)
    for condition in ("n < 100", "n in (8, 9, 10, 12) or id == 'i700'", "not (n >= 50) and n != 7.0 and n > 2.5"):
        expected = local.find("{i1, i2} | {i9}", 200, filter=condition, include_examples=True)
        result = stored.find("{i1, i2} | {i9}", 200, filter=condition, include_examples=True)
        assert {hit.id for hit in result} == {hit.id for hit in expected} and len(result) > 3
        assert [hit.id for hit in result[:3]] == [hit.id for hit in expected[:3]]
        assert "|filter:n" in result.signature
    assert [hit.id for hit in stored.find("i1", 3, filter="n == 1234")] == ["i1234"]
    with pytest.raises(QueryError, match=r"there is no field 'm'; .*\n  m > 3\n  \^"):
        stored.find("i1", filter="m > 3")
    with pytest.raises(QueryError, match="the field 'n' holds whole numbers, not texts"):
        stored.find("i1", filter="n > 'x'")
    with pytest.raises(InputError, match="a store takes a condition"):
        stored.find("i1", filter=lambda item: bool(item.text))


METADATA: list[dict[str, object]] = [
    {
        "name": 'it\'s "odd" \\ n',
        "Page count": 3,
        "day": date(2020, 1, 31),
        "good": True,
        "at": datetime(2020, 1, 31, 12),
    },
    {"name": "plain\nline", "Page count": 2.5, "day": date(1999, 12, 31), "good": False, "tags": ["a"]},
    {"name": None, "Page count": None},
    {"name": "' or 1 == 1 or '", "at": datetime(2021, 5, 6, 7, 8, 9)},
    {"name": '" or id != "', "Page count": -7, "good": True, "at": datetime(2020, 1, 31, 12)},
]
CONDITIONS = [
    'name == "it\'s \\"odd\\" \\\\ n"', r"name == 'plain\nline'", r"name == '\' or 1 == 1 or \''",
    r'name == "\" or id != \""',
    "name != 'x'", "not (name == 'x')", "name is null", "name is not null", "`Page count` > 2", "`Page count` < 0",
    "`Page count` == 2.5", "not (`Page count` > 2)", "day >= 2020-01-01", "day == '1999-12-31'", "day in (2020-01-31)",
    "at > 2020-06-01", "at <= '2020-01-31T12:00'", "good == true", "good != true", "not good == true", "tags is null",
    "name in ('x', 'plain\\nline') or good == true", "id in ('0', '4') and not (text == 'text 4')", "name > 'a'",
]  # fmt: skip


def test_every_condition_means_the_same_in_all_engines(address: str, tmp_path: Path) -> None:
    items = [Item(str(n), f"text {n}", values) for n, values in enumerate(METADATA)]
    local = Collection.create(tmp_path / "c", items, vectors=VECTORS[: len(items)])
    store = create_store(address, D, "none")
    assert ingest(store, items, embed_known) == (5, 0, 0)
    assert ingest(create_store(address, D, "none"), items, embed_known) == (0, 5, 0)
    stored = open_store(address)
    assert stored.fields == {name: kind for name, kind in local.fields.items() if name in stored.fields}
    for condition in CONDITIONS:
        if condition.startswith("tags") and "tags" not in stored.fields:
            continue
        expected = {hit.id for hit in local.find("{0, 1} | {2, 3, 4}", 10, filter=condition, include_examples=True)}
        result = stored.find("{0, 1} | {2, 3, 4}", 10, filter=condition, include_examples=True)
        assert {hit.id for hit in result} == expected, condition
    assert stored.find("0", 1, include_examples=True)[0].metadata["day"] == date(2020, 1, 31)
    with pytest.raises(InputError, match="the field 'name' holds texts, but the item 'x' has 5"):
        ingest(store, [Item("x", "text 9", {"name": 5})], embed_known)


def test_complements_cannot_be_searched_in_a_store(store: Store) -> None:
    for query in ("~i1", "i1 | ~i2"):
        with pytest.raises(InputError, match=r"nearly every item belongs.*a store returns only nearest neighbours"):
            StoreCollection(store).find(query)
    with pytest.raises(UnknownWordError, match="'nothing' is not an id of these items"):
        StoreCollection(store).find("nothing")
    with pytest.raises(InputError, match="restrict_vocab is for word vectors"):
        StoreCollection(store).find("i1", restrict_vocab=5)


def test_interrupted_indexing_can_be_repeated(address: str) -> None:
    store, calls = create_store(address, D, "none"), []

    def breaks(texts: list[str]) -> np.ndarray:
        calls.append(len(texts))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return embed_known(texts)

    with pytest.raises(KeyboardInterrupt):
        ingest(store, ITEMS, breaks)
    assert len(store) == 1_000
    assert ingest(create_store(address, D, "none"), ITEMS, embed_known) == (500, 1_000, 0)
    changed = [*ITEMS[:-1], Item(ITEMS[-1].id, "text 0", {"n": 1})]
    assert ingest(store, changed, embed_known) == (1, N - 1, 0)
    assert store.fetch([ITEMS[-1].id])[0].text == "text 0" and len(store) == N


def test_fetched_records_equal_the_added_ones(store: Store) -> None:
    odd = Record('it\'s "odd" \u00e9', "line\nbreak \U0001f642", {"a": [1, None, {"b": "c"}]}, VECTORS[0] * 3)
    store.add([odd])
    back = {record.id: record for record in store.fetch([odd.id, "i1", "missing"])}
    assert set(back) == {odd.id, "i1"}
    assert (back[odd.id].text, back[odd.id].metadata) == (odd.text, odd.metadata)
    assert np.allclose(back[odd.id].vector, odd.vector, rtol=1e-5) and len(store) == N + 1


def test_each_of_many_ids_is_fetched_and_removed_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milvus, "RECORDS_PER_CALL", 4)
    monkeypatch.setattr(lance, "IDS_PER_CALL", 4)
    ids = [item.id for item in ITEMS[:9]]
    assert sorted(record.id for record in store.fetch(ids)) == ids
    store.remove(ids)
    assert len(store) == N - 9 and not store.fetch(ids)


@pytest.mark.parametrize("name", ["a\x00b", "\x1b[31mred", "line\nbreak\r", "\\u0041", 'q"', "\x0b\x0c\x08", "\u2028"])
def test_ids_with_control_characters(store: Store, name: str) -> None:
    store.add([Record(name, "", {}, VECTORS[0])])
    assert [record.id for record in store.fetch([name, "i1"])] in ([name, "i1"], ["i1", name])
    store.remove([name])
    assert not store.fetch([name]) and len(store) == N


def test_a_store_with_other_dimensions_or_encoder_is_an_error(address: str, store: Store) -> None:
    with pytest.raises(ShapeError, match="has vectors of 16 dimensions, but these have 17"):
        create_store(address, 17, "none")
    with pytest.raises(InputError, match="was made with none, not with other"):
        create_store(address, D, "other")
    with pytest.raises(InputError, match=r"there is no collection 'nothing' at .*; existing: books"):
        open_store(address.replace("#books", "#nothing"))
    with pytest.raises(InputError, match="two items have the id 'i0'"):
        ingest(store, [*ITEMS[:3], ITEMS[0]], embed_known)
    assert len(store) == N


@pytest.mark.parametrize(
    "address", ["books.softset", "C://x", "milvus://", "milvus://file", "lance://#x", "other://a#b", "milvus://a#"]
)
def test_addresses(address: str) -> None:
    with pytest.raises(InputError, match="is not the address of a store"):
        open_store(address)


def test_an_unreachable_server_is_an_error() -> None:
    pytest.importorskip("pymilvus")
    begun = time.monotonic()
    with pytest.raises(InputError, match=r"Milvus reports at http://127.0.0.1:1: Fail connecting"):
        open_store("milvus://http://127.0.0.1:1#books")
    assert time.monotonic() - begun < 30


def test_a_collection_that_softset_did_not_make_is_an_error(tmp_path: Path) -> None:
    pymilvus = pytest.importorskip("pymilvus")
    client = pymilvus.MilvusClient(str(tmp_path / "x.db"))
    client.create_collection("theirs", dimension=4)
    client.close()
    with pytest.raises(FileError, match="was not created by softset"):
        open_store(f"milvus://{tmp_path / 'x.db'}#theirs")


def test_a_killed_command_can_be_repeated(address: str, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"line {n} about the sea and ship {n}\n" for n in range(4_000)))
    kind, _, location = address.partition("://")
    uri = location.partition("#")[0]
    command = [sys.executable, "-m", "softset", "index", str(lines), "--out", f"{kind}://{uri}#books"]
    command += ["--model", "words"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not Path(uri).exists():
        assert time.monotonic() < deadline and running.poll() is None
        time.sleep(0.02)
    time.sleep(0.7)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    again = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert again.returncode == 0 and "4,000 in all" in again.stdout, again.stderr
    result = subprocess.run(
        [sys.executable, "-m", "softset", "find", "--collection", address, "{sea, ship}", "--top", "3"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.count("about the sea") == 3


def test_texts_in_queries_are_encoded(address: str, tmp_path: Path) -> None:
    embed, name = text_encoder("words")
    texts = ["ships and the sea", "a war at sea", "cooking with wine", "a garden of roses"]
    items = [Item(str(row), text) for row, text in enumerate(texts)]
    ingest(create_store(address, 300, name), items, embed)
    local = Collection.create(tmp_path / "c", items, encoder=Embedder(name, embed), lexical=False)
    result, expected = open_store(address).find("{sea, ship} - war"), local.find("{sea, ship} - war")
    assert [hit.id for hit in result] == [hit.id for hit in expected]
    assert [hit.membership for hit in result] == pytest.approx([hit.membership for hit in expected], abs=1e-6)


def test_an_item_that_loses_its_vector_is_removed(address: str, store: Store) -> None:
    changed = [Item("i7", "nothing that is known", {"n": 7})]
    assert ingest(store, changed, embed_known) == (0, 0, 1)
    assert len(store) == N - 1 and not store.fetch(["i7"])


def test_a_search_in_an_empty_collection_is_an_error(address: str) -> None:
    empty = create_store(address, D, "none")
    with pytest.raises(InputError, match="the collection 'books' is empty: index items first"):
        StoreCollection(empty, embed=lambda texts: np.ones((len(texts), D), "f4")).find("anything")
    assert [neighbours.ids for neighbours in empty.nearest(VECTORS[:2], 3, None)] == [[], []]
    with pytest.raises(InputError, match="no item has a vector"):
        ingest(empty, [Item("x", "unknown")], embed_known)


def test_operations_of_local_collections_are_errors(store: Store) -> None:
    with pytest.raises(InputError, match="searched through its own index: leave out --approximate"):
        StoreCollection(store).find("i1", approximate=True)
    with pytest.raises(InputError, match="recall cannot be measured here"):
        StoreCollection(store).recall(["i1"])


def test_opening_a_missing_file_does_not_create_it(tmp_path: Path) -> None:
    pytest.importorskip("pymilvus")
    with pytest.raises(InputError, match=r"there is no .*missing.db"):
        open_store(f"milvus://{tmp_path / 'missing.db'}#books")
    assert not list(tmp_path.iterdir())


def test_vectors_that_changed_in_the_store_are_found(address: str, store: Store) -> None:
    collection = open_store(address)
    nearest = collection.find("i1", 1)[0].id
    store.add([Record(nearest, "", {}, -VECTORS[1])])
    assert collection.find("i1", 1)[0].id != nearest


def test_large_integers_in_milvus_metadata_are_an_error(tmp_path: Path) -> None:
    pytest.importorskip("pymilvus")
    store = create_store(f"milvus://{tmp_path / 'm.db'}#books", D, "none")
    with pytest.raises(InputError, match="the metadata of the item 'big' has an integer of more than 64 bits"):
        store.add([Record("big", "", {"a": [1, {"b": 2**63}]}, VECTORS[0])])
    store.add([Record("good", "", {"a": [1, {"b": -(2**63)}], "c": True}, VECTORS[0])])
    assert len(store) == 1
