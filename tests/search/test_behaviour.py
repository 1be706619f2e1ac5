"""What people expect of queries over the bundled words: the first ten results, and a file of queries."""

import json
from pathlib import Path

import pytest

from softset import load_words
from softset.cli import main

WORDS = load_words()
# Queries with expected words, beside the repository; they are not part of it.
QUERIES = Path(__file__).parents[3] / "shared" / "data" / "queries" / "dev.json"


@pytest.mark.parametrize(
    ("query", "wanted", "unwanted"),
    [
        ("{monday, tuesday, wednesday} - sunday", "thursday friday saturday", "sunday sundays weds hooray midterm"),
        ("{milan, venice, florence} BUT NOT rome", "naples pisa verona", "rome chelsea rialto fc"),
        (
            "{france, germany, spain} BUT NOT italy",
            "austria poland switzerland netherlands belgium",
            "italy italian mainz dortmund nazi",
        ),
        ("bass - {guitar, drums}", "trout catfish fish", "guitar guitars drum drummer bassist vocals acoustic"),
        ("{red, blue, green} & {apple, peach, banana}", "orange plum lime", "apples car dog black"),
        ("{mercury, venus} - {planet, mars, jupiter}", "arsenic cadmium", "planet planets mars jupiter car"),
    ],
)
def test_first_ten_results(query: str, wanted: str, unwanted: str) -> None:
    found = {hit.id for hit in WORDS.find(query)}
    assert set(wanted.split()) <= found and not set(unwanted.split()) & found


def test_both_sides_of_a_union_are_found() -> None:
    found = [hit.id for hit in WORDS.find("{emotion, anger} | {monday, tuesday}", 20)]
    assert set(found[:10]) >= {"wednesday", "thursday", "friday"} and "sadness" in found
    assert not {"car", "apple"} & set(found)
    both = {hit.id for hit in WORDS.find("{red, blue} | {dog, cat}")}
    assert len(both & {"yellow", "pink", "purple", "green", "orange", "white"}) >= 2
    assert len(both & {"puppy", "pet", "kitten", "kitty", "canine", "pup"}) >= 2


def test_the_best_results_are_members() -> None:
    assert {"thursday", "friday", "saturday"} <= {
        hit.id for hit in WORDS.members("{monday, tuesday, wednesday} - sunday")
    }
    assert "orange" in {hit.id for hit in WORDS.members("{red, blue, green} & {apple, peach, banana}")}
    assert WORDS.membership("{dog, cat}", ["table"])[0].membership < 0.1
    assert 1 < WORDS.count("{dog, cat, horse}") < 100


@pytest.mark.skipif(not QUERIES.is_file(), reason="needs the file of queries")
def test_queries_of_the_development_file(capsys: pytest.CaptureFixture[str]) -> None:
    """Mean average precision, and balanced recall of unions; ignoring B gives .46 and .20."""
    with pytest.raises(SystemExit) as ended:
        main(["eval", "queries", str(QUERIES), "--method", "logistic", "--samples", "10", "--json"])
    assert ended.value.code == 0
    values = {row["dataset"]: row["value"] for row in json.loads(capsys.readouterr().out)}
    floors = {"sibling": 0.41, "sense": 0.35, "or": 0.56, "and": 0.65}
    assert {task for task, floor in floors.items() if values[task] < floor} == set()


def test_one_example_minus_a_sibling_keeps_the_other_siblings() -> None:
    """Nothing like monday would remain without sunday's neighbours, so only sunday is removed; `--` removes all."""
    result = WORDS.find("monday - sunday", top=4)
    assert {hit.id for hit in result} == {"tuesday", "wednesday", "thursday", "friday"}
    assert result.notes == (
        "everything like {monday} is also like {sunday}: only close neighbours of {sunday} are removed "
        "(-- removes more)",
    )
    assert WORDS.find("red - blue", top=3)[0].id in ("yellow", "purple", "green")
    strict = WORDS.find("monday -- sunday", top=1)
    assert strict[0].membership < 0.01 and "everything like {sunday} is removed" in strict.notes[0]
    assert "everything like {guitar, drums} is removed" in WORDS.find("bass - {guitar, drums}", top=1).notes[0]
