"""Plain questions become set expressions by fixed phrases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset.errors import InputError
from softset.query.expression import Example, Examples
from softset.query.questions import parse_question


@pytest.mark.parametrize(
    "phrase",
    [
        "but not",
        "except",
        "except for",
        "excluding",
        "without",
        "other than",
        "that are not",
        "which is not",
        "BUT NOT",
    ],
)
def test_phrases_that_exclude(phrase: str) -> None:
    assert str(parse_question(f"films about whales {phrase} musicals?").tree) == "{films about whales} - {musicals}"
    assert str(parse_question(f"films about whales, {phrase} musicals").tree) == "{films about whales} - {musicals}"


@pytest.mark.parametrize(
    ("question", "tree"),
    [
        ("whales or ships", "{whales or ships} & ({whales} | {ships})"),
        ("whales, or ships or war", '{"whales, or ships or war"} & ({whales} | {ships} | {war})'),
        ("films and also books", "{films and also books} & ({films} & {books})"),
        ("films that are also books", "{films that are also books} & ({films} & {books})"),
        ("a thing which is also both red", "{a thing which is also both red} & ({a thing} & {red})"),
        (
            "whales and also ships or war but not songs",
            "({whales and also ships or war} & ({whales} & {ships} | {war})) - {songs}",
        ),
        ("whales but not songs except ships", "{whales} - {songs} - {ships}"),
        ("whales but not songs or ships", "{whales} - {songs or ships}"),
        ("  Whales of the sea?!  ", "{Whales of the sea}"),
        ("war and peace", "{war and peace}"),
        ("the Orient express", "{the Orient express}"),
        ("withoutness", "{withoutness}"),
    ],
)
def test_questions(question: str, tree: str) -> None:
    assert str(parse_question(question).tree) == tree


@pytest.mark.parametrize("question", ["whales but not a", "it but not whales", "a or whales", "whales and also x"])
def test_a_question_with_a_short_part_is_one_set(question: str) -> None:
    query = parse_question(question)
    assert query.tree == Examples((Example(question),)) and query.notes == ()


def test_a_short_part_of_what_is_wanted_keeps_the_exclusion() -> None:
    assert str(parse_question("a or whales but not songs").tree) == "{a or whales} - {songs}"


def test_the_note_says_how_a_question_is_read() -> None:
    query = parse_question("whales but not songs?")
    assert query.text == "whales but not songs?"
    assert query.notes == ("this question is read as {whales} - {songs}",)
    assert parse_question("whales").notes == ()


@given(st.text(alphabet="abc {}&|-~@:?.,^", min_size=1))
def test_operators_of_queries_mean_nothing_in_a_question(question: str) -> None:
    if question.strip():
        tree = parse_question(question).tree
        expected = question.strip().rstrip("?.! ") or question
        assert tree == Examples((Example(expected.strip()),))


@pytest.mark.parametrize("question", ["", "  \n", None, 5, b"whales", ["whales"]])
def test_other_values_are_refused(question: object) -> None:
    with pytest.raises(InputError, match="a question must be a text that is not empty"):
        parse_question(question)
