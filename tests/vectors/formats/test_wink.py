"""The JSON of wink's word vectors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softset.errors import FileError
from tests.vectors.formats.files import ROWS, WORDS, read, wink, wink_facts

ODD = [
    "vectors",
    '"',
    "\\",
    '\\"',
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "],",
    '":[1]',
    "a b",
    "\t",
    "é",
    "😀",
    "\u2028",
    "\x7f",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors.json"


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("layout", [{}, {"indent": 2, "separators": None}, {"separators": (" ,\n", " :\r\n")}])
def test_words_and_rows(ascii_only: bool, layout: dict[str, Any], path: Path) -> None:
    path.write_bytes(wink(ensure_ascii=ascii_only, **layout))
    words, rows, source = read(path)
    assert (words, source.format, source.dimensions, source.rows) == (WORDS, "wink-json", 3, len(WORDS))
    assert np.array_equal(rows, ROWS)


@pytest.mark.parametrize("ascii_only", [True, False])
def test_words_that_look_like_json(ascii_only: bool, path: Path) -> None:
    odd = [word for word in ODD if word.strip()]
    wanted = np.arange(2 * len(odd), dtype=np.float32).reshape(-1, 2)
    path.write_bytes(wink(odd, wanted, ensure_ascii=ascii_only))
    words, rows, _ = read(path)
    assert words == odd and np.array_equal(rows, wanted)


@pytest.mark.parametrize(
    "order", ["vectors words size dimensions", "dimensions vectors size", "size words vectors", "vectors"]
)
def test_any_order_of_keys(order: str, path: Path) -> None:
    facts = wink_facts()
    path.write_text(json.dumps({"vectors ": {"a": [[1]]}, **{key: facts[key] for key in order.split()}}))
    words, rows, source = read(path)
    assert words == WORDS and np.array_equal(rows, ROWS) and source.dimensions == 3


def test_more_than_one_chunk_and_block(path: Path) -> None:
    wanted = np.random.default_rng(0).normal(size=(9_000, 20)).astype(np.float32)
    path.write_bytes(wink([f"w{i}\n" for i in range(9_000)], wanted))
    assert path.stat().st_size > 3 << 20
    words, rows, _ = read(path)
    assert words == [f"w{i}\n" for i in range(9_000)] and np.array_equal(rows, wanted)


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_chunk_may_end_anywhere(cut: int, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softset.vectors.formats.json_cursor.CHUNK_BYTES", cut)
    path.write_bytes(wink() + b"\n" * cut)
    words, rows, _ = read(path)
    assert words == WORDS and np.array_equal(rows, ROWS)


ROW_FAULTS = [
    ('"b":[1,2,3]', "wrong number of fields", "row 2 has 3 numbers, but 2 and 2 more were wanted"),
    ('"b":[]', "wrong number of fields", "row 2 has 1 numbers"),
    ('"b":[1,null,3,4]', "not a number", "row 2 has 'null' among the numbers of the word 'b'"),
    ('"b":[1,,3,4]', "not a number", "row 2 has '' among the numbers"),
    ('"b":[1,NaN,3,4]', "not finite", "row 2 has nan as number 2 of the word 'b'"),
    ('"b":[1,1e99,3,4]', "not finite", "row 2 has inf as number 2 of the word 'b'"),
    ('"":[1,2,3,4]', "empty word", "row 2 has an empty word"),
    ('"a":[1,2,3,4]', "duplicate word", "row 2 repeats the word 'a' of row 1"),
    ('"\\u0061":[1,2,3,4]', "duplicate word", "row 2 repeats the word 'a' of row 1"),
    ('"\\ud800":[1,2,3,4]', "not UTF-8", "row 2 has a word that is not UTF-8"),
    ('"\udcff":[1,2,3,4]', "not UTF-8", "row 2 has a word that is not UTF-8"),
    ('"\\n\udcff":[1,2,3,4]', "not UTF-8", "row 2 has a word that is not UTF-8"),
]


@pytest.mark.parametrize(("entry", "reason", "sentence"), ROW_FAULTS)
def test_a_bad_row_is_named_or_skipped(entry: str, reason: str, sentence: str, path: Path) -> None:
    content = f'{{"size":3,"dimensions":2,"vectors":{{"a":[1,2,3,0],{entry},"c":[5,6,7,2]}}}}'
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(FileError, match=sentence + r"[^\n]*with skip_bad \(--skip-bad\)$"):
        read(path)
    words, rows, source = read(path, skip_bad=True)
    assert words == ["a", "c"] and rows.tolist() == [[1, 2], [5, 6]] and source.skipped == {reason: 1}


A = '"vectors":{"a":[1,2,3,0]}'


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{}", "is broken at byte 1, where a name in quotes was wanted"),
        ('{"words":["a"]}', 'is JSON without an object "vectors"'),
        ('{"vectors":{}}', "where a word with its list of numbers was wanted"),
        ('{"vectors":[1,2]}', "where one of '{' was wanted"),
        ('{"vectors":{"a":[[1],2,3,0]}}', "where a word with its list of numbers was wanted"),
        ('{"vectors":{"a":[1]}}', "has vectors of -1 dimensions"),
        (f'{{"size":2,{A}}}', "promises 2 in 'size', but its vectors have 1"),
        (f'{{{A},"size":2}}', "promises 2 in 'size', but its vectors have 1"),
        (f'{{"words":["a","]"],{A}}}', "promises 2 in 'words', but its vectors have 1"),
        (f'{{{A},"dimensions":3}}', "promises 3 in 'dimensions', but its vectors have 2"),
        (f'{{"size":"1",{A}}}', "as 'size', but a whole number was wanted"),
        (f'{{"dimensions":70000,{A}}}', "has vectors of 70,000 dimensions"),
        (f"{{{A},{A}}}", 'has "vectors" twice'),
        (f"{{{A}}} x", "where the end of the file was wanted"),
        (f"{{{A}", "ends at byte 26, where one of ',}' was wanted"),
        (f"{{{A},", "where a name in quotes was wanted"),
        (f'{{{A},"x":]}}', "where a value was wanted"),
        (f'{{{A},"x":[1,2', "where the end of a list was wanted"),
        ('{"vectors":{"a":[1,2,3,0', "where a word with its list of numbers was wanted"),
        ('{"vectors":{"a":[1,2,3,0],}}', "where a word with its list of numbers was wanted"),
        ('{"vectors":{"\\x":[1,2,3,0]}}', "row 1 has .* which is no JSON text"),
        ('{"vectors":{"' + "a" * 1_001 + '":[1,2,3,0]}}', "row 1 has a word of 1,001 bytes"),
        ('{"vectors":{"' + "\\" * 4_000_000, "where a word with its list of numbers was wanted"),
        ('{"vectors":{"a":[' + "1," * 2_000_000, "where a word with its list of numbers was wanted"),
        ('{"x":' + "[" * 1_000_000, "where the end of a list was wanted"),
    ],
)
@pytest.mark.parametrize("skip_bad", [False, True])
def test_a_broken_file_is_an_error_either_way(content: str, sentence: str, skip_bad: bool, path: Path) -> None:
    path.write_text(content)
    with pytest.raises(FileError, match=sentence) as caught:
        read(path, skip_bad=skip_bad)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
