"""Everything that softset writes, with an old and a new state that differ in their content."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from reliability.check import expect
from softset import Idf, Subspace, TokenSets, load_encoder, load_words
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.encoders.cache import CachedEncoder
from softset.evaluation.tables import ResultRow, ResultTable
from softset.io.checkpoint import resumable_file
from softset.vectors.registry import import_vectors, vectors_folder
from softset.vectors.storage import MANIFEST

OLD, NEW = 300, 500  # items
D = 64


@dataclass(frozen=True)
class Writer:
    """A file or folder that is written.

    `reset` restores the old state and `write` writes the new one. `state` opens and verifies the file, and returns
    "old" or "new".
    """

    name: str
    reset: Callable[[], object]
    write: Callable[[], object]
    state: Callable[[], str]


def writers(folder: Path) -> list[Writer]:
    """Return all writers, each with its own folder."""
    all_writers = []
    for build in (_imports, _builds, _adds, _tokens, _sets, _weights, _cache, _scores, _results):
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


def _new_path(name: str, path: Path, write: Callable[[], object], verify: Callable[[], object]) -> Writer:
    """Return the writer of a path that does not exist in the old state; `verify` raises an error if it is wrong."""

    def state() -> str:
        if not path.exists():
            return "old"
        verify()
        return "new"

    def reset() -> None:
        for existing in path.parent.glob(f"{path.name}*"):
            shutil.rmtree(existing) if existing.is_dir() else existing.unlink()

    return Writer(name, reset, write, state)


def _imports(folder: Path) -> Writer:
    for n in (OLD, NEW):
        lines = (f"w{number} " + " ".join(f"{x:.4f}" for x in row) for number, row in enumerate(_rows(n, n)))
        (folder / f"{n}.txt").write_text("\n".join(lines))
    name = f"crash-{folder.parent.name}".lower()

    def state() -> str:
        MANIFEST.verify(vectors_folder(name))
        words = load_words(name)
        n = len(words)
        expect(abs(float(words["w1"][0]) - round(float(_rows(n, n)[1, 0]), 4)) < 1e-6, "vectors of another file")
        return _state_of(n)

    reset, write = (partial(import_vectors, folder / f"{n}.txt", name, replace=True) for n in (OLD, NEW))
    return Writer("import of vectors", reset, write, state)


def _verify_collection(path: Path) -> int:
    """Open a collection, verify all its files, and return its number of items."""
    opened = Collection.open(path)
    for segment in json.loads((path / "manifest.json").read_text())["segments"]:
        MANIFEST.verify(path / segment)
    n = len(opened)
    expect(opened.find(f"i{n - 1}", 3)[0].text.startswith("text "), "an item without its text")
    return n


def _builds(folder: Path) -> Writer:
    path = folder / "books"
    write = partial(Collection.create, path, _items(0, NEW), vectors=_rows(NEW, 1))
    return _new_path(
        "build of a collection", path, write, lambda: expect(_verify_collection(path) == NEW, "items are missing")
    )


def _adds(folder: Path) -> Writer:
    path, original = folder / "books", folder / "original"
    Collection.create(original, _items(0, OLD), vectors=_rows(OLD, 1))

    def reset() -> None:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(original, path)

    return Writer(
        "addition to a collection",
        reset,
        lambda: Collection.open(path).add(_items(OLD, NEW), vectors=_rows(NEW - OLD, 2)),
        lambda: _state_of(_verify_collection(path)),
    )


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

    return _new_path("cache", path, lambda: CachedEncoder(encoder, path).encode(texts), verify)


def _scores(folder: Path) -> Writer:
    path = folder / "scores.tsv"
    lines = [f"{row}\t{row / 7:.6f}" for row in range(NEW)]

    def write() -> None:
        """Resume an interrupted run if there is one."""
        interrupted = any(folder.glob("scores.tsv.partial/part-*"))
        with resumable_file(path, {"signature": "a"}, resume=interrupted) as file:
            for row in range(file.rows, NEW, 20):
                file.append(lines[row : row + 20], {"rows": row})

    return _new_path(
        "scores, resumed", path, write, lambda: expect(path.read_text().splitlines() == lines, "the rows differ")
    )


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
