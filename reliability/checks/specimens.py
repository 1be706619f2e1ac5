"""Small good files of every kind that softset reads, and what reads them to the end."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reliability.check import expect

__all__ = ["Specimen", "specimens"]

LINES = ["red apple", "blue sky", "green \u00e9toile \u65e5\u672c", "yellow sun", "dark night"]


@dataclass(frozen=True)
class Specimen:
    """A file or folder of one kind: the paths that may be damaged, and what reads it."""

    name: str
    files: tuple[Path, ...]
    read: Callable[[], object]


def specimens(folder: Path) -> list[Specimen]:
    """Write one of each kind below a folder, and return them."""
    made = []
    for build in (
        _vectors,
        _model2vec,
        _imported,
        _sets,
        _tokens,
        _collection,
        _weights,
        _tables,
        _items,
        _cache,
        _resumed,
    ):
        place = folder / build.__name__.strip("_")
        place.mkdir()
        made += build(place)
    for one in made:
        one.read()  # as long as it is whole
    return made


def _folder(name: str, folder: Path, read: Callable[[], object]) -> Specimen:
    files = tuple(sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in ("lock", "_lock")))
    return Specimen(name, files, read)


def _vectors(folder: Path) -> list[Specimen]:
    from tests.vectors.formats import files

    good = {
        "text": files.text(),
        "text with a header": files.text(header="10 3\n"),
        "word2vec binary": files.binary(),
        "npy": files.npy_of(),
        "safetensors": files.safetensors_of(),
        "text in gzip": files.gz(files.text()),
        "text in zip": files.zipped({"a": files.text()}),
    }
    made = []
    for at, (name, content) in enumerate(good.items()):
        path = folder / f"{at}" / "vectors.dat"
        path.parent.mkdir()
        path.write_bytes(content)
        path.with_suffix(".txt").write_text("\n".join(files.WORDS), "utf-8")
        made.append(Specimen(f"vectors, {name}", (path,), lambda path=path: files.read(path)))
    return made


def _model2vec(folder: Path) -> list[Specimen]:
    from tests.vectors.formats import files

    vocab = {"[PAD]": 0, **{word: at + 1 for at, word in enumerate(files.WORDS[1:])}}
    tensors = {
        "embeddings": ("F32", [10, 3], files.ROWS.tobytes()),
        "mapping": ("I64", [10], np.arange(10, dtype="<i8").tobytes()),
        "weights": ("F32", [10], np.ones(10, dtype="<f4").tobytes()),
    }
    path = files.model2vec(folder / "model", vocab, tensors, added_tokens=[{"content": "[PAD]", "special": True}])
    return [_folder("vectors, model2vec", path, lambda: files.read(path))]


def _imported(folder: Path) -> list[Specimen]:
    from softset.search.words import WordVectors, load_words
    from softset.vectors.storage import write_vectors

    random = np.random.default_rng(0)
    words = [f"w{at}" for at in range(40)]
    place = folder / "store"
    place.mkdir()
    write_vectors(place, [(words, random.standard_normal((40, 8)).astype("f4"))], {"name": "a"}, whiten=True)

    def read() -> None:
        vectors: WordVectors = load_words(place)
        for logic in ("logistic", "product"):
            _sane([hit.membership for hit in vectors.find("{w1, w2} - w3", 5, logic=logic)])

    return [_folder("imported vectors", place, read)]


def _sane(memberships: list[float]) -> None:
    found = np.array(memberships, dtype=np.float64)
    expect(bool(np.isfinite(found).all() and (found >= 0).all() and (found <= 1).all()), f"memberships {found}")


def _sets(folder: Path) -> list[Specimen]:
    from softset import GradedSubspace, Subspace

    rows = np.random.default_rng(1).standard_normal((3, 6))
    Subspace.span(rows).save(folder / "a.safetensors")
    GradedSubspace.of(rows).save(folder / "b.safetensors")
    probe = np.ones(6)
    return [
        Specimen(
            name,
            (folder / file,),
            lambda kind=kind, file=file: _sane([float(kind.load(folder / file).membership(probe))]),
        )
        for name, kind, file in (
            ("subspace", Subspace, "a.safetensors"),
            ("graded set", GradedSubspace, "b.safetensors"),
        )
    ]


def _tokens(folder: Path) -> list[Specimen]:
    from softset import TokenSets

    sets = TokenSets.from_arrays([np.ones((2, 4), "f4"), np.ones((3, 4), "f4")])
    sets.save(folder / "one.safetensors")
    sets.save(folder / "folder")

    def read(path: Path) -> None:
        opened = TokenSets.open(path)
        expect(sum(len(one) for one in opened) == len(opened.vectors), "token sets do not add up")
        list(opened.tokens or ())

    return [
        Specimen("token sets, a file", (folder / "one.safetensors",), lambda: read(folder / "one.safetensors")),
        _folder("token sets, a folder", folder / "folder", lambda: read(folder / "folder")),
    ]


def _collection(folder: Path) -> list[Specimen]:
    from softset.collections.collection import Collection
    from softset.collections.items import Item

    random = np.random.default_rng(2)
    place = folder / "books"
    items = [Item(f"i{at}", f"text {at}", {"n": at}) for at in range(30)]
    made = Collection.create(place, items[:20], vectors=random.standard_normal((20, 6)).astype("f4"))
    made.add(items[20:], vectors=random.standard_normal((10, 6)).astype("f4"))

    def read() -> None:
        opened = Collection.open(place)
        found = opened.find("{i1, i2} | i25", 5)
        _sane([hit.membership for hit in found])
        expect(all(isinstance(hit.text, str) for hit in found), "a text that is none")

    return [_folder("collection", place, read)]


def _weights(folder: Path) -> list[Specimen]:
    from softset import Calibration, Idf

    texts = ["red apple pie", "a blue sky over the sea", "green grass", "the dark night"] * 3
    Idf.fit(texts, model="words").save(folder / "idf.json")
    Calibration.fit(texts, model="words", metric="subspace").save(folder / "chance.json")

    def idf() -> None:
        expect(bool(np.isfinite(Idf.load(folder / "idf.json").weights(["red", "sky"])).all()), "a weight is not finite")

    return [
        Specimen("idf", (folder / "idf.json",), idf),
        Specimen("calibration", (folder / "chance.json",), lambda: Calibration.load(folder / "chance.json")),
    ]


def _tables(folder: Path) -> list[Specimen]:
    from softset.evaluation.data import DataFolder, finite_number
    from softset.query.named_sets import read_sets

    (folder / "pairs.tsv").write_text(
        "score\ttext\n" + "".join(f"{at}.5\t{one}\n" for at, one in enumerate(LINES)), "utf-8"
    )
    (folder / "sets.toml").write_text('colour = ["red", "blue"]\n"my set" = ["a b", "\u65e5\u672c"]\n', "utf-8")
    (folder / "sets.json").write_text('{"colour": ["red", "blue"], "x": ["y"]}', "utf-8")
    return [
        Specimen(
            "evaluation TSV",
            (folder / "pairs.tsv",),
            lambda: DataFolder(folder).table("pairs.tsv", ["score", "text"], [finite_number, str]),
        ),
        Specimen("named sets, TOML", (folder / "sets.toml",), lambda: read_sets(folder / "sets.toml")),
        Specimen("named sets, JSON", (folder / "sets.json",), lambda: read_sets(folder / "sets.json")),
    ]


def _items(folder: Path) -> list[Specimen]:
    from softset.collections.items import read_items

    content = {
        "a.tsv": "id\ttext\tyear\n" + "".join(f"{at}\t{one}\t19{at}0\n" for at, one in enumerate(LINES)),
        "a.csv": "id,text\n" + "".join(f'{at},"{one}, ""said"""\n' for at, one in enumerate(LINES)),
        "a.jsonl": "".join(f'{{"id": "{at}", "text": "{one}", "m": [1, null]}}\n' for at, one in enumerate(LINES)),
        "a.txt": "\n".join(LINES),
    }
    for name, text in content.items():
        (folder / name).write_text(text, "utf-8")
    return [
        Specimen(
            f"items, {name.partition('.')[2]}", (folder / name,), lambda name=name: list(read_items(folder / name))
        )
        for name in content
    ]


def _cache(folder: Path) -> list[Specimen]:
    from softset.encoders.cache import CachedEncoder
    from softset.encoders.loading import load_encoder

    plain = load_encoder("words")
    wanted = plain.encode(LINES).vectors
    CachedEncoder(plain, folder / "cache").encode(LINES)

    def read() -> None:
        found = CachedEncoder(plain, folder / "cache").encode(LINES).vectors
        expect(np.array_equal(found, wanted), "a damaged cache gave other vectors")

    return [_folder("cache", folder / "cache", read)]


def _resumed(folder: Path) -> list[Specimen]:
    from softset.io.checkpoint import resumable_file

    path = folder / "scores.tsv"
    with suppress(InterruptedError), resumable_file(path, {"signature": "a"}) as file:
        file.append(["1\t2", "3\t4"], {"empty": 1})
        raise InterruptedError

    def read() -> None:
        with (
            suppress(InterruptedError),
            resumable_file(path, {"signature": "a"}, resume=True) as again,
        ):
            expect(again.rows >= 0, "fewer rows than none")
            raise InterruptedError

    return [_folder("scores under way", folder, read)]
