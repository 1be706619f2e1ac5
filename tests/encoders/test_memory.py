"""Tests of peak memory: encoded vectors are held once."""

import tracemalloc
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset import TokenSets
from softset.encoders.pipeline import ContextualEncoder, PipelineOptions
from softset.encoders.static import TableNetwork
from softset.encoders.tokenizer import SubwordTokenizer
from softset.vectors.rows import ROWS_PER_SUM as N
from softset.vectors.rows import group_means, repeat_groups
from tests.encoders.tiny_models import save_tokenizer, table

D = 1024
TEXTS = [f"{'red book ' * (number % 5 + 4)}{number}" for number in range(1500)]  # each ends with another unknown word


class Counted(TableNetwork):
    """A table that counts the tokens it looks up."""

    asked = 0

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        self.asked += int(mask.sum())
        return super().__call__(ids, mask)


@pytest.fixture
def network() -> Counted:
    return Counted(table(D), "table")


@pytest.fixture
def encoder(tmp_path: Path, network: Counted) -> Callable[..., ContextualEncoder]:
    save_tokenizer(tmp_path)
    cut = SubwordTokenizer.open(tmp_path / "tokenizer.json", threads=1)
    return lambda **options: ContextualEncoder(cut, network, PipelineOptions(**options))


@contextmanager
def at_most(times: float, size_of: Callable[[], int]):
    """Fail if the peak of allocated memory exceeds a multiple of a size, which is computed at the end."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= times * size_of(), f"{peak / size_of():.2f} times"


@pytest.mark.parametrize("repeats", [[3, 0], [*range(1500)], [7] * 1500], ids=["a few", "all", "one text"])
def test_a_repeated_text_is_encoded_once_and_held_in_its_place_only(encoder, network: Counted, repeats) -> None:
    """The sets of distinct texts and the result never exist at the same time."""
    order, results = [*range(1500), *repeats], []
    with at_most(1.4, lambda: results[0].vectors.nbytes + results[0].special.vectors.nbytes):
        results.append(encoder().encode([TEXTS[number] for number in order]))
    assert network.asked == sum(len(text.split()) for text in TEXTS), "each text goes through the model once"
    sets, expected = results[0], encoder().encode(TEXTS).take(order)
    for part, expected_part in ((sets, expected), (sets.special, expected.special)):
        assert np.array_equal(part.vectors, expected_part.vectors)
        assert np.array_equal(part.offsets, expected_part.offsets) and np.array_equal(part.spans, expected_part.spans)
        assert part.tokens.tolist() == expected_part.tokens.tolist()
    assert np.array_equal(sets.unknown, expected.unknown) and np.array_equal(sets.text_hashes, expected.text_hashes)


@given(st.lists(st.integers(0, 3), max_size=5), st.lists(st.integers(0, 4), min_size=1, max_size=12), st.booleans())
def test_repeated_groups(sizes: list[int], choices: list[int], writeable: bool) -> None:
    """Groups are numbered by their first use, as the distinct texts of a list are."""
    numbers = {choice: number for number, choice in enumerate(dict.fromkeys(choices))}
    offsets = np.cumsum([0, *(sizes + [1] * 5)[: len(numbers)]])
    rows = np.arange(2 * offsets[-1], dtype=np.float64).reshape(-1, 2).copy()
    rows.flags.writeable = writeable
    order = np.array([numbers[choice] for choice in choices])
    expected = [row for number in order for row in rows[offsets[number] : offsets[number + 1]].tolist()]
    assert repeat_groups(rows, offsets, order).tolist() == expected


def test_group_means_need_little_memory() -> None:
    rows = np.random.default_rng(0).standard_normal((30 * N, 32)).astype(np.float32)
    begins = np.flatnonzero(np.random.default_rng(1).random(len(rows)) < 0.7)
    begins[0] = 0
    with at_most(1.0, lambda: rows.nbytes):  # 0.7 of it is the result
        means = group_means(rows, begins, np.float32)
    whole = np.add.reduceat(rows, begins, axis=0, dtype=np.float64)
    whole /= np.diff([*begins, len(rows)])[:, None]
    assert np.array_equal(means, whole.astype(np.float32))


@pytest.mark.parametrize("begins", [[], [0], [0, 1], [0, N - 1], [0, N + 1], [0, 1, 3 * N]])
def test_group_means_equal_numpy_means(begins: list[int]) -> None:
    rows = np.random.default_rng(0).standard_normal((3 * N + 5 if begins else 0, 3))
    expected = [part.mean(axis=0) for part in np.split(rows, begins[1:])] if begins else []
    assert np.allclose(group_means(rows, begins, np.float64), np.reshape(expected, (-1, 3)))


def test_the_widest_type_of_non_empty_parts_is_used() -> None:
    half, whole = (TokenSets.from_arrays([np.ones((1, 2), dtype)]) for dtype in (np.float16, np.float32))
    nothing = TokenSets.from_arrays([[]], dimensions=2)
    join = TokenSets.concatenate
    assert join([half, whole]).vectors.dtype == np.float32 == join([whole, half]).vectors.dtype
    assert join([nothing, half]).vectors.dtype == np.float16 == join([half, nothing]).vectors.dtype
    assert join([nothing, nothing]).vectors.dtype == np.float32


def test_pooled_vectors_do_not_depend_on_the_unit(encoder) -> None:
    texts = ["red book", "a red-book pen.", "", "zebra"]
    assert np.array_equal(encoder(unit="word").embed(texts), encoder().embed(texts))
