"""Special and unknown tokens in token sets."""

import numpy as np
import pytest

from softset import Idf, TokenSets, load_encoder
from softset.integrations.bert_score_matching import MatchedBertScore, MatchingEncoder, SpecialToken
from softset.similarity.metrics.pairs import Pairs

TEXTS = ["A red book.", "", "  ", "\U0001f600 \u4f60\u597d", "red \u4f60 book", " A red book. ", "word " * 700]


@pytest.fixture(scope="module")
def encoder() -> MatchingEncoder:
    return MatchingEncoder(load_encoder("minilm", layer=2))


def test_sets_contain_all_tokens_in_order(encoder: MatchingEncoder) -> None:
    sets, plain = encoder.encode(TEXTS), load_encoder("minilm", layer=2).encode([text.strip() for text in TEXTS])
    assert sets.special is None and plain.special is not None and sets.spans is not None
    for index, text in enumerate(TEXTS):
        if not text.strip():
            assert sets.counts[index] == 0
            continue
        tokens = sets.tokens_of(index)
        assert (tokens[0], tokens[-1]) == ("[CLS]", "[SEP]")
        assert [isinstance(token, SpecialToken) for token in tokens] == [True, *[False] * (len(tokens) - 2), True]
        rows = np.concatenate([plain[index], plain.special[index]])
        assert sorted(map(tuple, sets[index][:, :4])) == sorted(map(tuple, rows[:, :4])), (
            "each row once, changed by nothing"
        )
        spans = sets.spans[sets.offsets[index] : sets.offsets[index + 1]]
        assert (np.diff(spans[:, 0]) >= 0).all(), "in the order of the text"
    assert sets.tokens_of(3) == ["[CLS]", "[UNK]", "[UNK]", "[UNK]", "[SEP]"]
    assert sets.tokens_of(4) == ["[CLS]", "red", "[UNK]", "book", "[SEP]"]
    assert sets.tokens_of(0) == sets.tokens_of(5) and np.allclose(sets[0], sets[5], atol=1e-5)


def test_signature_differs_from_that_of_ordinary_sets(encoder: MatchingEncoder) -> None:
    assert "|special:matched|" in encoder.signature and encoder.encode(["a"]).signature == encoder.signature
    assert encoder.signature == MatchingEncoder(load_encoder("minilm", layer=2, special_tokens=True)).signature


def test_special_tokens_inside_the_sets_are_recognised(encoder: MatchingEncoder) -> None:
    inside = MatchingEncoder(load_encoder("minilm", layer=2, special_tokens=True)).encode(TEXTS[:5])
    outside = encoder.encode(TEXTS[:5])
    for index in range(5):
        assert inside.tokens_of(index) == outside.tokens_of(index) and np.allclose(
            inside[index], outside[index], atol=1e-5
        )


def test_encoders_without_special_tokens_are_unchanged() -> None:
    words = load_encoder("words")
    matching = MatchingEncoder(words)
    assert matching.signature == words.signature and matching.dimensions == words.dimensions
    assert np.array_equal(matching.encode(["a red book"])[0], words.encode(["a red book"])[0])
    assert np.array_equal(matching.embed(["a red book"]), words.embed(["a red book"]))
    nameless = MatchingEncoder(load_encoder(lambda texts: [[[float(len(text)), 1.0]] for text in texts]))
    numbers = MatchedBertScore().compute(Pairs.of(nameless.encode(["abc"]), nameless.encode(["abc"])))
    assert numbers.score == pytest.approx([1.0])


def by_hand(A: np.ndarray, a: np.ndarray, B: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Return P and R with weights a and b, as the paper defines them."""
    unit = [X / np.linalg.norm(X, axis=1, keepdims=True) for X in (A, B)]
    C = unit[0] @ unit[1].T
    return float(C.max(axis=1) @ a / a.sum()), float(C.max(axis=0) @ b / b.sum())


def test_special_token_can_be_matched_but_has_no_weight() -> None:
    random = np.random.default_rng(0)
    for n, m in ((1, 1), (3, 5), (4, 2)):
        A, B = random.normal(size=(n + 2, 3)), random.normal(size=(m + 2, 3))
        names = [[SpecialToken("[CLS]"), *"abcdefgh"[:k], SpecialToken("[SEP]")] for k in (n, m)]
        sets = [TokenSets.from_arrays([X], tokens=[tokens]) for X, tokens in zip((A, B), names, strict=True)]
        scores = MatchedBertScore().compute(Pairs.of(*sets))
        weights = [np.array([0.0, *[1.0] * k, 0.0]) for k in (n, m)]
        assert (scores.precision[0], scores.recall[0]) == pytest.approx(by_hand(A, weights[0], B, weights[1]))


def test_idf_counts_unknown_tokens_and_every_text(encoder: MatchingEncoder) -> None:
    idf = Idf.fit(["red \u4f60", "red", "red", "", "\u597d"], model=encoder)
    assert idf.documents == 5
    assert idf["[UNK]"] == pytest.approx(np.log(6 / 3)) and idf["red"] == pytest.approx(np.log(6 / 4))
    assert idf["unseen"] == pytest.approx(np.log(6))


def test_idf_is_counted_in_batches(encoder: MatchingEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"line {n} of \u4f60" for n in range(7)]
    whole, sizes = Idf.fit(texts, model=encoder), []
    encode, stream = encoder.encode, encoder.stream
    monkeypatch.setattr(
        encoder, "encode", lambda batch, **options: sizes.append(len(batch)) or encode(batch, **options)
    )
    monkeypatch.setattr(encoder, "stream", lambda texts, **options: stream(texts, block=3, **options))
    assert Idf.fit(texts, model=encoder).checksum == whole.checksum and sizes == [3, 3, 1]
