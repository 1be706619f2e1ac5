"""Leaf models and logics over many queries equal the set operations one by one."""

import numpy as np
import pytest

from softset.algebra import GradedSubspace, Subspace
from softset.errors import InputError
from softset.evaluation.word_sets.data import TASKS
from softset.evaluation.word_sets.evaluation import WordSetEvaluation
from softset.evaluation.word_sets.methods import (
    BASELINE,
    CENTROID,
    CRISP,
    DEFAULT,
    FUZZY,
    MEAN,
    NEAR,
    SETS_PER_BLOCK,
    QueryScorer,
    all_methods,
    choose_methods,
    graded,
    memberships,
)
from softset.search.words import WordVectors
from tests.query.reference import Reference


@pytest.fixture
def evaluation(words, concepts) -> WordSetEvaluation:
    return WordSetEvaluation(words, concepts, samples=20)


@pytest.fixture
def scorer(evaluation, concepts) -> QueryScorer:
    return evaluation._scorer("none")


def task(evaluation, name):
    return evaluation.tasks[TASKS.index(name)]


def units(seed: int, *shape: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def test_memberships_equal_those_of_single_sets() -> None:
    V = units(1, 50, 6)
    sets = [Subspace.span(units(seed, 1 + seed % 4, 6)) for seed in range(SETS_PER_BLOCK + 3)]
    sets += [GradedSubspace.of(units(seed, 3, 6), aperture=1.5) for seed in range(4)]
    sets += [GradedSubspace.of(units(9, 2, 6), floor=0.1), ~GradedSubspace.of(units(8, 2, 6)), Subspace.empty(6)]
    expected = np.stack([members.membership(V) for members in sets])
    assert np.allclose(memberships(sets, V), expected, atol=1e-5)


def test_leaf_models_equal_their_definitions() -> None:
    query, V = units(2, 4, 5), units(3, 9, 5)
    cosines = query @ V.T
    assert np.allclose(NEAR.score([query, query[:2]], V), [cosines.max(axis=0), cosines[:2].max(axis=0)], atol=1e-6)
    assert np.allclose(MEAN.score([query, query[:2]], V), [cosines.mean(axis=0), cosines[:2].mean(axis=0)], atol=1e-6)
    mean = query.mean(axis=0)
    assert np.allclose(CENTROID.score([query], V)[0], V @ mean / np.linalg.norm(mean), atol=1e-6)
    pooled = query.max(axis=0)
    assert np.allclose(FUZZY.score([query], V)[0], V @ pooled / np.linalg.norm(pooled), atol=1e-6)


@pytest.mark.parametrize("name", TASKS[1:])
def test_lattice_logic_equals_subspace_operations(evaluation, scorer, name) -> None:
    pairs = task(evaluation, name)
    scores = scorer.scores(CRISP, "lattice(alpha=0.5)", pairs)
    for query, (a, b) in enumerate(zip(pairs.left, pairs.right, strict=True)):
        A, B = (Subspace.span(scorer.query(index)) for index in (a, b))
        combined = {"Union": A | B, "Intersect": A.intersection(B, alpha=0.5), "Difference": A.without(B)}[name]
        assert np.allclose(scores[query], combined.membership(scorer.V), atol=1e-5)


@pytest.mark.parametrize("leaf", [NEAR, MEAN, CRISP, graded(1)], ids=lambda leaf: leaf.name)
def test_score_logics_equal_their_definitions(evaluation, scorer, leaf) -> None:
    for name in TASKS[1:]:
        pairs = task(evaluation, name)
        a, b = (
            np.clip(leaf.score([scorer.query(index) for index in side], scorer.V), 0, 1)
            for side in (pairs.left, pairs.right)
        )
        product = {"Union": np.sqrt(a**2 + b**2 - a**2 * b**2), "Intersect": a * b, "Difference": a * np.sqrt(1 - b**2)}
        minmax = {"Union": np.maximum(a, b), "Intersect": np.minimum(a, b)}
        minmax["Difference"] = np.minimum(a, np.sqrt(1 - b**2))
        assert np.allclose(scorer.scores(leaf, "product", pairs), product[name], atol=1e-5)
        assert np.allclose(scorer.scores(leaf, "minmax", pairs), minmax[name], atol=1e-5)


def test_logistic_logic_follows_the_formula(evaluation, scorer) -> None:
    known = np.flatnonzero(scorer.known)
    reference = Reference(scorer.V[known])
    position = {index: row for row, index in enumerate(known.tolist())}
    for name, operator in (("Union", "|"), ("Intersect", "&"), ("Difference", "-")):
        pairs = task(evaluation, name)
        scores = scorer.scores(CENTROID, "logistic", pairs)
        for query, sides in enumerate(zip(pairs.left, pairs.right, strict=True)):
            a, b = (tuple(position[w] for w in scorer.concepts.query(side) if scorer.known[w]) for side in sides)
            tree = (operator, a, b, 0.5) if operator == "-" else (operator, a, b)
            assert np.allclose(scores[query, known], reference.scores(tree), atol=1e-4)


@pytest.mark.parametrize(("name", "operator"), [("Union", "|"), ("Intersect", "&"), ("Difference", "-")])
def test_default_row_equals_find(evaluation, scorer, name, operator) -> None:
    concepts, known = scorer.concepts, np.flatnonzero(scorer.known)
    words = WordVectors.of([concepts.words[index] for index in known], scorer.V[known])
    pairs = task(evaluation, name)
    scores = scorer.scores(CENTROID, DEFAULT.rsplit("/", 1)[1], pairs)
    for query in range(len(pairs)):
        examples = [
            [concepts.words[word] for word in concepts.query(side[query]) if scorer.known[word]]
            for side in (pairs.left, pairs.right)
        ]
        if operator == "-" and set(examples[0]) & set(examples[1]):
            continue  # `find` refuses an example on both sides
        sides = [", ".join(names) for names in examples]
        hits = words.find(
            f"{{{sides[0]}}} {operator} {{{sides[1]}}}", top=99, preprocessing="none", include_examples=True
        )
        expected = scores[query, known]
        assert expected[[hit.index for hit in hits]] == pytest.approx(np.sort(expected)[::-1], abs=1e-4)
        assert len(hits) == len(known)


def test_fuzzy_logic_pools_by_maximum_and_minimum(evaluation, scorer) -> None:
    for name, joined in (("Union", np.maximum), ("Intersect", np.minimum)):
        pairs = task(evaluation, name)
        a, b = (scorer.query(side[0]).max(axis=0) for side in (pairs.left, pairs.right))
        pooled = joined(a, b)
        scores = scorer.scores(FUZZY, "fuzzy", pairs)
        assert np.allclose(scores[0], scorer.V @ pooled / np.linalg.norm(pooled), atol=1e-5)
    assert scorer.scores(FUZZY, "fuzzy", task(evaluation, "Difference")) is None


def test_ignore_b_applies_to_differences_only(evaluation, scorer) -> None:
    pairs = task(evaluation, "Difference")
    scores = scorer.scores(MEAN, "ignore B", pairs)
    assert np.array_equal(scores, MEAN.score([scorer.query(index) for index in pairs.left], scorer.V))
    assert scorer.scores(MEAN, "ignore B", task(evaluation, "Set")) is None


def test_query_without_vectors_scores_0(scorer, concepts) -> None:
    blind = QueryScorer(concepts, scorer.V, np.zeros(len(concepts.words), dtype=bool), scorer.background)
    for leaf in (NEAR, MEAN, CENTROID, FUZZY, CRISP, graded(1)):
        assert not leaf.score([blind.query(0)], scorer.V).any()


def test_all_methods_have_distinct_names() -> None:
    names = [method.name for method in all_methods()]
    assert len(set(names)) == len(names) and BASELINE.name in names and DEFAULT in names
    assert all(name.count("/") == 2 for name in names)
    assert set(CRISP.logics) - set(MEAN.logics) == {f"lattice(alpha={a})" for a in ("0.5", "0.7")}
    assert [method.name for method in choose_methods(["*/near/p*"])] == [
        name for name in names if "/near/product" in name
    ]
    with pytest.raises(InputError, match="no method matches 'near'"):
        choose_methods(["near"])
    assert [method.name for method in choose_methods(["*/near/p*"], baseline=BASELINE)].count(BASELINE.name) == 1
    assert [method.name for method in choose_methods([DEFAULT])] == [DEFAULT]
