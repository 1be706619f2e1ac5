"""The exact engine returns what a brute-force search in float64 returns, on data made to mislead it."""

import numpy as np
import pytest

from softset import WordVectors
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.query.thresholds import Centroid
from softset.search import exact
from softset.search.source import rounding_errors

N, D = 3_000, 16
QUERIES = ["{w1, w2}", "w1 & w2", "w1 | w30", "w5 - w6", "{w1, w2, w3} - {w4, w5} | ~w6 & w7", "~w7", "~(w1 - ~w2)"]
LOGICS = ["logistic", "product", "minmax", "lattice", "graded"]


def random_rows() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((N, D))


def tied() -> np.ndarray:
    """Few distinct directions, with many copies of different lengths."""
    rng = np.random.default_rng(1)
    return random_rows()[rng.integers(0, 40, N)] * 2.0 ** rng.integers(-3, 4, (N, 1))


def saturated() -> np.ndarray:
    """Nearly the same direction: memberships are equal to many digits, and float32 cannot order them."""
    return np.eye(D)[0] + 1e-5 * random_rows()


def opposite() -> np.ndarray:
    """Most cosines are negative, and count as 0."""
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


def brute_force(words: WordVectors, query: str, top: int, **options) -> list[str]:
    """Return the best words by their memberships in float64, ties in the order of the words."""
    plan = words.plan(query, **options)
    rows = words.take(np.arange(len(words))).astype(np.float64)
    if options["preprocessing"] == "none":
        memberships = [np.asarray(leaf.membership(rows)) for leaf in plan.sets]
    else:  # `take` returns whitened words in float32
        source = words.preprocessed(options["preprocessing"], plan.logic)
        cosines = source.cosines(np.array([leaf.direction for leaf in plan.sets]), np.arange(len(words)))
        memberships = [leaf.probability(row) for leaf, row in zip(plan.sets, cosines, strict=True)]
    scores = np.where(rows.any(axis=1), plan.score(memberships), 0.0)
    scores[list(plan.example_indices)] = 0.0
    order = np.argsort(-scores.round(12), kind="stable")[:top]
    return [f"w{i}" for i in order if scores[i] > 0]


@pytest.mark.parametrize("small_blocks", [False, True])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("logic", LOGICS)
def test_it_equals_brute_force(logic: str, data: str, small_blocks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if small_blocks:
        for name, value in (("BLOCK_BYTES", 2**14), ("ITEMS_PER_BLOCK", 100), ("MAX_CANDIDATES", 50)):
            monkeypatch.setattr(exact, name, value)
    words = WordVectors.of([f"w{i}" for i in range(N)], DATA[data]())
    options = {"logic": logic, "preprocessing": "none"}
    queries = [query for query in QUERIES if logic != "lattice" or "&" not in query]  # random sets share no directions
    expected = {query: brute_force(words, query, 10, **options) for query in queries}
    many = queries * 8  # so many directions are scanned in threads
    for query, result in zip(many, words.find_many(many, 10, **options), strict=True):
        assert [hit.id for hit in result] == expected[query], query
    for query in queries:
        assert [hit.id for hit in words.find(query, 10, **options)] == expected[query], query


@pytest.mark.parametrize("data", ["random_rows", "tied", "saturated"])
def test_whitened_words_equal_brute_force(data: str) -> None:
    words = WordVectors.of([f"w{i}" for i in range(N)], DATA[data]())
    for query in QUERIES:
        expected = brute_force(words, query, 10, logic="logistic", preprocessing="whiten(0.2)")
        assert [hit.id for hit in words.find(query, 10, preprocessing="whiten(0.2)")] == expected, query


@pytest.mark.parametrize("preprocessing", ["none", "whiten"])
def test_coordinates_are_within_their_bounds(preprocessing: str) -> None:
    rng = np.random.default_rng(4)
    rows = (rng.standard_normal((N, 200)) + 3).astype(np.float32)  # with a large mean, which whitening subtracts
    words = WordVectors.of([f"w{i}" for i in range(N)], rows)
    words = words if preprocessing == "none" else words.preprocess(preprocessing)
    directions = rng.standard_normal((40, 200))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    coordinates, errors = words.projector(directions)(0, N)
    differences = np.abs(coordinates - words.cosines(directions, np.arange(N))).max(axis=1)
    assert (differences <= errors).all() and differences.max() > errors.max() / 1_000  # neither too small nor useless


def test_rounding_errors_grow_with_dimensions_and_lengths() -> None:
    assert rounding_errors(3 * np.eye(50)) == pytest.approx(3 * 58 * 2.0**-23)


def test_slope_of_a_centroid_is_its_largest_derivative() -> None:
    leaf = Centroid(np.eye(3)[0], threshold=0.3)
    cosines = np.linspace(0, 1, 10_001)
    slopes = np.diff(leaf.probability(cosines)) / np.diff(cosines)
    assert leaf.max_slope == pytest.approx(slopes.max(), rel=1e-3)


def test_error_of_a_score_bounds_what_errors_of_memberships_do() -> None:
    rng = np.random.default_rng(2)
    words = WordVectors.of([f"w{i}" for i in range(N)], random_rows())
    for logic in ("logistic", "product", "minmax"):
        for query in QUERIES[1:]:
            plan = words.plan(query, logic=logic, preprocessing="none")
            m = rng.random((len(plan.sets), 5_000)) ** 0.05  # mostly near 1
            moved = np.clip(m + rng.choice([-1e-4, 1e-4], m.shape), 0, 1)
            change = np.abs(np.asarray(plan.score(list(m))) - np.asarray(plan.score(list(moved)))).max()
            assert change <= plan.score_error([1e-4] * len(plan.sets)) + 1e-12


def test_error_of_a_score_is_not_larger_than_needed() -> None:
    words = WordVectors.of([f"w{i}" for i in range(N)], random_rows())
    errors = {logic: words.plan("w1 - w2", logic=logic).score_error([1e-4, 1e-4]) for logic in ("logistic", "product")}
    assert errors == pytest.approx({"logistic": 2e-4, "product": 1e-4 + np.sqrt(2e-4)})


def test_hidden_items_of_every_block_are_left_out(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "BLOCK_BYTES", 2**14)
    items = [Item(f"w{i}") for i in range(N)]
    collection = Collection.create(tmp_path / "c", items, vectors=random_rows())
    first = [hit.id for hit in collection.find("{w1, w2}", 30)]
    collection = collection.delete(first[::2])
    found = [hit.id for hit in collection.find("{w1, w2}", 15, logic="graded")]
    assert not set(found) & set(first[::2]) and len(found) == 15


def test_vectors_that_are_not_numbers_do_not_hide_others() -> None:
    rows = random_rows()
    words = WordVectors.of([f"w{i}" for i in range(N)], rows)
    expected = [hit.id for hit in words.find("{w1, w2}", 10, logic="graded", preprocessing="none")]
    words._stored.vectors[100:120] = np.nan  # a file that was changed after it was written
    found = [hit.id for hit in words.find("{w1, w2}", 40, logic="graded", preprocessing="none")]
    kept = [name for name in expected if not 100 <= int(name[1:]) < 120]
    assert [name for name in found if name in kept] == kept
