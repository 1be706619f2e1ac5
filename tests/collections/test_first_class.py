"""Collections as users type them: create, open, change, read, filter, export."""

from datetime import date, datetime
from pathlib import Path

import numpy as np
import pytest

import softset
from softset.collections.items import Item
from softset.errors import FileError, InputError, QueryError, ShapeError, UnknownWordError

BOOKS = [
    {"id": "moby", "text": "a whale hunt at sea", "year": 1851, "lang": "en", "day": date(1851, 10, 18)},
    {"id": "emma", "text": "marriage in a village", "year": 1815, "lang": "en", "day": date(1815, 12, 23)},
    {"id": "faust", "text": "a scholar and the devil", "year": 1808, "lang": "de", "day": None},
    {"id": "dune", "text": "a desert planet and its sea of sand", "year": 1965, "lang": "en", "day": date(1965, 8, 1)},
]


@pytest.fixture
def books(tmp_path: Path) -> softset.Collection:
    return softset.Collection.create(tmp_path / "books.softset", BOOKS, encoder="words")


def ids(result) -> list[str]:
    return [hit.id for hit in result]


def test_reading(books: softset.Collection) -> None:
    assert len(books) == 4 and [item.id for item in books] == ["moby", "emma", "faust", "dune"]
    assert books["emma"] == Item(
        "emma", "marriage in a village", {"year": 1815, "lang": "en", "day": date(1815, 12, 23)}
    )
    assert books.get("emma") == books["emma"] and books.get("nothing") is None and "emma" in books
    with pytest.raises(UnknownWordError, match=r"^there is no item with the id 'ema'; did you mean 'emma'\?$"):
        books["ema"]
    with pytest.raises(KeyError):
        books["nothing"]
    assert books.fields == {"year": "integer", "lang": "text", "day": "date"}
    stats = books.stats()
    assert (stats.items, stats.deleted, stats.segments, stats.dimensions, stats.without_vector) == (4, 0, 1, 300, 0)
    assert stats.bytes > 4 * 300 * 4 and stats.fields == books.fields


def test_the_same_object_sees_every_change(books: softset.Collection) -> None:
    books.add([{"id": "ulysses", "text": "a day in Dublin", "year": 1922, "lang": "en"}])
    assert len(books) == 5 and books["ulysses"].metadata["year"] == 1922
    books.delete(["emma", "faust"])
    assert len(books) == 3 and "emma" not in books and [item.id for item in books] == ["moby", "dune", "ulysses"]
    assert "emma" not in ids(books.find("marriage", 10)) and len(books.find("marriage", 10)) == 3
    books.upsert([{"id": "moby", "text": "a voyage", "year": 1852}, {"id": "new", "text": "a garden"}])
    assert len(books) == 4 and books["moby"].text == "a voyage" and books["moby"].metadata == {"year": 1852}
    assert ids(books.find("voyage", 1)) == ["moby"]
    assert softset.Collection.open(books.folder)["moby"] == books["moby"]
    before = ids(books.find("sea & sand", 10))
    books.compact()
    assert (books.stats().deleted, books.stats().segments) == (0, 1)
    assert ids(books.find("sea & sand", 10)) == before and len(books) == 4


def test_deleted_items_change_no_index(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((50, 8)).astype("f4")
    items = [Item(str(n), f"text {n}", {"n": n}) for n in range(50)]
    collection = softset.Collection.create(tmp_path / "c", items, vectors=rows)
    collection.delete([str(n) for n in range(0, 50, 3)])
    rest = [n for n in range(50) if n % 3]
    assert len(collection) == len(rest) and np.array_equal(collection.rows(0, len(rest)), rows[rest])
    assert np.array_equal(collection.take([5, 0]), rows[[rest[5], rest[0]]])
    assert [collection.get_index(str(n)) for n in rest] == list(range(len(rest)))
    whole = softset.Collection.create(tmp_path / "w", [items[n] for n in rest], vectors=rows[rest])
    assert ids(collection.find("{1, 2} - 4", 40)) == ids(whole.find("{1, 2} - 4", 40))
    assert ids(collection.find("1", 40, filter="n > 30")) == ids(whole.find("1", 40, filter="n > 30"))


# Sources


def test_lists_of_texts_and_generators(tmp_path: Path) -> None:
    texts = softset.Collection.create(tmp_path / "a", ["red wine", "a calm sea"], encoder="words")
    assert [(item.id, item.text) for item in texts] == [("1", "red wine"), ("2", "a calm sea")]
    texts.add(f"text {n}" for n in range(2))
    assert [item.id for item in texts] == ["1", "2", "3", "4"]
    mixed = [Item("x", "red"), {"title": "blue"}, "green"]
    assert [item.id for item in softset.Collection.create(tmp_path / "b", mixed, encoder="words")] == ["x", "2", "3"]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frames(library: str, tmp_path: Path) -> None:
    pytest.importorskip("narwhals")
    module = pytest.importorskip(library)
    columns = {name: [book[name] for book in BOOKS] for name in BOOKS[0]}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    if library == "pandas":
        frame["day"] = module.to_datetime(frame["day"])
    books = softset.Collection.create(tmp_path / "c", frame, encoder="words")
    assert books["moby"].metadata["year"] == 1851 and books["faust"].metadata["day"] is None
    assert books.fields == {"year": "integer", "lang": "text", "day": "datetime" if library == "pandas" else "date"}
    assert ids(books.find("sea", filter="day > 1900-01-01")) == ["dune"]
    back = {"pandas": books.to_pandas, "polars": books.to_polars, "pyarrow": books.to_arrow}[library]()
    again = softset.Collection.create(tmp_path / "d", back, encoder="words")
    assert list(again) == list(books)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_texts(library: str, tmp_path: Path) -> None:
    pytest.importorskip("narwhals")
    module = pytest.importorskip(library)
    frame = (module.table if library == "pyarrow" else module.DataFrame)({"title": ["red wine", "a calm sea"]})
    books = softset.Collection.create(tmp_path / "c", frame["title"], encoder="words")
    assert [(item.id, item.text) for item in books] == [("1", "red wine"), ("2", "a calm sea")]


def test_a_missing_text_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("narwhals")
    frame = pytest.importorskip("pandas").DataFrame({"text": ["red wine", None], "year": [1900, None]})
    with pytest.raises(FileError, match="row 2: the column 'text' is missing or empty; columns: text, year"):
        softset.Collection.create(tmp_path / "c", frame, encoder="words")


def test_tables_have_types(books: softset.Collection) -> None:
    for library in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(library)
    frame = books.to_pandas()
    assert list(frame.columns) == ["id", "text", "year", "lang", "day"] and frame["year"].sum() == 7439
    assert frame["year"].dtype == "int64" and frame["day"].dtype.kind == "M"
    arrow = books.to_arrow()
    assert [str(field.type) for field in arrow.schema] == ["string", "string", "int64", "string", "date32[day]"]
    books.add([{"id": "x", "text": "a garden"}])
    assert str(books.to_pandas()["year"].dtype) == "Int64"


def test_polars_tables_have_types(books: softset.Collection) -> None:
    pytest.importorskip("polars")
    types = {"id": "String", "text": "String", "year": "Int64", "lang": "String", "day": "Date"}
    assert {name: str(dtype) for name, dtype in books.to_polars().schema.items()} == types


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_exports_are_read_again(suffix: str, books: softset.Collection, tmp_path: Path) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    text = 'a "quoted", text;\twith\nlines'
    books.add([{"id": "007", "text": text, "year": 1900, "lang": "en", "day": date(1900, 1, 1)}])
    books.export(tmp_path / f"out.{suffix}")
    types = {"day": "date"} if suffix in ("jsonl", "json") else None
    again = softset.Collection.create(tmp_path / "again", tmp_path / f"out.{suffix}", encoder="words", types=types)
    assert list(again) == list(books) and again.fields == books.fields


def test_an_export_of_an_unknown_kind(books: softset.Collection, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"out\.xlsx has none of the suffixes \.csv"):
        books.export(tmp_path / "out.xlsx")


@pytest.mark.parametrize(
    ("items", "error", "message"),
    [
        ({"a": "text"}, InputError, "items are dict, but a list of texts or dictionaries"),
        (5, InputError, "items are int, but a list"),
        ([5], InputError, "item 1 is int, but a text, a dictionary or an Item was expected"),
        ([], FileError, "the list of items has no items"),
        ("no such file.csv", FileNotFoundError, "No such file"),
    ],
)
def test_sources_that_cannot_be_read(items, error, message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        softset.Collection.create(tmp_path / "c", items, encoder="words")
    assert not (tmp_path / "c").exists()


# Types


def write(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


TABLE = """id,text,year,price,day,at,code,good,rest
001,red wine,1815,2,2020-01-31,2020-01-31 12:00,007,true,x
002,a calm sea,,2.5,1999-12-31,2020-01-31T12:00:00+02:00,12,FALSE,2
"""


def test_columns_of_csv_have_types(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", TABLE)
    collection = softset.Collection.create(tmp_path / "c", path, encoder="words")
    assert collection["002"].metadata == {
        "year": None, "price": 2.5, "day": date(1999, 12, 31), "at": datetime(2020, 1, 31, 10), "code": "12",
        "good": False, "rest": "2",
    }  # fmt: skip
    assert collection.fields == {
        "year": "integer", "price": "number", "day": "date", "at": "datetime", "code": "text", "good": "boolean",
        "rest": "text",
    }  # fmt: skip
    assert softset.Collection.open(tmp_path / "c").fields == collection.fields
    other = softset.Collection.create(tmp_path / "d", path, encoder="words", types={"year": "text", "code": "text"})
    assert other["001"].metadata["year"] == "1815"
    with pytest.raises(FileError, match=r"a\.csv, line 2: the column 'code' has '007', but it holds .*code=text"):
        softset.Collection.create(tmp_path / "e", path, encoder="words", types={"code": "integer"})
    with pytest.raises(InputError, match="the type 'int' of 'year' is none of text, integer"):
        softset.Collection.create(tmp_path / "e", path, encoder="words", types={"year": "int"})
    with pytest.raises(InputError, match="no metadata column 'yaer'; did you mean 'year'"):
        softset.Collection.create(tmp_path / "e", path, encoder="words", types={"yaer": "text"})
    assert not (tmp_path / "e").exists()


def test_additions_keep_the_types(tmp_path: Path) -> None:
    collection = softset.Collection.create(tmp_path / "c", write(tmp_path / "a.csv", TABLE), encoder="words")
    collection.add(write(tmp_path / "b.csv", "id,text,year,code,day\nx,a garden,1900,33,2021-01-01\n"))
    assert collection["x"].metadata == {"year": 1900, "code": "33", "day": date(2021, 1, 1)}
    with pytest.raises(FileError, match=r"b\.csv, line 2: the column 'year' has 'soon', but it holds whole numbers"):
        collection.add(write(tmp_path / "b.csv", "id,text,year\ny,a garden,soon\n"))
    with pytest.raises(InputError, match=r"^the field 'year' holds whole numbers, but the item 'y' has 'soon': change"):
        collection.add([{"id": "y", "text": "a garden", "year": "soon"}])
    assert len(collection) == 3
    collection.add([{"id": "y", "text": "a garden", "year": 1900.5, "day": "2020-05-05"}])
    assert collection.fields["year"] == "number" and collection["y"].metadata["day"] == date(2020, 5, 5)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", '[{"id": "x", "text": "red; wine", "n": 1}]'),
        ("a.csv", "id;text;n\nx;red; wine;1\n".replace("red; wine", '"red; wine"')),
        ("a.csv", '"id","text","n"\n"x","red; wine","1"\n'),
        ("a.tsv", '"id"\t"text"\t"n"\n"x"\t"red; wine"\t"1"\n'),
        ("a.csv", "id\ttext\tn\nx\tred; wine\t1\n"),
    ],
)
def test_dialects(name: str, content: str, tmp_path: Path) -> None:
    collection = softset.Collection.create(tmp_path / "c", write(tmp_path / name, content), encoder="words")
    assert list(collection) == [Item("x", "red; wine", {"n": 1})]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", '{"text": "red"}', "holds a JSON dict, but an array"),
        (
            "a.json",
            '{"text": "red"}\n{"text": "blue"}\n',
            r"is not a JSON array .*: a .* per line needs the suffix \.jsonl",
        ),
        ("a.json", "[1]", "item 1: an object or a text is needed, but a int was found"),
        (
            "a.jsonl",
            '[{"text": "red"},\n{"text": "blue"}]',
            r"line 1: not JSON .*; .* one JSON array needs the suffix \.json",
        ),
        ("a.csv", "id;text\nx;red, wine;3\n", "line 2: 3 columns, but the header has 2"),
        ("a.tsv", "id,text\nx,red wine\n", r"no tab in its header 'id,text': name a file with commas \.csv"),
    ],
)
def test_files_that_would_be_misread_are_refused(name: str, content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=message):
        softset.Collection.create(tmp_path / "c", write(tmp_path / name, content), encoder="words")


@pytest.mark.parametrize(
    "call",
    [
        lambda books: books[7],
        lambda books: books.get(7),
        lambda books: books.delete(7),
        lambda books: books.delete(["moby", 7]),
    ],
)
def test_an_id_is_a_text(call, books: softset.Collection) -> None:
    with pytest.raises(InputError, match="an id is a text such as '7', but 7 was given"):
        call(books)
    assert len(books) == 4 and 7 not in books


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda books: books.create("x", [], encodr="words"), "did you mean 'encoder'"),
        (lambda books: books.open("x", encodr="words"), "did you mean 'encoder'"),
        (lambda books: books.add([], text_feild="x"), "did you mean 'text_field'"),
        (lambda books: books.upsert([], text_feild="x"), "did you mean 'text_field'"),
        (lambda books: books.replace([], text_feild="x"), "did you mean 'text_field'"),
        (lambda books: books.set("red", wieghts=[1]), "did you mean 'weights'"),
        (lambda books: books.find_many(["red"], filtr="x"), "did you mean 'filter'"),
        (lambda books: books.members("red", min_scor=0.1), "did you mean 'min_score'"),
        (lambda books: books.count("red", min_scor=0.1), "did you mean 'min_score'"),
        (lambda books: books.plan("red", logik="x"), "did you mean 'logic'"),
        (lambda books: books.map("red", topp=1), "did you mean 'top'"),
        (lambda books: books.membership("red", ["x"], expalin=True), "did you mean 'explain'"),
    ],
)
def test_misspelled_options_are_refused(call, sentence: str, books: softset.Collection) -> None:
    with pytest.raises(InputError, match=sentence):
        call(books)


# Filters


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("year > 1820", {"moby", "dune"}),
        ('year > 1810 and lang in ("en", "de")', {"moby", "emma", "dune"}),
        ("lang == 'de' or (year < 1820 and not year == 1808)", {"emma", "faust"}),
        ("day is null", {"faust"}),
        ("day >= 1851-10-18", {"moby", "dune"}),
        ("not (day >= 1851-10-18)", {"emma", "faust"}),
        ("id == 'emma' or text == 'a whale hunt at sea'", {"emma", "moby"}),
        ("lang not in ('en')", {"faust"}),
    ],
)
def test_conditions(books: softset.Collection, condition: str, expected: set[str]) -> None:
    pytest.importorskip("faiss")
    for approximate in (False, True):
        result = books.find("story", 10, filter=condition, approximate=approximate)
        assert set(ids(result)) == expected and "|engine:exact|" in result.signature
        assert "|filter:" in result.signature
    unfiltered = {hit.id: hit.membership for hit in books.find("story", 10)}
    assert {hit.id: hit.membership for hit in result} == {name: unfiltered[name] for name in expected}


def test_members_and_their_number_are_filtered(books: softset.Collection) -> None:
    assert set(ids(books.members("sea", 0.1, filter="year > 1900"))) == {"dune"}
    assert books.count("sea", 0.1, filter=lambda item: item.id == "moby") == 1


def test_a_filter_applies_before_the_best_are_taken(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).standard_normal((3000, 16)).astype("f4")
    items = [Item(str(n), "", {"n": n}) for n in range(3000)]
    collection = softset.Collection.create(tmp_path / "c", items, vectors=rows)
    everything = [hit.id for hit in collection.find("{1, 2} - 3", 3000) if int(hit.id) % 100 == 7]
    mask = np.arange(3000) % 100 == 7
    assert ids(collection.find("{1, 2} - 3", 10, filter=mask)) == everything[:10]
    assert ids(collection.find("{1, 2} - 3", 10, filter=lambda item: item.metadata["n"] % 100 == 7)) == everything[:10]
    assert ids(collection.find("{1, 2} - 3", 10, filter=mask, offset=5)) == everything[5:15]
    assert ids(collection.find("1", filter="n > 5000")) == []
    with pytest.raises(ShapeError, match=r"a filter must be a condition, a function or 3000 booleans, but an array"):
        collection.find("1", filter=mask[:5])


def test_conditions_that_cannot_be_meant(books: softset.Collection) -> None:
    with pytest.raises(QueryError, match=r"^there is no field 'yaer'; did you mean 'year'\?\n  yaer > 1900\n  \^$"):
        books.find("sea", filter="yaer > 1900")
    with pytest.raises(QueryError, match=r"'year' holds whole numbers, not texts\n  year > 'x'\n         \^$"):
        books.find("sea", filter="year > 'x'")
    with pytest.raises(QueryError, match="the field 'day' holds dates, not whole numbers"):
        books.find("sea", filter="day > 1900")
    with pytest.raises(InputError, match="needs items with metadata"):
        softset.load_words().find("sea", filter="year > 1900")
    words = softset.load_words()
    assert all(len(hit.id) == 5 for hit in words.find("sea", 5, filter=lambda item: len(item.id) == 5))


# Encoders


def letters(texts: list[str]) -> np.ndarray:
    return np.array([[text.count("a") + 1, text.count("e"), text.count("o")] for text in texts], dtype="f4")


def vowels(texts: list[str]) -> np.ndarray:
    return np.array([[text.count("o") + 1, text.count("i"), text.count("u")] for text in texts], dtype="f4")


def test_another_encoder_of_equal_dimensions_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    created = softset.Collection.create(folder, ["aaa", "eee", "ooo"], encoder=letters)
    assert created.encoder == "custom:function(letters)" and ids(created.find("aaaaa"))[0] == "1"
    assert ids(softset.Collection.open(folder, encoder=letters).find("eeee"))[0] == "2"
    message = r"were encoded by custom:function\(letters\), but custom:function\(vowels\) gives other vectors"
    with pytest.raises(InputError, match=message):
        softset.Collection.open(folder, encoder=vowels)
    opened = softset.Collection.open(folder)
    assert ids(opened.find("1", include_examples=True))[0] == "1"
    with pytest.raises(InputError, match=r"encoded by function\(letters\), .*: open the collection with encoder="):
        opened.find("some text")


def test_encoders_by_name_and_as_objects(tmp_path: Path) -> None:
    encoder = softset.load_encoder("words")
    for number, given in enumerate(("words", encoder)):
        folder = tmp_path / str(number)
        softset.Collection.create(folder, ["red wine", "a calm sea"], encoder=given)
        assert ids(softset.Collection.open(folder, encoder=encoder).find("ocean"))[0] == "2"
    with pytest.raises(ShapeError, match=r"vectors have 384 dimensions, but those of .* have 300"):
        softset.Collection.open(tmp_path / "0", encoder=softset.load_encoder("minilm"))
    with pytest.raises(InputError, match="encoded with 'words:glove-840b-300d', but 'minilm' was given"):
        softset.Collection.open(tmp_path / "0", encoder="minilm")


# Notebooks


def test_representations(books: softset.Collection) -> None:
    assert repr(books) == (
        f"Collection({str(books.folder)!r}, items=4, model='words:glove-840b-300d', fields=['year', 'lang', 'day'])"
    )
    html = books._repr_html_()
    assert str(books.folder) in html and "year (integer)" in html and "words:glove-840b-300d" in html
    strange = books.add([{"id": "x", "text": "sea", "<b>": 1}])
    assert "<b>" not in strange._repr_html_()
