"""Many queries in one pass find what each of them finds alone."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset import WordVectors
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.errors import FileError, InputError
from softset.query.background import kth_largest
from softset.search import exact

RANDOM = np.random.default_rng(11)
QUERIES = [f"{{w{3 * i + 1}, w{3 * i + 2}, w{3 * i + 3}}}" for i in range(100, 140)]


@pytest.fixture(scope="module")
def words() -> WordVectors:
    n = 6_000
    vectors = RANDOM.standard_normal((n, 8)) + 2 * RANDOM.standard_normal((30, 8))[RANDOM.integers(0, 30, n)]
    vectors[17] = 0
    vectors[40] = vectors[41]
    return WordVectors.of([f"w{i}" for i in range(n)], vectors)


@pytest.mark.parametrize("top", [1, 5, 20])
@pytest.mark.parametrize("include_examples", [True, False])
@pytest.mark.parametrize("block_bytes", [2**24, 2**15])
def test_many_sets_find_what_each_finds_alone(
    words: WordVectors, top: int, include_examples: bool, block_bytes: int, monkeypatch
) -> None:
    monkeypatch.setattr(exact, "BLOCK_BYTES", block_bytes)
    together = words.find_many(QUERIES, top, include_examples=include_examples)
    for query, result in zip(QUERIES, together, strict=True):
        alone = words.find(query, top, include_examples=include_examples)
        assert [hit.index for hit in result] == [hit.index for hit in alone]
        assert [hit.membership for hit in result] == pytest.approx([hit.membership for hit in alone], abs=1e-6)


def test_queries_of_different_kinds_share_a_pass(words: WordVectors) -> None:
    mixed = [*QUERIES[:35], "w1 & w2", "w5 - w6", "~w7", *QUERIES[35:]]
    for query, result in zip(mixed, words.find_many(mixed, 3), strict=True):
        assert result.query == query
        assert [hit.id for hit in result] == [hit.id for hit in words.find(query, 3)]


@pytest.mark.parametrize("approximate", [False, True])
def test_an_invalid_query_yields_its_error_and_the_others_their_results(words: WordVectors, approximate: bool) -> None:
    if approximate:
        pytest.importorskip("faiss")
    queries = ["w1 & w2", "{w3", "~w7", "w5", "qwxz", "w5"]
    results = words.find_each(queries, 3, approximate=approximate)
    for query, result in zip(queries, results, strict=True):
        if query in ("{w3", "qwxz") or (approximate and query == "~w7"):
            with pytest.raises(InputError) as error:
                words.find(query, 3, approximate=approximate)
            assert isinstance(result, InputError) and str(result) == str(error.value)
        else:
            assert not isinstance(result, InputError) and result.query == query
            assert [hit.id for hit in result] == [hit.id for hit in words.find(query, 3, approximate=approximate)]


def test_an_error_of_the_source_is_not_the_error_of_a_query(words: WordVectors, monkeypatch) -> None:
    monkeypatch.setattr(WordVectors, "rank", lambda *_, **__: (_ for _ in ()).throw(FileError("the file is damaged")))
    with pytest.raises(FileError, match="the file is damaged"):
        words.find_each(["w1", "w2"])


@pytest.mark.parametrize(("name", "value"), [("MAX_CANDIDATES", 1), ("MAX_DIRECTIONS", 7)])
def test_limits_of_memory_do_not_change_results(words: WordVectors, name: str, value: int, monkeypatch) -> None:
    monkeypatch.setattr(exact, "BLOCK_BYTES", 2**15)
    expected = words.find_many(QUERIES, 5)
    monkeypatch.setattr(exact, name, value)
    assert [[hit.index for hit in result] for result in words.find_many(QUERIES, 5)] == [
        [hit.index for hit in result] for result in expected
    ]


def test_the_best_items_may_be_in_any_block(monkeypatch) -> None:
    """Items in the order of their cosine, worst first: every block is better than all before it."""
    angles = np.linspace(3, 0, 2_000)
    words = WordVectors.of([f"w{i}" for i in range(2_000)], np.stack([np.cos(angles), np.sin(angles)], axis=1))
    monkeypatch.setattr(exact, "BLOCK_BYTES", 2**10)
    monkeypatch.setattr(exact, "MAX_CANDIDATES", 1)
    assert [hit.index for hit in words.find("w1999", 50, preprocessing="none")] == list(range(1998, 1948, -1))


@given(st.integers(1, 400), st.integers(1, 400), st.integers(0, 2**32 - 1), st.booleans())
def test_kth_largest_is_that_of_a_sort(n: int, k: int, seed: int, with_copies: bool) -> None:
    values = np.random.default_rng(seed).normal(size=n).astype(np.float32)
    values = values.round(1) if with_copies else values
    if k > n:
        with pytest.raises(FileError, match="not finite"):
            kth_largest(values, k)
    else:
        assert kth_largest(values, k) == np.sort(values)[-k]


def test_deleted_items_are_not_found(words: WordVectors, tmp_path: Path) -> None:
    n = len(words)
    whole = Collection.create(tmp_path / "c", [Item(f"w{i}") for i in range(n)], vectors=words.rows(0, n))
    best = {result[0].id for result in whole.find_many(QUERIES, 1)}
    rest = whole.delete(best)
    for query, result in zip(QUERIES, rest.find_many(QUERIES, 5), strict=True):
        assert not {hit.id for hit in result} & best
        assert [hit.id for hit in result] == [hit.id for hit in rest.find(query, 5)]
