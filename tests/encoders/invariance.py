"""Checks that a text has the same vectors alone and in any batch, and texts that are hard to encode."""

import numpy as np
from hypothesis import strategies as st

from softset import Encoder, TokenSets

ODD = (
    "",
    " \t\n",
    "a",
    "unbelievably tokenisable",
    "e\u0301te\u0301 naïve ﬁne",  # combining characters and a ligature
    "שלום עולם، مرحبا",
    "😀👩‍👩‍👧‍👦🏳️‍🌈",
    "你好，世界。こんにちは",
    "नमस्ते สวัสดี",
    "\x00\x07control\u200bzero\ufeffwidth",
    "[CLS] [SEP] <s> </s> [MASK]",
    "x" * 500,
    "İstanbul ẞ ŉ",  # their lower case has another length
    "𓀀𓀁",
    "\u0301",
    "\U0010ffff\ue000",
)
TEXTS = st.one_of(
    st.sampled_from(ODD),
    st.text(max_size=30),
    st.lists(st.sampled_from("red book the of Unhappiness 42 don't state-of-the-art , .".split()), max_size=25).map(
        " ".join
    ),
)
LISTS = st.lists(TEXTS, min_size=1, max_size=9)


def assert_same_alone(encoder: Encoder, alone: Encoder, texts: list[str], atol: float) -> None:
    """Compare all parts of a batch's sets with those of each text encoded alone."""
    sets = encoder.encode(texts)
    assert len(sets) == len(texts)
    for index, text in enumerate(texts):
        single = alone.encode([text])
        assert_close(sets[[index]], single, atol)
    pooled = encoder.embed(texts)
    for index, text in enumerate(texts):
        assert np.abs(pooled[index] - alone.embed([text])[0]).max() <= atol


def assert_close(a: TokenSets, b: TokenSets, atol: float) -> None:
    assert np.array_equal(a.offsets, b.offsets)
    assert np.array_equal(a.tokens, b.tokens) and np.array_equal(a.spans, b.spans)
    assert np.array_equal(a.unknown, b.unknown) and np.array_equal(a.truncated, b.truncated)
    assert a.vectors.shape == b.vectors.shape and np.abs(a.vectors - b.vectors).max(initial=0) <= atol
    assert (a.special is None) == (b.special is None)
    if a.special is not None and b.special is not None:
        assert_close(a.special, b.special, atol)


def assert_spans_are_in_the_text(sets: TokenSets, texts: list[str]) -> None:
    """Check that spans are inside the text, sorted and without outer spaces, and that they spell ASCII tokens."""
    assert sets.spans is not None and sets.tokens is not None
    for index, text in enumerate(texts):
        spans = sets.spans[int(sets.offsets[index]) : int(sets.offsets[index + 1])]
        for token, (begin, end) in zip(sets.tokens_of(index), spans.tolist(), strict=True):
            assert 0 <= begin < end <= len(text)
            shown = text[begin:end]
            assert shown == shown.strip()
            bare = token.removeprefix("##").lstrip("Ġ▁")
            if shown.isascii() and bare.isascii() and bare.isalnum():
                assert bare.lower() == shown.lower()
        assert (np.diff(spans[:, 0]) >= 0).all()
