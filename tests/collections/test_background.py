"""The background of a collection: frozen at 1,000 items, sentences before, and what may not change it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softset
from softset.collections import background as module
from softset.collections.background import BackgroundFile, Sample, sentence_vectors
from softset.collections.collection import Collection
from softset.collections.embedder import Embedder
from softset.collections.items import Item
from softset.errors import FileError
from softset.io.arrays import write_tensors
from softset.query import background as query_background
from softset.server.limited_encoder import LimitedEncoder
from softset.server.settings import ServerLimits

N, D = 1_300, 8
VECTORS = np.random.default_rng(0).standard_normal((N, D)).astype("f4")
QUERIES = ["{i1, i2}", "{i1, i2} & i3", "{i1, i2} | i9", "{i1, i2, i3} - i7"]


def items(start: int, stop: int) -> list[Item]:
    return [Item(f"i{n}", f"text {n}") for n in range(start, stop)]


def make(folder: Path, n: int = 1_000) -> Collection:
    return Collection.create(folder / "c", items(0, n), vectors=VECTORS[:n])


def manifest_of(collection: Collection) -> dict:
    return json.loads((collection.folder / "manifest.json").read_text())


def backgrounds(collection: Collection) -> list[str]:
    return [path.name for path in collection.folder.iterdir() if "background" in path.name]


def memberships(collection: Collection, query: str, ids: list[str]) -> list[float]:
    result = collection.membership(query, ids)
    return [item.membership for item in result]


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Collection:
    return make(tmp_path_factory.mktemp("original"), 1_010)


@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from(["add", "delete"]), st.integers(1, 300)), min_size=1, max_size=4),
    near=st.booleans(),
)
def test_other_items_change_no_membership(original: Collection, tmp_path_factory, steps, near: bool) -> None:
    path = tmp_path_factory.mktemp("changed") / "c"
    shutil.copytree(original.folder, path)
    changed, kept, added = Collection.open(path), [f"i{n}" for n in range(200)], 0
    before = {query: memberships(changed, query, kept) for query in QUERIES}
    found = {query: {hit.id: hit.membership for hit in changed.find(query, 2_000)} for query in QUERIES}
    for step, count in steps:
        if step == "add":
            new = [Item(f"new{added + n}", "") for n in range(count)]
            rows = np.tile(VECTORS[1] if near else -VECTORS[1], (count, 1))
            changed, added = changed.add(new, vectors=rows), added + count
        else:
            changed = changed.delete([item.id for item in list(changed)[-count:] if item.id not in kept])
    for query in QUERIES:
        assert memberships(changed, query, kept) == pytest.approx(before[query], abs=1e-9)
        for hit in changed.find(query, 2_000):
            assert hit.id not in found[query] or hit.membership == pytest.approx(found[query][hit.id], abs=1e-9)
        members = {hit.id for hit in changed.members(query, 0.01)}
        examples = [name for name in kept if name in changed.plan(query).query]
        present = [name for name in kept if found[query].get(name, 0) >= 0.01 and name not in examples]
        assert set(present) <= members and changed.count(query, 0.01) == len(members)


def test_a_background_is_frozen_when_the_collection_reaches_1000_items(tmp_path: Path) -> None:
    collection = make(tmp_path, 999)
    assert "background" not in manifest_of(collection) and not backgrounds(collection)
    assert "no encoder: memberships are measured against the items" in collection.find("i1").notes[0]
    collection.add([Item("zero", "")], vectors=np.zeros((1, D)))  # which has no vector
    assert collection.stats().background == 0
    collection.upsert(items(998, 1_001), vectors=VECTORS[998:1_001])
    stored = manifest_of(collection)["background"]
    assert stored["source"] == "items" and collection.stats().background == 1_001
    assert collection.find("i1").notes == () and f"|background:items@{stored['sha256'][:8]}" in collection.signature
    collection.add(items(1_001, N), vectors=VECTORS[1_001:N]).delete("i5").compact()
    assert manifest_of(collection)["background"] == stored and len(backgrounds(collection)) == 1
    assert collection.refresh_background().stats().background == N - 1
    assert manifest_of(collection)["background"] != stored and len(backgrounds(collection)) == 1
    refreshed = Collection.open(collection.folder).background
    assert (
        np.array_equal(refreshed.units, collection.background.units) and refreshed.reach == query_background.TEXT_REACH
    )
    collection.replace(items(0, 1_000), vectors=VECTORS[:1_000])
    assert collection.stats().background == 1_000 and len(backgrounds(collection)) == 1
    collection.replace(items(0, 10), vectors=VECTORS[:10])
    assert "background" not in manifest_of(collection) and not backgrounds(collection)


def test_the_sample_depends_neither_on_the_order_nor_on_the_segments(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(query_background, "SIZE", 200)
    order = np.random.default_rng(1).permutation(1_000)
    whole = make(tmp_path)
    parts = Collection.create(tmp_path / "p", [items(0, N)[n] for n in order[:300]], vectors=VECTORS[order[:300]])
    parts.add([items(0, N)[n] for n in order[300:]], vectors=VECTORS[order[300:]])
    assert np.array_equal(whole.background.units, parts.background.units) and len(whole.background.units) == 200


def test_a_collection_of_an_earlier_version(tmp_path: Path) -> None:
    def without_background(collection: Collection) -> Collection:
        content = manifest_of(collection)
        (collection.folder / f"background-{content.pop('background')['sha256'][:16]}.safetensors").unlink()
        (collection.folder / "manifest.json").write_text(json.dumps(content))
        return Collection.open(collection.folder)

    new = make(tmp_path)
    expected = memberships(new, "{i1, i2}", ["i3", "i4"])
    old = without_background(new)
    assert old.find("i1").notes[0].startswith("this collection of an earlier version has no stored background")
    assert memberships(old, "{i1, i2}", ["i3", "i4"]) == expected and not backgrounds(old)
    old.add(items(1_000, N), vectors=VECTORS[1_000:])  # the items before this change are the sample
    assert memberships(old, "{i1, i2}", ["i3", "i4"]) == expected and old.stats().background == 1_000
    assert without_background(old).delete("i77").stats().background == N
    assert without_background(old).refresh_background().stats().background == N - 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sha256": "../../../etc/passwd"}, "the background has another form"),
        ({"sha256": "0" * 64}, "lacks a file that its manifest names"),
        ({"source": "file"}, "the background has another form"),
        ({"name": "/etc/passwd"}, "unexpected keyword argument"),
    ],
)
def test_a_manifest_cannot_choose_another_file(tmp_path: Path, change: dict, message: str) -> None:
    content = manifest_of(make(tmp_path))
    content["background"] |= change
    (tmp_path / "c" / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(FileError, match=message):
        Collection.open(tmp_path / "c")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (VECTORS[:5, :3], r"has float32 \(5, 3\)"),
        (VECTORS[:0], r"has float32 \(0, 8\)"),
        (np.zeros((16 * query_background.SIZE + 1, D), "f4"), r"has float32 \(131073, 8\)"),
        (VECTORS[:5].astype("f8"), "has float64"),
        (VECTORS[:5], "was changed after it was written"),
    ],
)
def test_a_changed_background_is_an_error(tmp_path: Path, rows: np.ndarray, message: str) -> None:
    collection = make(tmp_path)
    write_tensors(collection.folder / backgrounds(collection)[0], "Background", {"rows": rows}, {})
    with pytest.raises(FileError, match=message):
        Collection.open(collection.folder).find("i1")


def test_a_background_that_is_not_finite_is_an_error(tmp_path: Path) -> None:
    file = BackgroundFile.write(tmp_path, "items", Sample(np.full((3, 2), np.nan)))
    with pytest.raises(FileError, match="not finite"):
        file.load(file.map(tmp_path, 2))


# Fewer than 1,000 items with an encoder


def counting_encoder() -> tuple[list[str], object]:
    words, encoded = softset.load_encoder("words"), []

    def embed(texts):
        encoded.extend(texts)
        return words.embed(texts)

    return encoded, embed


def test_few_texts_are_measured_against_sentences(tmp_path: Path) -> None:
    texts = ["red wine", "a calm sea", "a garden"]
    books = Collection.create(tmp_path / "c", texts, encoder="words")
    assert books.find("ocean").notes == (
        "fewer than 1,000 items: memberships are measured against general English sentences",
    )
    units = sentence_vectors(softset.load_encoder("words").embed).astype(float)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    assert books.background.units == pytest.approx(units) and books.background.reach == query_background.TEXT_REACH
    before = memberships(books, "ocean", ["1", "2", "3"])
    books.add([f"a sea number {n}" for n in range(500)]).delete("3")
    assert memberships(books, "ocean", ["1", "2", "a garden"]) == pytest.approx(before, abs=1e-9)
    assert manifest_of(books)["background"]["source"] == "sentences" and len(backgrounds(books)) == 1
    books.add([f"a war number {n}" for n in range(500)])
    assert manifest_of(books)["background"]["source"] == "items" and len(backgrounds(books)) == 1
    assert not books.find("ocean").notes


def test_the_sentences_are_encoded_once(tmp_path: Path) -> None:
    encoded, embed = counting_encoder()
    embedder = Embedder("custom:counting", embed)
    for name in ("a", "b"):
        Collection.create(tmp_path / name, ["red wine", "a calm sea"], encoder=embedder).find("ocean")
    sentences = module.bundled_file("baselines/sentences.txt").read_text().splitlines()
    assert 500 <= len(set(sentences)) == len(sentences) and all(encoded.count(text) == 1 for text in sentences)
    encoded.clear()
    Collection.open(tmp_path / "a", encoder=embedder).find("ocean")
    assert sentences[0] not in encoded  # the folder holds their vectors


def test_an_id_needs_no_encoder_and_has_the_same_memberships(tmp_path: Path) -> None:
    _, embed = counting_encoder()
    books = Collection.create(tmp_path / "c", ["red wine", "a calm sea", "a garden"], encoder=embed)
    expected = [hit.membership for hit in books.find("2")]
    assert [hit.membership for hit in Collection.open(tmp_path / "c").find("2")] == expected


def test_the_limits_of_a_server_do_not_apply_to_the_sentences(tmp_path: Path) -> None:
    encoder = softset.load_encoder("words")
    limited = LimitedEncoder(encoder, ServerLimits(texts=10))
    assert sentence_vectors(limited.embed) is sentence_vectors(encoder.embed)


def test_an_encoder_that_knows_no_english_is_measured_against_the_items(tmp_path: Path) -> None:
    def embed(texts):
        return np.array([[text.count("\u03b1"), text.count("\u03b2"), 0] for text in texts], dtype="f4")

    greek = Collection.create(tmp_path / "c", ["\u03b1\u03b1\u03b2", "\u03b2\u03b2\u03b1", "\u03b2"], encoder=embed)
    assert "background" not in manifest_of(greek) and "against the items" in greek.find("\u03b1").notes[0]


class Unhashable:
    __slots__ = ()
    __hash__ = None

    def __call__(self, texts):
        return softset.load_encoder("words").embed(texts)


def test_any_function_may_encode_the_sentences() -> None:
    assert len(sentence_vectors(Unhashable())) == len(sentence_vectors(softset.load_encoder("words").embed))
