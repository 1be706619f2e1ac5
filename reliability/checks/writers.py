"""Everything that softset writes, with an old and a new state that differ in their content.

A test compares the three tables with the code: each function of the package that writes, renames or deletes files must
be in one of them.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from tests.encoders import tiny_models

from reliability.check import expect
from softset import Idf, Sets, Subspace, TokenSets, load_encoder, load_words
from softset.collections.background import MIN_ITEMS
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.encoders.cache import CachedEncoder
from softset.encoders.model_management import import_model, verify_model
from softset.errors import InputError
from softset.evaluation.tables import ResultRow, ResultTable
from softset.io.checkpoint import resumable_file
from softset.jobs.embedding import build_collection
from softset.vectors import registry
from softset.vectors.registry import import_vectors, vectors_folder
from softset.vectors.storage import MANIFEST
from softset.vectors.vocabulary import Vocabulary

OLD, NEW = 900, 1_100  # items; a collection of 1,000 items has a background
D = 64
# The functions that each writer below runs. Names are MODULE:FUNCTION, without the name of the package.
WRITTEN_BY = {
    "import of vectors": (
        "io.registry:ImportRegistry.create", "io.registry:ImportRegistry._delete_unused", "io.manifest:Manifest.write",
        "vectors.storage:write_vectors",
    ),
    "removal of vectors": ("io.registry:ImportRegistry.remove",),
    "import of a model": ("encoders.model_management:_copy_files",),
    "word vectors": ("vectors.vocabulary:Vocabulary.save",),
    "build of a collection": (
        "collections.collection:Collection.create", "collections.manifest:write_manifest",
        "collections.segment:write_segment", "collections.segment:_write_blocks",
        "collections.background:BackgroundFile.write",
    ),
    "addition to a collection": (
        "collections.collection:Collection._changed", "collections.manifest:remove_unused_files",
    ),
    "replacement of items": ("collections.collection:Collection._write",),
    "compaction of a collection": ("collections.collection:Collection.compact",),
    "deletion from a collection": ("collections.collection:Collection.delete",),
    "replacement of a collection": ("collections.collection:Collection.replace",),
    "upgrade of a collection": (
        "collections.collection:Collection.upgrade", "collections.segment:_ChunkWriter.write",
        "collections.segment:_ChunkWriter.finish",
    ),
    "renewal of a background": ("collections.collection:Collection.refresh_background",),
    "token sets": ("encoders.tokensets_file:save_sets",),
    "a set": ("algebra.base:SoftSet.save", "io.arrays:write_tensors"),
    "cache": ("encoders.cache:_CacheFile._connect",),
    "scores, resumed": (
        "io.checkpoint:PartFolder.delete", "io.checkpoint:PartFolder.locked", "io.checkpoint:PartFolder.new_part",
        "io.checkpoint:PartFolder.write", "io.checkpoint:PartFolder.write_header",
        "io.checkpoint:resumable_file",
    ),
    "results": ("evaluation.tables:ResultTable.save",),
    "named sets": ("query.named_sets:Sets.save",),
}  # fmt: skip
# Functions that write one file by one call of write_atomically or write_tensors, as `Idf.save` does.
ATOMIC_FILES = (
    "cli.explain:explain", "collections.tables:export_items",
    "similarity.rescaling:Calibration.save", "similarity.explain.data:Explanation.save_png",
    "similarity.idf:Idf.save",
)  # fmt: skip
NOT_KILLED = {
    "collections.tables:_content": "a Parquet file in memory, which export_items writes",
    "encoders.model_management:_local_folder": "downloads to a folder that a later import deletes",
    "evaluation.text_sets.evaluation:text_rows": "a temporary collection",
    "jobs.run:_silenced": "opens the null device",
    "jobs.run:_JobWorker._block": "a part of a PartFolder, on Ray; tests/jobs ends workers",
    "jobs.run:_delete_outdated": "deletes parts whose input has changed; tests/jobs",
    "jobs.run:_write_table": "the content of a part",
    "jobs.run:run_job": "a PartFolder, on Ray; tests/jobs interrupts runs",
    "search.approximate:_write_cache": "a cache file by write_atomically, and the deletion of the oldest",
    "server.temporary_collections:TemporaryCollections.__init__": "temporary",
    "server.temporary_collections:TemporaryCollections._delete": "temporary",
    "server.temporary_collections:TemporaryCollections.close": "temporary",
    "server.temporary_collections:_delete_orphans": "deletes what a killed server left behind",
}


@dataclass(frozen=True)
class Writer:
    """A file or folder that is written.

    `reset` restores the old state and `write` writes the new one. `state` opens and verifies the file, and returns
    "old" or "new". In the new state `write` succeeds again, or raises an error if it is not `repeatable`.
    """

    name: str
    reset: Callable[[], object]
    write: Callable[[], object]
    state: Callable[[], str]
    repeatable: bool = True


def writers(folder: Path) -> list[Writer]:
    """Return all writers, each with its own folder."""
    all_writers = []
    collections = (_builds, _adds, _upserts, _compactions, _deletions, _replacements, _refreshes, _upgrades)
    others = (_tokens, _sets, _weights, _cache, _scores, _results, _named_sets)
    for build in (_imports, _removals, _models, _vocabularies, *collections, *others):
        subfolder = folder / build.__name__.strip("_")
        subfolder.mkdir()
        all_writers.append(build(subfolder))
    for writer in all_writers:
        writer.reset()
        expect(writer.state() == "old", f"{writer.name}: the old state is {writer.state()}")
    return all_writers


def _rows(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, D)).astype(np.float32)


def _items(start: int, stop: int) -> list[Item]:
    return [Item(f"i{number}", f"text {number}", {"n": number}) for number in range(start, stop)]


def _state_of(n: int) -> str:
    """Return the state that has this number of items."""
    names = {OLD: "old", NEW: "new"}
    expect(n in names, f"{n} items, but there must be {OLD} or {NEW}")
    return names[n]


def _new_path(
    name: str, path: Path, write: Callable[[], object], verify: Callable[[], object], *, repeatable: bool = False
) -> Writer:
    """Return the writer of a path that does not exist in the old state; `verify` raises an error if it is wrong."""

    def state() -> str:
        if not path.exists():
            return "old"
        verify()
        return "new"

    def reset() -> None:
        for existing in path.parent.glob(f"{path.name}*"):
            shutil.rmtree(existing) if existing.is_dir() else existing.unlink()

    return Writer(name, reset, write, state, repeatable)


def _write_text_vectors(path: Path, n: int) -> None:
    lines = (f"w{number} " + " ".join(f"{x:.4f}" for x in row) for number, row in enumerate(_rows(n, n)))
    path.write_text("\n".join(lines))


def _imports(folder: Path) -> Writer:
    name = f"crash-{folder.parent.name}".lower()
    for n in (OLD, NEW):
        _write_text_vectors(folder / f"{n}.txt", n)

    def state() -> str:
        MANIFEST.verify(vectors_folder(name))
        words = load_words(name)
        n = len(words)
        expect(abs(float(words["w1"][0]) - round(float(_rows(n, n)[1, 0]), 4)) < 1e-6, "vectors of another file")
        return _state_of(n)

    reset, write = (partial(import_vectors, folder / f"{n}.txt", name, replace=True) for n in (OLD, NEW))
    return Writer("import of vectors", reset, write, state)


def _removals(folder: Path) -> Writer:
    name = f"removed-{folder.parent.name}".lower()
    _write_text_vectors(folder / "old.txt", OLD)

    def state() -> str:
        if name not in dict(registry.REGISTRY.items()):
            return "new"
        MANIFEST.verify(vectors_folder(name))
        return "old"

    reset = partial(import_vectors, folder / "old.txt", name, replace=True)
    return Writer("removal of vectors", reset, partial(registry.REGISTRY.remove, name), state, repeatable=False)


def _models(folder: Path) -> Writer:
    name = f"crash-{folder.parent.name}".lower()
    for number in (OLD, NEW):
        tiny_models.model2vec(folder / f"{number}", tiny_models.table(seed=number))

    def state() -> str:
        verify_model(name)
        vectors = load_encoder(name).encode(["red"]).vectors
        rows = {number: tiny_models.table(seed=number)[tiny_models.WORDS.index("red")] for number in (OLD, NEW)}
        return _state_of(next(number for number, row in rows.items() if np.array_equal(vectors[0], row)))

    reset, write = (partial(import_model, str(folder / f"{number}"), name, replace=True) for number in (OLD, NEW))
    return Writer("import of a model", reset, write, state)


def _vocabularies(folder: Path) -> Writer:
    path, n = folder / "words", 10 * D
    words = Vocabulary.of([f"w{number}" for number in range(n)], _rows(n, 1))

    def verify() -> None:
        MANIFEST.verify(path)
        expect(np.array_equal(Vocabulary.open(path).matrix, words.matrix), "other vectors")

    return _new_path("word vectors", path, lambda: words.save(path), verify)


def _verify_collection(path: Path) -> int:
    """Open a collection, verify all its files, and return its number of items."""
    opened, manifest = Collection.open(path), json.loads((path / "manifest.json").read_text())
    for segment in manifest["segments"]:
        MANIFEST.verify(path / segment)
    n = len(opened)
    expect("background" in manifest or n < MIN_ITEMS, f"no background of {n} items")
    expect(len(opened.background.units) >= OLD, "a background without its items")  # after checking its checksum
    expect(opened.find(f"i{n - 1}", 3)[0].text.startswith("text "), "an item without its text")
    return n


def _builds(folder: Path) -> Writer:
    path = folder / "books"
    write = partial(Collection.create, path, _items(0, NEW), vectors=_rows(NEW, 1))
    return _new_path(
        "build of a collection", path, write, lambda: expect(_verify_collection(path) == NEW, "items are missing")
    )


def _changes(name: str, folder: Path, size: int, change: Callable[[Collection], object], repeatable: bool) -> Writer:
    """Return the writer that changes a collection with a number of items."""
    path, original = folder / "books", folder / "original"
    Collection.create(original, _items(0, size), vectors=_rows(size, 1))

    def reset() -> None:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(original, path)

    def state() -> str:
        n = _verify_collection(path)
        return "old" if n == size else "new" if n == OLD + NEW - size else f"{n} items"

    return Writer(name, reset, lambda: change(Collection.open(path)), state, repeatable)


def _adds(folder: Path) -> Writer:
    def add(books: Collection) -> None:
        books.add(_items(OLD, NEW), vectors=_rows(NEW - OLD, 2))

    return _changes("addition to a collection", folder, OLD, add, repeatable=False)


def _upserts(folder: Path) -> Writer:
    """Replace a third of the items, and add others, in one step."""
    first = OLD - 100

    def upsert(books: Collection) -> None:
        changed = [replace(item, text=f"{item.text} changed") for item in _items(first, NEW)]
        books.upsert(changed, vectors=_rows(NEW - first, 2))

    writer = _changes("replacement of items", folder, OLD, upsert, repeatable=True)

    def state() -> str:
        name, opened = writer.state(), Collection.open(folder / "books")
        changed = {item.text.endswith("changed") for item in map(opened.__getitem__, (f"i{first}", f"i{OLD - 1}"))}
        expect(changed == {name == "new"}, f"some items are changed in the {name} state")
        return name

    return replace(writer, state=state)


def _compactions(folder: Path) -> Writer:
    path, original = folder / "books", folder / "original"
    Collection.create(original, _items(0, NEW), vectors=_rows(NEW, 1)).delete(f"i{n}" for n in range(OLD, NEW))

    def reset() -> None:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(original, path)

    def state() -> str:
        expect(_verify_collection(path) == OLD, "the number of items has changed")
        return "old" if Collection.open(path).stats().deleted else "new"

    return Writer("compaction of a collection", reset, lambda: Collection.open(path).compact(), state)


def _deletions(folder: Path) -> Writer:
    def delete(books: Collection) -> None:
        books.delete(f"i{number}" for number in range(NEW - OLD))

    return _changes("deletion from a collection", folder, NEW, delete, repeatable=False)


def _refreshes(folder: Path) -> Writer:
    path, original = folder / "books", folder / "original"
    Collection.create(original, _items(0, NEW), vectors=_rows(NEW, 1)).delete("i0")

    def reset() -> None:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(original, path)

    def state() -> str:
        expect(_verify_collection(path) == NEW - 1, "the number of items has changed")
        return "old" if len(Collection.open(path).background.units) == NEW else "new"

    return Writer("renewal of a background", reset, lambda: Collection.open(path).refresh_background(), state)


def _upgrades(folder: Path) -> Writer:
    """Add the vectors of sentences and a lexical index to a collection that has neither."""
    path, original = folder / "books", folder / "original"
    items = [Item(f"i{n}", f"text {n} is red. It has {len(str(n))} digits.") for n in range(NEW)]
    Collection.create(original, items, encoder="words", chunks="none", lexical=False)

    def reset() -> None:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(original, path)

    def state() -> str:
        expect(_verify_collection(path) == NEW, "the number of items has changed")
        return "old" if Collection.open(path).stats().language is None else "new"

    return Writer("upgrade of a collection", reset, lambda: Collection.open(path).upgrade(), state)


def _replacements(folder: Path) -> Writer:
    """Replace all items, with pyarrow by `build_collection`, as `softset jobs index --replace` does."""
    vectors = folder / "vectors"
    if find_spec("pyarrow") is not None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        items = _items(0, NEW)
        columns = {"id": [item.id for item in items], "text": [item.text for item in items]}
        vectors.mkdir()
        pq.write_table(pa.table({**columns, "vector": list(_rows(NEW, 3))}), vectors / "part-0.parquet")

    def replace_items(books: Collection) -> None:
        if vectors.exists():
            build_collection(vectors, books.folder, model="none", replace=True)
        else:
            books.replace(_items(0, NEW), vectors=_rows(NEW, 3))

    return _changes("replacement of a collection", folder, OLD, replace_items, repeatable=True)


def _tokens(folder: Path) -> Writer:
    path = folder / "sets"
    sets = TokenSets.from_arrays([_rows(5, seed) for seed in range(NEW // 5)])

    def verify() -> None:
        expect(np.array_equal(TokenSets.open(path).vectors, sets.vectors), "other vectors")

    return _new_path("token sets", path, lambda: sets.save(path), verify)


def _sets(folder: Path) -> Writer:
    path = folder / "set.safetensors"
    old, new = Subspace.span(_rows(3, 1)), Subspace.span(_rows(40, 2))

    def state() -> str:
        dim = Subspace.load(path).dim
        expect(dim in (3, 40), f"a set of {dim} dimensions")
        return "old" if dim == 3 else "new"

    return Writer("a set", lambda: old.save(path), lambda: new.save(path), state)


def _weights(folder: Path) -> Writer:
    path = folder / "idf.json"
    old, new = (Idf(n, {f"t{token}": 1 + token % n for token in range(n)}, "own") for n in (OLD, NEW))
    return Writer("idf", lambda: old.save(path), lambda: new.save(path), lambda: _state_of(Idf.load(path).documents))


def _cache(folder: Path) -> Writer:
    encoder, path = load_encoder("words"), folder / "cache"
    texts = [f"the red book number {number} of the sea" for number in range(NEW)]
    expected = encoder.encode(texts).vectors

    def verify() -> None:
        """Check that the cache gives the right vectors; it may hold a part of them."""
        cached = CachedEncoder(encoder, path)
        expect(np.array_equal(cached.encode(texts).vectors, expected), "other vectors from the cache")
        expect(not cached.repaired, "damaged entries in the cache")

    return _new_path("cache", path, lambda: CachedEncoder(encoder, path).encode(texts), verify, repeatable=True)


def _scores(folder: Path) -> Writer:
    path = folder / "scores.tsv"
    lines = [f"{row}\t{row / 7:.6f}" for row in range(NEW)]

    def run(*, resume: bool) -> None:
        with resumable_file(path, {"signature": "a"}, resume=resume) as file:
            for row in range(file.rows, NEW, 20):
                file.append(lines[row : row + 20], {"rows": row})

    def write() -> None:
        """Start a new run, or resume an interrupted one; one of the two must always be possible."""
        try:
            run(resume=False)
        except InputError:
            run(resume=True)

    def verify() -> None:
        expect(path.read_text().splitlines() == lines, "the rows differ")

    return _new_path("scores, resumed", path, write, verify, repeatable=True)


def _results(folder: Path) -> Writer:
    """Write a table of results as JSON and Markdown. Each of the two files may have the old or the new state."""
    rows = [ResultRow("t", f"d{number}", "m", "rho", 0.5, 9) for number in range(NEW)]
    old, new = (ResultTable("t", tuple(rows[:n])) for n in (OLD, NEW))

    def state() -> str:
        saved = ResultTable.load(folder / "table.json")
        pages = [replace(table, facts=saved.facts).to_markdown() for table in (old, new)]
        expect((folder / "table.md").read_text("utf-8") in pages, "table.md has neither the old nor the new state")
        return _state_of(len(saved.rows))

    return Writer("results", lambda: old.save(folder, "table"), lambda: new.save(folder, "table"), state)


def _named_sets(folder: Path) -> Writer:
    path = folder / "sets.toml"
    old, new = (Sets({f"s{number}": [f"a{number}", f"b{n}"] for number in range(n)}) for n in (OLD, NEW))

    def state() -> str:
        saved = Sets.load(path)
        expect(saved in (old, new), "other sets")
        return _state_of(len(saved))

    return Writer("named sets", lambda: old.save(path), lambda: new.save(path), state)
