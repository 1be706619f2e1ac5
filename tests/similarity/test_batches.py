"""Scores do not depend on the batch, the order, the block size or the threads; streams may be endless."""

from itertools import count, islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softset
from softset import Idf, Scorer, Scores
from softset.encoders.signature import parse_signature
from tests.similarity.cases import LEFT, RIGHT, TEXTS, KnownEncoder, ToyEncoder, assert_same


@given(
    st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8),
    st.sampled_from([1, 2, 1000]),
    st.sampled_from([1, 20, 10**6]),
)
def test_scores_do_not_depend_on_the_batch(pairs: list[tuple[str, str]], block: int, rows: int) -> None:
    encoder = KnownEncoder()
    graded = "softset softset(weights=none) subspace(aperture=2)".split()
    for name in (*graded, "subspace(weights=l2)", "bertscore", "jaccard"):
        scorer = Scorer(encoder, metric=name)
        alone = Scores.concatenate([scorer.score([a], [b]) for a, b in pairs])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("softset.similarity.run.TEXT_PAIRS", block)
            patch.setattr("softset.similarity.metrics.pairs.MAX_BLOCK_ROWS", rows)
            together = scorer.score([a for a, _ in pairs], [b for _, b in pairs])
        assert_same(together, alone)


REAL = ["A boy walks in this park.", "The kid runs in the square.", "royalty", "", "We are the king and queen."]
REAL += ["😀 naïve"]


@pytest.fixture(scope="module")
def minilm() -> dict[int, Any]:
    return {n: softset.load_encoder("minilm", layer=1, threads=n) for n in (1, 2)}


@settings(max_examples=12)
@given(
    order=st.permutations(range(6)),
    others=st.permutations(range(6)),
    block=st.sampled_from([1, 4, 1000]),
    threads=st.sampled_from([1, 2]),
)
def test_scores_of_minilm_do_not_depend_on_the_batch(minilm, order, others, block, threads) -> None:
    left, right = [REAL[index] for index in order], [REAL[index] for index in others]
    alone = Scores.concatenate([Scorer(minilm[1]).score([a], [b]) for a, b in zip(left, right, strict=True)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("softset.similarity.run.TEXT_PAIRS", block)
        assert_same(Scorer(minilm[threads]).score(left, right), alone)


def test_scores_of_words_do_not_depend_on_the_batch() -> None:
    scorer = Scorer("words")
    together = scorer.score(REAL, REAL[::-1])
    alone = Scores.concatenate([scorer.score([a], [b]) for a, b in zip(REAL, REAL[::-1], strict=True)])
    assert_same(together, alone)
    assert parse_signature(together.signature)["encoder"].startswith("words")


def test_stream_equals_score() -> None:
    scorer = Scorer(ToyEncoder(), metric="subspace(weights=l2)")
    expected = list(scorer.score(LEFT, RIGHT).rows())
    for block in (1, 2, 6, 100):
        result = list(scorer.stream(zip(LEFT, RIGHT, strict=True), block=block))
        for a, b in zip(result, expected, strict=True):
            assert a == pytest.approx(b, abs=1e-6)


def test_stream_reads_one_block_at_a_time() -> None:
    taken = []

    def endless():
        for n in count():
            taken.append(n)
            yield f"king {n}", "a king"

    rows = list(islice(Scorer(ToyEncoder()).stream(endless(), block=3), 7))
    assert len(rows) == 7 and len(taken) == 9


def test_stream_accepts_lists_of_references() -> None:
    scorer = Scorer(ToyEncoder())
    rows = list(scorer.stream([("a king", ["park", "a king"]), ("red", ["red"])]))
    assert [row.best_reference for row in rows] == [1, 0] and rows[0].score == pytest.approx(1, abs=1e-6)


def test_stream_requires_fitted_idf() -> None:
    with pytest.raises(softset.SoftsetError, match=r"tfidf needs idf weights before a stream begins.*Idf\.fit"):
        next(Scorer(ToyEncoder(), metric="tfidf").stream([("a", "b")]))
    idf = Idf.fit(RIGHT, model=ToyEncoder())
    scorer = Scorer(ToyEncoder(), metric="tfidf", idf=idf)
    result = [row.score for row in scorer.stream(zip(LEFT, RIGHT, strict=True), block=2)]
    assert result == pytest.approx(scorer.score(LEFT, RIGHT).score.tolist())
