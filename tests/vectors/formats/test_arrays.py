"""Arrays with a file of words: .npy and .safetensors."""

import struct
from pathlib import Path

import numpy as np
import pytest

from softset.errors import FileError
from softset.vectors.formats import read_vectors
from tests.vectors.formats.files import ROWS, WORDS, gz, npy, npy_of, read, safetensors, safetensors_of

MAKERS = {"npy": npy_of, "safetensors": safetensors_of}


def write(folder: Path, content: bytes, words: bytes | None = "\n".join(WORDS).encode(), name: str = "v.npy") -> Path:
    path = folder / name
    path.write_bytes(content)
    if words is not None:
        path.with_suffix(".txt").write_bytes(words)
    return path


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("suffix", [".txt", ".words", ".vocab"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_words_file_with_the_same_name_is_found(kind: str, suffix: str, end: str, tmp_path: Path) -> None:
    path = write(tmp_path, MAKERS[kind](), None)
    path.with_suffix(suffix).write_bytes("".join(word + end for word in WORDS).encode())
    words, rows, stream = read(path)
    assert (words, stream.format, stream.dimensions, stream.rows) == (WORDS, kind, 3, len(WORDS))
    assert np.array_equal(rows, ROWS)


@pytest.mark.parametrize("kind", MAKERS)
def test_words_option(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, MAKERS[kind](), None)
    with pytest.raises(FileError, match=r"holds vectors without words: give the file .* with words \(--words FILE\)"):
        read(path)
    (tmp_path / "other.gz").write_bytes(gz("\n".join(WORDS).encode()))
    assert read(path, words=tmp_path / "other.gz")[0] == WORDS
    with pytest.raises(FileNotFoundError):
        read(path, words=tmp_path / "absent")


@pytest.mark.parametrize("dtype", ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "|i1", "<i8", "|u1"])
@pytest.mark.parametrize("fortran", [False, True])
def test_number_types_of_npy_files(dtype: str, fortran: bool, tmp_path: Path) -> None:
    expected = np.arange(20).reshape(10, 2)
    data = expected.astype(dtype).tobytes("F" if fortran else "C")
    words, rows, _ = read(write(tmp_path, npy(data, "(10, 2)", dtype, fortran)))
    assert words == WORDS and np.array_equal(rows, expected)


def test_npy_version_2(tmp_path: Path) -> None:
    first = npy_of()
    content = b"\x93NUMPY\x02\x00" + first[8:10] + b"\0\0" + first[10:]
    assert np.array_equal(read(write(tmp_path, content))[1], ROWS)


@pytest.mark.parametrize(("kind", "code"), [("F16", "<f2"), ("F64", "<f8"), ("I8", "i1"), ("BF16", "")])
def test_number_types_of_safetensors_files(kind: str, code: str, tmp_path: Path) -> None:
    expected = np.arange(20, dtype=np.float32).reshape(10, 2)
    data = expected.astype(code).tobytes() if code else (expected.view(np.uint32) >> 16).astype("<u2").tobytes()
    words, rows, _ = read(write(tmp_path, safetensors({"x": (kind, [10, 2], data), "n": ("I64", [1], b"\0" * 8)})))
    assert words == WORDS and np.array_equal(rows, expected)


def test_long_arrays_are_read_in_blocks(tmp_path: Path) -> None:
    expected = np.arange(20_000, dtype=np.float32).reshape(10_000, 2)
    words = b"\n".join(b"w%d" % i for i in range(10_000))
    assert np.array_equal(read(write(tmp_path, npy_of(expected), words))[1], expected)


@pytest.mark.parametrize(
    ("words", "numbers", "reason", "sentence"),
    [
        (b"a\n\nc", [1, 2, 3], "empty word", r"v.txt, line 2 has an empty word"),
        (b"a\n \nc", [1, 2, 3], "empty word", r"v.txt, line 2 has an empty word"),
        (b"a\n\xff\nc", [1, 2, 3], "not UTF-8", r"v.txt, line 2 has a word that is not UTF-8"),
        (b"a\na\nc", [1, 2, 3], "duplicate word", r"v.txt, line 2 repeats the word 'a' of line 1"),
        (b"a\nb\nc", [1, np.nan, 3], "not finite", r"v.npy, row 2 has a number that is not finite in .*word 'b'"),
        (b"a\nb\nc", [1, 1e39, 3], "not finite", r"v.npy, row 2 has a number that is not finite in float32"),
    ],
)
def test_invalid_rows_are_reported_or_skipped(
    words: bytes, numbers: list[float], reason: str, sentence: str, tmp_path: Path
) -> None:
    path = write(tmp_path, npy(struct.pack("<3d", *numbers), "(3, 1)", "<f8"), words)
    with pytest.raises(FileError, match=sentence + r"[^\n]*with skip_bad \(--skip-bad\)$"):
        read(path)
    words_read, rows, stream = read(path, skip_bad=True)
    assert words_read == ["a", "c"] and rows.tolist() == [[1], [3]] and stream.skipped == {reason: 1}


@pytest.mark.parametrize(("words", "count"), [(b"a\nb", 2), (b"a\nb\nc\nd\n", 4), (b"", 0)])
@pytest.mark.parametrize("skip_bad", [False, True])
def test_each_row_needs_one_word(words: bytes, count: int, skip_bad: bool, tmp_path: Path) -> None:
    path = write(tmp_path, npy(b"\0" * 12, "(3, 1)"), words)
    with pytest.raises(FileError, match=rf"v.txt has {count} words, but .*v.npy has 3 rows; each row needs one word"):
        read(path, skip_bad=skip_bad)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (npy(b"\0" * 12, "(3,)"), r"holds an array of shape \(3,\), but shape \(words, dimensions\) was expected"),
        (npy(b"\0" * 4, "()"), r"holds an array of shape \(\)"),
        (npy(b"", "(0, 3)"), r"holds an array of shape \(0, 3\)"),
        (npy(b"", "(3, 0)"), "has vectors of 0 dimensions"),
        (npy(b"\0" * 65_537, "(1, 65537)", "|i1"), "has vectors of 65,537 dimensions"),
        (npy(b"\0" * 48, "(3, 2)", "<c8"), "is not an array of numbers"),
        (npy(b"\0" * 12, "(3, 1)", "<U1"), "holds <U1 values, but real numbers such as float32"),
        (npy(b"\0" * 3, "(3, 1)", "|b1"), "holds bool values"),
        (npy(b"\0" * 24, "(3, 1)", "|O"), "is not an array of numbers"),
        (npy(b"\0" * 11, "(3, 1)"), r"is not a complete NumPy file"),
        (npy(b"", "(-1, 3)"), "is not a complete NumPy file"),
        (npy(b"", "(3, 1)")[:60], "is not a complete NumPy file"),
        (b"\x93NUMPY\x09\x00", "is not a complete NumPy file"),
        (npy(b"", "os.getcwd()"), "is not a complete NumPy file"),
    ],
)
def test_invalid_npy_files(content: bytes, sentence: str, tmp_path: Path) -> None:
    path = write(tmp_path, content, b"a\nb\nc")
    with pytest.raises(FileError, match=sentence) as caught:
        read(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


F32 = ("F32", [3, 1], b"\0" * 12)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (safetensors({"a": F32, "b": F32}), "must have exactly one tensor with two axes, but it has 'a', 'b'"),
        (safetensors({"a": ("F32", [3], b"\0" * 12)}), "but it has none"),
        (safetensors({"a": ("C64", [3, 1], b"\0" * 24)}), "but it has none"),
        (safetensors({"a": ("BOOL", [3, 1], b"\0" * 3)}), "holds BOOL values"),
        (safetensors({"a": ("F32", [0, 3], b"")}), r"holds an array of shape \(0, 3\)"),
        (safetensors({"a": ("F32", [4, 1], b"\0" * 12)}), "is not a complete safetensors file"),
        (safetensors({"a": ("F32", [-3, -1], b"\0" * 12)}), "is not a complete safetensors file"),
        (safetensors({"a": F32})[:-1], "is not a complete safetensors file"),
        (safetensors({"a": F32}) + b"\0", "is not a complete safetensors file"),
        (safetensors({"a": F32})[:40], "is not a complete safetensors file"),
        (struct.pack("<Q", 2) + b"[]", "is not a complete safetensors file"),
        (b"", "is not a complete safetensors file"),
    ],
)
def test_invalid_safetensors_files(content: bytes, sentence: str, tmp_path: Path) -> None:
    path = write(tmp_path, content, b"a\nb\nc", "v.safetensors")
    with pytest.raises(FileError, match=sentence) as caught:
        read(path, format="safetensors")
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_arrays_in_archives_must_be_extracted_first(tmp_path: Path) -> None:
    path = write(tmp_path, gz(npy_of()), name="v.npy.gz")
    with pytest.raises(FileError, match="is an archive with a npy file: extract it first"):
        read(path)


def test_files_written_by_gensim(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    keyed = models.KeyedVectors(3)
    keyed.add_vectors(WORDS, ROWS)
    for name, binary in (("v.bin", True), ("v.vec", False)):
        keyed.save_word2vec_format(str(tmp_path / name), binary=binary)
        words, rows, _ = read(tmp_path / name)
        assert words == WORDS and np.array_equal(rows, ROWS)
    keyed.save(str(tmp_path / "v.kv"))
    with pytest.raises(FileError, match="softset never loads pickles"):
        read_vectors(tmp_path / "v.kv")
