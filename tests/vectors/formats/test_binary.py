"""Binary word2vec files."""

import struct
from pathlib import Path

import numpy as np
import pytest

from softset.errors import FileError
from tests.vectors.formats.files import ROWS, WORDS, binary, read

NAN = struct.pack("<2f", 1.0, float("nan"))
ONE = struct.pack("<2f", 1.0, 2.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors.bin"


@pytest.mark.parametrize("newline", [b"", b"\n"])
def test_words_and_rows(newline: bytes, path: Path) -> None:
    path.write_bytes(binary(newline=newline))
    words, rows, stream = read(path)
    assert (words, stream.format, stream.dimensions, stream.rows) == (WORDS, "word2vec-binary", 3, len(WORDS))
    assert np.array_equal(rows, ROWS)


def test_long_files_are_read_in_blocks(path: Path) -> None:
    expected = np.random.default_rng(0).normal(size=(9_000, 50)).astype(np.float32)
    path.write_bytes(binary([f"w{i}" for i in range(9_000)], expected))
    words, rows, _ = read(path)
    assert words == [f"w{i}" for i in range(9_000)] and np.array_equal(rows, expected)


@pytest.mark.parametrize(
    ("content", "reason", "sentence"),
    [
        (
            b"2 2\na " + ONE + b"b " + NAN,
            "not finite",
            "row 2 has a number that is not finite in .*word 'b'",
        ),
        (b"2 2\na " + ONE + b"\xe9 " + ONE, "not UTF-8", r"row 2 has a word that is not UTF-8, '\\\\xe9'"),
        (b"2 2\na " + ONE + b" " + ONE, "empty word", "row 2 has an empty word"),
        (b"2 2\na " + ONE + b"\na " + ONE, "duplicate word", "row 2 repeats the word 'a' of row 1"),
    ],
)
def test_invalid_rows_are_reported_or_skipped(content: bytes, reason: str, sentence: str, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(FileError, match=sentence + r"[^\n]*with skip_bad \(--skip-bad\)$"):
        read(path)
    words, rows, stream = read(path, skip_bad=True)
    assert words == ["a"] and rows.tolist() == [[1, 2]] and stream.skipped == {reason: 1}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"2 2\na " + ONE + b"b " + ONE[:-1], "ends inside row 2 of 2: download it again"),
        (b"2 2\na " + ONE, "ends inside row 2 of 2"),
        (b"2 2\na " + ONE + b"bbb", "ends inside row 2 of 2"),
        (b"1 2\na " + ONE + b"b " + ONE, "says 1 rows of 2 numbers, but more bytes follow"),
        (b"1 2\na " + ONE + b"\n\n", "but more bytes follow"),
        (b"1 2\n" + b"\0" * 1_200, "has no space in 1,200 bytes of row 1, but a word has at most 1,000"),
        (b"1 2\n" + b"\0" * 1_200 + b" " + ONE, "row 1 has a word of more than 1,000 bytes"),
        (b"50000001 2\n\0\0\0", "says 50,000,001 rows, but 1 to 50,000,000 are supported"),
        (b"5 65537\n\0\0\0", "has vectors of 65,537 dimensions"),
    ],
)
@pytest.mark.parametrize("skip_bad", [False, True])
def test_damaged_files_are_errors_even_with_skip_bad(content: bytes, sentence: str, skip_bad: bool, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(FileError, match=sentence):
        read(path, skip_bad=skip_bad)


def test_missing_header(path: Path) -> None:
    path.write_bytes(b"a 1 2\n")
    with pytest.raises(FileError, match="begins with 'a 1 2', but a binary word2vec file begins with a line of two"):
        read(path, format="word2vec-binary")
