"""Where sets end: what is found by groups is what a plain sort finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset.errors import FileError
from softset.search.thresholds import largest


@given(st.integers(1, 400), st.integers(1, 400), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=200, deadline=None)
def test_the_rank_th_largest_is_that_of_a_sort(n: int, rank: int, seed: int, with_copies: bool) -> None:
    values = np.random.default_rng(seed).normal(size=n).astype(np.float32)
    values = values.round(1) if with_copies else values
    if rank > n:
        with pytest.raises(FileError, match="not finite"):
            largest(values, rank)
        return
    assert largest(values, rank) == np.sort(values)[-rank]
