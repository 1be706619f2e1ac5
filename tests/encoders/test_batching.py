"""Tests of batching: each sequence is in exactly one batch."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softset.encoders.batching import group_by_length, parallel_batch_tokens, split_last_batches

LENGTHS = st.lists(st.integers(1, 300), max_size=200)


@given(LENGTHS, st.integers(1, 600), st.sampled_from([None, 1, 3]))
def test_each_sequence_is_in_exactly_one_batch(lengths: list[int], budget: int, most: int | None) -> None:
    groups = list(group_by_length(np.array(lengths, dtype=np.int64), budget, most))
    for some in (groups, split_last_batches(groups)):
        assert sorted(at for group in some for at in group.tolist()) == list(range(len(lengths)))
        assert all(len(group) == 1 or len(group) * max(lengths[at] for at in group) <= budget for group in some)
        assert most is None or all(len(group) <= most for group in some)


@given(LENGTHS)
def test_splitting_the_last_batches_keeps_the_order(lengths: list[int]) -> None:
    groups = list(group_by_length(np.array(lengths, dtype=np.int64), parallel_batch_tokens(sum(lengths), 512)))
    cut = split_last_batches(groups)
    assert np.concatenate([*cut, [0]]).tolist() == np.concatenate([*groups, [0]]).tolist()
    assert max(map(len, cut[-4:]), default=0) <= max(map(len, groups[-4:]), default=0)
