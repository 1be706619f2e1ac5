"""Query files: measures of found words, and invalid files."""

import json

import pytest

from softset.errors import FileError, InputError
from softset.evaluation.word_sets.queries import ExpectedWords, choose_query_methods, query_rows, read_queries


def test_average_precision_counts_known_words_only() -> None:
    query = ExpectedWords("sibling", "a", (frozenset({"x", "y", "unknown"}),))
    assert query.value(["x", "no", "y"], {"x", "y", "no"}.__contains__) == pytest.approx((1 + 2 / 3) / 2)
    assert query.value([], {"x"}.__contains__) == 0


def test_balanced_recall_is_zero_if_one_side_is_missing() -> None:
    query = ExpectedWords("or", "a | b", (frozenset({"x", "y"}), frozenset({"z"})))
    everything = {"x", "y", "z"}.__contains__
    assert query.value(["x", "y"], everything) == 0
    assert query.value(["x", "z"], everything) == pytest.approx(2 * 0.5 / 1.5)
    assert query.value(["no"] * 40 + ["x", "z"], everything) == 0


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "{}",
        "[1]",
        '[{"task": "a", "query": "b"}]',
        '[{"task": "a", "query": "b", "expect": []}]',
        '[{"task": "a", "query": "b", "expect": [1]}]',
        '[{"task": "a", "query": "b | c", "sides": [["x"]]}]',
    ],
)
def test_invalid_files_are_refused(tmp_path, content) -> None:
    file = tmp_path / "queries.json"
    file.write_text(content)
    with pytest.raises(FileError, match="queries"):
        read_queries(file)


def test_the_excluded_examples_are_no_hits_of_the_baseline(words, tmp_path) -> None:
    names = [word for word in words.words if word.startswith("a")][:6]
    query = f"{{{names[0]}, {names[1]}}} - {names[2]}"
    file = tmp_path / "queries.json"
    file.write_text(json.dumps([{"task": "t", "query": query, "expect": names[3:]}]))
    rows = query_rows(words, read_queries(file), ["logistic", "ignore B"], samples=20, seed=1)
    assert [(row.method, row.metric, row.n, row.p is None) for row in rows] == [
        ("logistic", "MAP", 1, False),
        ("ignore B", "MAP", 1, True),
    ]
    assert 0 < rows[1].value <= 1


def test_unknown_methods_are_refused() -> None:
    with pytest.raises(InputError, match="there is no method 'fuzzy'"):
        choose_query_methods(["fuzzy"])
