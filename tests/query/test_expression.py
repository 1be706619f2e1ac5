"""Set expressions: operators, printing, equality, hashing, pickling, limits."""

import operator
import pickle
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softset
from softset import GradedSubspace, SetExpression, Subspace
from softset.errors import InputError
from softset.query.expression import Example, Examples, Named
from softset.query.parsed import make_examples
from softset.query.parser import parse

A, B = parse("{a, b^2}"), parse("c")
PLANE = Subspace.span(np.eye(4)[:2])
GRADED = GradedSubspace.of(np.eye(4)[1:3])
OPERATORS = {"&": operator.and_, "|": operator.or_, "-": operator.sub}


def strictly(left: SetExpression, right: Any) -> SetExpression:
    return left.without(right, strict=1)


def mildly(left: SetExpression, right: Any) -> SetExpression:
    return left.without(right, strict=0.1)


@pytest.mark.parametrize(("symbol", "combine"), OPERATORS.items())
def test_operators_build_what_the_text_says(symbol: str, combine: Callable[[Any, Any], SetExpression]) -> None:
    assert combine(A, B) == parse(f"{{a, b^2}} {symbol} c")
    assert combine(A, "new york") == parse(f"{{a, b^2}} {symbol} {{new york}}")
    assert combine("new york", A) == parse(f"{{new york}} {symbol} {{a, b^2}}")
    assert combine(A, parse("@colour")) == parse(f"{{a, b^2}} {symbol} @colour")
    assert combine(~A, ~B) == parse(f"~{{a, b^2}} {symbol} ~c")


@pytest.mark.parametrize("members", [PLANE, GRADED, ~PLANE], ids=["Subspace", "GradedSubspace", "complement"])
@pytest.mark.parametrize(("symbol", "combine"), OPERATORS.items())
def test_sets_of_the_algebra_stand_on_both_sides(
    symbol: str, combine: Callable[[Any, Any], SetExpression], members: Any
) -> None:
    right, left = combine(A, members), combine(members, A)
    assert isinstance(right, SetExpression) and isinstance(left, SetExpression)
    name = str(right).split()[-1]
    assert str(right) == f"{A} {symbol} {name}" and str(left) == f"{name} {symbol} {A}"
    assert name.startswith(f"@{type(members).__name__.lower()}-")


@pytest.mark.parametrize(
    ("strict", "symbol"),
    [(0.5, "-"), (1, "--"), (True, "--"), (0, "-^0.0"), (0.3, "-^0.3"), (np.float32(0.25), "-^0.25")],
)
def test_strictness_is_printed_unless_it_is_the_default(strict: float, symbol: str) -> None:
    expression = A.without(B, strict=strict)
    assert str(expression) == f"{{a, b^2}} {symbol} {{c}}" and parse(str(expression)) == expression
    assert A.without("new york") == A - "new york" and A.without(PLANE) == A - PLANE


@pytest.mark.parametrize("strict", [-0.1, 1.01, np.nan, None, "0.3"])
def test_other_strictness_is_refused(strict: Any) -> None:
    with pytest.raises(InputError, match=r"the strictness of BUT NOT must be from 0 to 1, but .* was given"):
        A.without(B, strict=strict)
    with pytest.raises(InputError, match=r"the set to exclude must be a string, .* but a int was given"):
        A.without(3)


def test_differences_of_another_strictness_differ() -> None:
    assert A.without(B, strict=1) != A - B != A.without(B, strict=0.4)
    assert len({A - B, A.without(B), A.without(B, strict=1)}) == 2


def test_a_string_is_one_example_and_not_a_query() -> None:
    assert A & "x & y" == parse('{a, b^2} & "x & y"')


@pytest.mark.parametrize("other", [3, None, ["red"], object()])
def test_other_operands_are_refused(other: object) -> None:
    with pytest.raises(TypeError):
        A & other
    with pytest.raises(TypeError):
        other - A


def test_python_words_instead_of_operators_are_refused() -> None:
    with pytest.raises(TypeError, match="instead of and, or, not"):
        _ = A and B


def test_different_expressions_differ() -> None:
    subspaces = [PLANE, ~PLANE, GRADED, Subspace.span(np.eye(4)[2:])]
    vectors = [make_examples([], [], row, None, dimensions=4) for row in np.eye(4)]
    texts = [
        "a",
        "{a, b}",
        "{b, a}",
        "a^2",
        "id:a",
        "@a",
        "~a",
        "a & b",
        "b & a",
        "a | b",
        "a - b",
        "a -- b",
        "a -^0.3 b",
    ]
    expressions = [*map(parse, texts), *(A & each for each in subspaces), *vectors]
    assert len(set(expressions)) == len(expressions)
    assert len(set(map(str, expressions))) == len(expressions)


def test_equal_expressions_are_equal_and_hash_alike() -> None:
    for make in (
        lambda: A & PLANE,
        lambda: ~(A | GRADED),
        lambda: make_examples([], [], np.eye(4)[0], [2], dimensions=4),
    ):
        assert make() == make() and hash(make()) == hash(make())
    assert make_examples(["@vector-1"], [], None, None, dimensions=4) == Examples((Example("@vector-1"),))


def test_vectors_of_an_expression_cannot_change() -> None:
    given_vector = np.ones(4)
    expression = make_examples([], [], given_vector, None, dimensions=4)
    given_vector[0] = 7
    assert expression.items[0].vector.tolist() == [1, 1, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        expression.items[0].vector[0] = 7


@pytest.mark.parametrize(
    "expression", [A & B | ~A - "x", A & PLANE, GRADED - A, Named("x") & A, A.without("x", strict=0.3)]
)
def test_expressions_pickle(expression: SetExpression) -> None:
    copy = pickle.loads(pickle.dumps(expression))
    assert copy == expression and hash(copy) == hash(expression) and copy & A == expression & A
    words = softset.WordVectors.of(["a", "b", "c", "x"], np.eye(4, dtype="f4") + 0.1)
    options = {"sets": {"x": ["x"]}, "include_examples": True, "logic": "graded"}
    assert words.find(copy, **options).to_dict() == words.find(expression, **options).to_dict()


def test_repr_shows_the_query_and_html_is_escaped() -> None:
    assert repr(A & B) == "SetExpression('{a, b^2} & {c}')"
    assert parse('"<b>"')._repr_html_() == "<code>{&lt;b&gt;}</code>"


def test_an_expression_may_be_as_large_as_a_query_text() -> None:
    union = reduce(operator.or_, [B] * 100)
    assert parse(str(union)) == union
    with pytest.raises(InputError, match="may have at most 100 sets"):
        union | B
    nested = reduce(lambda inner, _: B - inner, range(50), B)
    assert parse(str(nested)) == nested
    for deeper in (lambda: B - nested, lambda: ~nested):
        with pytest.raises(InputError, match="nested at most 50 levels deep"):
            deeper()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([], [], None, None), "a set needs at least one example"),
        (([""], [], None, None), "an example must be a text that is not empty"),
        (([3], [], None, None), "an example must be a text that is not empty"),
        ((["a"], [], [1.0, 2.0], None), r"of shape \(4,\) or \(k, 4\), but an array of shape \(2,\)"),
        (([], [], [np.nan] * 4, None), "finite numbers"),
        ((["a"], ["b"], None, [1]), "weights must be 2 numbers above 0"),
        (([["a", "b"]], [], None, None), "an example must be a text that is not empty, but .'a', 'b'. was given"),
        (([], [7], None, None), "an example must be a text that is not empty, but 7 was given"),
        ((["a"], [], None, 2), "weights must be 1 numbers above 0, one for each example, but 2 was given"),
        ((["a"], [], None, ["2"]), "weights must be 1 numbers above 0"),
        ((["a"], [], None, [0]), "weights must be 1 numbers above 0"),
        ((["a"], [], None, [float("nan")]), "weights must be"),
    ],
)
def test_wrong_examples_are_refused(arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make_examples(*arguments, dimensions=4)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(lambda text: text.strip())
spoken = st.sampled_from(["and", "or not", "but not", "a and b", "id:", "id:x", "-x", "AND", "x id:y", "@a", "(", "#"])
weights = st.floats(0.001, 1000)
examples = st.lists(st.tuples(texts | spoken, st.booleans(), weights), min_size=1, max_size=3)


def build(rows: list[tuple[str, bool, float]]) -> SetExpression:
    rows = sorted(rows, key=lambda row: row[1])
    ids = [text for text, is_id, _ in rows if is_id]
    return make_examples([row[0] for row in rows if not row[1]], ids, None, [row[2] for row in rows], dimensions=4)


operators = [*OPERATORS.values(), strictly, mildly]
strictness = st.floats(0, 1)
expressions = st.recursive(
    examples.map(build) | st.builds(Named, texts | spoken),
    lambda inner: (
        inner.map(operator.invert)
        | st.tuples(st.sampled_from(operators), inner, inner | spoken).map(lambda row: row[0](*row[1:]))
        | st.builds(lambda left, right, strict: left.without(right, strict=strict), inner, inner | spoken, strictness)
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(expression=expressions)
def test_printed_expression_parses_to_itself(expression: SetExpression) -> None:
    assert parse(str(expression)) == expression
    assert SetExpression.parse(str(expression)) == expression
