"""Small valid files of each kind that softset reads."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reliability.check import expect

__all__ = ["SampleFile", "write_samples"]

LINES = ["red apple", "blue sky", "green \u00e9toile \u65e5\u672c", "yellow sun", "dark night"]


@dataclass(frozen=True)
class SampleFile:
    """A file or folder of one kind: the files that may be damaged, and a function that reads all of it."""

    name: str
    files: tuple[Path, ...]
    read: Callable[[], object]


def write_samples(folder: Path) -> list[SampleFile]:
    """Write one sample of each kind below a folder."""
    samples = []
    for build in BUILDERS:
        subfolder = folder / build.__name__.strip("_")
        subfolder.mkdir()
        samples += build(subfolder)
    for sample in samples:
        sample.read()  # must succeed before the damage
    return samples


def _folder(name: str, folder: Path, read: Callable[[], object]) -> SampleFile:
    files = tuple(sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in ("lock", "_lock")))
    return SampleFile(name, files, read)


def _vectors(folder: Path) -> list[SampleFile]:
    from tests.vectors.formats import files

    contents = {
        "text": files.text(),
        "text with a header": files.text(header="10 3\n"),
        "word2vec binary": files.binary(),
        "npy": files.npy_of(),
        "safetensors": files.safetensors_of(),
        "text in gzip": files.gz(files.text()),
        "text in zip": files.zipped({"a": files.text()}),
    }
    samples = []
    for number, (name, content) in enumerate(contents.items()):
        path = folder / f"{number}" / "vectors.dat"
        path.parent.mkdir()
        path.write_bytes(content)
        path.with_suffix(".txt").write_text("\n".join(files.WORDS), "utf-8")
        samples.append(SampleFile(f"vectors, {name}", (path,), lambda path=path: files.read(path)))
    return samples


def _model2vec(folder: Path) -> list[SampleFile]:
    from tests.vectors.formats import files

    vocab = {"[PAD]": 0, **{word: row for row, word in enumerate(files.WORDS[1:], 1)}}
    tensors = {
        "embeddings": ("F32", [10, 3], files.ROWS.tobytes()),
        "mapping": ("I64", [10], np.arange(10, dtype="<i8").tobytes()),
        "weights": ("F32", [10], np.ones(10, dtype="<f4").tobytes()),
    }
    path = files.model2vec(folder / "model", vocab, tensors, added_tokens=[{"content": "[PAD]", "special": True}])
    return [_folder("vectors, model2vec", path, lambda: files.read(path))]


def _imported(folder: Path) -> list[SampleFile]:
    from softset.search.words import WordVectors, load_words
    from softset.vectors.storage import write_vectors

    rng = np.random.default_rng(0)
    words = [f"w{row}" for row in range(40)]
    store = folder / "store"
    store.mkdir()
    write_vectors(store, [(words, rng.standard_normal((40, 8)).astype("f4"))], {"name": "a"}, whiten=True)

    def read() -> None:
        vectors: WordVectors = load_words(store)
        for logic in ("logistic", "product"):
            _expect_memberships([hit.membership for hit in vectors.find("{w1, w2} - w3", 5, logic=logic)])

    return [_folder("imported vectors", store, read)]


def _expect_memberships(memberships: list[float]) -> None:
    numbers = np.array(memberships, dtype=np.float64)
    expect(bool(np.isfinite(numbers).all() and (numbers >= 0).all() and (numbers <= 1).all()), f"memberships {numbers}")


def _sets(folder: Path) -> list[SampleFile]:
    from softset import GradedSubspace, Subspace

    rows = np.random.default_rng(1).standard_normal((3, 6))
    Subspace.span(rows).save(folder / "a.safetensors")
    GradedSubspace.of(rows).save(folder / "b.safetensors")
    probe = np.ones(6)
    return [
        SampleFile(
            name,
            (folder / file,),
            lambda kind=kind, file=file: _expect_memberships([float(kind.load(folder / file).membership(probe))]),
        )
        for name, kind, file in (
            ("subspace", Subspace, "a.safetensors"),
            ("graded set", GradedSubspace, "b.safetensors"),
        )
    ]


def _tokens(folder: Path) -> list[SampleFile]:
    from softset import TokenSets

    sets = TokenSets.from_arrays([np.ones((2, 4), "f4"), np.ones((3, 4), "f4")])
    sets.save(folder / "one.safetensors")
    sets.save(folder / "folder")

    def read(path: Path) -> None:
        opened = TokenSets.open(path)
        expect(sum(len(rows) for rows in opened) == len(opened.vectors), "the token sets have other rows")
        list(opened.tokens or ())

    return [
        SampleFile("token sets, a file", (folder / "one.safetensors",), lambda: read(folder / "one.safetensors")),
        _folder("token sets, a folder", folder / "folder", lambda: read(folder / "folder")),
    ]


def _collection(folder: Path) -> list[SampleFile]:
    from softset.collections.collection import Collection
    from softset.collections.items import Item

    rng = np.random.default_rng(2)
    path = folder / "books"
    items = [Item(f"i{number}", f"text {number}", {"n": number}) for number in range(30)]
    collection = Collection.create(path, items[:20], vectors=rng.standard_normal((20, 6)).astype("f4"))
    collection.add(items[20:], vectors=rng.standard_normal((10, 6)).astype("f4"))

    def read() -> None:
        result = Collection.open(path).find("{i1, i2} | i25", 5)
        _expect_memberships([hit.membership for hit in result])
        expect(all(isinstance(hit.text, str) for hit in result), "a text is not a string")

    return [_folder("collection", path, read)]


def _weights(folder: Path) -> list[SampleFile]:
    from softset import Calibration, Idf

    texts = ["red apple pie", "a blue sky over the sea", "green grass", "the dark night"] * 3
    Idf.fit(texts, model="words").save(folder / "idf.json")
    Calibration.fit(texts, model="words", metric="subspace").save(folder / "chance.json")

    def idf() -> None:
        expect(bool(np.isfinite(Idf.load(folder / "idf.json").weights(["red", "sky"])).all()), "a weight is not finite")

    return [
        SampleFile("idf", (folder / "idf.json",), idf),
        SampleFile("calibration", (folder / "chance.json",), lambda: Calibration.load(folder / "chance.json")),
    ]


def _tables(folder: Path) -> list[SampleFile]:
    from softset.evaluation.data import DataFolder, finite_number
    from softset.query.named_sets import read_sets

    (folder / "pairs.tsv").write_text(
        "score\ttext\n" + "".join(f"{number}.5\t{line}\n" for number, line in enumerate(LINES)), "utf-8"
    )
    (folder / "sets.toml").write_text('colour = ["red", "blue"]\n"my set" = ["a b", "\u65e5\u672c"]\n', "utf-8")
    (folder / "sets.json").write_text('{"colour": ["red", "blue"], "x": ["y"]}', "utf-8")
    return [
        SampleFile(
            "evaluation TSV",
            (folder / "pairs.tsv",),
            lambda: DataFolder(folder).table("pairs.tsv", ["score", "text"], [finite_number, str]),
        ),
        SampleFile("named sets, TOML", (folder / "sets.toml",), lambda: read_sets(folder / "sets.toml")),
        SampleFile("named sets, JSON", (folder / "sets.json",), lambda: read_sets(folder / "sets.json")),
    ]


def _items(folder: Path) -> list[SampleFile]:
    from softset.collections.items import read_items

    content = {
        "a.tsv": "id\ttext\tyear\n" + "".join(f"{number}\t{line}\t19{number}0\n" for number, line in enumerate(LINES)),
        "a.csv": "id,text\n" + "".join(f'{number},"{line}, ""said"""\n' for number, line in enumerate(LINES)),
        "a.jsonl": "".join(
            f'{{"id": "{number}", "text": "{line}", "m": [1, null]}}\n' for number, line in enumerate(LINES)
        ),
        "a.txt": "\n".join(LINES),
    }
    for name, text in content.items():
        (folder / name).write_text(text, "utf-8")
    return [
        SampleFile(
            f"items, {name.partition('.')[2]}", (folder / name,), lambda name=name: list(read_items(folder / name))
        )
        for name in content
    ]


def _cache(folder: Path) -> list[SampleFile]:
    from softset.encoders.cache import CachedEncoder
    from softset.encoders.loading import load_encoder

    encoder = load_encoder("words")
    expected = encoder.encode(LINES).vectors
    CachedEncoder(encoder, folder / "cache").encode(LINES)

    def read() -> None:
        vectors = CachedEncoder(encoder, folder / "cache").encode(LINES).vectors
        expect(np.array_equal(vectors, expected), "other vectors from a damaged cache")

    return [_folder("cache", folder / "cache", read)]


def _checkpoint(folder: Path) -> list[SampleFile]:
    from softset.io.checkpoint import resumable_file

    path = folder / "scores.tsv"
    with suppress(InterruptedError), resumable_file(path, {"signature": "a"}) as file:
        file.append(["1\t2", "3\t4"], {"empty": 1})
        raise InterruptedError

    def read() -> None:
        with (
            suppress(InterruptedError),
            resumable_file(path, {"signature": "a"}, resume=True) as resumed,
        ):
            expect(resumed.rows >= 0, "a negative number of rows")
            raise InterruptedError

    return [_folder("checkpoint of scores", folder, read)]


BUILDERS = (
    *(_vectors, _model2vec, _imported, _sets, _tokens, _collection),
    *(_weights, _tables, _items, _cache, _checkpoint),
)
