"""GloVe text, word2vec text and fastText .vec files."""

from pathlib import Path

import numpy as np
import pytest

from softset.errors import FileError
from softset.vectors.formats import checks
from tests.vectors.formats.files import ROWS, WORDS, read, text

ROW_FAULTS = [
    (b"a 1 2\nb 3\n", "wrong number of fields", r"line 2 has 1 numbers after the word 'b', but line 1 has 2:"),
    (b"a 1 2\nb\n", "wrong number of fields", r"line 2 has 0 numbers after the word 'b', but line 1 has 2:"),
    (b"a 1 2\nb 3 4 5\n", "wrong number of fields", r"line 2 has 3 numbers after the word 'b', but line 1 has 2:"),
    (b"2 2\na 1 2\nb 3 4 5\n", "wrong number of fields", r"line 3 has 3 numbers .* but the header says 2:"),
    (b"a 1 2\nb 3 four\n", "not a number", r"line 2 has 'four' among the numbers of the word 'b':"),
    (b"a 1 2\nb 3 1_0\n", "not a number", r"line 2 has '1_0' among the numbers of the word 'b':"),
    (b"a 1 2\nb 3 0x1\n", "not a number", r"line 2 has '0x1' among the numbers"),
    (b"a 1 x\nb 3 4\n", "not a number", r"line 1 has 'x' among the numbers of the word 'a':"),
    (b"a 1 2\nb 3 nan\n", "not finite", r"line 2 has a number that is not finite in float32, for the word 'b':"),
    (b"a 1 2\nb -inf 3\n", "not finite", r"line 2 has a number that is not finite in float32, for the word 'b':"),
    (b"a 1 2\nb 1e39 3\n", "not finite", r"line 2 has a number that is not finite in float32, for the word 'b':"),
    (b"a 1 2\ncaf\xe9 3 4\n", "not UTF-8", r"line 2 has a word that is not UTF-8, 'caf\\\\xe9':"),
    (b"a 1 2\n 3 4\n", "empty word", r"line 2 has an empty word:"),
    (b"a 1 2\n\nb 3 4\na 5 6\n", "duplicate word", r"line 4 repeats the word 'a' of line 1:"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors.txt"


@pytest.mark.parametrize("header", ["", f"{len(WORDS)} 3\n", f"{len(WORDS)} 3 \r\n", "\ufeff", "\n\n"])
def test_words_and_rows(header: str, path: Path) -> None:
    path.write_bytes(text(header=header))
    words, rows, stream = read(path)
    assert (words, stream.format, stream.dimensions) == (WORDS, "text", 3)
    assert stream.rows == (len(WORDS) if header.strip("\ufeff\n") else None)
    assert np.array_equal(rows, ROWS)


@pytest.mark.parametrize(
    "change", [(b" ", b"\t"), (b"\n", b"\r\n"), (b"\n", b" \n"), (b"\n", b"\t\r\n"), (b" ", b"  ")]
)
def test_whitespace_and_line_ends(change: tuple[bytes, bytes], path: Path) -> None:
    path.write_bytes(text().replace(*change))
    words, rows, _ = read(path)
    assert words == WORDS and np.array_equal(rows, ROWS)


def test_last_line_without_line_feed(path: Path) -> None:
    path.write_bytes(text().rstrip(b"\n"))
    assert read(path)[0] == WORDS


def test_words_with_spaces(path: Path) -> None:
    path.write_bytes(b". . . 1 2\nthe 3 4\nat name@domain.com 5 6\ncatch 22 again 7 8\n1984 9 1e1\n\xc2\xa0 -0 +.5\n")
    words, rows, _ = read(path)
    assert words == [". . .", "the", "at name@domain.com", "catch 22 again", "1984", "\xa0"]
    assert rows.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [0, 0.5]]


def test_numbers_are_rounded_to_the_nearest_float32(path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(50, 7))
    path.write_bytes(text([f"w{i}" for i in range(50)], rows))
    assert np.array_equal(read(path)[1], rows.astype(np.float32))


def test_many_rows_are_read_in_blocks(path: Path) -> None:
    path.write_bytes(b"".join(b"w%d %d 0.5\n" % (i, i) for i in range(10_000)))
    words, rows, _ = read(path)
    assert words[9_999] == "w9999" and np.array_equal(rows[:, 0], np.arange(10_000))


def test_wide_rows_are_read_in_small_blocks(path: Path) -> None:
    wide = b" 1" * checks.MAX_DIMENSIONS
    path.write_bytes(b"".join(b"w%d%s\n" % (i, wide) for i in range(20)))
    words, rows, _ = read(path)
    assert len(words) == 20 and rows.shape == (20, checks.MAX_DIMENSIONS)


@pytest.mark.parametrize(("content", "reason", "sentence"), ROW_FAULTS)
def test_invalid_rows_are_reported_or_skipped(content: bytes, reason: str, sentence: str, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(FileError, match=sentence) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line ") and "\n" not in message
    assert message.endswith("correct the file, or skip such rows with skip_bad (--skip-bad)")
    words, rows, stream = read(path, skip_bad=True)
    assert stream.skipped == {reason: 1}
    assert (
        len(words) == len(rows) == len([line for line in content.split(b"\n") if line.strip() and line != b"2 2"]) - 1
    )


def test_first_invalid_row_is_reported(path: Path) -> None:
    path.write_bytes(b"a 1 2\na 3 4\nb 1\n")
    with pytest.raises(FileError, match="line 2 repeats the word 'a' of line 1"):
        read(path)
    path.write_bytes(b"a 1 2\na 3 4\nb 1 x\n")
    with pytest.raises(FileError, match="line 2 repeats the word 'a' of line 1"):
        read(path)


def test_skipped_rows_are_counted_by_reason(path: Path) -> None:
    path.write_bytes(b"6 2\na 1 2\na 3 4\nb 1\nc 1 x\nd nan 1\ne 5 6\n")
    words, rows, stream = read(path, skip_bad=True)
    assert words == ["a", "e"] and rows.tolist() == [[1, 2], [5, 6]]
    assert stream.skipped == {"duplicate word": 1, "wrong number of fields": 1, "not a number": 1, "not finite": 1}


def test_duplicate_word_in_a_later_block(path: Path) -> None:
    path.write_bytes(b"".join(b"w%d 1 2\n" % i for i in range(9_000)) + b"w77 1 2\n")
    with pytest.raises(FileError, match="line 9001 repeats the word 'w77' of line 78"):
        read(path)
    assert read(path, skip_bad=True)[2].skipped == {"duplicate word": 1}


STRUCTURAL = [
    (b"", "is empty"),
    (b"\n \n", "is empty"),
    (b"3 2\na 1 2\nb 3 4\n", "says 3 rows, but 2 follow"),
    (b"1 2\na 1 2\nb 3 4\n", "says 1 rows, but 2 follow"),
    (b"3 2\n", "says 3 rows, but 0 follow"),
    (b"0 2\n", "says 0 rows, but 1 to 50,000,000 are supported"),
    (b"60000000 2\na 1 2\n", "says 60,000,000 rows, but 1 to 50,000,000 are supported"),
    (b"2 0\na\nb\n", "has vectors of 0 dimensions, but 1 to 65,536 are supported"),
    (b"2 65537\na 1\n", "has vectors of 65,537 dimensions"),
    (b"a" + b" 1" * 65_537, "has vectors of 65,537 dimensions"),
    (b"hello\n", "line 1 is 'hello', but a word and its numbers were expected"),
    (b"a 1 2\n" + b"b" * 1_001 + b" 1 2\n", "line 2 has a word of more than 1,000 bytes"),
    (b"a 1\n" + b"b" * 2_000_001 + b" 1\n", "line 2 is longer than 2,000,000 bytes"),
    (b"a 1\n" + b"b" * 3_500_000, "line 2 is longer than 2,000,000 bytes"),
]


@pytest.mark.parametrize(("content", "sentence"), STRUCTURAL)
@pytest.mark.parametrize("skip_bad", [False, True])
def test_damaged_files_are_errors_even_with_skip_bad(content: bytes, sentence: str, skip_bad: bool, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(FileError, match=sentence) as caught:
        read(path, skip_bad=skip_bad)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_empty_file_with_format_text(path: Path) -> None:
    path.write_bytes(b"\n")
    with pytest.raises(FileError, match="is empty, but lines with a word and its numbers were expected"):
        read(path, format="text")


def test_limit_of_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MAX_ROWS", 3)
    path.write_bytes(b"a 1\nb 2\nc 3\nd 4\n")
    with pytest.raises(FileError, match="has more than 3 rows"):
        read(path)
