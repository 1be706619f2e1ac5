"""The exact engine returns what a brute-force search in float64 returns, on data made to mislead it."""

from functools import reduce
from typing import Any

import numpy as np
import pytest

from softset import WordVectors
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.query.background import Scale
from softset.query.centroid import Centroid
from softset.query.logic import Logic
from softset.search import exact
from softset.search.source import rounding_errors
from tests.query.reference import Reference, to_text

N, D = 3_000, 16


def random_rows() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((N, D))


def tied() -> np.ndarray:
    """Few distinct directions, with many copies of different lengths."""
    rng = np.random.default_rng(1)
    return random_rows()[rng.integers(0, 40, N)] * 2.0 ** rng.integers(-3, 4, (N, 1))


def saturated() -> np.ndarray:
    """Nearly the same direction: scores are equal to many digits, and float32 cannot order them."""
    return np.eye(D)[0] + 1e-5 * random_rows()


def opposite() -> np.ndarray:
    """Most cosines are negative."""
    rows = random_rows() * 0.1 - np.eye(D)[0]
    rows[:60] *= -1
    return rows


def with_zeros() -> np.ndarray:
    rows = tied()
    rows[::3] = 0
    rows[1:8] = random_rows()[1:8]
    rows[30] = random_rows()[30]
    return rows


DATA = {rows.__name__: rows for rows in (random_rows, tied, saturated, opposite, with_zeros)}


# The expressions of tests.query.reference, and whether they are negated.
TREES: dict[str, tuple[Any, bool]] = {
    "{w1, w2}": ((1, 2), False),
    "w1 & w2": (("&", 1, 2), False),
    "w1 | w30": (("|", 1, 30), False),
    "w5 - w6": (("-", 5, 6, 0.5), False),
    "{w1, w2} -- {w5, w6}": (("-", (1, 2), (5, 6), 1), False),
    "{w1, w2, w3} - {w4, w5} | ~w6 & w7": (("|", ("-", (1, 2, 3), (4, 5), 0.5), ("-", 7, 6, 0.5)), False),
    "w1 -^0.2 (w2 - {w3, w4}) & {w5, w6}": (("&", ("-", 1, ("-", 2, (3, 4), 0.5), 0.2), (5, 6)), False),
    "{w1, w2} - (w3 & {w4, w5} | w6) - w7": (("-", ("-", (1, 2), ("|", ("&", 3, (4, 5)), 6), 0.5), 7, 0.5), False),
    "~w7": (7, True),
    "~(w1 - ~w2)": (("&", 1, 2), True),
}
QUERIES = list(TREES)


def best(scores: np.ndarray, examples: set[int], top: int) -> list[str]:
    """Return the best words, ties in their order."""
    order = [i for i in np.argsort(-scores.round(12), kind="stable").tolist() if i not in examples]
    return [f"w{i}" for i in order[:top] if scores[i] > -np.inf]


def brute_force(words: WordVectors, query: str, top: int, logic: str, reference: Reference) -> list[str]:
    """Return the best words by their scores in float64."""
    plan = words.plan(query, logic=logic, preprocessing="none")
    if logic == "logistic":
        tree, negated = TREES[query]
        return best(reference.scores(tree, negated=negated), set(plan.example_indices), top)
    rows = words.take(np.arange(len(words))).astype(np.float64)
    scores = np.asarray(plan.sets[0].membership(rows))
    return best(np.where(rows.any(axis=1) & (scores > 0), scores, -np.inf), set(plan.example_indices), top)


@pytest.mark.parametrize("small_blocks", [False, True])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("logic", Logic.NAMES)
def test_it_equals_brute_force(logic: str, data: str, small_blocks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if small_blocks:
        for name, value in (("BLOCK_BYTES", 2**14), ("ITEMS_PER_BLOCK", 100), ("MAX_CANDIDATES", 50)):
            monkeypatch.setattr(exact, name, value)
    words = WordVectors.of([f"w{i}" for i in range(N)], DATA[data]())
    reference = Reference(words.matrix)
    options: Any = {"logic": logic, "preprocessing": "none"}
    queries = [query for query in QUERIES if logic != "lattice" or "&" not in query]  # random sets share no directions
    expected = {query: brute_force(words, query, 10, logic, reference) for query in queries}
    many = queries * 8  # so many directions are scanned in threads
    for query, result in zip(many, words.find_many(many, 10, **options), strict=True):
        assert [hit.id for hit in result] == expected[query], query
    for query in queries:
        assert [hit.id for hit in words.find(query, 10, **options)] == expected[query], query


@pytest.mark.parametrize("data", ["random_rows", "tied", "saturated"])
def test_whitened_words_equal_brute_force(data: str) -> None:
    words = WordVectors.of([f"w{i}" for i in range(N)], DATA[data]())
    source = words.preprocess("whiten(0.2)")
    for query in QUERIES:
        plan = words.plan(query, preprocessing="whiten(0.2)")
        cosines = source.cosines(np.array([leaf.direction for leaf in plan.sets]), np.arange(N))
        scores = plan.score([leaf.log_odds(row) for leaf, row in zip(plan.sets, cosines, strict=True)])
        found = words.find(query, 10, preprocessing="whiten(0.2)")
        assert [hit.id for hit in found] == best(scores, set(plan.example_indices), 10), query


def test_a_union_of_100_sets_and_100_examples_equal_brute_force() -> None:
    rows = np.random.default_rng(8).standard_normal((N, 2))  # few dimensions: the errors of products are smallest
    words = WordVectors.of([f"w{i}" for i in range(N)], rows)
    reference = Reference(words.matrix)
    many = tuple(range(100))
    trees: list[Any] = [("-", many, tuple(range(100, 200)), strict) for strict in (0, 0.5, 1)]
    trees += [reduce(lambda left, right: (operator, left, right), range(100)) for operator in "|&"]
    trees.append(reduce(lambda left, right: ("-", left, right, 0.5), range(1, 40), many[40:]))
    trees.append(reduce(lambda left, right: ("-", right, left, 0.9), range(1, 40), many[40:]))
    for tree in trees:
        examples = set(words.plan(to_text(tree), preprocessing="none").example_indices)
        found = words.find(to_text(tree), 50, preprocessing="none")
        assert [hit.id for hit in found] == best(reference.scores(tree), examples, 50)


@pytest.mark.parametrize("preprocessing", ["none", "whiten"])
def test_coordinates_are_within_their_bounds(preprocessing: str) -> None:
    rng = np.random.default_rng(4)
    rows = (rng.standard_normal((N, 200)) + 3).astype(np.float32)  # with a large mean, which whitening subtracts
    words = WordVectors.of([f"w{i}" for i in range(N)], rows)
    words = words if preprocessing == "none" else words.preprocess(preprocessing)
    directions = rng.standard_normal((40, 200))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    coordinates, errors, _ = words.projector(directions)(0, N)
    differences = np.abs(coordinates - words.cosines(directions, np.arange(N))).max(axis=1)
    assert (differences <= errors).all() and differences.max() > errors.max() / 1_000  # neither too small nor useless


def test_rounding_errors_grow_with_dimensions_and_lengths() -> None:
    assert rounding_errors(3 * np.eye(50)) == pytest.approx(3 * 58 * 2.0**-23)


def test_slope_of_a_centroid_is_its_derivative() -> None:
    leaf = Centroid(np.eye(3)[0], Scale(0.1, 0.5))
    assert leaf.max_slope == pytest.approx(np.diff(leaf.log_odds(np.array([0.2, 0.3])))[0] / 0.1) == 5


@pytest.mark.parametrize("step", [1e-4, 1e-2])
@pytest.mark.parametrize("query", QUERIES[1:])
def test_error_of_a_score_bounds_what_errors_of_log_odds_do(query: str, step: float) -> None:
    rng = np.random.default_rng(2)
    words = WordVectors.of([f"w{i}" for i in range(N)], random_rows())
    plan = words.plan(query, preprocessing="none")
    odds = rng.choice([rng.uniform(-6, 18, (len(plan.sets), 200_000)), rng.uniform(-4, 0, (len(plan.sets), 200_000))])
    errors = step * rng.random(len(plan.sets))
    moved = odds + rng.choice([-1, 1], odds.shape) * errors[:, None]
    change = np.abs(plan.score(list(odds)) - plan.score(list(moved))).max()
    bound = plan.score_error(errors.tolist())
    assert change <= bound + 1e-12 and (change > bound / 100 or "-" in query)


def test_error_of_a_score_is_not_larger_than_needed() -> None:
    words = WordVectors.of([f"w{i}" for i in range(N)], random_rows())
    assert words.plan("w1 & ~~w2 | w3").score_error([1e-4, 2e-4, 4e-4]) == pytest.approx(7e-4)
    plan = words.plan("{w1, w2} - w3")
    (exclusion,) = plan.combination.exclusions.values()
    (border,) = exclusion.borders.values()
    assert plan.score_error([1e-4, 1e-3]) == pytest.approx(1e-4 + 0.25 * border.max_slopes[0] * 1e-3)
    assert border.max_slopes[0] < 6


@pytest.mark.parametrize("data", ["random_rows", "tied", "saturated", "opposite"])
@pytest.mark.parametrize("d", [2, D, 300])
def test_scores_of_blocks_are_within_their_bounds(data: str, d: int) -> None:
    rows = DATA[data]()
    rows = np.hstack([rows] * (d // D) + [rows[:, : d % D]])
    words = WordVectors.of([f"w{i}" for i in range(N)], rows)
    queries = [*QUERIES, " & ".join(f"w{i}" for i in range(1, 101)), " | ".join(f"{{w{i}, w9}}" for i in range(10, 90))]
    plans = [words.plan(query, preprocessing="none") for query in queries]
    scores, errors = exact._BlockScorer(words, plans, [frozenset()] * len(plans))(0, N)
    for plan, row, error in zip(plans, scores, errors, strict=True):
        expected = exact.exact_scores(words, plan, np.arange(N))
        difference = np.abs(row.astype(np.float64) - expected).max()
        assert difference <= error, plan.query
        assert data != "random_rows" or error < 1e4 * difference, plan.query


@pytest.mark.parametrize("logic", ["lattice", "graded"])
def test_error_of_a_membership_adds_rounding_for_each_direction(logic: str) -> None:
    words = WordVectors.of([f"w{i}" for i in range(N)], random_rows())
    (members,) = words.plan("{w1, w2, w3}", logic=logic, preprocessing="none").sets
    coordinates = words.projector(members.factor())(0, N)
    values, bound = exact._memberships(coordinates, slice(None))
    assert bound == pytest.approx(np.linalg.norm(coordinates.errors) + 4 * exact.ROUNDING)
    assert np.abs(values - members.membership(words.matrix)).max() <= bound


def test_hidden_items_of_every_block_are_left_out(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BLOCK_BYTES", 2**14)
    items = [Item(f"w{i}") for i in range(N)]
    collection = Collection.create(tmp_path / "c", items, vectors=random_rows())
    first = [hit.id for hit in collection.find("{w1, w2}", 30)]
    collection = collection.delete(first[::2])
    found = [hit.id for hit in collection.find("{w1, w2}", 15, logic="graded")]
    assert not set(found) & set(first[::2]) and len(found) == 15


@pytest.mark.parametrize("logic", Logic.NAMES)
def test_examples_of_every_block_are_left_out(logic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BLOCK_BYTES", 2**14)
    words = WordVectors.of([f"w{i}" for i in range(N)], random_rows())
    found = [hit.id for hit in words.find("{w5, w1500, w2999}", 20, logic=logic, preprocessing="none")]
    assert not set(found) & {"w5", "w1500", "w2999"} and len(found) == 20


def test_vectors_that_are_not_numbers_do_not_hide_others() -> None:
    rows = random_rows()
    words = WordVectors.of([f"w{i}" for i in range(N)], rows)
    expected = [hit.id for hit in words.find("{w1, w2}", 10, logic="graded", preprocessing="none")]
    words._stored.vectors[100:120] = np.nan  # a file that was changed after it was written
    found = [hit.id for hit in words.find("{w1, w2}", 40, logic="graded", preprocessing="none")]
    kept = [name for name in expected if not 100 <= int(name[1:]) < 120]
    assert [name for name in found if name in kept] == kept
