"""Leaves and logics over many queries at once: the numbers of the sets themselves, one by one."""

import numpy as np
import pytest

from softset.algebra import GradedSubspace, Subspace
from softset.errors import InputError
from softset.evaluation.sets.leaves import BLOCK, FUZZY, crisp, graded, memberships, plain
from softset.evaluation.sets.logics import IGNORE, Scorer, logics_of
from softset.evaluation.sets.methods import BASELINE, DEFAULT, all_methods, chosen
from softset.evaluation.sets.running import Evaluation
from softset.evaluation.sets.tasks import TASKS
from softset.search.words import WordVectors

NEAR, MEAN, CENTROID, _ = plain()


@pytest.fixture
def evaluation(words, concepts) -> Evaluation:
    return Evaluation(words, concepts, samples=20)


@pytest.fixture
def scorer(evaluation, concepts) -> Scorer:
    return Scorer(concepts, evaluation.vectors("none"), evaluation.known)


def task(evaluation, name):
    return evaluation.tasks[TASKS.index(name)]


def units(seed: int, *shape: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def test_memberships_are_those_of_each_set_alone() -> None:
    V = units(1, 50, 6)
    sets = [Subspace.span(units(at, 1 + at % 4, 6)) for at in range(BLOCK + 3)]
    sets += [GradedSubspace.of(units(at, 3, 6), aperture=1.5) for at in range(4)]
    sets += [GradedSubspace.of(units(9, 2, 6), floor=0.1), ~GradedSubspace.of(units(8, 2, 6)), Subspace.empty(6)]
    expected = np.stack([one.membership(V) for one in sets])
    assert np.allclose(memberships(sets, V), expected, atol=1e-5)


def test_plain_leaves_by_hand() -> None:
    query, V = units(2, 4, 5), units(3, 9, 5)
    cosines = query @ V.T
    assert np.allclose(NEAR.scores([query, query[:2]], V), [cosines.max(axis=0), cosines[:2].max(axis=0)], atol=1e-6)
    assert np.allclose(MEAN.scores([query, query[:2]], V), [cosines.mean(axis=0), cosines[:2].mean(axis=0)], atol=1e-6)
    mean = query.mean(axis=0)
    assert np.allclose(CENTROID.scores([query], V)[0], V @ mean / np.linalg.norm(mean), atol=1e-6)
    pooled = query.max(axis=0)
    assert np.allclose(FUZZY.scores([query], V)[0], V @ pooled / np.linalg.norm(pooled), atol=1e-6)


@pytest.mark.parametrize("name", TASKS[1:])
def test_the_papers_logic_is_that_of_subspaces(evaluation, scorer, name) -> None:
    pairs = task(evaluation, name)
    found = scorer.scores(crisp(), "lattice(alpha=0.5)", pairs)
    for at, (a, b) in enumerate(zip(pairs.left, pairs.right, strict=True)):
        A, B = (Subspace.span(scorer.query(one)) for one in (a, b))
        made = {"Union": A | B, "Intersect": A.intersection(B, alpha=0.5), "Difference": A.without(B)}[name]
        assert np.allclose(found[at], made.membership(scorer.V), atol=1e-5)


@pytest.mark.parametrize("leaf", [NEAR, MEAN, crisp(), graded(1)], ids=lambda leaf: leaf.name)
def test_scores_combine_as_a_search_combines_them(evaluation, scorer, leaf) -> None:
    for name in TASKS[1:]:
        pairs = task(evaluation, name)
        a, b = (
            np.clip(leaf.scores([scorer.query(at) for at in side], scorer.V), 0, 1)
            for side in (pairs.left, pairs.right)
        )
        product = {"Union": np.sqrt(a**2 + b**2 - a**2 * b**2), "Intersect": a * b, "Difference": a * np.sqrt(1 - b**2)}
        minmax = {"Union": np.maximum(a, b), "Intersect": np.minimum(a, b)}
        minmax["Difference"] = np.minimum(a, np.sqrt(1 - b**2))
        assert np.allclose(scorer.scores(leaf, "product", pairs), product[name], atol=1e-5)
        assert np.allclose(scorer.scores(leaf, "minmax", pairs), minmax[name], atol=1e-5)


def test_chances_are_one_half_at_the_border_and_combine_as_chances(evaluation, scorer) -> None:
    known = scorer.known
    for name in TASKS[1:]:
        pairs = task(evaluation, name)
        sides = [CENTROID.scores([scorer.query(at) for at in side], scorer.V) for side in (pairs.left, pairs.right)]
        assert min(scores.min() for scores in sides) < 0
        chances = []
        for scores in sides:
            border = np.sort(scores[:, known], axis=1)[:, -10][:, None]  # 87 words: the ten best are presumed
            chances.append(1 / (1 + np.exp(2 - 2 * np.clip(scores, 0, 1) / border)))
        a, b = chances
        expected = {"Union": np.maximum(a, b), "Intersect": a * b, "Difference": a * (1 - b)}[name]
        assert np.allclose(scorer.scores(CENTROID, "logistic", pairs), expected, atol=1e-5)


@pytest.mark.parametrize(("name", "operator"), [("Union", "|"), ("Intersect", "&"), ("Difference", "-")])
def test_the_row_that_is_called_the_default_is_what_find_does(evaluation, scorer, name, operator) -> None:
    concepts, known = scorer.concepts, np.flatnonzero(scorer.known)
    words = WordVectors.of([concepts.words[at] for at in known], scorer.V[known])
    pairs = task(evaluation, name)
    scores = scorer.scores(CENTROID, DEFAULT.rsplit("/", 1)[1], pairs)
    for at in range(len(pairs)):
        sides = [
            ", ".join(concepts.words[word] for word in concepts.query(side[at]) if scorer.known[word])
            for side in (pairs.left, pairs.right)
        ]
        found = words.find(
            f"{{{sides[0]}}} {operator} {{{sides[1]}}}", top=99, preprocessing="none", include_examples=True
        )
        expected = scores[at, known]
        assert [hit.membership for hit in found] == pytest.approx(np.sort(expected)[::-1].tolist(), abs=1e-5)
        assert expected[[hit.index for hit in found]].tolist() == pytest.approx(
            np.sort(expected)[::-1].tolist(), abs=1e-5
        )


def test_fuzzy_sets_pool_by_maximum_and_minimum(evaluation, scorer) -> None:
    for name, joined in (("Union", np.maximum), ("Intersect", np.minimum)):
        pairs = task(evaluation, name)
        a, b = (scorer.query(side[0]).max(axis=0) for side in (pairs.left, pairs.right))
        pooled = joined(a, b)
        found = scorer.scores(FUZZY, "fuzzy", pairs)
        assert np.allclose(found[0], scorer.V @ pooled / np.linalg.norm(pooled), atol=1e-5)
    assert scorer.scores(FUZZY, "fuzzy", task(evaluation, "Difference")) is None


def test_ignoring_b_is_a_row_of_differences_only(evaluation, scorer) -> None:
    pairs = task(evaluation, "Difference")
    found = scorer.scores(MEAN, IGNORE, pairs)
    assert np.array_equal(found, MEAN.scores([scorer.query(at) for at in pairs.left], scorer.V))
    assert scorer.scores(MEAN, IGNORE, task(evaluation, "Set")) is None


def test_a_query_without_vectors_scores_all_words_alike(scorer, concepts) -> None:
    blind = Scorer(concepts, scorer.V, np.zeros(len(concepts.words), dtype=bool))
    for leaf in (*plain(), crisp(), graded(1)):
        assert not leaf.scores([blind.query(0)], scorer.V).any()


def test_every_leaf_meets_every_logic_that_fits() -> None:
    names = [method.name for method in all_methods()]
    assert len(set(names)) == len(names) and BASELINE.name in names and DEFAULT in names
    assert all(name.count("/") == 2 for name in names)
    assert set(logics_of(crisp())) - set(logics_of(MEAN)) == {f"lattice(alpha={a})" for a in ("0.5", "0.7")}
    assert [one.name for one in chosen(["*/near/p*"])] == [name for name in names if "/near/product" in name]
    with pytest.raises(InputError, match="no method fits 'near'"):
        chosen(["near"])
