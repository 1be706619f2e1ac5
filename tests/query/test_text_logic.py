"""The logic of texts: its normal form, and its memberships by formulas that are written again in float64."""

from itertools import product
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset import Collection
from softset.collections.background import CALIBRATIONS
from softset.query.expression import And, Example, Examples, Minus, Not, Or, SetExpression, leaves
from softset.query.log_odds import joinable, normal_form, parts
from softset.query.parser import parse
from tests.query.reference import GRID, scale_of, to_text, unit

ATOMS = [Examples((Example(name),)) for name in "abcd"]
TREES = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.builds(And, inner, inner), st.builds(Or, inner, inner), st.builds(Minus, inner, inner), st.builds(Not, inner)
    ),
    max_leaves=7,
)


def truth(tree: SetExpression, values: dict[SetExpression, bool]) -> bool:
    match tree:
        case And(left, right):
            return truth(left, values) and truth(right, values)
        case Or(left, right):
            return truth(left, values) or truth(right, values)
        case Minus(left, right):
            return truth(left, values) and not truth(right, values)
        case Not(inner):
            return not truth(inner, values)
    return values[tree]


def everything(tree: SetExpression) -> list[SetExpression]:
    match tree:
        case And(left, right) | Or(left, right) | Minus(left, right):
            return [tree, *everything(left), *everything(right)]
        case Not(inner):
            return [tree, *everything(inner)]
    return [tree]


@given(TREES, st.booleans())
def test_the_normal_form_is_equivalent(tree: SetExpression, is_text: bool) -> None:
    positive, negated = normal_form(tree, is_text=is_text)
    assert not any(isinstance(part, Not) for part in everything(positive))
    for row in product([False, True], repeat=len(ATOMS)):
        values = dict(zip(ATOMS, row, strict=True))
        assert truth(tree, values) == (truth(positive, values) != negated)


@given(TREES)
def test_no_and_over_texts_joins_a_difference(tree: SetExpression) -> None:
    positive, _ = normal_form(tree, is_text=True)
    for part in parts(positive):
        if isinstance(part, And):
            assert not isinstance(part.left, Minus) and not isinstance(part.right, Minus)


@given(TREES)
def test_each_and_of_sets_is_joined_once(tree: SetExpression) -> None:
    joins = joinable(normal_form(tree, is_text=True)[0])
    for joined, operands in joins.items():
        assert operands == list(leaves(joined)) and all(isinstance(part, And | Examples) for part in everything(joined))


@pytest.mark.parametrize(
    ("query", "expected", "joined"),
    [
        ("(a - b) & c", "({a} & {c}) - {b}", ["{a} & {c}"]),
        ("a & (b - c)", "({a} & {b}) - {c}", ["{a} & {b}"]),
        ("(a - b) & (c - d)", "({a} & {c}) - {d} - {b}", ["{a} & {c}"]),
        ("a & b & c", "{a} & {b} & {c}", ["{a} & {b} & {c}"]),
        ("a & ~b", "{a} - {b}", []),
        ("a & b | c & d", "{a} & {b} | {c} & {d}", ["{a} & {b}", "{c} & {d}"]),
        ("a & (b | c)", "{a} & ({b} | {c})", []),
        ("d - (a & b)", "{d} - ({a} & {b})", []),
    ],
)
def test_examples_of_normal_forms(query: str, expected: str, joined: list[str]) -> None:
    tree, negated = normal_form(parse(query), is_text=True)
    assert str(tree) == expected and not negated
    assert [str(part) for part in joinable(tree)] == joined


def test_words_keep_differences_inside_and() -> None:
    assert normal_form(parse("a & (b - c)"), is_text=False) == (parse("a & (b - c)"), False)


def test_the_strictness_moves_with_a_difference() -> None:
    tree, _ = normal_form(parse("a & (b -- c)"), is_text=True)
    assert isinstance(tree, Minus) and tree.strict == parse("b -- c").strict


# Memberships


class TextReference:
    """The memberships of texts with the given vectors, which are also the background."""

    def __init__(self, vectors: np.ndarray) -> None:
        self.units = unit(vectors.astype(np.float64))
        self.centre, self.matrix = np.zeros(vectors.shape[1]), np.eye(vectors.shape[1])
        if len(vectors) >= 256:
            self.centre = self.units.mean(axis=0)
            values, axes = np.linalg.eigh(np.cov(self.units.T))
            powers = np.maximum(values / values.mean(), 0.01) ** -0.125
            self.matrix = axes @ np.diag(powers) @ axes.T

    def direction(self, leaf: Any) -> np.ndarray:
        rows = self.units[[leaf] if isinstance(leaf, int) else list(leaf)]
        return unit(self.matrix @ unit((rows - self.centre) @ self.matrix.T).mean(axis=0))

    def log_odds(self, direction: np.ndarray) -> np.ndarray:
        cosines = self.units @ direction
        mean, reference = scale_of(cosines, 0.02)
        return 2 * ((cosines - mean) / (reference - mean) - 0.5)

    def odds(self, tree: Any, *, with_exclusions: bool = True) -> np.ndarray:
        match tree:
            case ("&", *sets):  # of any number of sets
                odds = [self.odds(each, with_exclusions=with_exclusions) for each in sets]
                probability = np.prod([1 / (1 + np.exp(-each)) for each in odds], axis=0)
                result = np.log(probability / (1 - probability))
                if any(isinstance(each, tuple) and isinstance(each[0], str) for each in sets):
                    return result
                joined = self.log_odds(unit(sum(self.direction(each) for each in sets)))
                return (result + len(sets) * joined) / 2
            case ("|", left, right):
                return np.maximum(*(self.odds(each, with_exclusions=with_exclusions) for each in (left, right)))
            case ("-", left, right, strict):
                odds = self.odds(left, with_exclusions=with_exclusions)
                least, weight = max(1 - 2 * strict, 0) ** 3, 0.5 * (1 + max(2 * strict - 1, 0))
                penalty = weight * np.log(least + (1 - least) * self.outside(right))
                return odds + penalty if with_exclusions else odds
        return self.log_odds(self.direction(tree))

    def outside(self, leaf: Any) -> np.ndarray:
        z = 3 * (GRID - 2 * (0.8 - 0.5))
        density = np.exp(-z) / (1 + np.exp(-z)) ** 2
        border = np.clip(1 - np.cumsum(density) / density.sum(), 1e-9, 1 - 1e-9)
        return np.interp(self.log_odds(self.direction(leaf)), GRID, border)

    def memberships(self, tree: Any) -> np.ndarray:
        mean, reference = scale_of(self.odds(tree, with_exclusions=False), 0.1)
        y = (self.odds(tree) - mean) / (reference - mean)
        fitted = CALIBRATIONS["items"]
        return 1 / (1 + np.exp(-fitted.slope * (y - fitted.midpoint)))


D = 10
RANDOM = np.random.default_rng(3)
CENTRES = RANDOM.normal(size=(12, D)) + 0.7  # texts have a common direction
VECTORS = (CENTRES[np.arange(300) % 12] + RANDOM.normal(size=(300, D)) * RANDOM.uniform(0.2, 2, size=D)).astype("f4")
A, B, C = (1, 13, 25), (2, 14), (3, 16)
FORMULAS: list[tuple[str, Any]] = [
    ("w7", 7),
    (to_text(A), A),
    (f"{to_text(A)} & {to_text(B)}", ("&", A, B)),
    (f"w5 & w6 & {to_text(A)}", ("&", 5, 6, A)),
    (f"w5 & (w6 & {to_text(A)})", ("&", 5, 6, A)),
    (f"{to_text(A)} | {to_text(B)}", ("|", A, B)),
    (f"w5 & ({to_text(A)} | {to_text(B)})", ("&", 5, ("|", A, B))),
    (f"w5 & w8 | {to_text(C)}", ("|", ("&", 5, 8), C)),
    *((f"{to_text(A)} -^{s} {to_text(B)}", ("-", A, B, s)) for s in (0, 0.2, 0.5, 0.8, 1)),
    ("w5 - w6", ("-", 5, 6, 0.5)),
    (f"({to_text(A)} -- w6) & w8", ("-", ("&", A, 8), 6, 1.0)),
    (f"w8 & ~w6 & {to_text(A)}", ("-", ("&", 8, A), 6, 0.5)),
]


@pytest.fixture(scope="module", params=[300, 255])
def texts(request, tmp_path_factory) -> tuple[Collection, TextReference]:
    rows = VECTORS[: request.param]
    items = [{"id": f"w{n}", "text": f"text {n}"} for n in range(len(rows))]
    folder = tmp_path_factory.mktemp("texts") / "c"
    return Collection.create(folder, items, vectors=rows, lexical=False), TextReference(rows)


@pytest.mark.parametrize(("query", "tree"), FORMULAS, ids=[query for query, _ in FORMULAS])
@pytest.mark.parametrize("negated", [False, True])
def test_memberships_of_texts(texts, query: str, tree: Any, negated: bool) -> None:
    collection, reference = texts
    expected = reference.memberships(tree)
    expected = 1 - expected if negated else expected
    query = f"~({query})" if negated else query
    found = {hit.index: hit.membership for hit in collection.members(query, min_score=0)}
    assert [found.get(n, 0.0) for n in range(len(collection))] == pytest.approx(expected.tolist(), abs=1e-8)
    alone = collection.membership(query, [f"w{n}" for n in range(30)])
    assert [each.membership for each in alone] == pytest.approx(expected[:30].tolist(), abs=1e-8)


def test_directions_are_whitened_from_256_texts_on(texts) -> None:
    collection, _ = texts
    plain = unit(unit(VECTORS[list(A)].astype(np.float64)).mean(axis=0))
    direction = collection.plan(to_text(A)).leaves[0].members.direction
    assert (direction == pytest.approx(plain, abs=1e-6)) == (len(collection) < 256)


def test_the_best_of_an_or_are_the_best_of_its_sides(texts) -> None:
    collection, reference = texts
    best = np.maximum(reference.odds(A), reference.odds(B)).argsort()[::-1][: ceil(0.03 * len(collection))]
    hits = collection.find(f"{to_text(A)} | {to_text(B)}", len(best), include_examples=True)
    assert [hit.index for hit in hits] == best.tolist()
