"""Tests of batching: each sequence is in exactly one batch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset.encoders.batching import Window, group_by_length, pad_sequences, split_windows, tokens_per_batch

LENGTHS = st.lists(st.integers(1, 300), max_size=200)


@given(LENGTHS, st.integers(1, 600))
def test_each_sequence_is_in_exactly_one_batch(lengths: list[int], budget: int) -> None:
    batches = list(group_by_length(np.array(lengths, dtype=np.int64), budget))
    assert sorted(index for batch in batches for index in batch.tolist()) == list(range(len(lengths)))
    assert all(len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= budget for batch in batches)
    assert all(len(batch) == 1 for batch in group_by_length(lengths, 1))


@pytest.mark.parametrize(("tokens", "size"), [(30, 64), (10_000, 313), (100_000, 512)])
def test_small_inputs_have_small_batches(tokens: int, size: int) -> None:
    assert tokens_per_batch(tokens, max_tokens=512) == size


def test_windows_overlap_and_use_each_token_once() -> None:
    assert list(split_windows(3, 8)) == [Window(0, 3, 0, 3)]
    assert list(split_windows(12, 8)) == [Window(0, 8, 0, 6), Window(4, 12, 6, 12)]
    assert list(split_windows(12, 8, causal=True)) == [Window(0, 8, 0, 8), Window(4, 12, 8, 12)]


def test_padding_is_on_the_right() -> None:
    ids, mask = pad_sequences([np.array([7, 8]), np.array([9])], pad=0)
    assert ids.tolist() == [[7, 8], [9, 0]] and mask.tolist() == [[1, 1], [1, 0]]
