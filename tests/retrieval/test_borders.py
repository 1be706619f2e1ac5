"""Where sets end: by groups, by a sample, and by codes of a byte, all say what a plain sort says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset import WordVectors
from softset.errors import FileError
from softset.retrieval import approximate, borders, finding
from softset.retrieval.borders import largest, least_of_largest
from softset.retrieval.rounded import MOST_CODE, Rounded


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
    least = least_of_largest(values, rank)
    assert least is None or least <= np.sort(values)[-rank]


def unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


@given(
    n=st.integers(1, 600),
    d=st.integers(1, 40),
    rank=st.integers(1, 60),
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["plain", "one large entry", "copies", "near the first", "with zeros"]),
)
@settings(max_examples=300, deadline=None)
def test_codes_of_a_byte_lose_nothing(n: int, d: int, rank: int, seed: int, kind: str) -> None:
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, d))
    if kind == "one large entry":
        rows[:, 0] += 30  # so that one step for all is coarse for the rest
    elif kind == "copies":
        rows = rows[random.integers(0, max(1, n // 20), n)]
    elif kind == "near the first":
        rows = rows[0] + 1e-3 * rows
    elif kind == "with zeros":
        rows[random.random(n) < 0.5] = 0
    units, direction = unit(rows), unit(random.normal(size=(1, d)) + rows[:1])[0].astype(np.float64)
    rank = min(rank, n)
    expected = np.sort(units @ direction.astype(np.float32))[-rank]
    assert Rounded(units).largest(direction, rank) == pytest.approx(expected, abs=1e-6)


def test_products_of_codes_are_whole_numbers_to_the_last_digit() -> None:
    """The largest codes there are, all of one sign: sums of pairs in 16 bits must not be cut off."""
    units = np.full((64, 128), 1 / np.sqrt(128), dtype=np.float32)
    units[1::2] *= -1
    rounded = Rounded(units)
    asked = np.array([[255] * 128], dtype=np.uint8)
    products = rounded._session.run(None, {"asked": asked})[0][0]
    assert products.tolist() == [(255 - 128) * MOST_CODE * 128 * sign for sign in [1, -1] * 32]


def test_the_approximate_engine_ends_sets_where_the_exact_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    for module in (finding, approximate):
        monkeypatch.setattr(module, "FEW", 500)
    monkeypatch.setattr(borders, "SAMPLE", 1_024)
    random = np.random.default_rng(3)
    rows = random.normal(size=(40, 16))[random.integers(0, 40, 4_000)] + 0.5 * random.normal(size=(4_000, 16))
    words = WordVectors.of([f"w{at}" for at in range(4_000)], rows)
    engine = words.approximation
    directions = unit(rows[:3]).astype(np.float64)
    assert engine.borders(directions) == pytest.approx(words.borders(directions), abs=1e-6)
    asked = []
    monkeypatch.setattr(Rounded, "largest", lambda *given: asked.append(given[-1]) or 0.5)
    engine.borders(directions)
    assert asked == [round(64 * 1_024 / 4_000)] * 3
    engine.borders(np.repeat(directions, 2, axis=0))  # too many to go one by one
    assert len(asked) == 3


def test_a_sample_that_is_no_number_is_told_by_the_items(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    for module in (finding, approximate):
        monkeypatch.setattr(module, "FEW", 100)
    monkeypatch.setattr(borders, "SAMPLE", 200)
    words = WordVectors.of([f"w{at}" for at in range(200)], np.random.default_rng(0).normal(size=(200, 4)))
    engine = words.approximation
    units, _ = words.sample
    units[:] = np.nan
    with pytest.raises(FileError, match="not finite: its file was changed"):
        engine.borders(np.eye(4)[:1])
