"""The scorer: input of texts, token sets or arrays; output of numbers, counts and a signature."""

import inspect
import json
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import softset
from softset import Idf, Scorer, TokenSets, metric
from softset.encoders.loading import EncoderOptions, load_encoder
from softset.encoders.signature import parse_signature
from softset.errors import InputError
from softset.similarity.metrics.bertscore import SubspaceBertScore
from softset.similarity.metrics.pairs import Pairs
from tests.similarity import literal
from tests.similarity.cases import (
    EVERY,
    LEFT,
    RIGHT,
    TRANSPORT,
    KnownEncoder,
    ToyEncoder,
    assert_same,
    moment_of,
    rows_of,
)


@pytest.mark.parametrize("known", [True, False])
def test_default_scores_match_the_definition(known: bool) -> None:
    """Rare tokens count more where the encoder knows what is rare; else all count the same."""
    encoder = KnownEncoder() if known else ToyEncoder()
    scores = Scorer(encoder).score(LEFT, RIGHT)
    A, B = encoder.encode(LEFT), encoder.encode(RIGHT)
    for index in (0, 1, 3, 5):
        of_A, of_B = np.ones(len(A[index])), np.ones(len(B[index]))
        if known:
            of_A, of_B = (literal.rarity(rows, moment_of(12)) for rows in (A[index], B[index]))
        result = [scores.precision[index], scores.recall[index], scores.score[index]]
        assert result == pytest.approx(literal.softset(A[index], B[index], of_A, of_B), abs=1e-6)


def test_counts_and_flags() -> None:
    scores = Scorer(ToyEncoder()).score(LEFT, RIGHT)
    assert scores.candidate_tokens.tolist() == [3, 2, 0, 4, 3, 10]
    assert scores.reference_tokens.tolist() == [3, 6, 0, 1, 0, 1]
    assert scores.empty.tolist() == [False, False, True, False, True, False]
    assert scores.score[[2, 4]].tolist() == [1, 0]
    assert scores.saturated.tolist() == [False, False, False, False, False, True]  # 8 different words of 12 dimensions
    assert scores.truncated.tolist() == [0] * 6 and scores.best_reference.tolist() == [0] * 6
    assert "2 empty" in repr(scores) and "1 saturated" in repr(scores)


@pytest.mark.parametrize(("k", "saturated"), [(3, False), (4, False), (5, True), (8, True), (11, True)])
def test_saturation_depends_on_rank(k: int, saturated: bool) -> None:
    A = np.random.default_rng(0).standard_normal((k, 8))
    single = np.eye(8)[:1]
    copies = np.repeat(A[:2], k, axis=0)
    for name in ("softset", "softset(weights=l2, ridge=0.1)", "subspace"):
        scorer = Scorer(None, metric=name)
        assert scorer.score([A], [single]).saturated.tolist() == [saturated]
        assert scorer.score([single], [A]).saturated.tolist() == [saturated]
        assert not scorer.score([copies], [single]).saturated.any()  # many rows, but of rank 2
    assert not Scorer(None, metric="bertscore").score([A], [single]).saturated.any()


def test_zero_vectors_count_as_empty() -> None:
    """A text of zero vectors scores as an empty one: the flag must say why."""
    scores = Scorer(None).score([np.zeros((2, 3))], [np.eye(3)])
    assert scores.score[0] == 0
    assert scores.empty[0]


# Anything in place of text


@pytest.mark.parametrize("name", [name for name in EVERY if name not in TRANSPORT])
def test_token_sets_replace_texts(name: str) -> None:
    encoder = KnownEncoder()
    scorer = Scorer(encoder, metric=name, idf=Idf.fit(RIGHT, model=encoder) if metric(name).needs_idf else None)
    expected = scorer.score(LEFT, RIGHT)
    A, B = scorer.encode(LEFT), scorer.encode(RIGHT)
    for left, right in ((A, B), (LEFT, B), (A, RIGHT)):
        result = scorer.score(left, right)
        assert_same(result, expected, 1e-6)
        assert result.signature == expected.signature


def test_own_vectors_need_no_model() -> None:
    rng = np.random.default_rng(0)
    A, B = [rng.standard_normal((3, 4)), rng.standard_normal((2, 4))], [rng.standard_normal((2, 4)) for _ in range(2)]
    scorer = Scorer("a model that is not here")
    result = scorer.score(A, B)
    for index in range(2):
        P, R, F = literal.softset(A[index], B[index], np.ones(len(A[index])), np.ones(len(B[index])))
        assert [result.precision[index], result.recall[index], result.score[index]] == pytest.approx(
            [P, R, F], abs=1e-9
        )
    assert_same(scorer.score(TokenSets.from_arrays(A), B), result)
    assert_same(scorer.score([rows.tolist() for rows in A], [rows.tolist() for rows in B]), result)
    assert_same(scorer.score(np.array([A[1], A[1]]), [B[1], B[1]]), scorer.score([A[1], A[1]], [B[1], B[1]]))
    assert parse_signature(result.signature)["encoder"] == "own"
    assert parse_signature(result.signature)["metric"] == "softset(weights=none)"


def test_arrays_without_rows_are_empty_texts() -> None:
    A, none = np.eye(3)[:2], np.zeros((0, 3))
    assert Scorer(None).score([A, none, none], [none, none, A]).score.tolist() == [0, 1, 0]


def test_numpy_strings_are_texts() -> None:
    """What comes out of an array or a table of strings is a str, though it looks like an array too."""
    scorer = Scorer(ToyEncoder())
    expected = scorer.score(LEFT[:2], RIGHT[:2])
    assert_same(scorer.score(np.array(LEFT[:2]), np.array(RIGHT[:2])), expected)
    assert_same(scorer.score([np.str_(text) for text in LEFT[:2]], RIGHT[:2]), expected)


def test_iterables_are_accepted() -> None:
    scorer = Scorer(ToyEncoder())
    assert_same(scorer.score(iter(LEFT), tuple(RIGHT)), scorer.score(LEFT, RIGHT))


@pytest.mark.torch
def test_tensors_are_accepted() -> None:
    torch = pytest.importorskip("torch")
    A = np.random.default_rng(0).standard_normal((3, 4))
    assert_same(
        Scorer(None).score([torch.tensor(A)], [torch.eye(4)[:2].double()]), Scorer(None).score([A], [np.eye(4)[:2]])
    )


def test_float16_sets_keep_three_digits() -> None:
    encoder = ToyEncoder(d=48, lean=0)
    A, B = encoder.encode(LEFT), encoder.encode(RIGHT)
    for name in ("softset", "subspace", "bertscore", "average", "dynamax"):
        scorer = Scorer(encoder, metric=name)
        full, half = scorer.score(A, B), scorer.score(A.astype("float16"), B.astype("float16"))
        assert_same(half, full, 2e-3)
        mixed = scorer.score(A.astype("float16"), B)
        assert_same(mixed, full, 2e-3)


def test_repeated_texts_are_encoded_once() -> None:
    encoder = ToyEncoder()
    Scorer(encoder).score(["a king"] * 50, ["the park"] * 50)
    assert encoder.texts_seen == 2


# Matrices


def test_matrix_diagonal_equals_scores() -> None:
    for name in ("softset", "subspace(weights=rare)", "bertscore", "tfidf", "symbolic(weights=idf)"):
        scorer = Scorer(
            KnownEncoder(), metric=name, idf=Idf.fit(RIGHT, model=ToyEncoder()) if metric(name).needs_idf else None
        )
        M = scorer.matrix(LEFT, RIGHT)
        scores = scorer.score(LEFT, RIGHT)
        assert np.abs(np.diag(M.score) - scores.score).max() < 1e-5
        assert np.abs(np.diag(M.precision) - scores.precision).max() < 1e-5
        assert M.signature == scores.signature
    assert repr(M) == f"ScoreMatrix(6 candidates, 6 references, mean score={M.score.mean():.3f})"
    assert np.abs(scorer.matrix(LEFT).score - scorer.matrix(LEFT, LEFT).score).max() < 1e-9


def test_distances_work_with_scipy_clustering() -> None:
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    texts = ["the red book", "the red red book", "red book", "king and queen", "a king and queen", "queen and king"]
    for name in ("softset", "subspace", "bertscore", "subspace(aperture=2)", "average", "jaccard", "grassmann"):
        D = softset.pairwise(texts, model=ToyEncoder(d=48), metric=name, distance=True)
        assert np.array_equal(D, D.T) and (np.diag(D) == 0).all() and (D >= 0).all()
        clusters = fcluster(linkage(squareform(D), "average"), 2, "maxclust").tolist()
        assert clusters in ([1, 1, 1, 2, 2, 2], [2, 2, 2, 1, 1, 1]), name


@pytest.mark.parametrize("name", ["johnson", "johnson-symbolic"])
def test_distances_of_sum_metrics(name: str) -> None:
    """The best score is 2 here: texts that share half of their words are not at distance 0."""
    D = softset.pairwise(["red king", "red queen", "red king"], model=ToyEncoder(d=48), metric=name, distance=True)
    assert D[0, 2] == pytest.approx(0, abs=1e-6)
    assert D[0, 1] > 0.1


def test_pairwise_equals_matrix() -> None:
    encoder = ToyEncoder()
    F = softset.pairwise(LEFT, RIGHT, model=encoder, metric="bertscore")
    assert np.array_equal(F, Scorer(encoder, metric="bertscore").matrix(LEFT, RIGHT).score)
    assert np.array_equal(
        softset.pairwise(LEFT, RIGHT, model=encoder, metric="bertscore", distance=True), np.maximum(1 - F, 0)
    )


# What comes out


def test_json_round_trip() -> None:
    scores = Scorer(ToyEncoder()).score(LEFT, RIGHT)
    facts = json.loads(scores.to_json())
    assert facts["signature"] == scores.signature
    assert facts["score"] == pytest.approx(scores.score.mean())
    assert [row["score"] for row in facts["segments"]] == scores.score.tolist()
    assert [row["empty"] for row in facts["segments"]] == scores.empty.tolist()
    assert [row._asdict() for row in scores.rows()] == facts["segments"]
    assert len(list(scores.rows())) == len(scores) == 6


@pytest.mark.parametrize("name", EVERY)
def test_signature_can_be_parsed(name: str) -> None:
    if name in TRANSPORT:
        pytest.importorskip("ot")
    scores = Scorer(KnownEncoder(), metric=name).score(["a king", "red"], [["a king", "park"], ["a book"]])
    facts = parse_signature(scores.signature)
    assert metric(facts["metric"]) == metric(name)
    assert facts["encoder"] == "toy" and facts["multi_reference"] == "best" and facts["softset"] == softset.__version__
    assert ("idf" in facts) == metric(name).needs_idf


def test_signature_changes_with_every_option() -> None:
    encoder = ToyEncoder()
    plain = Scorer(encoder).score(["a"], ["b"]).signature
    others = [
        Scorer(encoder, metric="bertscore").score(["a"], ["b"]).signature,
        Scorer(encoder, metric="softset(ridge=2)").score(["a"], ["b"]).signature,
        Scorer(KnownEncoder()).score(["a"], ["b"]).signature,
        Scorer(ToyEncoder(name="other")).score(["a"], ["b"]).signature,
        Scorer(encoder).score(["a"], [["b", "c"]]).signature,
        Scorer(encoder, multi_reference="mean").score(["a"], [["b", "c"]]).signature,
        Scorer(encoder, metric="tfidf").score(["a"], ["b"]).signature,
        Scorer(encoder, metric="tfidf").score(["a"], ["c"]).signature,
    ]
    assert len({plain, *others}) == 9


@pytest.mark.parametrize("signature", ["own", "mine|yours", "my model: the best", "http://x.y/z", ""])
def test_signature_with_unusual_encoder_names(signature: str) -> None:
    sets = TokenSets.from_arrays([np.eye(3)], signature=signature)
    facts = parse_signature(Scorer(None).score(sets, sets).signature)
    assert facts["encoder"] == signature and facts["metric"] == "softset(weights=none)"


def test_truncated_tokens_are_counted() -> None:
    scorer = Scorer("minilm", layer=1, overflow="truncate", max_length=8)
    scores = scorer.score(["a b c d e f g h i j", "a b"], ["b", "a b c d e f g h"])
    assert scores.truncated.tolist() == [4, 2]
    assert scores.candidate_tokens.tolist() == [6, 2] and scores.reference_tokens.tolist() == [1, 6]
    assert "6 truncated tokens" in repr(scores)
    assert parse_signature(scores.signature)["overflow"] == "truncate"


def test_empty_input_is_accepted() -> None:
    for name in [name for name in EVERY if name not in TRANSPORT]:
        scores = Scorer(KnownEncoder(), metric=name).score([], [])
        assert len(scores) == 0 and scores.means() == {"precision": 0, "recall": 0, "score": 0}
        assert json.loads(scores.to_json())["segments"] == []
        assert Scorer(KnownEncoder(), metric=name).matrix([], []).score.shape == (0, 0)


def test_progress_reports_every_block() -> None:
    calls: list[tuple[int, int]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("softset.similarity.run.TEXT_PAIRS", 4)
        Scorer(ToyEncoder()).score(LEFT, RIGHT, progress=lambda done, of: calls.append((done, of)))
    assert calls[-1] == (6, 6) and (3, 6) in calls and len(calls) > 2  # encoding and computing report, too
    assert calls == sorted(calls)


def test_with_options_shares_the_model() -> None:
    encoder = ToyEncoder()
    scorer = Scorer(encoder, multi_reference="mean")
    other = scorer.with_options(metric="bertscore")
    assert other.metric == metric("bertscore") and other.encoder is scorer.encoder and other.multi_reference == "mean"
    assert_same(
        other.score(LEFT, RIGHT), Scorer(encoder, metric="bertscore", multi_reference="mean").score(LEFT, RIGHT)
    )


def test_model_is_loaded_lazily_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[object] = []
    monkeypatch.setattr(
        "softset.similarity.scorer.load_encoder", lambda model, **_: loaded.append(model) or ToyEncoder()
    )
    scorer = Scorer("toy", metric="bertscore")
    other = scorer.with_options(metric="average").with_options(metric="johnson")
    vectors = [np.eye(3)[:2], np.eye(3)[1:]]
    other.score(vectors, vectors)
    assert not loaded  # vectors of one's own need no model
    assert other.encoder is scorer.encoder and loaded == ["toy"]


def test_encoder_options_are_those_of_load_encoder() -> None:
    """`EncoderOptions` gives type checkers and completion the options; it must not drift from the function."""
    keywords = [name for name in inspect.signature(load_encoder).parameters if name != "model"]
    assert list(EncoderOptions.__annotations__) == keywords
    with pytest.raises(InputError, match="there is no option 'layyer'; did you mean 'layer'"):
        Scorer("words", layyer=3)


def test_f1_exists_only_for_metrics_whose_score_is_f1() -> None:
    f1 = {"bertscore": True, "subspace": True, "softset": False, "johnson": False, "cls": False}
    for name, is_f1 in f1.items():
        scorer = Scorer(ToyEncoder(), metric=name)
        for scores in (scorer.score(LEFT, RIGHT), scorer.matrix(LEFT, RIGHT)):
            assert hasattr(scores, "f1") == is_f1
            if is_f1:
                assert np.array_equal(scores.f1, scores.score)


def test_plan_is_immutable_and_complete() -> None:
    encoder = KnownEncoder()
    plan = Scorer(encoder, multi_reference="mean").resolve(LEFT, RIGHT)
    assert plan.encoder is encoder and plan.metric == metric("softset") and plan.multi_reference == "mean"
    assert plan.moment is not None and plan.idf is None and plan.rescale is None
    assert plan.signature == Scorer(encoder).score(LEFT, RIGHT).signature
    with pytest.raises(FrozenInstanceError):
        plan.metric = metric("bertscore")


def test_function_equals_class() -> None:
    result = softset.score(LEFT, RIGHT, model=ToyEncoder(), metric="subspace(weights=l1)")
    assert_same(result, Scorer(ToyEncoder(), metric="subspace(weights=l1)").score(LEFT, RIGHT))


def test_repeated_pairs_read_the_right_rows() -> None:
    """Pairs name sets by their places: the same set may be on both sides, many times, in any order."""
    rng = np.random.default_rng(0)
    sets = TokenSets.from_arrays([rows_of("apart", rng, 6) for _ in range(4)])
    left, right = np.array([3, 0, 0, 2]), np.array([1, 0, 3, 2])
    result = SubspaceBertScore().compute(Pairs.of(sets, sets, left, right))
    for index, (i, j) in enumerate(zip(left, right, strict=True)):
        members = literal.memberships(sets[int(i)], sets[int(j)], 1e-7)
        assert result.precision[index] == pytest.approx(members[: len(sets[int(i)])].mean(), abs=1e-9)


def test_text_of_unknown_tokens_matches_itself() -> None:
    texts = ["red", "", "zzzqqq", "qqqzzz"]
    for name in ("softset", "subspace", "johnson", "bertscore", "average"):
        scorer = Scorer("words", metric=name)
        best = scorer.metric.MAX_SCORE
        assert scorer.score(texts, texts).score == pytest.approx(np.full(4, best))
        for result in (scorer.matrix(texts).score, scorer.matrix(texts, list(texts)).score):
            assert np.diag(result) == pytest.approx(np.full(4, best)) and result[2, 3] == result[3, 2] == 0
