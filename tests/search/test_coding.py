"""Codes of a byte a number: what is found with them is what is found without."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset import WordVectors
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.query.logic import Logic
from softset.search import coding, exact
from softset.search.codes import encode
from softset.search.coding import Codes, Coding, Screen
from softset.search.integers import LARGEST, integer_products
from tests.search.test_near import QUERIES, check_is_beyond, products

RANDOM = np.random.default_rng(7)


class Rows:
    """Items of given vectors."""

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = np.asarray(rows, dtype=np.float32)
        self.dimensions = self._rows.shape[1]
        self.norms = np.linalg.norm(self._rows.astype(np.float64), axis=1).astype(np.float32)

    def rows(self, start: int, stop: int) -> np.ndarray:
        return self._rows[start:stop]

    def __len__(self) -> int:
        return len(self._rows)


@pytest.mark.parametrize("d", [1, 2, 3, 63, 64, 100, 1000])
def test_products_of_bytes_are_exact_whatever_they_are(d: int) -> None:
    """At the ends too: two products of bytes that are added in 16 bits must not be cut off."""
    codes = RANDOM.choice([0, 1, 127, 128, 254, 255], size=(37, d)).astype(np.uint8)
    directions = RANDOM.choice([-LARGEST, -1, 0, 1, LARGEST], size=(d, 40)).astype(np.int8)
    codes[0], directions[:, 0] = 255, LARGEST
    codes[1], directions[:, 1] = 0, -LARGEST
    assert (integer_products(codes, directions) == (codes.astype(int) - 128) @ directions.astype(int)).all()


@given(st.integers(0, 1000))
@settings(max_examples=40)
def test_codes_and_their_error_make_up_the_vector(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = (rng.standard_normal((20, 9)) * rng.choice([0, 1e-9, 1, 1e9], size=(20, 1))).astype(np.float32)
    made = np.empty((20, 9), np.uint8), np.empty(20, np.float32), np.empty(20, np.float32)
    encode(rows, *made)
    codes, steps, errors = made
    off = rows.astype(np.float64) - (codes.astype(np.float64) - 128) * steps[:, None]
    assert errors == pytest.approx(np.linalg.norm(off, axis=1), rel=1e-3, abs=1e-30)
    assert (np.abs(off) <= 0.501 * steps[:, None]).all()


@given(st.integers(0, 1000), st.integers(1, 70), st.booleans())
@settings(max_examples=60)
def test_with_codes_is_found_what_lies_beyond(seed: int, k: int, shifted: bool) -> None:
    made, expected, least = products(seed, k, shifted)
    screen = Screen(Codes.of(Rows(made.rows)), made.directions)
    check_is_beyond(screen.beyond(made, 0, least), expected, least)


def test_a_screen_looks_at_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would find the same, but take longer than without codes."""
    items = Rows(RANDOM.standard_normal((4_000, 50)))
    Q = np.linalg.qr(RANDOM.standard_normal((50, 50)))[0][:40]
    seen = []
    monkeypatch.setattr(coding, "Beyond", lambda *found: seen.append(found))
    monkeypatch.setattr("softset.search.codes.screened", lambda *given: given)
    made = WordVectors.of([str(at) for at in range(4_000)], items.rows(0, 4_000)).along(Q).block(0, 4_000)
    Screen(Codes.of(items), Q).beyond(made, 0, np.full(40, 0.3, dtype=np.float32))
    sums, rows, _, widths, slacks = seen[0][:5]
    cosines = rows @ Q.T / np.linalg.norm(rows, axis=1, keepdims=True)
    assert (np.abs(sums * widths[:, None] - cosines).max(axis=1) <= slacks).all() and slacks.max() < 0.05


@pytest.mark.parametrize(("what", "pays"), [("all ways", True), ("one way", False), ("two large numbers", False)])
def test_a_screen_that_lets_too_much_pass_is_left_out(what: str, pays: bool, monkeypatch) -> None:
    monkeypatch.setattr(coding, "can_compile", lambda: True)
    n, d = 70_000, 32
    rows = RANDOM.standard_normal((n, d))
    rows = rows + 6 if what == "one way" else rows
    rows[:, :2] *= 50 if what == "two large numbers" else 1
    words = WordVectors.of([f"w{at}" for at in range(n)], rows)
    queries = [f"{{w{at}, w{at + 1}}}" for at in range(40)]
    used = []
    real = Screen.beyond
    monkeypatch.setattr(Screen, "beyond", lambda *given: used.append(given) or real(*given))
    first, second = (words.find_many(queries, 20, preprocessing="none") for _ in range(2))
    assert [one.hits for one in first] == [one.hits for one in second]
    assert bool(used) == pays


@pytest.mark.parametrize("kind", [">f4", "<f2", "<f8"])
def test_numbers_of_other_kinds_are_searched_each_time(words: WordVectors, kind: str, monkeypatch) -> None:
    monkeypatch.setattr(exact, "ROOM", 0.2)
    monkeypatch.setattr(coding, "can_compile", lambda: True)
    fresh = WordVectors.of(words.words[:], words.matrix)
    other = WordVectors(replace(fresh._stored, vectors=fresh.matrix.astype(kind)))
    first = answers(other, preprocessing="none")
    assert answers(other, preprocessing="none") == first
    assert (other.coding._codes is not None) == (kind == "<f8")


def test_codes_are_made_when_they_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "can_compile", lambda: True)
    rows = RANDOM.standard_normal((30, 5))
    asked = Coding(Rows(rows))
    assert asked.codes() is None
    kept = asked.codes()
    assert kept is not None and asked.codes() is kept
    rows[3] *= 1e20
    odd = Coding(Rows(rows))
    assert odd.codes() is None and odd.codes() is None
    monkeypatch.setattr(coding, "MOST_BYTES", 100)
    large = Coding(Rows(RANDOM.standard_normal((30, 5))))
    assert large.codes() is None and large.codes() is None
    monkeypatch.setattr(coding, "can_compile", lambda: False)
    assert [asked.codes() for _ in range(3)] == [None] * 3


def test_the_views_of_words_share_their_codes() -> None:
    words = WordVectors.of([str(at) for at in range(200)], RANDOM.standard_normal((200, 5)))
    assert words.preprocessed("whiten", Logic()).coding is words.coding
    assert words.preprocessed("centre", Logic()).coding is not words.coding  # of other vectors


@pytest.fixture(scope="module")
def words() -> WordVectors:
    n = 6_000
    vectors = RANDOM.standard_normal((n, 8)) + 2 * RANDOM.standard_normal((30, 8))[RANDOM.integers(0, 30, n)]
    vectors[17], vectors[40] = 0, vectors[41]
    return WordVectors.of([f"w{at}" for at in range(n)], vectors)


def answers(items, **options) -> list[list[tuple[int, float]]]:
    return [[(hit.index, hit.membership) for hit in found] for found in items.find_many(QUERIES, 20, **options)]


@pytest.mark.parametrize("preprocessing", ["none", "whiten", "centre"])
def test_many_sets_find_the_same_each_time(words: WordVectors, preprocessing: str, monkeypatch) -> None:
    monkeypatch.setattr(exact, "ROOM", 0.2)
    monkeypatch.setattr(coding, "can_compile", lambda: True)
    used = []
    real = Screen.beyond
    monkeypatch.setattr(Screen, "beyond", lambda *given: used.append(given) or real(*given))
    fresh = WordVectors.of(words.words[:], words.matrix)
    first = answers(fresh, preprocessing=preprocessing)
    assert not used
    assert answers(fresh, preprocessing=preprocessing) == first == answers(fresh, preprocessing=preprocessing)
    assert used


def test_codes_of_a_collection_find_nothing_deleted(words: WordVectors, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(exact, "ROOM", 0.2)
    monkeypatch.setattr(coding, "can_compile", lambda: True)
    n = len(words)
    whole = Collection.create(tmp_path / "c", [Item(f"w{at}", "") for at in range(n)], vectors=words.rows(0, n))
    asked = {name for query in QUERIES for name in query.strip("{}").split(", ")}
    left = whole.delete({found[0].id for found in whole.find_many(QUERIES, 1)} - asked)
    first = answers(left)
    assert answers(left) == first and left.coding._codes is not None
    assert not {place for one in first for place, _ in one} & left.hidden
