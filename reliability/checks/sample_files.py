"""Small valid files of each kind that softset reads."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from tests.vectors.formats import files as formats

from reliability.check import expect
from softset import Calibration, GradedSubspace, Idf, Subspace, TokenSets, load_encoder, load_words
from softset.collections.collection import Collection
from softset.collections.items import Item, read_items
from softset.encoders.cache import CachedEncoder
from softset.evaluation.data import DataFolder, finite_number
from softset.io.checkpoint import resumable_file
from softset.query.named_sets import Sets
from softset.vectors.storage import write_vectors

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
    for build in (_vectors, _model2vec, _imported, _sets, _tokens, _collection, _weights, _texts, _cache, _checkpoint):
        subfolder = folder / build.__name__.strip("_")
        subfolder.mkdir()
        samples += build(subfolder)
    for sample in samples:
        sample.read()  # must succeed before the damage
    return samples


def _sample(name: str, path: Path, read: Callable[[Path], object]) -> SampleFile:
    """Return a sample of one file, or of all files in a folder."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    return SampleFile(name, tuple(file for file in files if file.name not in ("lock", "_lock")), partial(read, path))


def _expect_memberships(memberships: object) -> None:
    numbers = np.asarray(memberships, dtype=np.float64)
    expect(bool(np.isfinite(numbers).all() and (numbers >= 0).all() and (numbers <= 1).all()), f"memberships {numbers}")


def _vectors(folder: Path) -> Iterator[SampleFile]:
    contents = {
        "text": formats.text(),
        "text with a header": formats.text(header="10 3\n"),
        "word2vec binary": formats.binary(),
        "npy": formats.npy_of(),
        "safetensors": formats.safetensors_of(),
        "text in gzip": formats.gz(formats.text()),
        "text in zip": formats.zipped({"a": formats.text()}),
    }
    for number, (name, content) in enumerate(contents.items()):
        path = folder / f"{number}" / "vectors.dat"
        path.parent.mkdir()
        path.write_bytes(content)
        path.with_suffix(".txt").write_text("\n".join(formats.WORDS), "utf-8")
        yield _sample(f"vectors, {name}", path, formats.read)


def _model2vec(folder: Path) -> Iterator[SampleFile]:
    vocab = {"[PAD]": 0, **{word: row for row, word in enumerate(formats.WORDS[1:], 1)}}
    tensors = {
        "embeddings": ("F32", [10, 3], formats.ROWS.tobytes()),
        "mapping": ("I64", [10], np.arange(10, dtype="<i8").tobytes()),
        "weights": ("F32", [10], np.ones(10, dtype="<f4").tobytes()),
    }
    formats.model2vec(folder, vocab, tensors, added_tokens=[formats.added_token(0, "[PAD]", special=True)])
    yield _sample("vectors, model2vec", folder, formats.read)


def _imported(folder: Path) -> Iterator[SampleFile]:
    rows = np.random.default_rng(0).standard_normal((40, 8)).astype("f4")
    write_vectors(folder, [([f"w{row}" for row in range(40)], rows)], {"name": "a"}, whiten=True)

    def read(path: Path) -> None:
        vectors = load_words(path)
        for logic in ("logistic", "graded"):
            _expect_memberships([hit.membership for hit in vectors.find("{w1, w2} - w3", 5, logic=logic)])

    yield _sample("imported vectors", folder, read)


def _sets(folder: Path) -> Iterator[SampleFile]:
    rows = np.random.default_rng(1).standard_normal((3, 6))
    for name, kind, value in (
        ("subspace", Subspace, Subspace.span(rows)),
        ("graded set", GradedSubspace, GradedSubspace.of(rows)),
    ):
        path = folder / f"{kind.__name__}.safetensors"
        value.save(path)
        yield _sample(name, path, lambda path, kind=kind: _expect_memberships(kind.load(path).membership(np.ones(6))))


def _tokens(folder: Path) -> Iterator[SampleFile]:
    sets = TokenSets.from_arrays([np.ones((2, 4), "f4"), np.ones((3, 4), "f4")])

    def read(path: Path) -> None:
        opened = TokenSets.open(path)
        expect(sum(len(rows) for rows in opened) == len(opened.vectors), "the token sets have other rows")
        list(opened.tokens or ())

    for name, path in (("a file", folder / "one.safetensors"), ("a folder", folder / "folder")):
        sets.save(path)
        yield _sample(f"token sets, {name}", path, read)


def _collection(folder: Path) -> Iterator[SampleFile]:
    rows = np.random.default_rng(2).standard_normal((30, 6)).astype("f4")
    path = folder / "books"
    items = [Item(f"i{number}", f"text {number}", {"n": number}) for number in range(30)]
    Collection.create(path, items[:20], vectors=rows[:20]).add(items[20:], vectors=rows[20:])

    def read(path: Path) -> None:
        result = Collection.open(path).find("{i1, i2} | i25", 5)
        _expect_memberships([hit.membership for hit in result])
        expect(all(isinstance(hit.text, str) for hit in result), "a text is not a string")

    yield _sample("collection", path, read)


def _weights(folder: Path) -> Iterator[SampleFile]:
    texts = ["red apple pie", "a blue sky over the sea", "green grass", "the dark night"] * 3
    Idf.fit(texts, model="words").save(folder / "idf.json")
    Calibration.fit(texts, model="words", metric="subspace").save(folder / "chance.json")

    def read_idf(path: Path) -> None:
        expect(bool(np.isfinite(Idf.load(path).weights(["red", "sky"])).all()), "a weight is not finite")

    yield _sample("idf", folder / "idf.json", read_idf)
    yield _sample("calibration", folder / "chance.json", Calibration.load)


def _texts(folder: Path) -> Iterator[SampleFile]:
    numbered = list(enumerate(LINES))

    def read_pairs(path: Path) -> object:
        return DataFolder(path.parent).table(path.name, ["score", "text"], [finite_number, str])

    def items(path: Path) -> object:
        return list(read_items(path))

    tsv = "id\ttext\tyear\n" + "".join(f"{number}\t{line}\t19{number}0\n" for number, line in numbered)
    csv = "id,text\n" + "".join(f'{number},"{line}, ""said"""\n' for number, line in numbered)
    jsonl = "".join(f'{{"id": "{number}", "text": "{line}", "m": [1, null]}}\n' for number, line in numbered)
    pairs = "score\ttext\n" + "".join(f"{number}.5\t{line}\n" for number, line in numbered)
    toml = 'colour = ["red", "blue"]\n"my set" = ["a b", "\u65e5\u672c"]\n'
    for name, file, content, read in (
        ("evaluation TSV", "pairs.tsv", pairs, read_pairs),
        ("named sets, TOML", "sets.toml", toml, Sets.load),
        ("named sets, JSON", "sets.json", '{"colour": ["red", "blue"], "x": ["y"]}', Sets.load),
        ("items, tsv", "a.tsv", tsv, items),
        ("items, csv", "a.csv", csv, items),
        ("items, jsonl", "a.jsonl", jsonl, items),
        ("items, txt", "a.txt", "\n".join(LINES), items),
    ):
        (folder / file).write_text(content, "utf-8")
        yield _sample(name, folder / file, read)


def _cache(folder: Path) -> Iterator[SampleFile]:
    encoder = load_encoder("words")
    expected = encoder.encode(LINES).vectors

    def read(path: Path) -> None:
        expect(np.array_equal(CachedEncoder(encoder, path).encode(LINES).vectors, expected), "other vectors")

    read(folder / "cache")
    yield _sample("cache", folder / "cache", read)


def _checkpoint(folder: Path) -> Iterator[SampleFile]:
    path = folder / "scores.tsv"
    with suppress(InterruptedError), resumable_file(path, {"signature": "a"}) as file:
        file.append(["1\t2", "3\t4"], {"empty": 1})
        raise InterruptedError

    def read(_: Path) -> None:
        with suppress(InterruptedError), resumable_file(path, {"signature": "a"}, resume=True) as resumed:
            expect(resumed.rows >= 0, "a negative number of rows")
            raise InterruptedError

    yield _sample("checkpoint of scores", folder, read)
