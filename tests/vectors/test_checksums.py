"""What comes with the package is what was published, or is refused when it is first used."""

import shutil
from pathlib import Path

import pytest

from softset import load_encoder, load_words
from softset.errors import FileError
from softset.io import assets as bundled


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A copy of the assets, that the package takes for its own."""
    shutil.copytree(bundled.ASSETS, tmp_path / "assets")
    monkeypatch.setattr(bundled, "ASSETS", tmp_path / "assets")
    caches = (bundled.bundled_file, bundled.bundled_folder)
    for one in caches:
        one.cache_clear()
    yield tmp_path / "assets"
    for one in caches:
        one.cache_clear()


@pytest.mark.parametrize("name", ["minilm/model.onnx", "minilm/tokenizer.json", "minilm/meta.json"])
def test_a_model_that_was_changed_is_not_loaded(copied: Path, name: str) -> None:
    content = bytearray((copied / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copied / name).write_bytes(content)
    with pytest.raises(FileError, match=r"was changed since .*: install softset again"):
        load_encoder("minilm")


@pytest.mark.parametrize("name", ["vectors.npy", "words.bin", "meta.json"])
def test_vectors_that_were_changed_are_not_loaded(copied: Path, name: str) -> None:
    path = copied / "glove-840b-300d" / name
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"was changed since .*: install softset again"):
        load_words()


def test_what_is_missing_is_told(copied: Path) -> None:
    shutil.rmtree(copied / "baselines")
    with pytest.raises(FileError, match=r"levels.csv is missing or was changed"):
        bundled.bundled_file("baselines/levels.csv")


def test_every_asset_has_a_checksum() -> None:
    named = {path.relative_to(bundled.ASSETS).as_posix() for path in bundled.ASSETS.rglob("*") if path.is_file()}
    sealed = {name for name in named if name.startswith(("minilm/", "glove-840b-300d/")) and name.count("/") == 1}
    assert named - sealed - {"README.md"} == {name for name in bundled.CHECKSUMS if name.startswith("baselines/")}
