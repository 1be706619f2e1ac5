"""The public surface equals the recorded one, and files of earlier versions can be opened."""

import difflib
from pathlib import Path

import numpy as np
import pytest

from softset import Calibration, GradedSubspace, Idf, Subspace, TokenSets, __version__, load_words
from softset.collections.collection import Collection
from softset.errors import FileError
from softset.io.arrays import write_tensors
from tests.stability.surface import RECORD, surface
from tests.stability.write_files import ROWS, TEXTS

FILES = Path(__file__).parent / "files"
VERSIONS = sorted(path.name for path in FILES.iterdir())


def test_the_surface_equals_the_recorded_one() -> None:
    before, now = RECORD.read_text("utf-8").splitlines(), list(surface())
    changed = "\n".join(difflib.unified_diff(before, now, "recorded", "now", lineterm="", n=0))
    assert before == now, f"tell it in CHANGELOG.md, then python -m tests.stability.surface:\n{changed}"


def test_every_version_has_files() -> None:
    assert __version__ in VERSIONS, "python -m tests.stability.write_files tests/stability/files/VERSION"


@pytest.mark.parametrize("version", VERSIONS)
def test_sets(version: str) -> None:
    crisp = Subspace.load(FILES / version / "subspace.safetensors")
    assert crisp == Subspace.span(ROWS[:2])
    graded = GradedSubspace.load(FILES / version / "graded.safetensors")
    assert graded.membership(ROWS) == pytest.approx(GradedSubspace.of(ROWS).membership(ROWS), abs=1e-12)


@pytest.mark.parametrize("version", VERSIONS)
def test_word_vectors(version: str) -> None:
    words = load_words(FILES / version / "words")
    assert list(words.words) == ["red", "blue", "sea"] and np.array_equal(words.matrix, ROWS.astype("f4"))
    assert words.find("{red, sea}", 1, preprocessing="none")[0].id == "blue"


@pytest.mark.parametrize("version", VERSIONS)
def test_collections(version: str) -> None:
    opened = Collection.open(FILES / version / "collection")
    found = opened.find("i0", 5, include_examples=True)
    assert {(hit.id, hit.text, hit.metadata["n"]) for hit in found} == {
        (f"i{at}", text, at) for at, text in enumerate(TEXTS)
    }


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["tokens.safetensors", "tokens"])
def test_token_sets(version: str, name: str) -> None:
    sets = TokenSets.open(FILES / version / name)
    assert [len(one) for one in sets] == [2, 1] and np.array_equal(sets.vectors, ROWS.astype("f4"))


@pytest.mark.parametrize("version", [one for one in VERSIONS if one > "0.1.0"])
def test_weights_and_calibrations(version: str) -> None:
    idf = Idf.load(FILES / version / "idf.json")
    assert idf.documents == 3 and idf["sea"] == pytest.approx(np.log(2))
    chance = Calibration.load(FILES / version / "calibration.json")
    assert 0 < chance.score < 1 and "subspace" in chance.signature


def test_a_file_of_an_unknown_kind_is_an_error(tmp_path: Path) -> None:
    write_tensors(tmp_path / "set.safetensors", "Hyperspace", {"directions": ROWS}, {"dtype": "float64"})
    with pytest.raises(FileError, match="holds a softset Hyperspace, but a softset Subspace was expected"):
        Subspace.load(tmp_path / "set.safetensors")
