"""Word vectors on disk, and the registry of imported vectors."""

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from softset import WordVectors, load_words
from softset.errors import FileError, InputError
from softset.vectors import registry
from softset.vectors.storage import MANIFEST, open_vectors


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "vectors"


def text_file(path: Path, n: int = 50, d: int = 4, seed: int = 0) -> Path:
    rows = np.random.default_rng(seed).standard_normal((n, d)).round(4)
    path.write_text("".join(f"w{i} {' '.join(map(str, row))}\n" for i, row in enumerate(rows.tolist())))
    return path


def is_mapped(array: np.ndarray) -> bool:
    """Tell whether an array, or the array it is a view of, is memory-mapped."""
    return isinstance(array, np.memmap) or (array.base is not None and is_mapped(array.base))


def test_save_and_open(tmp_path: Path) -> None:
    words = WordVectors.of(["red", "blue", "日本"], [[1, 2], [3, 4], [5, 6.5]])
    words.save(tmp_path / "store")
    again = WordVectors.open(tmp_path / "store")
    assert list(again.words) == list(words.words) and np.array_equal(again.matrix, words.matrix)
    assert again.words.get_index("日本") == 2 and is_mapped(again.matrix)
    MANIFEST.verify(tmp_path / "store")
    with pytest.raises(FileExistsError):
        words.save(tmp_path / "store")
    with pytest.raises(FileError, match="nothing was stored"):
        WordVectors.of([], np.zeros((0, 2))).save(tmp_path / "none")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    words.preprocess("centre").normalised().save(tmp_path / "centred")
    centred = WordVectors.open(tmp_path / "centred")
    assert centred.preprocessing == "centre@3+normalised"
    with pytest.raises(InputError, match="already preprocessed \\(centre@3\\+normalised\\)"):
        centred.preprocess("centre")


@pytest.mark.parametrize(
    "name", ["vectors.npy", "norms.npy", "words.bin", "offsets.npy", "hashes.npy", "places.npy", "meta.json"]
)
def test_a_damaged_folder_is_refused(tmp_path: Path, name: str) -> None:
    WordVectors.of(["red", "blue"], [[1, 2], [3, 4]]).save(tmp_path / "store")
    file = tmp_path / "store" / name
    content = file.read_bytes()
    for broken in (b"", content[: len(content) // 2], content + b"x"):
        file.write_bytes(broken)
        with pytest.raises(FileError):
            WordVectors.open(tmp_path / "store")
    file.unlink()
    with pytest.raises(FileError):
        WordVectors.open(tmp_path / "store")


def test_verify_finds_a_changed_byte(tmp_path: Path) -> None:
    WordVectors.of(["red", "blue"], [[1, 2], [3, 4]]).save(tmp_path / "store")
    file = tmp_path / "store" / "vectors.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(FileError, match=r"vectors\.npy was changed after it was written"):
        MANIFEST.verify(tmp_path / "store")


def test_file_names_in_the_manifest_cannot_leave_the_folder(tmp_path: Path) -> None:
    WordVectors.of(["red"], [[1, 2]]).save(tmp_path / "store")
    meta = json.loads((tmp_path / "store" / "meta.json").read_text())
    meta["files"]["../../secret"] = {"bytes": 1, "sha256": ""}
    (tmp_path / "secret").write_text("x")
    (tmp_path / "store" / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(FileError, match=r"store/secret is missing"):
        open_vectors(tmp_path / "store")
    without_words = {key: value for key, value in meta.items() if key != "words"}
    for broken in ({}, {**meta, "files": []}, {**meta, "files": {"x": 3}}, without_words, [], 3):
        (tmp_path / "store" / "meta.json").write_text(json.dumps(broken))
        with pytest.raises(FileError):
            open_vectors(tmp_path / "store")


def test_import_use_and_remove(home: Path, tmp_path: Path) -> None:
    seen = []
    facts = registry.import_vectors(text_file(tmp_path / "v.txt"), "mine", progress=lambda done, _: seen.append(done))
    assert facts["words"] == 50 and facts["dimensions"] == 4 and seen[-1] == 50
    assert [name for name, _ in registry.REGISTRY.items()] == ["mine"]
    words = load_words("mine")
    assert len(words) == 50 and words.name == "mine"
    assert words.find("w3 | w4", top=3)
    registry.REGISTRY.remove("mine")
    assert list(home.iterdir()) == []
    with pytest.raises(InputError, match="there are no word vectors and no folder named 'mine'"):
        load_words("mine")
    with pytest.raises(InputError, match="there are no imported word vectors named 'mine'; imported names: none"):
        registry.REGISTRY.remove("mine")


def test_an_import_replaces_another_only_on_request(home: Path, tmp_path: Path) -> None:
    registry.import_vectors(text_file(tmp_path / "a.txt"), "mine")
    with pytest.raises(InputError, match=r"there are already word vectors named 'mine'.*--replace"):
        registry.import_vectors(text_file(tmp_path / "b.txt", n=9), "mine")
    registry.import_vectors(tmp_path / "b.txt", "mine", replace=True)
    assert len(load_words("mine")) == 9 and len(list(home.iterdir())) == 2
    with pytest.raises(InputError, match="is the name of bundled word vectors: choose another name"):
        registry.import_vectors(tmp_path / "a.txt", registry.BUNDLED, replace=True)


@pytest.mark.parametrize("broken", ["w9 1 2\n", "w1 1 2 3 4\n", "w9 1 2 nan 4\n"])
def test_a_failed_import_leaves_the_old_vectors_in_place(home: Path, tmp_path: Path, broken: str) -> None:
    registry.import_vectors(text_file(tmp_path / "a.txt"), "mine")
    with (tmp_path / "a.txt").open("a") as file:
        file.write(broken)
    with pytest.raises(FileError, match="line 51"):
        registry.import_vectors(tmp_path / "a.txt", "mine", replace=True)
    assert len(load_words("mine")) == 50 and len(list(home.iterdir())) == 2


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a b", "x" * 101, "é"])
def test_invalid_names(home: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be used as a name"):
        registry.import_vectors(text_file(tmp_path / "a.txt"), name)
    with pytest.raises(InputError):
        registry.REGISTRY.remove(name)


@pytest.mark.parametrize(
    "content", ['{"folder": "../../.."}', '{"folder": ".."}', '{"folder": ""}', '{"folder": "."}', "[]", "", "{"]
)
def test_a_damaged_entry_does_not_affect_other_imports(home: Path, tmp_path: Path, content: str) -> None:
    registry.import_vectors(text_file(tmp_path / "a.txt"), "good")
    registry.import_vectors(tmp_path / "a.txt", "bad")
    (home.parent / "precious").write_text("x")
    (home / "bad.json").write_text(content)
    with pytest.raises(FileError, match=r"bad\.json .*softset vectors remove bad"):
        load_words("bad")
    assert dict(registry.REGISTRY.items())["bad"] is None and dict(registry.REGISTRY.items())["good"] is not None
    registry.import_vectors(tmp_path / "a.txt", "third")
    registry.import_vectors(tmp_path / "a.txt", "bad", replace=True)
    assert len(load_words("bad")) == 50
    (home / "bad.json").write_text(content)
    registry.REGISTRY.remove("bad")
    assert (home.parent / "precious").exists() and len(load_words("good")) == len(load_words("third")) == 50


def test_unfinished_imports_are_deleted_after_a_day(home: Path, tmp_path: Path) -> None:
    registry.import_vectors(text_file(tmp_path / "a.txt"), "mine")
    for name, age in (("old@x", 2 * 86400), ("new@x", 0)):
        (home / name).mkdir()
        os.utime(home / name, (time.time() - age,) * 2)
    registry.import_vectors(tmp_path / "a.txt", "other")
    left = {path.name for path in home.iterdir()}
    assert "new@x" in left and "old@x" not in left


def test_opening_does_not_read_the_words(tmp_path: Path) -> None:
    """A store of 341,000 words opens in well under 50 ms."""
    n = 341_000
    WordVectors.of([f"word{i}" for i in range(n)], np.ones((n, 4))).save(tmp_path / "store")
    WordVectors.open(tmp_path / "store")
    times = []
    for _ in range(5):
        start = time.perf_counter()
        words = WordVectors.open(tmp_path / "store")
        assert words.words.get_index("word340999") == 340_999
        times.append(time.perf_counter() - start)
    assert sorted(times)[2] < 0.05


def test_paths_that_are_not_folders_of_vectors(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("red 1 2\n")
    with pytest.raises(FileError, match="is a file, not a folder of word vectors: import it"):
        load_words(tmp_path / "file.txt")
    with pytest.raises(FileError, match=r"it has no meta\.json"):
        load_words(tmp_path)
    with pytest.raises(InputError, match="available names: glove-840b-300d"):
        load_words(tmp_path / "absent")


def test_bundled_vectors_are_unchanged() -> None:
    MANIFEST.verify(registry.vectors_folder())
    words = load_words()
    assert len(words) == 33_753 and words.metadata["licence"].startswith("PDDL")
    assert all(word.isalnum() for word in words.words)


def test_read_a_file_into_memory(tmp_path: Path) -> None:
    words = WordVectors.read(text_file(tmp_path / "a.txt"))
    assert len(words) == 50 and words.name == "a.txt"
