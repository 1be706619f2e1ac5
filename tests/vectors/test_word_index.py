"""The word index: lookup by hash and comparison."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset.vectors import word_index
from softset.vectors.word_index import WordIndex

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.lists(WORDS, unique=True, max_size=30), st.lists(WORDS, max_size=8), st.integers(0, 20))
def test_index_behaves_like_a_list(words: list[str], queries: list[str], n: int) -> None:
    index, first = WordIndex.of(words), WordIndex.of(words).restricted(n)
    assert list(index) == index[:] == index.take(range(len(words))) == words
    assert [index.get_index(word) for word in words] == list(range(len(words)))
    expected = [words.index(word) if word in words[:n] else None for word in queries]
    assert [first.get_index(word) for word in queries] == expected
    assert index.get_index("".join(words) + "!") is None
    assert (np.diff(index.hashes.astype(object)) >= 0).all()


def test_hash_collisions_do_not_confuse_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_index, "word_hash", len)
    index = WordIndex.of(["red", "tan", "blue"])
    assert [index.get_index(word) for word in ("tan", "blue", "sky", "red", "")] == [1, 2, None, 0, None]


def test_hashes_in_the_other_byte_order() -> None:
    index = WordIndex.of(["red", "tan"])
    swapped = WordIndex(index.text, index.offsets, index.hashes.astype(">u8"), index.rows)
    assert [swapped.get_index(word) for word in ("tan", "red", "sky")] == [1, 0, None]


def test_positions_out_of_range() -> None:
    index = WordIndex.of(["red", "tan"])
    assert index[-1] == "tan" and index[1:9] == ["tan"]
    for position in (2, -3):
        with pytest.raises(IndexError, match="but there are 2 words"):
            _ = index[position]
