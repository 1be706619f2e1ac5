"""The query language: parsing, printing, error positions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset.errors import QueryError
from softset.query.expression import And, Example, Examples, Minus, Named, Not, Or, SetExpression, leaves
from softset.query.parser import MAX_CHARACTERS, MAX_DEPTH, parse, suggestion


def one(*texts: str) -> Examples:
    return Examples(tuple(Example(text) for text in texts))


A, B, C = one("a"), one("b"), one("c")


@pytest.mark.parametrize(
    ("query", "tree"),
    [
        ("a", A),
        ("{a}", A),
        ('"a"', A),
        ("{a, b}", one("a", "b")),
        ("{ a ,b }", one("a", "b")),
        ("new york", one("new york")),
        ("{new  york, rome}", one("new york", "rome")),
        ('"new  york"', one("new  york")),
        ("red^2", Examples((Example("red", 2),))),
        ("red ^ .5", Examples((Example("red", 0.5),))),
        ("a^1.2345678901234", Examples((Example("a", 1.2345678901234),))),
        ("{red^2.5, blue^1e2}", Examples((Example("red", 2.5), Example("blue", 100)))),
        ("new york^2", Examples((Example("new york", 2),))),
        ("@colour", Named("colour")),
        ('@"my set"', Named("my set")),
        ("a & b", And(A, B)),
        ("a AND b", And(A, B)),
        ("a | b", Or(A, B)),
        ("a OR b", Or(A, B)),
        ("a - b", Minus(A, B)),
        ("a BUT NOT b", Minus(A, B)),
        ("~a", Not(A)),
        ("NOT a", Not(A)),
        ("a AND NOT b", And(A, Not(B))),
        ("~~a", Not(Not(A))),
        ("a | b & c", Or(A, And(B, C))),
        ("a & b - c", And(A, Minus(B, C))),
        ("a -- b", Minus(A, B, 1)),
        ("{a}--{b}", Minus(A, B, 1)),
        ("a --b", Minus(A, B, 1)),
        ("a--b", one("a--b")),
        ("a -^0.3 b", Minus(A, B, 0.3)),
        ("a - ^ .25 b", Minus(A, B, 0.25)),
        ("a -^1 b", Minus(A, B, 1)),
        ("a -^0 b", Minus(A, B, 0)),
        ("a -^1e-3 b", Minus(A, B, 0.001)),
        ("a -^0.3 b^2 -- c", Minus(Minus(A, Examples((Example("b", 2),)), 0.3), C, 1)),
        ("a & b -- c", And(A, Minus(B, C, 1))),
        ("a BUT NOT^.8 b OR c", Minus(A, Or(B, C), 0.8)),
        ("a - b - c", Minus(Minus(A, B), C)),
        ("a & b & c", And(And(A, B), C)),
        ("a - (b - c)", Minus(A, Minus(B, C))),
        ("~a & b", And(Not(A), B)),
        ("~(a & b)", Not(And(A, B))),
        # In words, BUT NOT takes from all that was said before it.
        ("a OR b BUT NOT c", Minus(Or(A, B), C)),
        ("a BUT NOT b OR c", Minus(A, Or(B, C))),
        ("(a BUT NOT b) AND c", And(Minus(A, B), C)),
        ("well-known", one("well-known")),
        ("a -b", Minus(A, B)),
        ("{a}-{b}", Minus(A, B)),
        ("and or not but", one("and or not but")),
        ('"AND" | "OR"', Or(one("AND"), one("OR"))),
        ("café & naïve", And(one("café"), one("naïve"))),
        ("日本 | 東京", Or(one("日本"), one("東京"))),
        (r'"say \"hi\" \\ there"', one(r'say "hi" \ there')),
        ("\ta\n&\nb ", And(A, B)),
        ("'tis", one("'tis")),
        ("\u201cnew york\u201d | a", Or(one("new york"), A)),
        ("id:d7", Examples((Example("d7", kind="id"),))),
        ('{a, id:"d 7"^2, id:x.y-z}', Examples((Example("a"), Example("d 7", 2, "id"), Example("x.y-z", 1, "id")))),
        ("id:-1 - id:\u201cx\u201d", Minus(*(Examples((Example(text, kind="id"),)) for text in ("-1", "x")))),
        ('"id:d7"', one("id:d7")),
        ("id: d7", one("id: d7")),
        ("idea:x", one("idea:x")),
        # In lower case, operators stand beside a bracket.
        ("{a} and {b}", And(A, B)),
        ("{a} or {b} but not {c}", Minus(Or(A, B), C)),
        ("{a} and not {b}", And(A, Not(B))),
        ("not {a}", Not(A)),
        ("not (a) or @x", Or(Not(A), Named("x"))),
        ("a and {b}", And(A, B)),
        ("{a} and b", And(A, B)),
        ("@x and @y", And(Named("x"), Named("y"))),
        ("{rock and roll, and}", one("rock and roll", "and")),
        ("rock and roll", one("rock and roll")),
        ("a^\x1c2", Examples((Example("a", 2),))),  # a space to Python's patterns and not to its float
    ],
)
def test_queries_are_parsed(query: str, tree: SetExpression) -> None:
    assert parse(query) == tree
    assert parse(str(tree)) == tree


@pytest.mark.parametrize(
    ("query", "position", "sentence"),
    [
        ("", 0, "the query is empty"),
        ("   ", 3, "the query is empty"),
        ("{}", 1, "a set needs at least one example"),
        ("{a", 2, "a comma or } was expected"),
        ("{a b c", 6, "a comma or } was expected"),
        ("{a; b}{", 6, "the end of the query"),
        ("{a,}", 3, "a word or a quoted phrase was expected"),
        ("{a, &}", 4, "a word or a quoted phrase was expected"),
        ("a &", 3, "a word, {examples}, @name, ~ or ( was expected"),
        ("& a", 0, "a word, {examples}"),
        ("a & | b", 4, "a word, {examples}"),
        ("(a", 2, "a ) was expected"),
        ("a)", 1, "the end of the query, or one of & | -"),
        ("a {b}", 2, "the end of the query"),
        (
            "a, b",
            1,
            "the end of the query, or one of & | - was expected here; several examples are",
        ),
        ("a NOT b", 2, "the end of the query, or one of & | - was expected here; write AND NOT, or BUT NOT"),
        ("@", 1, "the name of a set was expected after @"),
        ("a BUT b", 6, "NOT was expected after BUT"),
        ("a BUT", 5, "NOT was expected after BUT"),
        ("AND", 0, "a word, {examples}"),
        ('a & "b', 4, "this quotation mark is never closed"),
        ("a^", 1, "a number was expected after ^"),
        ("a^x", 1, "a number was expected after ^"),
        ("a^0", 1, "a weight must be above 0"),
        ("a -^2 b", 3, "the strictness of a minus must be from 0 to 1"),
        ("a - ^ 1.01 b", 4, "the strictness of a minus must be from 0 to 1"),
        ("a -^x b", 3, "a number was expected after ^"),
        ("a --^0.3 b", 4, "a word, {examples}"),
        ("a - - b", 4, "a word, {examples}"),
        ("a --- b", 4, "a word, {examples}"),
        ("a --", 4, "a word, {examples}"),
        ("-- a", 0, "a word, {examples}"),
        ("{a -- b}", 3, "a comma or } was expected"),
        ("a &^0.3 b", 3, "a word, {examples}"),
        ("a^1e99", 1, "a weight must be above 0"),
        ('""', 0, "an example must not be empty"),
        ('{a, " "}', 4, "an example must not be empty"),
        ("~", 1, "a word, {examples}"),
        ('id:"x', 3, "this quotation mark is never closed"),
        ('id:""', 3, "an example must not be empty"),
        ("{a id:b}", 6, "a comma or } was expected"),
        ("{a} but {b}", 8, "NOT was expected after BUT"),
    ],
)
def test_errors_point_at_the_wrong_character(query: str, position: int, sentence: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(query)
    assert caught.value.sentence.startswith(sentence)
    assert caught.value.position == position
    shown = str(caught.value).splitlines()
    assert len(shown) == 3 and shown[2].index("^") - 2 == position


def test_limits() -> None:
    assert parse("(" * (MAX_DEPTH - 1) + "a" + ")" * (MAX_DEPTH - 1)) == A
    for query, sentence in [
        ("(" * 150 + "a" + ")" * 150, "nested at most 50 levels deep"),
        ("~" * 51 + "a", "nested at most 50 levels deep"),
        ("~" * 5000 + "a", "nested at most 50 levels deep"),
        (" | ".join(["a"] * 101), "may have at most 100 sets"),
        ("{" + ",".join(["a"] * 1001) + "}", "may have at most 1000 examples"),
        ("a" * 10_001, "may have at most 10000 characters, but this has 10001"),
    ]:
        with pytest.raises(QueryError, match=sentence):
            parse(query)
    largest = parse(" | ".join(["{" + ",".join(["a"] * 10) + "}"] * 100))
    assert len(list(leaves(largest))) == 100 and parse(str(largest)) == largest


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(lambda s: s.strip())
examples = st.builds(Example, texts, st.floats(0.001, 1000))
trees = st.recursive(
    st.one_of(st.builds(Examples, st.lists(examples, min_size=1, max_size=3).map(tuple)), st.builds(Named, texts)),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        *(st.builds(kind, inner, inner) for kind in (And, Or, Minus)),
        st.builds(Minus, inner, inner, st.floats(0, 1)),
    ),
    max_leaves=8,
)


@settings(max_examples=300)
@given(tree=trees)
def test_printed_tree_parses_to_itself(tree: SetExpression) -> None:
    assert parse(str(tree)) == tree


@settings(max_examples=500)
@given(query=st.text(st.sampled_from('ab {}()&|~-,^"@\\2. \nANDORBUTid:and'), max_size=30) | st.text(max_size=30))
def test_any_text_is_parsed_or_refused_with_a_position(query: str) -> None:
    try:
        tree = parse(query)
    except QueryError as caught:
        position = caught.position
        tree = None
    assert (parse(str(tree)) == tree) if tree is not None else 0 <= position <= len(query)


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("cats and dogs but not birds", "({cats} & {dogs}) - {birds}"),
        ("cats or big dogs", "{cats} | {big dogs}"),
        ("tea without milk", "{tea} - {milk}"),
        ("{cats} and dogs but not birds", "({cats} & {dogs}) - {birds}"),
        ("a, b and c", None),
        ("cats AND dogs", None),
        ("{cats} and {dogs}", None),
        ("{salt and pepper}", None),
        ('"cats and dogs"', None),
        ("and dogs", None),
        ("android or", None),
        ("sandy beach", None),
    ],
)
def test_sentences_with_connectives_get_a_suggestion(query: str, meant: str | None) -> None:
    try:
        tree = parse(query)
    except QueryError:
        tree = A
    assert suggestion(query, tree) == meant
    assert meant is None or str(parse(meant)) == meant


def test_deepest_query_can_be_printed_and_parsed() -> None:
    tree = parse("~" * 48 + "(a OR b BUT NOT c)")
    assert parse(str(tree)) == tree


def test_caret_is_placed_under_wide_characters() -> None:
    with pytest.raises(QueryError) as caught:
        parse("日本 & & red")
    assert str(caught.value).splitlines()[2] == "  " + " " * 7 + "^"


def test_query_that_is_too_long_when_printed_is_refused() -> None:
    """The query is within the limit, but not with its braces: printed queries can always be parsed."""
    query = ("a " * MAX_CHARACTERS)[: MAX_CHARACTERS - 1]
    with pytest.raises(QueryError, match="has 10001 with all braces") as told:
        parse(query)
    assert told.value.position == len(query)
    assert parse(str(parse(query[:-3]))) == parse(query[:-3])


def test_text_after_the_first_error_is_not_read() -> None:
    for rest in ('"never closed', "BUT", "red^", "(" * 9_000):
        with pytest.raises(QueryError) as refused:
            parse(f"red ) {rest}")
        assert refused.value.position == 4
