"""Everything that softset writes, as pairs of an old and a new state that can be told apart by their content."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reliability.check import Broken, expect

__all__ = ["Writer", "writers"]

OLD, NEW = 300, 500
D = 64


@dataclass(frozen=True)
class Writer:
    """A thing that is written: how to put its old state there, how to write the new, and what is there now.

    `state` opens what is there, verifies it, and returns "old" or "new"; anything else that it finds is broken.
    """

    name: str
    reset: Callable[[], None]
    write: Callable[[], object]
    state: Callable[[], str]


def writers(folder: Path) -> list[Writer]:
    """Return all of them, each in a folder of its own."""
    made = []
    for build in (_imports, _builds, _adds, _tokens, _sets, _weights, _cache, _scores, _results):
        place = folder / build.__name__.strip("_")
        place.mkdir()
        made.append(build(place))
    for one in made:
        one.reset()
        expect(one.state() == "old", f"{one.name}: the old state is {one.state()}")
    return made


def _rows(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, D)).astype(np.float32)


def _told(n: int) -> str:
    """Return which state so many items are."""
    names = {OLD: "old", NEW: "new"}
    if n not in names:
        raise Broken(f"{n} items, where {OLD} or {NEW} were wanted")
    return names[n]


def _imports(folder: Path) -> Writer:
    from softset.search.words import load_words
    from softset.vectors.registry import import_vectors, vectors_folder
    from softset.vectors.storage import verify_vectors

    files = {}
    for n in (OLD, NEW):
        lines = (f"w{at} " + " ".join(f"{x:.4f}" for x in row) for at, row in enumerate(_rows(n, n)))
        files[n] = folder / f"{n}.txt"
        files[n].write_text("\n".join(lines))
    name = f"crash-{folder.parent.name}".lower()

    def state() -> str:
        verify_vectors(vectors_folder(name))
        found = load_words(name)
        n = len(found)
        expect(abs(float(found["w1"][0]) - round(float(_rows(n, n)[1, 0]), 4)) < 1e-6, "vectors of another file")
        return _told(n)

    return Writer(
        "import of vectors",
        lambda: import_vectors(files[OLD], name, replace=True) and None,
        lambda: import_vectors(files[NEW], name, replace=True),
        state,
    )


def _collection(path: Path) -> int:
    """Open a collection, verify all its parts, and return how many items it has."""
    from softset.collections.collection import Collection
    from softset.vectors.storage import verify_vectors

    opened = Collection.open(path)
    for segment in json.loads((path / "manifest.json").read_text())["segments"]:
        verify_vectors(path / segment)
    n = len(opened)
    expect(opened.find(f"i{n - 1}", 3)[0].text.startswith("text "), "an item without its text")
    return n


def _items(start: int, stop: int):
    from softset.collections.items import Item

    return [Item(f"i{at}", f"text {at}", {"n": at}) for at in range(start, stop)]


def _builds(folder: Path) -> Writer:
    from softset.collections.collection import Collection

    path = folder / "books"
    return Writer(
        "build of a collection",
        lambda: shutil.rmtree(path, ignore_errors=True),
        lambda: Collection.create(path, _items(0, NEW), vectors=_rows(NEW, 1)),
        lambda: _told(_collection(path)) if path.exists() else "old",
    )


def _adds(folder: Path) -> Writer:
    from softset.collections.collection import Collection

    path, good = folder / "books", folder / "good"
    Collection.create(good, _items(0, OLD), vectors=_rows(OLD, 1))

    def reset() -> None:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(good, path)

    return Writer(
        "addition to a collection",
        reset,
        lambda: Collection.open(path).add(_items(OLD, NEW), vectors=_rows(NEW - OLD, 2)),
        lambda: _told(_collection(path)),
    )


def _tokens(folder: Path) -> Writer:
    from softset import TokenSets

    path = folder / "sets"
    sets = TokenSets.from_arrays([_rows(5, at) for at in range(NEW // 5)])

    def state() -> str:
        if not path.exists():
            return "old"
        expect(np.array_equal(TokenSets.open(path).vectors, sets.vectors), "other vectors")
        return "new"

    return Writer("token sets", lambda: shutil.rmtree(path, ignore_errors=True), lambda: sets.save(path), state)


def _sets(folder: Path) -> Writer:
    from softset import Subspace

    path = folder / "set.safetensors"
    old, new = Subspace.span(_rows(3, 1)), Subspace.span(_rows(40, 2))

    def state() -> str:
        dim = Subspace.load(path).dim
        expect(dim in (3, 40), f"a set of {dim} dimensions")
        return "old" if dim == 3 else "new"

    return Writer("a set", lambda: old.save(path), lambda: new.save(path), state)


def _weights(folder: Path) -> Writer:
    from softset import Idf

    path = folder / "idf.json"
    old, new = (Idf(n, {f"t{at}": 1 + at % n for at in range(n)}, "own") for n in (OLD, NEW))
    return Writer("idf", lambda: old.save(path), lambda: new.save(path), lambda: _told(Idf.load(path).documents))


def _cache(folder: Path) -> Writer:
    from softset.encoders.cache import CachedEncoder
    from softset.encoders.loading import load_encoder

    plain, path = load_encoder("words"), folder / "cache"
    texts = [f"the red book number {at} of the sea" for at in range(NEW)]
    wanted = plain.encode(texts).vectors

    def state() -> str:
        """Whatever was kept, it gives the right vectors; a part of it is no third state, for it is only a cache."""
        if not path.exists():
            return "old"
        kept = CachedEncoder(plain, path)
        expect(np.array_equal(kept.encode(texts).vectors, wanted), "other vectors from the cache")
        expect(not kept.repaired, "something damaged in the cache")
        return "new"

    return Writer(
        "cache",
        lambda: shutil.rmtree(path, ignore_errors=True),
        lambda: CachedEncoder(plain, path).encode(texts),
        state,
    )


def _scores(folder: Path) -> Writer:
    from softset.io.checkpoint import resumable_file

    path = folder / "scores.tsv"
    lines = [f"{at}\t{at / 7:.6f}" for at in range(NEW)]
    whole = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()

    def write() -> None:
        """Go on where an earlier run was; it is the second run that must end with every row there once."""
        under_way = any(folder.glob("scores.tsv.partial/part-*"))
        with resumable_file(path, {"signature": "a"}, resume=under_way) as file:
            for at in range(file.rows, NEW, 20):
                file.append(lines[at : at + 20], {"rows": at})

    def state() -> str:
        if not path.exists():
            return "old"
        expect(hashlib.sha256(path.read_bytes()).hexdigest() == whole, "other rows than were scored")
        return "new"

    def reset() -> None:
        shutil.rmtree(f"{path}.partial", ignore_errors=True)
        path.unlink(missing_ok=True)

    return Writer("scores, resumed", reset, write, state)


def _results(folder: Path) -> Writer:
    """Write a table of results, which is two files: numbers, and the same for people. Either may be the older one."""
    from softset.evaluation.tables import ResultRow, ResultTable

    tables = {
        n: ResultTable("t", tuple(ResultRow("t", f"d{at}", "m", "rho", 0.5, 9) for at in range(n))) for n in (OLD, NEW)
    }

    def state() -> str:
        found = ResultTable.load(folder / "table.json")
        shown = [ResultTable(one.title, one.rows, one.baseline, found.facts).to_markdown() for one in tables.values()]
        expect((folder / "table.md").read_text("utf-8") in shown, "table.md is neither the old one nor the new one")
        return _told(len(found.rows))

    return Writer(
        "results", lambda: tables[OLD].save(folder, "table"), lambda: tables[NEW].save(folder, "table"), state
    )
