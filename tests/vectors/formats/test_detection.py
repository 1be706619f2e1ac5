"""Detection of the format, and options of `read_vectors`."""

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from softset.errors import FileError, InputError
from softset.vectors import formats as readers
from tests.vectors.formats.files import ROWS, WORDS, binary, gz, npy_of, read, safetensors, safetensors_of, text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "vectors.txt").write_text("\n".join(WORDS), encoding="utf-8")
    return tmp_path / "vectors.dat"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (text(), "text"),
        (text(header="10 3\n"), "text"),
        (b"{ 1 2\n} 3 4\n", "text"),
        (b"caf\xe9 0.25 0.5\n", "text"),
        (("日本語" * 200 + " 1\n").encode() * 40, "text"),
        (b"2 1\ninternationalisation 1\nelectroencephalograph 2\n", "text"),
        (b"1 2\nword 1 two\n", "text"),
        (b"a\x10b 0.123 0.456\n", "text"),
        (binary(), "word2vec-binary"),
        (binary(rows=np.zeros((10, 3))), "word2vec-binary"),
        (binary(["a"], np.array([[0.3]])), "word2vec-binary"),
        (npy_of(), "npy"),
        (safetensors_of(), "safetensors"),
    ],
)
def test_format_is_detected_from_the_content(content: bytes, kind: str, path: Path) -> None:
    path.write_bytes(content)
    assert readers.read_vectors(path).format == kind


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("pack", [bytes, gz])
@pytest.mark.parametrize("kind", [None, "text", "npy"])
def test_pickles_are_refused(protocol: int, pack, kind: str | None, path: Path) -> None:
    path.write_bytes(pack(pickle.dumps({"index_to_key": WORDS}, protocol)))
    with pytest.raises(
        FileError, match="is a Python pickle, and softset never loads pickles because they can run"
    ) as caught:
        readers.read_vectors(path, format=kind)
    assert 'KeyedVectors.load(path).save_word2vec_format("vectors.bin", binary=True)' in str(caught.value)


def test_safetensors_file_that_begins_like_a_pickle(path: Path) -> None:
    whole = safetensors({"rows": ("F32", [10, 3], ROWS.tobytes())})
    length = int.from_bytes(whole[:8], "little")
    padded = struct.pack("<Q", 0x0280) + whole[8 : 8 + length].ljust(0x0280) + whole[8 + length :]
    assert padded.startswith(b"\x80\x02")
    path.write_bytes(padded)
    assert np.array_equal(read(path)[1], ROWS)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (gz(b""), "is empty"),
        (b"\xba\x16\x4f\x2f\x0c\0\0\0", "is a fastText model, .* use the .vec file that comes with it"),
        (bytes(range(256)), r"has an unknown format; supported are text .*--format"),
        (b"\x7fELF\0\0\0", "has an unknown format"),
    ],
)
def test_unknown_content(content: bytes, sentence: str, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(FileError, match=sentence) as caught:
        readers.read_vectors(path)
    assert str(path) in str(caught.value)


def test_format_option(path: Path) -> None:
    path.write_bytes(binary(["a"], np.frombuffer(b"1 2 3 4 ", dtype="<f4")[None]))
    assert readers.read_vectors(path).format == "text"
    words, rows, _ = read(path, format="word2vec-binary")
    assert words == ["a"] and rows.tobytes() == b"1 2 3 4 "


def test_options_that_contradict_the_file(path: Path, tmp_path: Path) -> None:
    path.write_bytes(text())
    with pytest.raises(
        InputError, match="the format 'glove' is not known: use model2vec, npy, safetensors, text, word2vec-binary"
    ):
        readers.read_vectors(path, format="glove")
    with pytest.raises(InputError, match=r"words \(--words\) was given, but text vectors contain their words"):
        readers.read_vectors(path, words=path)
    with pytest.raises(FileError, match="so it is not a model2vec folder: give a file of vectors instead"):
        readers.read_vectors(path, format="model2vec")
    with pytest.raises(IsADirectoryError):
        readers.read_vectors(tmp_path, format="text")
    with pytest.raises(FileError, match="is not an array of numbers"):
        readers.read_vectors(path, format="npy")
    with pytest.raises(FileError, match=r"has no tokenizer\.json"):
        readers.read_vectors(tmp_path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        readers.read_vectors(tmp_path / "absent.txt")


def test_public_names_are_sorted_and_defined() -> None:
    assert readers.__all__ == sorted(readers.__all__)
    assert all(hasattr(readers, name) for name in readers.__all__)


def test_path_as_text(path: Path) -> None:
    path.write_bytes(text())
    assert read(str(path))[0] == WORDS
