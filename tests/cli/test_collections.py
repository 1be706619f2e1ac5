"""`softset index`, `add` and `find --filter`: sources, types and filters."""

import json
from pathlib import Path

import pytest

BOOKS = """id,text,year,lang,day,code
a,a whale hunt at sea,1851,en,1851-10-18,007
b,marriage in a village,1815,en,1815-12-23,12
c,a scholar and the devil,1808,de,,13
"""


@pytest.fixture
def books(run, home: Path) -> str:
    (home / "books.csv").write_text(BOOKS)
    code, out, err = run("index", "books.csv", "--model", "words", "--out", "books.softset")
    assert code == 0 and out.startswith("books.softset: 3 items, 300 dimensions"), err
    assert "first item: id 'a', text 'a whale hunt at sea', year 1851, lang 'en', day datetime.date(1851" not in err
    assert "first item: id 'a', text 'a whale hunt at sea', year 1851, lang 'en', day 1851-10-18, code '007'" in err
    assert "first item" not in out
    return "books.softset"


def test_filters(run, books: str) -> None:
    code, out, err = run("find", "--collection", books, "story", "--filter", "year > 1810 and lang in ('en')", "--json")
    assert code == 0, err
    results = json.loads(out)["results"]
    assert {hit["id"] for hit in results} == {"a", "b"}
    assert {hit["id"]: hit["metadata"]["day"] for hit in results} == {"a": "1851-10-18", "b": "1815-12-23"}
    code, out, _ = run("find", "--collection", books, "story", "--filter", "day < 1820-01-01")
    assert code == 0 and out.split()[1] == "b" and len(out.splitlines()) == 1


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("yaer > 1900", "there is no field 'yaer'; did you mean 'year'?\n  yaer > 1900\n  ^"),
        ("code > 3", "the field 'code' holds texts, not whole numbers\n  code > 3\n         ^"),
        ("year >", "a text in quotes, a number, a date, true or false was expected here\n  year >\n        ^"),
    ],
)
def test_wrong_filters_are_errors(run, books: str, condition: str, sentence: str) -> None:
    code, out, err = run("find", "--collection", books, "story", "--filter", condition)
    assert (code, out) == (2, "") and sentence in err


def test_filters_need_metadata(run) -> None:
    code, _, err = run("find", "sea", "--filter", "year > 1900")
    assert code == 2 and "needs items with metadata" in err


def test_types(run, home: Path, books: str) -> None:
    arguments = ("index", "books.csv", "--model", "words", "--type", "year=text", "--type", "code=number")
    code, _, err = run(*arguments, "--out", "x.softset")
    assert code == 2 and "books.csv, line 2: the column 'code' has '007', but it holds numbers" in err
    code, _, err = run(*arguments[:-2], "--out", "x.softset")
    assert code == 0 and "year '1851'" in err
    code, _, err = run(*arguments[:-1], "code", "--out", "y.softset")
    assert code == 2 and "--type must be FIELD=TYPE, such as year=text, but 'code' was given" in err
    (home / "more.csv").write_text("id,text,year\nd,a garden,soon\n")
    code, _, err = run("add", books, "more.csv")
    assert code == 2 and "more.csv, line 2: the column 'year' has 'soon', but it holds whole numbers" in err


def test_a_json_array_is_not_one_item(run, home: Path) -> None:
    (home / "books.json").write_text('[{"id": 1, "text": "red wine"}, {"id": 2, "text": "a calm sea"}]')
    code, out, err = run("index", "books.json", "--model", "words", "--out", "c.softset")
    assert code == 0 and "2 items" in out and "first item: id '1', text 'red wine'" in err
