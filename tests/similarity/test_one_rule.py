"""The same pair has the same score on every path: score, batches, unions and matrices, in every precision."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import softset
from softset import Calibration, Idf, Scorer, TokenSets, metric
from softset.algebra.rank import tolerance
from softset.errors import InputError
from softset.integrations.bert_score import score as bert_score
from softset.integrations.bert_score_matching import MatchedBertScore
from softset.runtime.threads import own_threads
from softset.similarity.metrics import bertscore
from softset.similarity.metrics.base import membership_contributions
from tests.similarity import literal
from tests.similarity.cases import EVERY, TRANSPORT, WORDS, IsotropicEncoder, KnownEncoder, ToyEncoder, separate

UNKNOWN, OTHER = "qzxqzx wvvwvq", "zzqqkk"
TEXTS = ["a red book", "the king sat", "rain fell today", "trains are late"]
E = np.eye(16)


IN_PRECISIONS = [("f8", "f8", 2), ("f4", "f8", 1), ("f8", "f4", 1), ("f4", "f4", 1)]


@pytest.mark.parametrize(("left", "right", "rank"), IN_PRECISIONS)
def test_one_side_in_float32_decides_the_rank_of_both(left: str, right: str, rank: int) -> None:
    """A sine of 1e-6 is a direction of its own in float64, and rounding if one side is in float32."""
    A, B = np.array([E[0], E[0] + 1e-6 * E[1]]).astype(left), E[:1].astype(right)
    for scores in (Scorer(None, metric="grassmann").score, Scorer(None, metric="grassmann").matrix):
        assert (scores([A], [B]).score > 0.99).all() == (scores([B], [A]).score > 0.99).all() == (rank == 1)
    assert (Scorer(None, metric="subspace").score([A], [E[1:2].astype(right)]).recall > 0.99) == (rank == 2)


def test_matrix_uses_the_rank_tolerance_of_float64() -> None:
    A, B = [np.array([E[0], E[0] + 1e-6 * E[1]])], [E[1:2] + 0.3 * E[2]]
    for left, right in ((A, B), ([A[0].astype(np.float32)], B), (A, [B[0].astype(np.float32)])):
        scorer = Scorer(None, metric="subspace")
        expected, matrix = scorer.score(left, right), scorer.matrix(left, right)
        assert matrix.recall[0] == pytest.approx(expected.recall, abs=1e-5)
        assert matrix.precision[0] == pytest.approx(expected.precision, abs=1e-5)


@pytest.mark.parametrize(
    ("dtype", "kept"), [(">f8", "f8"), (">f4", "f4"), (">f2", "f2"), ("g", "f8"), ("f2", "f2"), ("i8", "f4")]
)
def test_arrays_keep_their_precision(dtype: str, kept: str) -> None:
    sets = TokenSets.from_arrays([np.full((1, 2), 1 / 3).astype(dtype)])
    assert sets.vectors.dtype == np.dtype(kept) and sets.vectors.dtype.isnative
    assert sets.vectors[0, 0] == np.full(1, 1 / 3).astype(dtype).astype(kept)[0]


@pytest.mark.parametrize("multi_reference", ["best", "union"])
def test_unknown_texts_match_by_identity_on_every_path(multi_reference, tmp_path: Path) -> None:
    scorer = Scorer("words", metric="subspace", multi_reference=multi_reference)
    left, right, expected = [UNKNOWN, UNKNOWN, OTHER, ""], [UNKNOWN, OTHER, OTHER, UNKNOWN], [1, 0, 1, 0]
    assert scorer.score(left, right).score.tolist() == expected
    assert [row.score for row in scorer.stream(zip(left, right, strict=True), block=1)] == expected
    assert scorer.score(left, [[text, "", text] for text in right]).score.tolist() == [1, 0, 1, 1]
    assert scorer.score(left, [[text, text] for text in right]).score.tolist() == expected
    table = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    sets = scorer.encode(left)
    sets.save(tmp_path / "sets")
    opened = TokenSets.open(tmp_path / "sets")
    for rows, columns in ((left, None), (left, left), (sets, None), (sets, sets[:]), (opened, left), (sets, opened)):
        assert scorer.matrix(rows, columns).score.tolist() == table
    assert scorer.score(sets, scorer.encoder.encode(right)).score.tolist() == expected


def test_unknown_texts_match_by_identity_in_explanations_and_in_bert_score() -> None:
    scorer = Scorer("words", metric="subspace")
    for candidate, reference, score in ((UNKNOWN, UNKNOWN, 1), (UNKNOWN, OTHER, 0), ("", "", 1), ("", UNKNOWN, 0)):
        assert scorer.explain(candidate, reference).views[0].score == score
        assert scorer.explain(scorer.encode([candidate]), scorer.encode([reference])).views[0].score == score
        assert bert_score([candidate], [reference], "words")[2].tolist() == [score]
    assert bert_score([UNKNOWN], [f"  {UNKNOWN} "], "words")[2].tolist() == [1], "spaces at the ends do not count"


@pytest.mark.parametrize("name", ["subspace", "bertscore", "softset", "jaccard", "average"])
def test_texts_of_zero_vectors_match_by_identity(name: str) -> None:
    """A token without direction is as good as unknown: two different texts of such tokens are not alike."""
    scorer, zeros = Scorer(None, metric=name), [np.zeros((1, 4))] * 3
    A = TokenSets.from_arrays([*zeros, []], tokens=[["qzx"], ["qzx"], ["vvq"], []])
    assert scorer.score(A, A.take([0, 2, 2, 3])).score.tolist() == [1, 0, 1, 1]
    expected = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert scorer.matrix(A).score.tolist() == scorer.matrix(A, A[:]).score.tolist() == expected
    hashed = replace(A, text_hashes=np.array([1, 1, 2, 3]))
    assert scorer.matrix(hashed, hashed[:]).score.tolist() == expected
    if name != "jaccard":  # which needs tokens
        assert scorer.score(zeros, TokenSets.from_arrays(zeros)).score.tolist() == [1, 1, 1]


@pytest.mark.parametrize("rescale", ["chance", "measured"])
def test_rescaled_scores_of_identical_texts_are_1_with_several_references(rescale: str) -> None:
    encoder, texts = KnownEncoder(), [*TEXTS, ""]
    level = "chance" if rescale == "chance" else Calibration.fit(TEXTS, model=encoder, metric="subspace")
    for multi_reference in ("best", "mean", "union"):
        scorer = Scorer(encoder, metric="subspace", rescale=level, multi_reference=multi_reference)
        assert scorer.score(texts, [[text, text] for text in texts]).score == pytest.approx(1, abs=1e-5)
        assert scorer.score(["a red"], [["", ""]]).score[0] == 0
    for others in (None, texts):
        D = softset.pairwise(texts, others, model=encoder, metric="subspace", rescale=level, distance=True)
        assert np.diagonal(D) == pytest.approx(0, abs=1e-5) and (D >= 0).all()
        S = softset.pairwise(texts, others, model=encoder, metric="subspace", rescale=level)
        assert pytest.approx(1 - D, abs=1e-5) == (S if others else (S + S.T) / 2)


def test_rescaled_scores_of_identical_texts_are_1_for_every_metric() -> None:
    for name in ("johnson", "johnson-symbolic", "subspace", "softset"):
        level = Calibration.fit(TEXTS, model=ToyEncoder(), metric=name)
        scorer = Scorer(ToyEncoder(), metric=name, rescale=level)
        result = scorer.score(["a red book", "", ""], ["a red book", "", "a"])
        assert result.score == pytest.approx([1, 1, 0], abs=1e-6)
        assert np.diagonal(scorer.matrix([*TEXTS, ""]).score) == pytest.approx(1, abs=1e-6)
        for other in (None, TEXTS):
            D = softset.pairwise(TEXTS, other, model=ToyEncoder(), metric=name, rescale=level, distance=True)
            assert np.diagonal(D) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("option", [{"rescale": "chance"}, {"multi_reference": "union"}])
def test_options_without_effect_are_refused(option) -> None:
    with pytest.raises(InputError, match="there is no option"):
        Calibration.fit(TEXTS, model=IsotropicEncoder(), metric="subspace", **option)
    if "rescale" not in option:
        with pytest.raises(InputError, match="there is no option"):
            softset.pairwise(TEXTS, model=ToyEncoder(), **option)


class NarrowEncoder(ToyEncoder):
    """A toy that says its vectors point along the first vector of "king"."""

    @property
    def second_moment(self) -> np.ndarray:
        u = literal.units(self._rows(["king"]))
        return u.T @ u


@pytest.mark.parametrize("metric", ["subspace", "softset", "softset(weights=none)", "johnson"])
def test_a_high_chance_level_saturates_without_rescaling(metric: str) -> None:
    scorer = Scorer(NarrowEncoder(), metric=metric)
    assert scorer.score(["king", "red"], ["king", "book"]).saturated.tolist() == [True, False]


def test_matrix_does_not_exceed_the_best_score() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.standard_normal((k, 32)).astype(np.float32) for k in range(1, 30)]
    for name, best in (("subspace", 1), ("bertscore", 1), ("johnson", 2), ("softset(weights=none)", 1)):
        matrix = Scorer(None, metric=name).matrix(rows)
        assert max(matrix.precision.max(), matrix.recall.max()) <= 1 and matrix.score.max() <= best


def test_lengths_of_extreme_vectors_count() -> None:
    pytest.importorskip("ot")
    wmd = Scorer(None, metric="wmd")
    assert wmd.score([1e308 * E[:1]], [1e307 * E[:1]]).score[0] < 1e-299
    assert wmd.score([1e308 * E[:1]], [1e308 * E[:1]]).score[0] == 1
    assert wmd.score([1e-300 * E[:1]], [1e-300 * E[1:2]]).score[0] == 1
    A, B = [np.array([1e16 * E[0], E[1]])], [np.array([1e16 * E[0], E[2]])]
    for name in ("average", "average(weights=l2)", "dynamax", "wrd", "subspace(weights=l2)", "bertscore(weights=l1)"):
        assert Scorer(None, metric=name).score(A, B).score[0] == pytest.approx(1, abs=1e-6), name


def test_shares_follow_the_rank_rule() -> None:
    """A near copy below the cut is a copy: both have the same share. Above the cut it is a direction of its own."""
    others = literal.units(np.array([E[0], E[0] + 1e-7 * E[1], E[2]]))
    rows = literal.units(np.array([E[0] + E[1] + E[2]]))
    assert membership_contributions(rows, others, 0.0, 2e-6)[0] == pytest.approx([0.25, 0.25, 0.5], abs=1e-5)
    assert abs(membership_contributions(rows, others, 0.0, 1e-9)[0, 0]) > 1e5
    copies = others[[0, 0, 2]]
    shares = np.array([1 / (2 + 0.5), 1 / (2 + 0.5), 1 / (1 + 0.5)])  # two copies have the eigenvalue 2
    assert membership_contributions(rows, copies, 0.5, 1e-6)[0] == pytest.approx(shares / shares.sum())


def test_matched_f_is_that_of_bert_score_for_opposite_signs() -> None:
    P, R = np.array([0.5, -0.2, 0.3, 0.0]), np.array([-0.1, 0.4, -0.3, 0.0])
    assert MatchedBertScore()._combine(P, R) == pytest.approx([-0.25, -0.8, 0.0, 0.0])


def test_long_texts_are_compared_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest cosine of a reference token may be in any chunk of the candidate, not only in the last one."""
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((11, 8)), rng.standard_normal((5, 8))
    expected = Scorer(None, metric="bertscore").score([A], [B])
    monkeypatch.setattr(bertscore, "MAX_COSINES", 15)
    result = Scorer(None, metric="bertscore").score([A], [B])
    assert result[0] == pytest.approx(expected[0])
    assert result.recall[0] == pytest.approx(literal.closest(A, B)[len(A) :].mean())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EVERY)
def test_threads_blocks_and_numba_change_no_number(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in TRANSPORT:
        pytest.importorskip("ot")
    rng, encoder = np.random.default_rng(0), KnownEncoder(16, dtype=dtype)
    texts = ["", *(" ".join(rng.choice(WORDS, size)) for size in (1, 2, 5, 13, 40))]
    scorer = Scorer(encoder, metric=name, idf=Idf.fit(texts, model=encoder) if metric(name).needs_idf else None)
    left, right = np.repeat(np.arange(6), 6), np.tile(np.arange(6), 6)
    sets = scorer.encode(texts)
    A, B = sets.take(left), sets.take(right)
    expected = scorer.score(A, B)

    def check() -> None:
        for threads in (1, 2):
            with own_threads(threads=threads):
                scores, matrix = scorer.score(A, B), scorer.matrix(sets)
            for number in ("precision", "recall", "score"):
                assert np.abs(getattr(scores, number) - getattr(expected, number)).max() < 1e-6
                assert np.abs(getattr(matrix, number).ravel() - getattr(expected, number)).max() < 1e-6
            assert (scores.empty == expected.empty).all() and (scores.saturated == expected.saturated).all()

    check()
    for limit, value in (
        ("metrics.pairs.MAX_BLOCK_ROWS", 30),
        ("run.VECTOR_PAIRS", 7),
        ("kernels.all_pairs.BLOCK_ROWS", 11),
        ("kernels.all_pairs.STACK_BYTES", 2000),
        ("kernels.gram.STACK_BYTES", 2000),
    ):
        monkeypatch.setattr(f"softset.similarity.{limit}", value)
    check()
    monkeypatch.setattr("softset.similarity.kernels.gram.can_compile", lambda: False)
    check()


METRICS = ["subspace", "subspace(weights=l2)", "johnson", "bertscore", "softset(weights=none)"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", METRICS)
def test_every_path_equals_the_literal_definition(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeated, near-dependent, zero, single, missing, anisotropic and many tokens; every path and block size."""
    rng = np.random.default_rng(3)
    base = separate(rng, 8, 16)
    sets = [base, base[[0, 0, 1, 1, 1]], np.vstack([base[:3], base[:1] + 1e-3 * base[4:5]]), base[:1], base[:0]]
    sets += [np.vstack([base[:2], np.zeros((1, 16))]), rng.standard_normal((40, 16)), base[:5] + 5, base[3:6]]
    rows = [array.astype(dtype) for array in sets]
    left, right = np.repeat(np.arange(len(rows)), len(rows)), np.tile(np.arange(len(rows)), len(rows))
    A, B = [rows[i] for i in left], [rows[i] for i in right]
    expected = np.array([_literal(name, a, b) for a, b in zip(A, B, strict=True)])
    scorer = Scorer(None, metric=name)
    results = [
        scorer.score(A, B).score,
        scorer.matrix(rows).score.ravel(),
        softset.pairwise(rows, model=None, metric=name).ravel(),
    ]
    results += [np.array([row.score for row in scorer.stream(zip(A, B, strict=True), block=size)]) for size in (1, 7)]
    monkeypatch.setattr("softset.similarity.kernels.gram.can_compile", lambda: False)
    results.append(scorer.score(A, B).score)
    for result in results:
        assert np.abs(result - expected).max() < 2e-5


def _literal(name: str, A: np.ndarray, B: np.ndarray) -> float:
    A, B = (rows[rows.any(axis=1)] for rows in (A, B))
    best = 2.0 if name == "johnson" else 1.0
    if not len(A) or not len(B):
        return best if len(A) == len(B) else 0.0
    if name.startswith("softset"):
        return literal.softset(A, B, np.ones(len(A)), np.ones(len(B)))[2]
    cut = tolerance(A.shape[1], A.dtype, np)
    m = literal.closest(A, B) if name == "bertscore" else literal.memberships(A, B, cut)
    w = [np.linalg.norm(rows, axis=1) if "l2" in name else np.ones(len(rows)) for rows in (A, B)]
    P, R = np.average(m[: len(A)], weights=w[0]), np.average(m[len(A) :], weights=w[1])
    return float(P + R if name == "johnson" else literal.harmonic(P, R) if P * R > 0 else 0.0)
