"""Named sets: definition, reference, expansion, files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softset
from softset import Sets, Subspace
from softset.errors import FileError, InputError
from softset.query.parser import parse

WORDS = softset.load_words()
SETS = {"colour": ["red", "blue", "new york"], "shade": "@colour - {white^2}", "like": "id:red | @shade"}


def test_sets_are_a_mapping_of_expressions() -> None:
    sets = Sets(SETS)
    assert list(sets) == ["colour", "shade", "like"] and len(sets) == 3
    assert sets["colour"] == parse("{red, blue, new york}") and sets["shade"] == parse("@colour - {white^2}")
    sets["fruit"] = WORDS.set("apple") & sets["colour"]
    assert str(sets["fruit"]) == "{apple} & {red, blue, new york}"
    del sets["like"]
    assert "like" not in sets and "fruit=" in repr(sets) and "<td>@fruit</td>" in sets._repr_html_()


@pytest.mark.parametrize("name", ["sets.toml", "sets.json"])
def test_saved_sets_are_loaded_again(tmp_path: Path, name: str) -> None:
    Sets(SETS).save(tmp_path / name)
    assert Sets.load(tmp_path / name) == Sets(SETS)


@settings(max_examples=100, deadline=None)
@given(content=st.dictionaries(*[st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)] * 2))
def test_any_names_and_examples_survive_a_file(tmp_path_factory: Any, content: dict[str, str]) -> None:
    folder = tmp_path_factory.mktemp("sets")
    sets = Sets({name: [text, "x"] for name, text in content.items()})
    for name in ("sets.toml", "sets.json"):
        sets.save(folder / name)
        assert Sets.load(folder / name) == sets


def test_a_loaded_file_can_be_searched_with(tmp_path: Path) -> None:
    (tmp_path / "sets.toml").write_text('fruit = ["apple", "peach", "banana"]\nwarm = "@fruit & {red, blue, green}"\n')
    sets = Sets.load(tmp_path / "sets.toml")
    expected = WORDS.find("{apple, peach, banana} & {red, blue, green}", top=3)
    for query in ("@warm", sets["warm"], parse("@fruit") & parse("{red, blue, green}")):
        assert [hit.id for hit in WORDS.find(query, sets=sets, top=3)] == [hit.id for hit in expected]


def test_sets_with_vectors_are_used_but_not_saved(tmp_path: Path) -> None:
    space = WORDS.span(["red", "blue"])
    sets = Sets({"space": space, "vector": WORDS.set(vector=WORDS["red"])})
    assert WORDS.find("@space", sets=sets, top=3).logic == "lattice"
    assert WORDS.find("@vector", sets=sets, top=1)[0].id == "red"
    with pytest.raises(InputError, match="the set 'space' contains a vector or a subspace"):
        sets.save(tmp_path / "sets.toml")
    assert not (tmp_path / "sets.toml").exists()


@pytest.mark.parametrize(
    ("sets", "query", "sentence"),
    [
        ({"colour": ["red"]}, "@color", "there is no set named @color; did you mean @colour?"),
        ({"colour": ["red"]}, "@xyz", "there is no set named @xyz; known are colour"),
        ({}, "@xyz", "there are no named sets"),
        ({"a": "@b | x", "b": "~@a"}, "@a", "the set @a refers to itself: a -> b -> a"),
        ({"a": []}, "red", "the set 'a' must be a list of words or phrases"),
        ({"a": "{red"}, "red", "a comma or }"),
        ({" ": ["red"]}, "red", "a set needs a name"),
        ("sets.toml", "red", "must be a dictionary of names and sets, but a str was given; read a file with .*load"),
        ({"a": 3}, "red", "a query must be a text"),
        ({"a": "{b} & @c", "c": Subspace.span(np.eye(3))}, "@a", "has 3 dimensions, but the items have 300"),
    ],
)
def test_wrong_sets_are_refused(sets: dict[str, Any], query: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence.replace("?", r"\?").replace("(", r"\(")):
        WORDS.find(query, sets=sets, skip_unknown=True)


def test_a_wrong_query_in_a_file_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "sets.toml").write_text('a = "{red"\n')
    with pytest.raises(FileError, match=r"sets.toml: .*a comma or }"):
        Sets.load(tmp_path / "sets.toml")
