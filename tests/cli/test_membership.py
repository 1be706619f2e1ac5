"""`softset membership`: tables, JSON and error messages."""

import json
from pathlib import Path

import numpy as np
import pytest

from softset import load_words
from softset.collections.collection import Collection
from softset.collections.items import Item

QUERY = "{red, blue} & {apple, peach}"


def test_memberships_equal_those_of_find(run) -> None:
    hits = json.loads(run("find", QUERY, "--top", "5", "--json")[1])["results"]
    asked = [hit["id"] for hit in hits][::-1]
    printed = json.loads(run("membership", QUERY, *asked, "--json")[1])["memberships"]
    assert [row["id"] for row in printed] == asked
    assert [row["membership"] for row in printed][::-1] == pytest.approx([hit["membership"] for hit in hits], abs=1e-6)


@pytest.mark.parametrize("logic", ["lattice", "graded", "logistic"])
def test_membership_of_examples_in_every_logic(run, logic: str) -> None:
    printed = json.loads(run("membership", "{red, blue}", "red", "dog", "--logic", logic, "--json")[1])["memberships"]
    assert 1 >= printed[0]["membership"] > printed[1]["membership"] >= 0
    assert load_words().membership("{red, blue}", ["red", "dog"], logic=logic)[0].membership == printed[0]["membership"]


def test_table_with_leaf_memberships_and_resolved_phrase(run) -> None:
    _, shown, errors = run("membership", QUERY, "Red Wine", "--explain")
    assert shown.splitlines()[0].endswith("  Red Wine") and "in {apple, peach}: peach" in shown
    assert errors == "softset: Red Wine is the weighted mean of red, wine\n"


def test_texts_of_a_collection_are_encoded_in_one_batch(tmp_path: Path) -> None:
    calls = []

    def embed(texts):
        calls.append(list(texts))
        return np.array([[1.0, 0.0] if "sea" in text else [0.0, 1.0] for text in texts], dtype=np.float32)

    ships = Collection.create(tmp_path / "c", [Item("1", "sea"), Item("2", "land")], encoder=embed)
    calls.clear()
    printed = ships.membership("{sea, the seaside}", ["a sea", "a tree", "1"], logic="lattice")
    assert [round(row.membership, 6) for row in printed] == [1, 0, 1]
    assert calls == [["sea", "the seaside"], ["a sea", "a tree"]]
    assert printed[2].resolved_as == "the item with this id"


def test_unknown_words_are_an_error_or_skipped(run) -> None:
    assert run("membership", "{red}", "qwxzy") == (2, "", "softset: 'qwxzy' has no vector here\n")
    code, shown, errors = run("membership", "{red, qwxz}", "qwxzy", "blue", "--skip-unknown", "--json")
    printed = json.loads(shown)
    assert [row["id"] for row in printed["memberships"]] == ["qwxzy", "blue"] and printed["unknown"] == [
        "qwxz",
        "qwxzy",
    ]
    assert printed["memberships"][0]["membership"] is None and printed["memberships"][1]["membership"] > 0.5
    assert (code, errors) == (0, "softset: 2 texts skipped, without a vector: qwxz, qwxzy\n")
    assert run("membership", "{red}", "qwxzy", "red", "--skip-unknown")[1].startswith("    -  qwxzy\n")
    assert run("membership", "{red}")[0] == 2


def test_projection_preserves_neighbourhoods() -> None:
    shown = load_words().map("{red, blue, green} | {car, truck, bus}", top=20).to_dict()
    colours, cars = shown["sets"]
    assert [row["name"] for row in colours["examples"]] == ["red", "blue", "green"]
    gap = np.hypot(colours["x"] - cars["x"], colours["y"] - cars["y"])
    for of_set, other in ((colours, cars), (cars, colours)):
        for row in of_set["examples"]:
            own = np.hypot(row["x"] - of_set["x"], row["y"] - of_set["y"])
            assert own < np.hypot(row["x"] - other["x"], row["y"] - other["y"]) and own < gap
    assert colours["x"] < 0 < cars["x"] and colours["y"] > 0
    assert len(shown["items"]) == 20 and 0.3 < shown["explained_variance"] <= 1
    assert shown == load_words().map("{red, blue, green} | {car, truck, bus}", top=20).to_dict()


def test_projection_of_one_example_without_results() -> None:
    alone = load_words().map("red", min_score=1.0, top=1)
    assert (
        len(alone.items) == 0
        and (alone.sets[0].examples[0].x, alone.sets[0].examples[0].y) == (0.0, 0.0)
        and alone.explained_variance == 1.0
    )
