"""Words that come in blocks: found again whatever the blocks were, and never taken for one another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset.vectors import growing
from softset.vectors import index as index_module
from softset.vectors.growing import GrowingWords
from softset.vectors.index import WordIndex

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@given(st.lists(st.lists(words, max_size=6), max_size=12))
def test_it_is_a_dictionary_of_first_places(blocks: list[list[str]]) -> None:
    grown, known = GrowingWords(), dict[str, int]()
    for block in blocks:
        fresh = len(set(block)) == len(block) and not known.keys() & set(block)
        assert grown.extend(block) == fresh
        if fresh:
            known.update({word: len(known) + at for at, word in enumerate(block)})
    assert [grown[at] for at in range(len(grown))] == list(known)
    assert {word: grown.place(word) for word in known} == known
    assert grown.place("a word that never came") is None


@given(st.lists(words, unique=True, max_size=40), st.integers(1, 7))
def test_the_index_does_not_know_the_blocks(some: list[str], size: int) -> None:
    grown = GrowingWords()
    for at in range(0, len(some), size):
        grown.append(some[at : at + size])
    index, whole = WordIndex.grown(grown), WordIndex.of(some)
    assert list(index) == list(whole) == some
    assert (index.hashes == whole.hashes).all() and (index.places == whole.places).all()
    assert (np.diff(index.hashes.astype(object)) >= 0).all()


def test_words_that_share_a_hash_are_still_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "word_hash", lambda word: len(word))
    grown = GrowingWords()
    assert grown.extend(["red", "blue"]) and grown.extend(["tan"])
    assert not grown.extend(["pink", "tan"]) and len(grown) == 3
    assert [grown.place(word) for word in ("red", "tan", "sky", "blue", "")] == [0, 2, None, 1, None]


def test_runs_stay_few() -> None:
    grown = GrowingWords()
    for at in range(500):
        grown.append([str(at)])
    assert len(grown._runs) <= 10
    assert grown.place("499") == 499


@given(st.lists(words, unique=True, max_size=20), st.lists(words, max_size=8), st.integers(0, 20))
def test_the_places_of_words_are_those_of_a_list(some: list[str], asked: list[str], n: int) -> None:
    index, kept = WordIndex.of(some).restricted(n), some[:n]
    assert [index.place(word) for word in asked] == [kept.index(word) if word in kept else None for word in asked]


def test_places_of_words_that_share_a_hash_are_never_another_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (growing, index_module):
        monkeypatch.setattr(module, "word_hash", lambda word: len(word))
    index = WordIndex.of(["red", "tan", "blue"])
    asked = ["tan", "blue", "sky", "red"]
    assert [index.place(word) for word in asked] == [1, 2, None, 0]


def test_hashes_in_another_order_of_bytes_are_read() -> None:
    index = WordIndex.of(["red", "tan"])
    turned = WordIndex(index.text, index.offsets, index.hashes.astype(">u8"), index.places)
    assert [turned.place(word) for word in ("tan", "red", "sky")] == [1, 0, None]
