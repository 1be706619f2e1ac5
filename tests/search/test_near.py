"""Many sets at once: what lies beyond their borders is what a pass over all items finds."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset import WordVectors
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.runtime import jit as compiling
from softset.search import beyond, exact
from softset.search import products as products_module
from softset.search.products import Beyond, Products, products_of
from softset.search.thresholds import FEW, largest

RANDOM = np.random.default_rng(11)


@pytest.fixture(scope="module")
def words() -> WordVectors:
    n = 6_000
    vectors = RANDOM.standard_normal((n, 8)) + 2 * RANDOM.standard_normal((30, 8))[RANDOM.integers(0, 30, n)]
    vectors[17] = 0
    vectors[40] = vectors[41]
    return WordVectors.of([f"w{at}" for at in range(n)], vectors)


QUERIES = [f"{{w{3 * at + 1}, w{3 * at + 2}, w{3 * at + 3}}}" for at in range(100, 140)]


@pytest.mark.parametrize("top", [1, 5, 20])
@pytest.mark.parametrize("with_examples", [True, False])
def test_many_sets_find_what_each_finds_alone(words: WordVectors, top: int, with_examples: bool, monkeypatch) -> None:
    monkeypatch.setattr(exact, "ROOM", 0.2)
    taken = []
    real = exact._near
    monkeypatch.setattr(exact, "_near", lambda *given: taken.append(real(*given)) or taken[-1])
    together = words.find_many(QUERIES, top, include_examples=with_examples)
    assert len(taken[0]) > 30  # a few borders may be too high, and these look at all
    for query, found in zip(QUERIES, together, strict=True):
        alone = words.find(query, top, include_examples=with_examples)
        assert [hit.index for hit in found] == [hit.index for hit in alone]
        assert [hit.membership for hit in found] == pytest.approx([hit.membership for hit in alone], abs=1e-6)


def test_sets_of_other_kinds_are_found_beside_them(words: WordVectors, monkeypatch) -> None:
    monkeypatch.setattr(exact, "ROOM", 0.2)
    mixed = [*QUERIES[:35], "w1 & w2", "w5 - w6", "~w7", *QUERIES[35:]]
    for query, found in zip(mixed, words.find_many(mixed, 3), strict=True):
        assert found.query == query
        assert [hit.id for hit in found] == [hit.id for hit in words.find(query, 3)]


def test_batches_of_sets_do_not_matter(words: WordVectors, monkeypatch) -> None:
    monkeypatch.setattr(exact, "ROOM", 0.2)
    whole = words.find_many(QUERIES, 5)
    monkeypatch.setattr(exact, "NEAR_SETS", 7)
    monkeypatch.setattr(exact, "NEAR_ROWS", 999)
    assert [[hit.index for hit in one] for one in words.find_many(QUERIES, 5)] == [
        [hit.index for hit in one] for one in whole
    ]


def products(seed: int, k: int, shifted: bool) -> tuple[Products, np.ndarray, np.ndarray]:
    """Return some products, their coordinates (k, n) written out, and bounds that some lie beyond."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 50)), int(rng.integers(1, 12))
    rows = rng.standard_normal((n, d)) * rng.choice([0, 0.1, 1, 50], size=(n, 1))
    given = Products(
        rows.astype(np.float32),
        rng.standard_normal((k, d)),
        rng.random(n).astype(np.float32),
        rng.random(n).astype(np.float32),
        rng.standard_normal(k).astype(np.float32) * shifted,
    )
    expected = given.directions @ given.rows.T.astype(np.float64) * given.scales - given.offsets[:, None] * given.shifts
    return given, expected, rng.uniform(0, 2, size=k).astype(np.float32)


def pairs(found: Beyond) -> dict[tuple[int, int], float]:
    return dict(zip(zip(found.which.tolist(), found.places.tolist(), strict=True), found.scores.tolist(), strict=True))


def check_is_beyond(found: Beyond, expected: np.ndarray, least: np.ndarray) -> None:
    """What was found lies beyond, and what lies beyond was found; within the rounding of float32, either will do."""
    near = np.abs(expected - least[:, None]) < 2e-5 * (1 + np.abs(expected))
    wanted = {(int(i), int(j)) for i, j in np.argwhere(expected > least[:, None])}
    assert {one for one in pairs(found).keys() ^ wanted if not near[one]} == set()
    for one, score in pairs(found).items():
        assert score == pytest.approx(expected[one], rel=2e-5, abs=2e-5)


@given(st.integers(0, 1000), st.integers(1, 70), st.booleans())
@settings(max_examples=40)
def test_compiled_and_plain_find_the_same_coordinates(seed: int, k: int, shifted: bool) -> None:
    given, expected, least = products(seed, k, shifted)
    values = np.ascontiguousarray((given.directions.astype(np.float32) @ given.rows.T).T)
    check_is_beyond(Beyond(*beyond.beyond(values, *given[2:], least)), expected, least)
    check_is_beyond(given.beyond(least), expected, least)


@pytest.mark.parametrize("compiles", [True, False])
def test_products_say_which_items_are_beyond(compiles: bool, monkeypatch) -> None:
    monkeypatch.setattr(products_module, "can_compile", lambda: compiles and compiling.can_compile())
    rows, Q = RANDOM.standard_normal((300, 12)).astype(np.float32), RANDOM.standard_normal((40, 12))
    norms = np.linalg.norm(rows, axis=1)
    cosines = Q @ (rows / norms[:, None]).T
    found = products_of(rows, norms, Q).beyond(np.full(40, 1.5))
    wanted = np.argwhere(cosines > 1.5)
    assert sorted(zip(found.which.tolist(), found.places.tolist(), strict=True)) == [
        tuple(one) for one in wanted.tolist()
    ]
    assert found.scores == pytest.approx(cosines[found.which, found.places], abs=1e-5)


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=300), st.data())
def test_the_rank_th_largest(values: list[float], data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, len(values)))
    assert largest(np.array(values), rank) == sorted(values)[-rank]


def test_the_border_of_words_that_come_by_frequency_is_no_accident() -> None:
    """The first words are near each other: a sample of large pieces would take them for the rule."""
    n, d = 2 * FEW, 8
    vectors = RANDOM.standard_normal((n, d)).astype(np.float32)
    vectors[:2_000, 0] += 6
    words = WordVectors.of([str(at) for at in range(n)], vectors)
    q = np.eye(d)[:1]
    cosines = vectors[:, 0] / np.linalg.norm(vectors, axis=1)
    beyond_it = int((cosines > words.thresholds(q)[0]).sum())
    assert 0.5 * np.sqrt(n) < beyond_it < 2 * np.sqrt(n)


def test_many_sets_over_a_collection_find_nothing_deleted(words: WordVectors, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(exact, "ROOM", 0.2)
    n = len(words)
    whole = Collection.create(tmp_path / "c", [Item(f"w{at}", "") for at in range(n)], vectors=words.rows(0, n))
    best = {found[0].id for found in whole.find_many(QUERIES, 1)}
    taken = []
    real = exact._near
    monkeypatch.setattr(exact, "_near", lambda *given: taken.append(real(*given)) or taken[-1])
    left = whole.delete(best)
    together = left.find_many(QUERIES, 5)
    assert len(taken[0]) > 30
    for query, found in zip(QUERIES, together, strict=True):
        assert not {hit.id for hit in found} & best
        assert [hit.id for hit in found] == [hit.id for hit in left.find(query, 5)]
