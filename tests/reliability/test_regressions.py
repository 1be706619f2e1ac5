"""Failures that the reliability checks found, each with a minimal input."""

import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import softset
from softset import Subspace, TokenSets, WordVectors, load_words
from softset.collections.collection import Collection
from softset.collections.items import Item, read_items
from softset.errors import FileError
from softset.evaluation.data import DataFolder
from softset.io.arrays import read_array, write_tensors
from softset.query.background import kth_largest
from softset.query.named_sets import Sets
from softset.similarity.kernels import gram
from softset.similarity.metrics import bertscore
from softset.vectors.formats import read_vectors
from softset.vectors.storage import write_vectors

ROWS = np.random.default_rng(0).standard_normal((40, 6)).astype("f4")
NAMES = [f"w{row}" for row in range(40)]


def replace_bytes(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert content.count(old) >= 1 and len(old) == len(new)
    path.write_bytes(content.replace(old, new, 1))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    WordVectors.of(NAMES, ROWS).save(tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def books(tmp_path: Path) -> Path:
    items = [Item(name, f"text of {name}", {"n": row}) for row, name in enumerate(NAMES)]
    Collection.create(tmp_path / "books", items, vectors=ROWS)
    return tmp_path / "books"


def segment(folder: Path) -> Path:
    return next(folder.glob("segment-*"))


@pytest.mark.parametrize("header", [b"{'desc(: '<f", b"{'descr': '|O", b"{'descr': '>f"])
def test_a_damaged_npy_header_is_refused(store: Path, header: bytes) -> None:
    replace_bytes(store / "vectors.npy", b"{'descr': '<f"[: len(header)], header)
    if header.endswith(b">f"):  # other numbers, but valid
        assert load_words(store).matrix.shape == (40, 6)
        return
    with pytest.raises(FileError, match=r"^[^\n]*(is not a complete NumPy file|is not an array of numbers)[^\n]*$"):
        load_words(store)


def test_object_arrays_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match="is not an array of numbers or text: save it again"):
        read_array(tmp_path / "a.npy")
    (tmp_path / "c.npy").write_bytes(b"x" * 100)
    with pytest.raises(FileError, match="is not an array of numbers or text: save it again"):
        read_array(tmp_path / "c.npy")
    (tmp_path / "b.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'shape': (2," + b" " * 100)
    with pytest.raises(FileError, match="is not a complete NumPy file"):
        read_array(tmp_path / "b.npy", mapped=False)


def test_integer_norms_are_refused(store: Path) -> None:
    replace_bytes(store / "norms.npy", b"'<f4'", b"'<i4'")
    with pytest.raises(FileError, match=r"norms\.npy holds int32 of shape \(40,\), but shape \(40,\) was expected"):
        load_words(store)


@pytest.mark.parametrize("name", ["norms.npy", "whitened.npy"])
def test_a_norm_that_is_nearly_zero_does_not_disturb_a_search(tmp_path: Path, name: str) -> None:
    write_vectors(tmp_path, [(NAMES, ROWS[:, :2])], {"name": "a"}, whiten=True)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[:128] + np.array([1e-40], "<f4").tobytes() + content[132:])
    words = load_words(tmp_path)
    for logic in ("graded", "lattice", "logistic"):
        hits = words.find("w5", 40, logic=logic)
        assert {hit.id for hit in hits} >= set(NAMES) - {"w0", "w5"} and all(0 <= hit.membership <= 1 for hit in hits)
    assert len(words.most_similar("w5", topn=39)) == 39


def test_words_that_are_not_utf8_are_refused(store: Path) -> None:
    replace_bytes(store / "words.bin", b"w1", b"\xff1")
    with pytest.raises(FileError, match="a stored word is not valid UTF-8"):
        list(load_words(store).words)


def test_nan_vectors_give_no_nan_memberships(store: Path) -> None:
    content = (store / "vectors.npy").read_bytes()
    (store / "vectors.npy").write_bytes(content[:128] + np.full(6, np.nan, "<f4").tobytes() + content[152:])
    words = load_words(store)
    for logic in ("graded", "lattice"):
        result = words.find("w5", 40, logic=logic)
        assert all(np.isfinite(hit.membership) for hit in result) and "w0" not in {hit.id for hit in result}
    with pytest.raises(FileError, match="a number that is not finite: its file was changed"):
        words.find("w5", logic="logistic")  # the vector is part of the background
    with pytest.raises(FileError, match="a number that is not finite"):
        kth_largest(np.full(64, np.nan), 3)


def test_a_damaged_header_of_token_sets_is_refused(tmp_path: Path) -> None:
    TokenSets.from_arrays([ROWS[:2], ROWS[2:5]]).save(tmp_path / "sets")
    replace_bytes(tmp_path / "sets" / "offsets.npy", b"(3,)", b"(3,(")
    with pytest.raises(FileError, match=r"offsets\.npy is not a complete NumPy file"):
        TokenSets.open(tmp_path / "sets")


def test_a_missing_segment_is_reported(books: Path) -> None:
    manifest = json.loads((books / "manifest.json").read_text())
    manifest["segments"] = {"segment-nothing": []}
    (books / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(FileError, match="lacks a file that its manifest names: index the items again"):
        Collection.open(books)


@pytest.mark.parametrize(
    ("old", "new"), [(b'{"text"', b'{"tex_"'), (b'{"text"', b'{"text['), (b'"text of w7"', b"1234567890e1")]
)
def test_a_changed_item_is_reported(books: Path, old: bytes, new: bytes) -> None:
    content = segment(books) / "items.bin"
    lines = content.read_bytes().splitlines(keepends=True)
    lines[7] = lines[7].replace(old, new)
    content.write_bytes(b"".join(lines))
    with pytest.raises(FileError, match=r"items\.bin was changed after it was written \(item 7\)"):
        Collection.open(books).find("w7", 40, include_examples=True)


def test_huge_directions_are_refused(tmp_path: Path) -> None:
    """Their products overflow to NaN, and no comparison with NaN is true."""
    rows = np.array([[1e200, 1e200], [1e200, -1e200]])
    write_tensors(tmp_path / "a.safetensors", "Subspace", {"directions": rows}, {"dtype": "float64"})
    with pytest.raises(FileError, match="not orthonormal"):
        Subspace.load(tmp_path / "a.safetensors")


def test_cosines_are_at_least_minus_one() -> None:
    """Rounding makes the product of opposite unit vectors slightly smaller than -1."""
    rows = np.random.default_rng(0).standard_normal((500, 3)).astype("f4")
    texts = TokenSets.from_arrays(list(rows[:, None])), TokenSets.from_arrays(list(-rows[:, None]))
    assert softset.score(*texts, metric="average").score.min() >= -1
    assert np.abs(softset.pairwise(*texts, metric="average")).max() <= 1


@pytest.mark.parametrize("metric", ["softset", "subspace", "subspace(aperture=2)", "bertscore"])
def test_memory_grows_linearly_with_text_length(metric: str) -> None:
    """All cosines of 4,000 tokens would take 128 MB."""
    rows = np.random.default_rng(0).standard_normal((4_000, 24)).astype("f4")
    texts = TokenSets.from_arrays([rows]), TokenSets.from_arrays([rows[:9]])
    softset.score(texts[1], texts[1], metric=metric)
    tracemalloc.start()
    scores = softset.score(*texts, metric=metric)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60e6 and 0 < scores.recall[0] <= 1


def test_long_texts_use_the_same_formula_as_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bases give the results of Gram matrices, and blocks of cosines the results of one product."""
    random = np.random.default_rng(0)
    texts = [TokenSets.from_arrays([random.standard_normal((k, 24)).astype("f4") + 1]) for k in (700, 30)]
    expected = {metric: softset.score(*texts, metric=metric).score[0] for metric in ("softset", "bertscore")}
    monkeypatch.setattr(gram, "MAX_GRADED_ROWS", 10**9)
    monkeypatch.setattr(bertscore, "MAX_COSINES", 1_000)
    for metric, score in expected.items():
        assert softset.score(*texts, metric=metric).score[0] == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("number", ["1e400", "-1e400"])
def test_infinite_sizes_are_refused(store: Path, books: Path, number: str) -> None:
    for path, key in ((store / "meta.json", '"bytes": '), (store / "meta.json", '"words": ')):
        good = path.read_text()
        start = good.index(key) + len(key)
        path.write_text(good[:start] + number + good[good.index(",", start) :])
        with pytest.raises(FileError, match=r"meta\.json .*import it again"):
            load_words(store)
        path.write_text(good)
    manifest = (books / "manifest.json").read_text()
    (books / "manifest.json").write_text(manifest.replace("[]", f"[{number}]"))
    with pytest.raises(FileError, match="is not a complete collection"):
        Collection.open(books)


def test_a_zip_member_without_a_name_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("x"), "a 1 2\nb 3 4\n")
        archive.infolist()[0].filename = ""
    with pytest.raises(FileError, match="damaged archive"):
        read_vectors(tmp_path / "a.zip")


def test_error_messages_are_short(tmp_path: Path) -> None:
    header = "\t".join(["id"] * 5_000)
    (tmp_path / "a.tsv").write_text(f"{header}\n")
    with pytest.raises(FileError) as error:
        list(read_items(tmp_path / "a.tsv"))
    assert len(str(error.value)) < 500
    with pytest.raises(FileError) as error:
        DataFolder(tmp_path).table("a.tsv", ["score"], [float])
    assert len(str(error.value)) < 500


def test_deeply_nested_named_sets_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": ' + "[" * 100_000)
    with pytest.raises(FileError, match="cannot be read as JSON"):
        Sets.load(tmp_path / "a.json")
