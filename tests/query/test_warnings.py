"""Warnings about queries whose sets or examples do not fit together, each with queries that get it and that do not."""

import pytest

from softset import load_words
from softset.errors import InputError

WORDS = load_words()
ONE = "{A} has one example, so everything like {B} is removed: add examples to keep more"
LIKE = "{B} is like the examples of {A}: BUT NOT removes almost nothing (-- removes more)"
FAR = "{B} is far from {A}: BUT NOT removes almost nothing"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # BUT NOT
        ("bass - {guitar, drums}", [ONE.format(A="{bass}", B="{guitar, drums}")]),
        ("bass -- {guitar, drums}", [ONE.format(A="{bass}", B="{guitar, drums}")]),
        ("bass -^0.3 {guitar, drums}", []),
        ("dog - car", []),
        ("{red, blue} - green", [LIKE.format(A="{red, blue}", B="{green}")]),
        ("{red, blue} -- green", []),
        ("{red, blue} -^0.3 green", []),
        ("{red, blue} & ~green", [LIKE.format(A="{red, blue}", B="{green}")]),
        ("{dog, cat} - carburetor", [FAR.format(A="{dog, cat}", B="{carburetor}")]),
        ("{dog, cat} -- carburetor", [FAR.format(A="{dog, cat}", B="{carburetor}")]),
        ("dog - carburetor", [FAR.format(A="{dog}", B="{carburetor}")]),
        ("{dog, cat} - table", [FAR.format(A="{dog, cat}", B="{table}")]),
        ("{dog, cat} - wolf", []),
        ("{mercury, venus} - {planet, mars, jupiter}", []),
        (
            "{dog, cat} - (carburetor | monday)",
            [FAR.format(A="{dog, cat}", B="{carburetor}"), FAR.format(A="{dog, cat}", B="{monday}")],
        ),
        (
            "({dog, cat} | {red, blue}) - {green, yellow}",
            [LIKE.format(A="{dog, cat} | {red, blue}", B="{green, yellow}")],
        ),
        ("(dog | {red, blue}) - {green, yellow}", []),
        (
            "({dog, cat} - carburetor) | ({red, blue} - green)",
            [FAR.format(A="{dog, cat}", B="{carburetor}"), LIKE.format(A="{red, blue}", B="{green}")],
        ),
        ("{red, blue} - (green - {dog, cat})", [LIKE.format(A="{red, blue}", B="{green}")]),
        # Examples
        ("{dog, cat, horse, monday}", ["monday is unlike the other examples of {dog, cat, horse, monday}"]),
        (
            "{carburetor, red, blue, green}",
            ["carburetor is unlike the other examples of {carburetor, red, blue, green}"],
        ),
        ("{dog, thursday}", ["the examples dog and thursday have little in common"]),
        ("{red, blue} - {wolf, monday}", ["the examples wolf and monday have little in common"]),
        ("{dog, cat, horse}", []),
        ("dog", []),
        # AND
        ("{red, blue, green} & {apple, peach, banana}", []),
        ("red & fruit", []),
        (
            "{dog, cat} & {carburetor, piston}",
            ["{dog, cat} and {carburetor, piston} have little in common: the results fit neither set well"],
        ),
        (
            "{red, blue} | {dog, cat} & {carburetor, piston}",
            ["{dog, cat} and {carburetor, piston} have little in common: the results fit neither set well"],
        ),
        (
            "~({dog, cat} & {carburetor, piston})",
            ["{dog, cat} and {carburetor, piston} have little in common: the results fit neither set well"],
        ),
        ("{dog, cat} | {carburetor, piston}", []),
    ],
)
def test_warnings(query: str, expected: list[str]) -> None:
    assert list(WORDS.find(query, top=1).notes) == expected


@pytest.mark.parametrize(
    "query",
    [
        "{dog, cat} - {wolf, dog}",
        "{dog, cat} -- dog",
        "{dog, cat} -^0.1 dog",
        "({dog} | red) - {dog, wolf}",
        "{dog, cat} & ~dog",
        "(dog - wolf) - {dog, cat}",
        "red & (dog - {dog, cat})",
        "{dog^2, cat} - dog",
        "{id:dog, cat} - id:dog",
        "{Dog, cat} - dog",
        "{id:dog, cat} - dog",
        "@pets - dog",
    ],
)
def test_an_example_on_both_sides_is_refused(query: str) -> None:
    with pytest.raises(InputError, match="'dog' is an example on both sides of BUT NOT: remove it from one side"):
        WORDS.find(query, sets={"pets": ["cat", "dog"]})


@pytest.mark.parametrize(
    "query",
    ["{dog, cat} - (wolf - dog)", "{dog, cat} - (wolf - coyote) - coyote", "(dog - wolf) | wolf", "{dog, cat} | dog"],
)
def test_an_example_may_be_in_several_sets(query: str) -> None:
    assert WORDS.find(query, top=1)


def test_other_logics_have_no_warnings() -> None:
    for logic in ("lattice", "graded"):
        assert not WORDS.find("{dog, cat} - carburetor", logic=logic).notes
