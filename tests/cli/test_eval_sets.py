"""`softset eval sets` on tiny data."""

import json
from pathlib import Path

import pytest

from tests.evaluation.word_sets.conftest import topic_vectors, write_concepts

ARGUMENTS = ("--samples", "20", "--method", "none/mean/*", "--method", "none/crisp/lattice*5)")


@pytest.fixture
def data(home: Path) -> Path:
    return write_concepts(home / "data")


@pytest.fixture
def vectors(home: Path) -> Path:
    topic_vectors().save(home / "topics")
    return home / "topics"


def test_table_with_intervals_and_settings(run, data, vectors, home) -> None:
    code, out, err = run(
        "eval", "sets", "--data", str(data), "--vectors", str(vectors), *ARGUMENTS, "--out", str(home / "results")
    )
    assert code == 0 and out.startswith("Text concept set retrieval on LDA-1k, test sets\n"), err
    assert "none/mean/product" in out and "random" in out and "worse than none/crisp/lattice(alpha=0.5)" in out
    kept = json.loads((home / "results" / "sets.json").read_text())
    assert kept["facts"]["seed"] == 12345 and kept["facts"]["vectors"][0].startswith("vectors:topics@")
    assert set(kept["facts"]["data"]) == {f"lda-1k/{name}" for name in ("vocab.txt", *SPLITS)}


SPLITS = ("sets_train.tsv", "sets_val.tsv", "sets_test.tsv")


def test_json_rows_of_selected_columns(run, data, vectors) -> None:
    arguments = ("eval", "sets", "--data", str(data), "--vectors", str(vectors), *ARGUMENTS, "--json")
    code, out, _ = run(*arguments, "--column", "R@10", "--column", "leak", "--split", "val", "--limit", "4")
    rows = json.loads(out)
    assert code == 0 and {row["metric"] for row in rows} == {"R@10", "leak"}
    assert {row["n"] for row in rows if row["dataset"] == "Set"} == {4}
    again = json.loads(run(*arguments, "--column", "R@10", "--column", "leak", "--split", "val", "--limit", "4")[1])
    assert rows == again


def test_baseline_of_the_significance_tests(run, data, vectors) -> None:
    arguments = ("eval", "sets", "--data", str(data), "--vectors", str(vectors), *ARGUMENTS, "--json")
    rows = json.loads(run(*arguments, "--baseline", "none/fuzzy/fuzzy")[1])
    others = [row for row in rows if row["method"] != "none/fuzzy/fuzzy" and row["metric"] in ("R@10", "leak")]
    tested = {(row["dataset"], row["p"] is not None) for row in others}
    assert tested == {("Set", True), ("Union", True), ("Intersect", True), ("Difference", False)}
    own = [
        row for row in json.loads(run(*arguments, "--baseline", "none/mean/product")[1]) if "mean/pr" in row["method"]
    ]
    assert own and all(row["p"] is None for row in own)


def test_several_vectors_have_their_own_rows(run, data, vectors, home) -> None:
    topic_vectors().restrict(80).save(home / "few")
    code, out, _ = run(
        "eval", "sets", "--data", str(data), "--vectors", str(vectors), "--vectors", str(home / "few"), *ARGUMENTS
    )
    assert code == 0 and "topics: none/mean/product" in out and "with the same vectors" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--method", "near"), "no method matches 'near'"),
        (("--baseline", "near"), "no method matches 'near'"),
        (("--column", "R@7"), "is not one of"),
    ],
)
def test_bad_options_give_one_sentence(run, data, vectors, arguments, sentence) -> None:
    code, _, err = run("eval", "sets", "--data", str(data), "--vectors", str(vectors), *arguments)
    assert code == 2 and sentence in err and "Traceback" not in err


def test_malformed_line_is_named(run, data, vectors) -> None:
    path = data / "lda-1k" / "sets_val.tsv"
    path.write_text(path.read_text() + "a1\ta2\n")
    code, _, err = run("eval", "sets", "--data", str(data), "--vectors", str(vectors))
    assert code == 2 and f"{path} has no valid set in line 7" in err


def test_behaviour_files(run, home) -> None:
    file = home / "queries.json"
    file.write_text('[{"task": "days", "query": "{monday, tuesday} - friday", "expect": ["thursday", "wednesday"]}]')
    code, out, err = run("eval", "queries", str(file), "--method", "graded", "--method", "ignore B", "--json")
    values = {row["method"]: row["value"] for row in json.loads(out)}
    assert code == 0 and set(values) == {"graded", "ignore B"} and values["ignore B"] > 0.5, err
    code, _, err = run("eval", "queries", str(home / "missing.json"))
    assert code == 2 and "missing.json" in err
