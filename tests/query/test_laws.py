"""Laws of the operators, for random vectors and random sets: equivalent queries have the same scores."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset import SetExpression, WordVectors
from softset.query.expression import And, Example, Examples, Minus, Or
from tests.query.reference import score_vectors

N = 240


def make_words(seed: int, d: int) -> WordVectors:
    """Return words in groups of similar ones, with different lengths."""
    rng = np.random.default_rng(seed)
    rows = 1.5 * rng.normal(size=(8, d))[np.arange(N) % 8] + rng.normal(size=(N, d)) + rng.normal(size=d)
    return WordVectors.of([f"w{i}" for i in range(N)], rows * rng.uniform(0.2, 5, size=(N, 1)))


SOURCES = [make_words(seed, d) for seed, d in enumerate((2, 3, 10, 40))]
words = st.sampled_from(SOURCES)
strictness = st.floats(0, 1)


def sets_from(start: int) -> st.SearchStrategy[SetExpression]:
    """Return sets of words that no set from another start contains, so that no example is on both sides."""
    numbers = st.lists(st.integers(start, start + 29), min_size=1, max_size=12, unique=True)
    return numbers.map(lambda values: Examples(tuple(Example(f"w{value}") for value in values)))


A, B, C = (sets_from(start) for start in (0, 30, 60))


@st.composite
def trees(draw: st.DrawFn, first: int, operators: str = "&|-") -> SetExpression:
    """Return a tree without NOT of one to three sets of the words from `first` on."""
    tree = draw(sets_from(first))
    for start in range(first + 30, first + 30 * draw(st.integers(1, 3)), 30):
        operator, right = draw(st.sampled_from(operators)), draw(sets_from(start))
        pair = (right, tree) if draw(st.booleans()) else (tree, right)
        tree = {"&": And, "|": Or}[operator](*pair) if operator != "-" else Minus(*pair, draw(strictness))
    return tree


def results(source: WordVectors, query: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores and the memberships of all words."""
    plan = source.plan(query, preprocessing="none")
    scores = score_vectors(plan, source.matrix)
    return scores, plan.membership(scores)


def assert_equal(source: WordVectors, first: SetExpression, second: SetExpression) -> None:
    for a, b in zip(results(source, first), results(source, second), strict=True):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-9)


@given(words, A, B)
def test_and_and_or_are_commutative(source: WordVectors, a: SetExpression, b: SetExpression) -> None:
    assert_equal(source, a & b, b & a)
    assert_equal(source, a | b, b | a)


@given(words, A, B, C)
def test_and_and_or_are_associative(source: WordVectors, a: SetExpression, b: SetExpression, c: SetExpression) -> None:
    assert_equal(source, (a & b) & c, a & (b & c))
    assert_equal(source, (a | b) | c, a | (b | c))


@given(words, A, trees(90))
def test_de_morgan_and_double_negation(source: WordVectors, a: SetExpression, b: SetExpression) -> None:
    assert_equal(source, ~(a & b), ~a | ~b)
    assert_equal(source, ~(a | b), ~a & ~b)
    assert_equal(source, ~~a, a)
    assert_equal(source, ~~(a - b), a - b)


@given(words, A, trees(90))
def test_the_complement_has_the_opposite_membership(source: WordVectors, a: SetExpression, b: SetExpression) -> None:
    for tree in (a & b, a | b, a - b):
        (scores, memberships), (opposite, complements) = results(source, tree), results(source, ~tree)
        assert (scores == -opposite).all() and memberships + complements == pytest.approx(1)


@given(words, A, trees(90), C)
def test_but_not_is_and_not(source: WordVectors, a: SetExpression, b: SetExpression, c: SetExpression) -> None:
    assert_equal(source, a & ~b, a - b)
    assert_equal(source, ~b & a, a - b)
    assert_equal(source, a - ~c, a & c)
    assert_equal(source, ~a - b, ~(a | b))
    assert_equal(source, ~a | b, ~(a - b))
    assert_equal(source, a & ~(b & ~c), a - (b - c))


@given(words, A, B, strictness)
def test_the_strictness_stays_with_its_difference(
    source: WordVectors, a: SetExpression, b: SetExpression, strict: float
) -> None:
    assert_equal(source, (~b).without(~a, strict=strict), a.without(b, strict=strict))
    assert_equal(source, ~(~a.without(b, strict=strict)), a.without(b, strict=strict))
    assert_equal(source, (~b).without(a, strict=strict), ~(a | b))  # outside both sets: nothing is subtracted


@given(words, A, B, C, strictness.filter(lambda value: value >= 0.5))
def test_sets_are_excluded_in_any_order(
    source: WordVectors, a: SetExpression, b: SetExpression, c: SetExpression, strict: float
) -> None:
    first, second = (a.without(x, strict=strict).without(y, strict=strict) for x, y in ((b, c), (c, b)))
    assert_equal(source, first, second)
    if strict > 0.5:  # up to .5, each BUT NOT has its own limit, and decides by itself whether A and B are siblings
        assert_equal(source, first, a.without(b | c, strict=strict))


@given(words, trees(0), trees(90), strictness)
def test_a_difference_is_never_above_its_left_side(
    source: WordVectors, a: SetExpression, b: SetExpression, strict: float
) -> None:
    for less, all_of_a in zip(results(source, a.without(b, strict=strict)), results(source, a), strict=True):
        assert (less <= all_of_a + 1e-12).all()


@given(words, trees(0), trees(90))
def test_with_strictness_0_nothing_is_excluded(source: WordVectors, a: SetExpression, b: SetExpression) -> None:
    assert_equal(source, a.without(b, strict=0), a)
    ours, alone = (
        source.find(query, N, preprocessing="none", include_examples=True) for query in (a.without(b, strict=0), a)
    )
    assert [hit.id for hit in ours] == [hit.id for hit in alone]


@given(words, trees(0), trees(90, "&|"))
def test_scores_fall_with_the_strictness(source: WordVectors, a: SetExpression, b: SetExpression) -> None:
    """This holds for every item, unless the excluded set is a difference itself.

    With less evidence from A, all borders move away from their sets, so every probability to be outside one falls, but
    `B - C` then loses more to C.
    """
    scores = [results(source, a.without(b, strict=strict))[0] for strict in np.linspace(0, 1, 9)]
    assert (np.diff(scores, axis=0) <= 1e-12).all()


@given(words, trees(0), trees(90))
def test_scores_fall_with_a_strictness_up_to_one_half(source: WordVectors, a: SetExpression, b: SetExpression) -> None:
    """The borders do not depend on it, so this holds for all sets."""
    scores = [results(source, a.without(b, strict=strict))[0] for strict in np.linspace(0, 0.5, 5)]
    assert (np.diff(scores, axis=0) <= 1e-12).all()


def test_scores_may_rise_with_the_strictness_if_a_difference_is_excluded() -> None:
    a, b, c = (SetExpression.parse(text) for text in ("{w1, w9, w2, w3}", "{w33, w41}", "{w65, w73, w81}"))
    default, strict = (results(SOURCES[1], a.without(b - c, strict=value))[0] for value in (0.5, 1))
    assert (strict > default).any()


@given(words, trees(0))
def test_memberships_are_from_0_to_1_in_the_order_of_the_scores(source: WordVectors, tree: SetExpression) -> None:
    scores, memberships = results(source, tree)
    assert np.isfinite(scores).all() and ((memberships >= 0) & (memberships <= 1)).all()
    assert (np.diff(memberships[np.argsort(scores)]) >= 0).all()


@given(words, A, B)
def test_or_is_above_both_sets_and_and_below_both(source: WordVectors, a: SetExpression, b: SetExpression) -> None:
    both, either, one, other = (results(source, tree)[0] for tree in (a & b, a | b, a, b))
    assert (either > np.maximum(one, other)).all() and (both < np.minimum(one, other)).all()


@settings(max_examples=20)
@given(words, st.integers(0, N - 1), st.lists(trees(0), min_size=1, max_size=4), st.integers(1, 60))
def test_a_score_does_not_depend_on_what_is_searched(
    source: WordVectors, stop: int, queries: list[SetExpression], top: int
) -> None:
    """Not on the other queries, nor on a filter, nor on the number of items: they only select."""
    options: Any = {"preprocessing": "none", "include_examples": True}
    whole = [{hit.id: hit.membership for hit in source.find(query, N, **options)} for query in queries]
    mask = np.arange(N) % 3 == 1
    several = [
        source.find_many(queries, top, **options),
        source.find_many(queries, top, filter=mask, **options),
        source.find_many(queries, top, restrict_vocab=stop + 1, **options),
        source.find_many(queries, top, filter=mask, restrict_vocab=stop + 1, **options),
    ]
    allowed = [np.ones(N, dtype=bool), mask, np.arange(N) <= stop, mask & (np.arange(N) <= stop)]
    for found, selected in zip(several, allowed, strict=True):
        for result, memberships in zip(found, whole, strict=True):
            expected = [(name, value) for name, value in memberships.items() if selected[int(name[1:])]][:top]
            assert [hit.id for hit in result] == [name for name, _ in expected]
            assert [hit.membership for hit in result] == pytest.approx([value for _, value in expected], abs=1e-12)
