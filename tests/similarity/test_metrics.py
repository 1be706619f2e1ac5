"""Properties that all metrics have, and the definition of each metric."""

import os
import subprocess
import sys
import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset import GradedSubspace, Idf, metric
from softset.errors import InputError
from softset.similarity.metrics import METRICS, PRF, transport
from softset.similarity.metrics.bertscore import BertScore, SubspaceBertScore
from softset.similarity.metrics.pairs import Pairs
from tests.similarity import literal
from tests.similarity.cases import (
    EVERY,
    FILLED,
    MEMBERSHIP,
    SOFTSET,
    SYMMETRIC,
    TEXTS,
    TRANSPORT,
    Pair,
    ToyEncoder,
    moment_of,
    pairs,
    rows_of,
    sets_of,
)

CANDIDATES = ["the red book", "a king", "", "king king and queen", "of of of", "a red red park walks in the book of a"]
REFERENCES = ["the red book", "the queen and a king walks", "", "park"]


def numbers(name: str, candidates: list[str], references: list[str], encoder: ToyEncoder | None = None) -> PRF:
    encoder = encoder or ToyEncoder()
    A, B = encoder.encode(candidates), encoder.encode(references)
    return metric(name).compute(Pairs.of(A, B, idf=Idf.fit(B), moment=moment_of(encoder.dimensions)))


def needs_pot(name: str) -> None:
    if name in TRANSPORT:
        pytest.importorskip("ot")


def test_every_metric_is_tested() -> None:
    assert {name.partition("(")[0] for name in EVERY} == set(METRICS)


@pytest.mark.parametrize("name", EVERY)
def test_identical_texts_score_best(name: str) -> None:
    needs_pot(name)
    P, R, F = numbers(name, CANDIDATES, CANDIDATES)
    if "aperture" in name:  # a graded set holds no token in full
        assert (F[[0, 1, 3, 4, 5]] < metric(name).MAX_SCORE).all() and F[2] == metric(name).MAX_SCORE
        return
    assert np.abs(F - metric(name).MAX_SCORE).max() < 1e-6
    assert np.abs(P - 1).max() < 1e-6 and np.abs(R - 1).max() < 1e-6


@pytest.mark.parametrize("name", EVERY)
def test_empty_texts_score_one_together_and_zero_otherwise(name: str) -> None:
    needs_pot(name)
    P, R, F = numbers(name, ["", "a king", ""], ["", "", "red"])
    assert P.tolist() == R.tolist() == [1, 0, 0]
    assert F.tolist() == [metric(name).MAX_SCORE, 0, 0]


@pytest.mark.parametrize("name", EVERY)
def test_exchanging_the_sides_exchanges_precision_and_recall(name: str) -> None:
    needs_pot(name)
    texts = ["the king walks", "a a book", "red", "park in park"]
    idf, encoder = Idf.fit(ToyEncoder().encode(CANDIDATES)), ToyEncoder()
    A, B = encoder.encode(texts), encoder.encode(list(reversed(CANDIDATES))[:4])
    there = metric(name).compute(Pairs.of(A, B, idf=idf, moment=moment_of(12)))
    back = metric(name).compute(Pairs.of(B, A, idf=idf, moment=moment_of(12)))
    assert np.abs(there.precision - back.recall).max() < 1e-6
    assert np.abs(there.recall - back.precision).max() < 1e-6
    assert np.abs(there.score - back.score).max() < 1e-6
    if name in SYMMETRIC or name in TRANSPORT:
        assert np.array_equal(there.precision, there.recall) and np.array_equal(there.precision, there.score)
    elif name.startswith(("subspace", "softset")):
        assert np.abs(there.precision - there.recall).max() > 1e-3  # else the test above says nothing


@pytest.mark.parametrize("name", [*SOFTSET, *MEMBERSHIP, "symbolic", "symbolic(weights=idf)", "johnson-symbolic"])
def test_the_score_is_the_harmonic_mean_the_mean_or_the_sum(name: str) -> None:
    P, R, F = numbers(name, CANDIDATES[:2] + CANDIDATES[3:], [*REFERENCES[:2], *REFERENCES[:2], REFERENCES[3]])
    if name.startswith("johnson"):
        expected = P + R
    elif name.startswith("softset"):
        expected = (P + R) / 2
    else:
        expected = np.array([literal.harmonic(p, r) for p, r in zip(P, R, strict=True)])
    assert np.abs(F - expected).max() < 1e-12


@given(pairs())
def test_subspace_scores_are_between_0_and_1_and_at_least_the_cosine(pair: Pair) -> None:
    """A projection onto a span is at least as long as one onto any of its vectors."""
    token_pairs = Pairs.of(sets_of(pair.A), sets_of(pair.B))
    in_span, nearest = SubspaceBertScore().memberships(token_pairs), BertScore().memberships(token_pairs)
    assert (in_span >= np.abs(nearest) - 1e-5).all()
    for values in SubspaceBertScore().compute(token_pairs):
        assert (values >= 0).all() and (values <= 1 + 1e-12).all()


@given(pairs())
def test_bertscore_is_the_largest_cosine(pair: Pair) -> None:
    token_pairs = Pairs.of(sets_of(pair.A), sets_of(pair.B))
    assert np.abs(BertScore().memberships(token_pairs) - literal.closest(*pair)).max() < 1e-5


def test_score_of_precision_and_recall_with_opposite_signs() -> None:
    """Cosines of .2 and -.6002 make P = -.2001 and R = .2: a harmonic mean would be 800."""
    angles = [np.arccos(0.2), np.arccos(-0.6002)]
    A = np.array([[np.cos(angle), np.sin(angle)] for angle in angles])
    F = BertScore().compute(Pairs.of(sets_of(A), sets_of(np.array([[1.0, 0.0]])))).score
    assert abs(F[0]) <= 1


@pytest.mark.parametrize("weights", ["none", "l2", "l1", "idf", "rare"])
@pytest.mark.parametrize("name", ["softset", "subspace", "bertscore"])
def test_weighted_means(name: str, weights: str) -> None:
    encoder = ToyEncoder()
    A, B = encoder.encode(["the red red king"]), encoder.encode(["a king of the park"])
    idf = Idf.fit(encoder.encode(["the king", "the park", "a book"]))
    P, R, _ = metric(f"{name}(weights={weights})").compute(Pairs.of(A, B, idf=idf, moment=moment_of(12)))
    result = {
        "softset": lambda: literal.relative_memberships(A[0], B[0], 1.0),
        "subspace": lambda: literal.memberships(A[0], B[0], 1e-5),
        "bertscore": lambda: literal.closest(A[0], B[0]),
    }[name]()
    df = {"the": 2, "king": 1, "park": 1, "a": 1, "book": 1}
    for rows, tokens, members, value in (
        (A[0].astype(float), A.tokens_of(0), result[: len(A[0])], P[0]),
        (B[0].astype(float), B.tokens_of(0), result[len(A[0]) :], R[0]),
    ):
        w = {
            "none": np.ones(len(rows)),
            "l2": np.sqrt((rows**2).sum(axis=1)),
            "l1": np.abs(rows).sum(axis=1),
            "idf": np.array([np.log(4 / (df.get(token, 0) + 1)) for token in tokens]),
            "rare": literal.rarity(rows, moment_of(12)),
        }[weights]
        expected = literal.least_of_two(members, w) if name == "softset" else (w * members).sum() / w.sum()
        assert value == pytest.approx(expected, abs=1e-6)


@given(pairs(dtypes=("float32", "float64")), st.sampled_from([1e-3, 0.5, 2.0, 30.0, 1e3]))
def test_graded_membership_matches_the_algebra(pair: Pair, aperture: float) -> None:
    """Copies count: three times the same word is more of it."""
    token_pairs = Pairs.of(sets_of(pair.A), sets_of(pair.B))
    result = SubspaceBertScore(aperture=aperture).memberships(token_pairs)
    A, B = (literal.units(rows) for rows in pair)
    in_B = GradedSubspace.of(B, aperture=aperture).membership(A)
    in_A = GradedSubspace.of(A, aperture=aperture).membership(B)
    assert np.abs(result - np.concatenate([in_B, in_A])).max() < 1e-5


def test_copies_count_in_graded_sets_only() -> None:
    v = np.array([[0.6, 0.8, 0.0]])
    once, thrice = np.array([[1.0, 0, 0], [0, 1, 0]]), np.array([[1.0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0]])
    for aperture, same in ((float("inf"), True), (2.0, False)):
        a, b = (
            SubspaceBertScore(aperture=aperture).memberships(Pairs.of(sets_of(v), sets_of(B)))[0]
            for B in (once, thrice)
        )
        assert (abs(a - b) < 1e-9) == same


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["apart", "copies", "combined", "crowded", "near"])
@pytest.mark.parametrize("aperture", [1e5, 1e8, 1e12, 1e160, 1e200])
def test_large_apertures_approach_crisp_sets(kind: str, dtype: str, aperture: float) -> None:
    rng = np.random.default_rng(2)
    A, B = rows_of(kind, rng, 8, dtype), rows_of("apart", rng, 8, dtype)
    token_pairs = Pairs.of(sets_of(A), sets_of(B))
    crisp, graded = SubspaceBertScore(), SubspaceBertScore(aperture=aperture)
    assert np.abs(graded.memberships(token_pairs) - crisp.memberships(token_pairs)).max() < 1e-4


@given(TEXTS, TEXTS)
def test_symbolic_metrics_match_python_sets(a: str, b: str) -> None:
    A, B = set(a.split()), set(b.split())
    P = len(A & B) / len(A) if A else float(not B)
    R = len(A & B) / len(B) if B else float(not A)
    result = numbers("symbolic", [a], [b])
    assert [float(values[0]) for values in result] == pytest.approx([P, R, literal.harmonic(P, R)])
    assert numbers("johnson-symbolic", [a], [b]).score[0] == pytest.approx(P + R)
    jaccard = len(A & B) / len(A | B) if A | B else 1.0
    assert numbers("jaccard", [a], [b]).score[0] == pytest.approx(jaccard)


@given(FILLED, FILLED, st.lists(FILLED, min_size=1, max_size=4))
def test_symbolic_with_idf_is_a_weighted_share(a: str, b: str, corpus: list[str]) -> None:
    encoder = ToyEncoder()
    idf = Idf.fit(encoder.encode(corpus))
    weight = {
        w: np.log((len(corpus) + 1) / (sum(w in t.split() for t in corpus) + 1)) for w in {*a.split(), *b.split()}
    }
    P, R, F = metric("symbolic(weights=idf)").compute(Pairs.of(encoder.encode([a]), encoder.encode([b]), idf=idf))
    A, B = set(a.split()), set(b.split())
    for value, tokens in ((P[0], A), (R[0], B)):
        total = sum(weight[w] for w in tokens)
        expected = sum(weight[w] for w in A & B) / total if total > 1e-12 else len(A & B) / len(tokens)
        assert value == pytest.approx(expected)
    assert np.isfinite(F).all()


def test_symbolic_with_idf_does_not_depend_on_the_hash_seed() -> None:
    code = """
import softset
words = softset.load_words().words[:400:7]
texts = [" ".join(words[start::step]) for step in (1, 2, 3) for start in range(3)]
print(softset.score(texts, texts[::-1], model="words", metric="symbolic(weights=idf)").precision.tobytes().hex())
"""
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2", "3", "4")
    }
    assert len(runs) == 1


@pytest.mark.parametrize("weights", ["none", "l2", "l1"])
def test_average_is_the_cosine_of_weighted_means(weights: str) -> None:
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((4, 6)), rng.standard_normal((3, 6))
    result = metric(f"average(weights={weights})").compute(Pairs.of(sets_of(A), sets_of(B))).score[0]
    w = {
        "none": lambda X: np.ones(len(X)),
        "l2": lambda X: np.linalg.norm(X, axis=1),
        "l1": lambda X: np.abs(X).sum(axis=1),
    }
    a, b = (w[weights](X) @ X for X in (A, B))
    assert result == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-12)


def test_cls_is_the_cosine_of_the_special_tokens() -> None:
    encoder = ToyEncoder()
    A, B = encoder.encode(["a king", "red"]), encoder.encode(["the park", "queen"])
    result = metric("cls").compute(Pairs.of(A, B)).score
    assert A.special is not None and B.special is not None
    a, b = literal.units(A.special.vectors), literal.units(B.special.vectors)
    assert np.abs(result - (a * b).sum(axis=1)).max() < 1e-6


def test_mixed_precision_uses_the_float32_tolerance() -> None:
    """Sums rounded to float32 are no new directions, whatever the other side's type: the coarser rules."""
    worst = 0.0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((4, 8))
        A = np.vstack([X, X[0] + X[1], X[2] - 3 * X[3], 7 * X[0] + X[2]]).astype(np.float32)
        B = rng.standard_normal((3, 8))
        alike, mixed = (
            SubspaceBertScore().compute(Pairs.of(sets_of(A), sets_of(Y))).score[0] for Y in (B.astype(np.float32), B)
        )
        worst = max(worst, abs(alike - mixed))
    assert worst < 1e-5


@pytest.mark.parametrize("name", EVERY)
def test_scores_are_finite(name: str) -> None:
    needs_pot(name)
    texts = ["", "a", "a a a", "the red book", "zebra"]
    left = [text for text in texts for _ in texts]
    for values in numbers(name, left, texts * len(texts)):
        assert np.isfinite(values).all()


def test_more_common_words_raise_the_score() -> None:
    """A ladder that every token metric must climb."""
    steps = ["zebra quark", "red quark", "the red quark", "the red book"]
    for name in ("softset", "subspace", "bertscore", "symbolic", "jaccard", "tfidf", "dynamax"):
        F: Any = numbers(name, steps, ["the red book"] * 4, ToyEncoder(d=48, lean=0)).score
        assert all(a < b + 1e-12 for a, b in pairwise(F)), name


def test_memory_of_wmd_is_bounded() -> None:
    """Two texts of 150 tokens need a cost matrix of .2 MB; all their differences would take 69 MB."""
    pytest.importorskip("ot")
    A = np.random.default_rng(0).standard_normal((150, 384)).astype(np.float32)
    token_pairs = Pairs.of(sets_of(A), sets_of(A[::-1].copy()))
    tracemalloc.start()
    metric("wmd").compute(token_pairs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_transport_that_does_not_converge_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ot")
    monkeypatch.setattr(transport, "MAX_ITERATIONS", 1)
    A, B = np.random.default_rng(0).standard_normal((2, 30, 8))
    with pytest.raises(InputError, match="30 and 30 tokens did not converge"):
        metric("wmd").compute(Pairs.of(sets_of(A), sets_of(B)))
