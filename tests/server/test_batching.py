"""Callers that come while a model is busy go through it together, and get what each would have got alone."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset import load_encoder
from softset.errors import InputError
from softset.server.asker import ASKER_GONE, AskerGoneError
from softset.server.batching import BatchedEncoder, Batches
from softset.server.kept import Kept
from softset.server.settings import Limits, TooMuchError


class Slow:
    """Lengths of texts, one batch at a time, each when it is let."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go = threading.Event()
        self.inside = 0

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.inside += 1
        assert self.inside == 1  # never two at once
        self.go.wait(5)
        self.batches.append(list(texts))
        self.inside -= 1
        if any("bad" in text for text in texts):
            raise InputError("a bad text")
        return np.array([float(len(text)) for text in texts])


def together(batched: Batches, calls: list[list[str]], slow: Slow) -> list[object]:
    """Let the first caller in, then all others while the model is busy with it."""

    def call(texts: list[str]) -> object:
        try:
            return batched(texts).tolist()
        except InputError as error:
            return str(error)

    with ThreadPoolExecutor(max(len(calls), 1)) as pool:
        futures = []
        for texts in calls:
            futures.append(pool.submit(call, texts))
            time.sleep(0.01)
        slow.go.set()
        return [future.result(5) for future in futures]


def test_who_waits_goes_together() -> None:
    slow, told = Slow(), []
    batched = Batches(slow, most=4, tell=lambda callers, texts: told.append((callers, texts)))
    found = together(batched, [["a"], ["bb", "ccc"], ["d"], ["ee", "f"], ["g"]], slow)
    assert found == [[1], [2, 3], [1], [2, 1], [1]]
    assert slow.batches == [["a"], ["bb", "ccc", "d"], ["ee", "f", "g"]]
    assert told == [(1, 1), (2, 3), (2, 3)]


def test_an_error_meets_its_own_caller_only() -> None:
    slow = Slow()
    found = together(Batches(slow, most=10), [["a"], ["bb"], ["bad", "x"], ["ccc"]], slow)
    assert found == [[1], [2], "a bad text", [3]]


def test_more_than_fits_goes_alone() -> None:
    slow = Slow()
    assert together(Batches(slow, most=2), [["a"], ["b"] * 5, []], slow) == [[1], [1] * 5, []]


@given(st.lists(st.lists(st.sampled_from(["a red book", "", "the sea", "qwxz", "red"]), max_size=4), max_size=6))
@settings(max_examples=25, deadline=None)
def test_vectors_do_not_know_the_company(calls: list[list[str]]) -> None:
    encoder = load_encoder("words")
    batched = BatchedEncoder(encoder, Limits())
    with ThreadPoolExecutor(6) as pool:
        sets = list(pool.map(batched.encode, calls))
        pooled = list(pool.map(batched.embed, calls))
    for texts, one, means in zip(calls, sets, pooled, strict=True):
        alone = encoder.encode(texts)
        assert np.array_equal(one.vectors, alone.vectors) and np.array_equal(one.offsets, alone.offsets)
        assert one.signature == alone.signature and np.array_equal(means, encoder.embed(texts))


def test_tokens_are_counted_before_anything_is_encoded() -> None:
    texts = ["A red book.", "don't", ""]
    for name in ("words", "minilm"):
        encoder = load_encoder(name)
        sets = encoder.encode(texts)
        counts = BatchedEncoder(encoder, Limits()).count_tokens(texts)
        assert counts == (sets.counts + sets.unknown).tolist()
    own = load_encoder(lambda texts: [np.ones((1, 2))] * len(texts))
    assert BatchedEncoder(own, Limits()).count_tokens(["a b", "c"]) == [2, 1]


def test_long_work_goes_in_pieces_with_others_in_between() -> None:
    """The vectors are the same; what comes meanwhile does not wait for all of it; who has left is not served."""
    encoder, batches = load_encoder("words"), []
    batched = BatchedEncoder(encoder, Limits(tokens=10_000), lambda callers, texts: batches.append((callers, texts)))
    texts = ["a red book " * 300] * 7 + ["the sea"]
    sets = batched.encode(texts)
    assert len(batches) == 4 and np.array_equal(sets.vectors, encoder.encode(texts).vectors)
    assert np.array_equal(batched.embed(texts), encoder.embed(texts))
    with pytest.raises(TooMuchError, match="10,000 tokens are the most"):
        batched.encode([*texts, *texts])
    with pytest.raises(TooMuchError, match="4,096 tokens of a text"):
        batched.embed(["a " * 5_000])
    gone = threading.Event()
    gone.set()
    context = copy_context()
    context.run(ASKER_GONE.set, gone)
    batches.clear()
    with pytest.raises(AskerGoneError):
        context.run(batched.encode, texts)
    assert len(batches) == 1


def test_a_model_is_loaded_once_whoever_asks() -> None:
    made, kept = [], Kept(4)

    def make() -> str:
        time.sleep(0.05)
        made.append(1)
        return "model"

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: kept.get("a", make), range(8))) == {"model"}
    assert len(made) == 1 == len(kept)


def test_what_failed_is_tried_again_and_others_do_not_wait() -> None:
    kept = Kept(4)
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: 1 / 0)
    assert kept.get("a", lambda: "mended") == "mended"
    inside, go = threading.Event(), threading.Event()

    def slow() -> str:
        inside.set()
        go.wait(5)
        return "slow"

    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(kept.get, "b", slow)
        assert inside.wait(5) and kept.get("c", lambda: "quick") == "quick"
        go.set()
        assert waiting.result(5) == "slow"


def test_what_fails_takes_nobody_s_place() -> None:
    kept = Kept(2)
    kept.get("a", lambda: "A")
    kept.get("b", lambda: "B")
    for bad in range(5):
        with pytest.raises(ZeroDivisionError):
            kept.get(bad, lambda: 1 / 0)
    assert kept.get("a", lambda: "made again") == "A" and len(kept) == 2 and not kept._making.keys() & {"a", "b"}
