"""Collections: creation, additions, deletions, searches, crash safety."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from softset.collections import segment as module
from softset.collections.collection import Collection
from softset.collections.embedder import Embedder
from softset.collections.items import Item
from softset.errors import FileError, InputError, NotFiniteError, ShapeError, UnknownWordError

RANDOM = np.random.default_rng(0)
VECTORS = RANDOM.standard_normal((300, 8)).astype("f4")


def items(start: int, stop: int) -> list[Item]:
    return [Item(f"i{n}", f"text {n}", {"n": n}) for n in range(start, stop)]


def make(folder: Path, n: int = 100, **options) -> Collection:
    return Collection.create(folder / "c.softset", items(0, n), vectors=VECTORS[:n], **options)


def hit_ids(collection: Collection, query: str = "{i1, i2} | i3", **options) -> list[str]:
    return [hit.id for hit in collection.find(query, top=500, **options)]


def test_search_finds_what_word_vectors_find(tmp_path: Path) -> None:
    from softset import WordVectors

    words = WordVectors.of([f"i{n}" for n in range(100)], VECTORS[:100])
    result, expected = (
        make(tmp_path, lexical=False).find("{i1, i2}", top=50),  # AND and OR of words differ
        words.find("{i1, i2}", top=50, preprocessing="none"),
    )
    assert [hit.id for hit in result] == [hit.id for hit in expected]
    assert result[0].text == f"text {result[0].id[1:]}" and result[0].metadata == {"n": int(result[0].id[1:])}
    assert result.signature.startswith("collection:c.softset@") and "|items:100|d:8|encoder:none|" in result.signature
    assert f"text {result[0].id[1:]}" in str(result)


def test_items_may_be_added_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make(tmp_path, 300)
    monkeypatch.setattr(module, "ITEMS_PER_BLOCK", 7)
    (tmp_path / "parts").mkdir()
    parts = make(tmp_path / "parts", 100)
    parts = parts.add(items(100, 101), vectors=VECTORS[100:101]).add(items(101, 300), vectors=VECTORS[101:])
    assert hit_ids(parts) == hit_ids(whole) and len(parts) == 300
    assert np.array_equal(parts.rows(95, 105), VECTORS[95:105])


def test_delete_and_add_again(tmp_path: Path) -> None:
    c = make(tmp_path)
    c = c.delete(["i5", "i50"])
    assert len(c) == 98 and not {"i5", "i50"} & set(hit_ids(c))
    with pytest.raises(UnknownWordError, match="'i5' is not an id of these items"):
        c.find("i5")
    with pytest.raises(UnknownWordError, match="no item with the id 'i5': nothing was deleted"):
        c.delete(["i6", "i5"])
    assert "i6" in hit_ids(Collection.open(c.folder))
    with pytest.raises(InputError, match="already has an item with the id 'i6': delete it first, or use upsert"):
        c.add([Item("i6", "")], vectors=VECTORS[:1])
    c = c.add([Item("i5", "new")], vectors=VECTORS[200:201])
    assert len(c) == 99 and hit_ids(c, "i5", include_examples=True)[0] == "i5"
    assert c.find("i5", include_examples=True)[0].text == "new"


def test_encoder_reads_texts(tmp_path: Path) -> None:
    def embed(texts):
        return np.array([[text.count("a"), text.count("b")] for text in texts], dtype="f4")

    c = Collection.create(
        tmp_path / "c", [Item("1", "aaa"), Item("2", "bbb"), Item("3", "ab")], encoder=Embedder("toy", embed)
    )
    assert [hit.id for hit in c.find('"aaaaab"')] == ["1", "3", "2"]
    assert c.find('"aaaaab"').plan.leaves[0].resolved[0].resolved_as == "as a text, by toy"
    with pytest.raises(UnknownWordError, match="the model toy has no vector for it"):
        c.find("xyz")
    assert len(c.add([Item("4", "bbbbb")])) == 4


@pytest.mark.parametrize(
    ("invalid_items", "options", "error", "message"),
    [
        (items(0, 3), {"vectors": VECTORS[:2]}, ShapeError, "2 vectors were given for at least 3 items"),
        (items(0, 2), {"vectors": VECTORS[:3]}, ShapeError, "3 vectors were given for 2 items"),
        (items(0, 2), {"encoder": "none"}, InputError, "items need vectors: give vectors, or an encoder"),
        (items(0, 2), {"vectors": VECTORS[0]}, ShapeError, r"must be numbers of shape \(n, d\), but float32 \(8,\)"),
        (items(0, 2), {"vectors": np.array([["a"], ["b"]])}, ShapeError, "must be numbers"),
        (
            items(0, 2),
            {"vectors": VECTORS[:2] * np.nan},
            NotFiniteError,
            "the vector of item 'i0' has a number that is not",
        ),
        ([Item("a", ""), Item("a", "")], {"vectors": VECTORS[:2]}, InputError, "the id 'a' occurs twice"),
        ([], {"vectors": VECTORS[:0]}, FileError, "the list of items has no items: give at least one"),
    ],
)
def test_bad_items_leave_nothing_behind(invalid_items, options, error, message, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        Collection.create(tmp_path / "c", invalid_items, **options)
    assert list(tmp_path.iterdir()) == []
    before = make(tmp_path)
    with pytest.raises((error, InputError)):
        before.add(invalid_items, **options)
    assert hit_ids(Collection.open(before.folder)) == hit_ids(before)
    assert len([p for p in before.folder.iterdir() if p.is_dir()]) == 1


def test_items_without_any_vector_are_refused_before_the_folder_has_its_name(tmp_path: Path, monkeypatch) -> None:
    rename, names = Path.replace, []
    monkeypatch.setattr(Path, "replace", lambda path, target: names.append(Path(target).name) or rename(path, target))
    with pytest.raises(InputError, match="no item has a vector"):
        Collection.create(tmp_path / "c", items(0, 2), vectors=np.zeros((2, 8)), require_vectors=True)
    assert names == ["manifest.json"] and list(tmp_path.iterdir()) == []
    Collection.create(tmp_path / "c", items(0, 2), vectors=VECTORS[:2], require_vectors=True)
    assert names[-1] == "c"


def test_existing_folders_and_other_files_are_refused(tmp_path: Path) -> None:
    make(tmp_path)
    with pytest.raises(InputError, match="exists already: choose another folder, add to it, or delete"):
        make(tmp_path)
    with pytest.raises(FileError, match=r"it has no manifest\.json; make one with softset index"):
        Collection.open(tmp_path)
    for broken in ("", "[]", "{}", '{"softset": "Collection", "version": 99, "segments": ["x"], "deleted": []}'):
        (tmp_path / "c.softset" / "manifest.json").write_text(broken)
        with pytest.raises(FileError):
            Collection.open(tmp_path / "c.softset")


def test_manifest_cannot_name_files_outside_the_folder(tmp_path: Path) -> None:
    c = make(tmp_path)
    manifest = json.loads((c.folder / "manifest.json").read_text())
    for name in ("../../etc", "..", "", ".", "/etc", "segment-x/../.."):
        manifest["segments"] = {name: []}
        (c.folder / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(FileError):
            Collection.open(c.folder)


KILLED = """
import sys, numpy as np
from softset.collections.collection import Collection
from softset.collections.items import Item
c = Collection.open(sys.argv[1])
for n in range(1000):
    c = c.add([Item(f"new{n}-{i}", "") for i in range(50)], vectors=np.ones((50, 8)))
    c = c.delete([f"new{n}-0"])
    print(len(c), flush=True)
"""


def test_collection_survives_a_killed_writer(tmp_path: Path) -> None:
    c = make(tmp_path)
    for delay in (0.0, 0.003, 0.011, 0.02, 0.03):
        writer = subprocess.Popen([sys.executable, "-c", KILLED, str(c.folder)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(delay)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        opened = Collection.open(c.folder)
        ids = {opened.item(index).id for index in range(len(opened)) if index not in opened.hidden}
        assert ids >= {f"i{n}" for n in range(100)}
        assert (len(ids) - 100) % 49 in (0, 1) and (
            len(ids) - 100
        ) // 49 >= 1  # whole steps: 50 added, 1 of them deleted
        opened.add([Item(f"after{delay}", "")], vectors=np.ones((1, 8)))
        c = Collection.open(c.folder).delete([f"after{delay}", *(name for name in ids if name.startswith("new"))])
        names = {path.name for path in c.folder.glob("segment-*")}
        assert names == set(json.loads((c.folder / "manifest.json").read_text())["segments"])  # nothing is left behind


@pytest.mark.parametrize("step", range(40))
def test_a_replacement_that_is_interrupted_keeps_the_old_or_the_new_items(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, steps = make(tmp_path), iter(range(40))

    def interruptible(operation):
        def call(*arguments, **options):
            if next(steps) >= step:
                raise KeyboardInterrupt
            return operation(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        for name in ("fsync", "replace", "rename", "unlink", "rmdir", "mkdir"):
            patch.setattr(os, name, interruptible(getattr(os, name)))
        with suppress(KeyboardInterrupt):
            before.replace(items(200, 300), vectors=VECTORS[200:])
    opened = Collection.open(before.folder)
    assert [opened.item(index).id for index in range(len(opened))] in (
        [item.id for item in items(0, 100)],
        [item.id for item in items(200, 300)],
    )
    assert len(opened.replace(items(200, 300), vectors=VECTORS[200:])) == 100
    assert len(list(before.folder.glob("segment-*"))) == 1


def add_ten(folder: Path, worker: int) -> None:
    for n in range(10):
        Collection.open(folder).add([Item(f"w{worker}-{n}", "")], vectors=np.ones((1, 8)))


def test_concurrent_writers_lose_nothing(tmp_path: Path) -> None:
    c = make(tmp_path)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=add_ten, args=(c.folder, worker)) for worker in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert len(Collection.open(c.folder)) == 120


def test_many_additions_make_few_segments(tmp_path: Path) -> None:
    c = make(tmp_path, 10)
    for n in range(10, 110):
        c = c.add(items(n, n + 1), vectors=VECTORS[n : n + 1])
        c = c.delete([f"i{n}"]) if n % 10 == 0 else c
    assert len(c) == 100 and len(list(c.folder.glob("segment-*"))) <= 4
    whole = Collection.create(
        tmp_path / "w",
        [i for i in items(0, 110) if i.id in c],
        vectors=[VECTORS[n] for n in range(110) if f"i{n}" in c],
    )
    assert hit_ids(c) == hit_ids(whole)
    with pytest.raises(UnknownWordError):
        c.resolve("i50")


def test_given_vectors_with_an_encoder_for_queries(tmp_path: Path) -> None:
    def embed(texts):
        return np.ones((len(texts), 8), dtype="f4")

    c = Collection.create(tmp_path / "c", items(0, 5), vectors=VECTORS[:5], encoder=Embedder("toy", embed))
    assert len(c.find("any text")) == 5
    assert len(c.add(items(5, 6), vectors=VECTORS[5:6])) == 6 and len(c.add(items(6, 7))) == 7
    with pytest.raises(ShapeError, match="the vectors have 8 dimensions, but the collection has 3"):
        Collection.create(
            tmp_path / "d", items(0, 5), vectors=VECTORS[:5], encoder=lambda texts: np.ones((len(texts), 3))
        )
    with pytest.raises(ShapeError, match=r"vectors have 3 dimensions, but those of .* have 8"):
        Collection.open(c.folder, encoder=lambda texts: np.ones((len(texts), 3)))


def test_empty_ids_and_zero_vectors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an item has an empty id"):
        Collection.create(tmp_path / "c", [Item("", "x")], vectors=np.ones((1, 2)))
    c = Collection.create(
        tmp_path / "c", [Item("7", "x"), Item("a", "y"), Item("z", "nil")], vectors=[[1, 0], [0, 1], [0, 0]]
    )
    assert c.next_number() == 8
    assert [hit.id for hit in c.find("~7")] == ["a"]
    with pytest.raises(InputError, match=r"every example of \{z\} has the zero vector, which has no direction"):
        c.find("z")
    assert c.find("7").to_dict()["resolved_as"] == {"7": "the item with this id"}


def test_an_object_sees_its_own_changes(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    vectors = np.concatenate([np.eye(8, dtype="f4"), -np.eye(8, dtype="f4")])
    collection = Collection.create(tmp_path / "c", items(0, 8), vectors=vectors[:8])
    checksum, _, _ = collection.checksum, collection.background, collection.norms  # which are cached
    assert hit_ids(collection, "i1", approximate=True) == hit_ids(collection, "i1")
    assert collection.add(items(8, 9), vectors=vectors[1:2]) is collection
    assert (len(collection), len(collection.norms)) == (9, 9) and collection.checksum != checksum
    assert hit_ids(collection, "i1")[0] == "i8" == hit_ids(collection, "i1", approximate=True)[0]
    assert len(collection.background.units) == 9
    collection.delete(["i8"])
    assert len(collection) == 8 and "i8" not in collection
    assert "i8" not in hit_ids(collection, "i1") + hit_ids(collection, "i1", approximate=True)
    collection.replace(items(20, 22), vectors=vectors[:2])
    assert len(collection) == 2 and hit_ids(collection, "~i20") == ["i21"]
