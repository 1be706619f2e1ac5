"""Items and named sets from files."""

import subprocess
import sys
from pathlib import Path

import pytest

from softset.collections.items import Item, read_items
from softset.collections.parquet import read_tables
from softset.errors import FileError, MissingExtraError
from softset.io import lines
from softset.query.named_sets import Sets


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", "red book\n\nblue book\r\n", [Item("1", "red book"), Item("2", "blue book")]),
        ("a.txt", "\ufeffred\nblue", [Item("1", "red"), Item("2", "blue")]),
        ("a.tsv", 'id\ttext\tyear\nx\tsay "hi"\t1\n', [Item("x", 'say "hi"', {"year": 1})]),
        ("a.csv", 'id,text\nx,"a, b\nc"\n', [Item("x", "a, b\nc")]),
        ("a.csv", "title\nred\nblue\n", [Item("1", "red"), Item("2", "blue")]),
        ("a.csv", "id,title\nx,red\n", [Item("x", "red")]),
        ("a.jsonl", '{"id": 7, "text": "red", "tags": ["a"]}\n\n', [Item("7", "red", {"tags": ["a"]})]),
        ("a.ndjson", '{"title": "red"}\n', [Item("1", "red")]),
    ],
)
def test_all_formats(tmp_path: Path, name: str, content: str, expected: list[Item]) -> None:
    assert list(read_items(write(tmp_path / name, content))) == expected


def test_columns_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "isbn\ttitle\tabstract\n1\tA\tlong\n")
    assert list(read_items(path, text_field="abstract", id_field="isbn")) == [Item("1", "long", {"title": "A"})]
    assert next(read_items(path, text_field="title", first=5)).id == "5"
    with pytest.raises(
        FileError, match=r"a\.tsv, line 2: the column 'year' is missing or empty; columns: isbn, title, abstract"
    ):
        list(read_items(path, text_field="year"))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.txt", b"red\nbl\xffue\n", "a.txt is not UTF-8 in line 2 .byte 2: "),
        ("a.tsv", "id\ttext\nx\ty\tz\n", "line 2: 3 columns, but the header has 2"),
        ("a.tsv", "", "is empty: a header line"),
        ("a.tsv", "id\ttext\n", "has no items: give at least one"),
        ("a.txt", "\n \n", "has no items: give at least one"),
        ("a.csv", 'id,text\nx,"open\n', "line 2: unexpected end of data"),
        ("a.jsonl", '{"text": "a"}\n{"text"\n', "line 2: not JSON"),
        ("a.jsonl", "[1]\n", "line 1: a JSON object is needed, but a list was found"),
        ("a.csv", "sku,title\n1,red\n", "line 2: there is no column 'text'; columns: sku, title; name the one"),
        ("a.csv", "id,text,text\n1,red,x\n", "names a column twice in its header"),
        ("a.jsonl", "{}\n", "line 1: there is no column 'text'; columns: none; name the one with the texts"),
        ("a.jsonl", '{"text": null}\n', "line 1: the column 'text' is missing or empty"),
    ],
)
def test_broken_files_name_the_line(tmp_path: Path, name: str, content: str | bytes, sentence: str) -> None:
    with pytest.raises(FileError, match=sentence):
        list(read_items(write(tmp_path / name, content)))


def test_parquet(tmp_path: Path) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        with pytest.raises(MissingExtraError, match="pip install"):
            list(read_items(write(tmp_path / "a.parquet", b"x")))
        return
    parquet.write_table(pyarrow.table({"id": [1, 2], "text": ["red", "blue"], "n": [3, 4]}), tmp_path / "a.parquet")
    assert list(read_items(tmp_path / "a.parquet")) == [Item("1", "red", {"n": 3}), Item("2", "blue", {"n": 4})]
    with pytest.raises(FileError, match="is not a complete Parquet file"):
        list(read_items(write(tmp_path / "b.parquet", b"x")))


def test_missing_files_are_reported(tmp_path: Path) -> None:
    for name in ("a.txt", "a.tsv", "a.jsonl"):
        with pytest.raises(FileNotFoundError):
            list(read_items(tmp_path / name))


def test_named_sets(tmp_path: Path) -> None:
    expected = Sets({"colour": ["red", "blue"], "fruit": ["apple"]})
    assert Sets.load(write(tmp_path / "s.toml", 'colour = ["red", "blue"]\nfruit = ["apple"]\n')) == expected
    assert Sets.load(write(tmp_path / "s.json", '{"colour": ["red", "blue"], "fruit": ["apple"]}')) == expected
    folder = tmp_path / "sets"
    folder.mkdir()
    write(folder / "colour.txt", "# a comment\nred\n\n blue \n")
    write(folder / "fruit.txt", "apple\n")
    write(folder / "notes.md", "no set")
    assert Sets.load(folder) == expected


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("s.toml", "colour = [", "cannot be read as TOML"),
        ("s.json", "{", "cannot be read as JSON"),
        ("s.json", "[1]", "must map names to lists of examples, but holds a list"),
        ("s.toml", "colour = 3", "the set 'colour' must be a list of words or phrases"),
        ("s.toml", 'colour = ["red", ""]', "the set 'colour' must be a list"),
        ("s.toml", b"\xff", "is not UTF-8"),
    ],
)
def test_broken_sets(tmp_path: Path, name: str, content: str | bytes, sentence: str) -> None:
    with pytest.raises(FileError, match=sentence):
        Sets.load(write(tmp_path / name, content))


def write_bomb(path: Path) -> None:
    """Write a file of under 1 KB whose 65,536 rows all hold the same text of 1 MB."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 65_536, pa.int32()), pa.array(["x " * 500_000]))
    pq.write_table(pa.table({"text": texts}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 1_000


def test_a_small_parquet_file_of_many_gigabytes_is_an_error(tmp_path: Path) -> None:
    write_bomb(tmp_path / "bomb.parquet")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30,) * 2)"
    code = f"{limit}; from softset.cli import main; main()"
    command = [sys.executable, "-c", code, "index", "bomb.parquet", "--out", "c", "--model", "words"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "bomb.parquet has rows that decode to more than 1 GB in one block" in done.stderr
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("kind", ["lists", "structs", "maps"])
def test_decoded_bytes_of_nested_columns_are_bounded(tmp_path: Path, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    text = "x" * 100_000
    rows = {"lists": [[text] * 4] * 500, "structs": [{"a": text}] * 2_000, "maps": [{text: text}] * 1_000}[kind]
    types = {"lists": pa.list_(pa.string()), "structs": pa.struct([("a", pa.string())])}
    values = [list(row.items()) for row in rows] if kind == "maps" else rows
    column = pa.array(values, types.get(kind, pa.map_(pa.string(), pa.string())))
    pq.write_table(pa.table({"text": ["x"] * len(rows), "more": column}), tmp_path / "a.parquet")
    with pytest.raises(FileError, match=r"a\.parquet has rows that decode to more than 0\.1"):
        list(read_tables(tmp_path / "a.parquet", max_bytes=2**27))
    (table,) = read_tables(tmp_path / "a.parquet", max_bytes=2**28)
    assert table.equals(pq.read_table(tmp_path / "a.parquet"))


def test_decoded_bytes_of_numbers_are_bounded(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"vector": pa.array([[0.5] * 100_000] * 100, pa.list_(pa.float32()))}), tmp_path / "v")
    with pytest.raises(FileError, match="decode to more than"):
        next(read_tables(tmp_path / "v", max_bytes=39_999_999))
    assert next(read_tables(tmp_path / "v", max_bytes=42_000_000)).num_rows == 100


def test_text_in_parquet_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": pa.array([b"caf\xe9"]).view(pa.string())}), tmp_path / "a.parquet")
    with pytest.raises(FileError, match=r"a\.parquet has a text that is not UTF-8"):
        list(read_items(tmp_path / "a.parquet"))


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv"])
def test_long_lines_are_an_error(tmp_path: Path, name: str, monkeypatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 2**20)
    path = write(
        tmp_path / name, "text\n" + "x" * (2**20 + 1) + "\n" if name != "a.jsonl" else '"' + "x" * 2**20 + '"\n'
    )
    with pytest.raises(FileError, match=r"line \d: the line has more than 1 MB; split it"):
        list(read_items(path))
