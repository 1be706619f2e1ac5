"""The softset metric: its definition, its invariances, and its fallback without a second moment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softset
from softset import Calibration, Idf, Scorer, TokenSets, metric
from softset.encoders.signature import parse_signature
from softset.similarity.metrics import PRF
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.metrics.softset import SoftsetScore
from tests.similarity import literal
from tests.similarity.cases import (
    KINDS,
    LEFT,
    RIGHT,
    SOFTSET,
    KnownEncoder,
    Pair,
    ToyEncoder,
    assert_same,
    moment_of,
    pairs,
    rows_of,
    sets_of,
)

RIDGES = (1e-3, 0.5, 1.0, 30.0)
PLAIN = SoftsetScore(weights="none")


def of_rows(A: np.ndarray, B: np.ndarray, kind: SoftsetScore = PLAIN, moment: np.ndarray | None = None) -> PRF:
    return kind.compute(Pairs.of(sets_of(A), sets_of(B), moment=moment))


def within(dtype: np.dtype) -> float:
    """Return how exact scores are: float32 rows are multiplied in float32."""
    return 1e-9 if dtype == np.float64 else 1e-5


# What it is


@given(pairs(), st.sampled_from(RIDGES), st.sampled_from(["none", "l2", "rare"]))
def test_scores_match_the_definition(pair: Pair, ridge: float, weights: str) -> None:
    """Of sets of every kind: copies, sums, near copies, more tokens than dimensions, huge and tiny ones."""
    S = moment_of(pair.A.shape[1])
    if weights == "l2":  # of sizes that one sum can hold
        pair = Pair(*((rows / np.abs(rows).max()).astype(rows.dtype) for rows in pair))
    of_A, of_B = (
        {
            "none": lambda rows: np.ones(len(rows)),
            "l2": lambda rows: np.linalg.norm(rows, axis=1),
            "rare": lambda rows: literal.rarity(rows, S),
        }[weights](rows.astype(np.float64))
        for rows in pair
    )
    result = of_rows(*pair, SoftsetScore(weights=weights, ridge=ridge), S)
    expected = literal.softset(*pair, of_A, of_B, ridge)
    assert [float(values[0]) for values in result] == pytest.approx(expected, abs=within(pair.A.dtype))


@pytest.mark.parametrize("ridge", [1e-3, 1e-2, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_set_at_every_ridge(kind: str, dtype: str, ridge: float) -> None:
    rng = np.random.default_rng(7)
    for d in (3, 8, 16):
        A, B = rows_of(kind, rng, d, dtype), rows_of("apart", rng, d, dtype)
        result = SoftsetScore(weights="none", ridge=ridge).memberships(Pairs.of(sets_of(A), sets_of(B)))
        assert np.abs(result - literal.relative_memberships(A, B, ridge)).max() < 1e-6


@pytest.mark.parametrize("copies", [2, 30, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_occurrence_has_a_membership(copies: int, dtype: str) -> None:
    """Copies are scored once and counted often: the numbers are those of all the rows."""
    rng = np.random.default_rng(3)
    rows, B = rows_of("apart", rng, 8, dtype), rows_of("combined", rng, 8, dtype)
    A = np.vstack([rows, *[rows[:1]] * (copies - 1), rows[1:2]])
    for ridge in (1e-3, 1.0):
        result = [float(values[0]) for values in of_rows(A, B, SoftsetScore(weights="none", ridge=ridge))]
        assert result == pytest.approx(literal.softset(A, B, np.ones(len(A)), np.ones(len(B)), ridge), abs=1e-6)


def test_example_computed_by_hand() -> None:
    """A = {x, y}, B = {x}: x has 1/2 in both, y nothing in B. Of two tokens of A both are x in one case of four."""
    A, B = np.eye(2), np.eye(2)[:1]
    P, R, F = (float(values[0]) for values in of_rows(A, B))
    assert (P, R, F) == pytest.approx((1 / 4, 1, 5 / 8), abs=1e-12)


def test_repeated_token() -> None:
    """Once it has 1/2 in its set, twice 2/3: sqrt(3/4) of that is in the shorter text's."""
    once, twice = np.eye(3)[:1], np.eye(3)[[0, 0]]
    P, R, F = (float(values[0]) for values in of_rows(once, twice))
    assert (P, R, F) == pytest.approx((1, np.sqrt(3 / 4), (1 + np.sqrt(3 / 4)) / 2), abs=1e-12)


def test_rare_tokens_count_more() -> None:
    """The token that is missing is the rare one, and then the usual one."""
    S = np.diag([0.9, 0.1])
    rare = literal.rarity(np.eye(2), S)
    share = rare / rare.sum()
    for kept in (0, 1):
        P = of_rows(np.eye(2), np.eye(2)[[kept]], SoftsetScore(), S).precision[0]
        assert pytest.approx(share[kept] ** 2, abs=1e-12) == P
    assert share[1] == pytest.approx(0.75)


# What must not change it


@given(pairs(), st.sampled_from(RIDGES), st.integers(0, 1000))
def test_identical_texts_score_one_in_any_order_with_any_copies(pair: Pair, ridge: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = pair.A[np.concatenate([np.arange(len(pair.A)), rng.integers(0, len(pair.A), int(rng.integers(0, 5)))])]
    S = moment_of(A.shape[1])
    for weights in ("none", "l2", "rare"):
        for values in of_rows(A, A[rng.permutation(len(A))], SoftsetScore(weights=weights, ridge=ridge), S):
            assert abs(float(values[0]) - 1) < 1e-9


def test_identical_texts_score_one_with_the_bundled_models() -> None:
    texts = ["The the the king, and the queen!", "royalty", "A boy walks in this park. A boy walks in this park."]
    for model, options in (("words", {}), ("minilm", {"layer": 1})):
        scores = Scorer(model, **options).score(texts, texts)
        for values in (scores.precision, scores.recall, scores.score):
            assert np.abs(values - 1).max() < 1e-9
        assert parse_signature(scores.signature)["metric"] == "softset"


@given(pairs(), st.sampled_from(RIDGES))
def test_scores_are_between_0_and_1_and_symmetric(pair: Pair, ridge: float) -> None:
    S = moment_of(pair.A.shape[1])
    for weights in ("none", "rare"):
        kind = SoftsetScore(weights=weights, ridge=ridge)
        there, back = of_rows(pair.A, pair.B, kind, S), of_rows(pair.B, pair.A, kind, S)
        for values in there:
            assert 0 <= values[0] <= 1
        atol = 1e-12 if pair.A.dtype == np.float64 else 1e-6
        assert there.precision == pytest.approx(back.recall, abs=atol)
        assert there.recall == pytest.approx(back.precision, abs=atol)
        assert there.score == pytest.approx(back.score, abs=atol)


@given(pairs(dtypes=("float64",)), st.sampled_from(RIDGES), st.integers(0, 1000))
def test_rotations_do_not_change_scores(pair: Pair, ridge: float, seed: int) -> None:
    d = pair.A.shape[1]
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    kind, rare = SoftsetScore(weights="none", ridge=ridge), SoftsetScore(ridge=ridge)
    S = moment_of(d)
    A, B = (rows / np.abs(rows).max() for rows in pair)
    for before, after in (
        (of_rows(A, B, kind), of_rows(A @ Q, B @ Q, kind)),
        (of_rows(A, B, rare, S), of_rows(A @ Q, B @ Q, rare, Q.T @ S @ Q)),  # what is rare has to turn with them
    ):
        for values, others in zip(before, after, strict=True):
            assert abs(float(values[0] - others[0])) < 1e-9


@given(pairs(), st.integers(0, 1000))
def test_vector_lengths_do_not_change_scores(pair: Pair, seed: int) -> None:
    """Of each vector: copies of other lengths are copies still."""
    rng = np.random.default_rng(seed)
    A, B = ((rows * 2.0 ** rng.integers(-2, 3, (len(rows), 1))).astype(rows.dtype) for rows in pair)
    S = moment_of(A.shape[1])
    for kind in (SoftsetScore(weights="none"), SoftsetScore(), SoftsetScore(ridge=0.01)):
        for values, others in zip(of_rows(*pair, kind, S), of_rows(A, B, kind, S), strict=True):
            assert abs(float(values[0] - others[0])) < within(pair.A.dtype)


@given(pairs(dtypes=("float64",)), st.integers(0, 1000))
def test_order_and_sign_of_tokens_do_not_matter(pair: Pair, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, B = (rows[rng.permutation(len(rows))] * rng.choice([-1, 1], (len(rows), 1)) for rows in pair)
    for values, others in zip(of_rows(*pair), of_rows(A, B), strict=True):
        assert abs(float(values[0] - others[0])) < 1e-9


@given(pairs(), st.integers(1, 9), st.sampled_from([0.01, 1.0]))
def test_token_repeated_in_both_texts_has_a_high_membership(pair: Pair, n: int, ridge: float) -> None:
    """A set with n copies of u has at least n / (n + ridge) of it, and no set more than 1."""
    u = pair.A[:1]
    A, B = np.vstack([pair.A[1:], *[u] * n]), np.vstack([pair.B, *[u] * n])
    m = SoftsetScore(weights="none", ridge=ridge).memberships(Pairs.of(sets_of(A), sets_of(B)))
    copies = np.concatenate([m[len(A) - n : len(A)], m[len(m) - n :]])
    assert copies.min() >= np.sqrt(n / (n + ridge)) - 1e-6
    assert np.ptp(copies[:n]) < 1e-12 and np.ptp(copies[n:]) < 1e-12
    expected = literal.softset(A, B, np.ones(len(A)), np.ones(len(B)), ridge)
    result = of_rows(A, B, SoftsetScore(weights="none", ridge=ridge))
    assert [float(values[0]) for values in result] == pytest.approx(expected, abs=within(A.dtype))


@pytest.mark.parametrize("name", SOFTSET)
def test_scores_do_not_depend_on_the_batch_to_the_last_digits(name: str) -> None:
    encoder = KnownEncoder(dtype="float64")
    idf = Idf.fit(RIGHT, model=encoder) if metric(name).needs_idf else None
    scorer = Scorer(encoder, metric=name, idf=idf)
    left, right = [a for a in LEFT for _ in RIGHT] * 20, RIGHT * len(LEFT) * 20
    together = scorer.score(left, right).score.reshape(20, -1)
    alone = np.array([scorer.score([a], [b]).score[0] for a in LEFT for b in RIGHT])
    assert np.abs(together - alone).max() < 1e-11


# Where it is not known what is rare


@pytest.mark.parametrize("ridge", ["", ", ridge=0.5"])
def test_equal_weights_without_a_second_moment(ridge: str) -> None:
    asked, plain = f"softset(weights=rare{ridge})", f"softset(weights=none{ridge})"
    rng = np.random.default_rng(0)
    A, B = ([rng.standard_normal((k, 12)) for k in sizes] for sizes in ((3, 1, 5), (2, 4, 2)))
    own = [TokenSets.from_arrays(rows, signature="mine") for rows in (A, B)]
    for model, left, right in ((ToyEncoder(), LEFT, RIGHT), (None, A, B), (KnownEncoder(), A, B), (None, *own)):
        result, expected = (Scorer(model, metric=name).score(left, right) for name in (asked, plain))
        assert_same(result, expected, 1e-15)
        assert result.signature == expected.signature
        assert metric(parse_signature(result.signature)["metric"]) == metric(plain)
        matrices = [Scorer(model, metric=name).matrix(left, right) for name in (asked, plain)]
        assert np.array_equal(matrices[0].score, matrices[1].score) and matrices[0].signature == matrices[1].signature
        views = [Scorer(model, metric=name).explain(left[0], right[0]) for name in (asked, plain)]
        assert views[0].to_json() == views[1].to_json()


def test_metric_is_resolved_for_the_encoder() -> None:
    assert SoftsetScore().resolve(has_moment=True) == SoftsetScore()
    assert SoftsetScore(ridge=2).resolve(has_moment=False) == SoftsetScore(weights="none", ridge=2)
    assert SoftsetScore(weights="idf").resolve(has_moment=False) == SoftsetScore(weights="idf")
    assert metric("subspace(weights=rare)").resolve(has_moment=False) == metric("subspace(weights=rare)")
    for name, needs in (("softset", True), ("softset(weights=l2)", False), ("subspace(weights=rare)", True)):
        assert metric(name).needs_moment is needs
    encoder = KnownEncoder()
    sets = encoder.encode(["a king"])
    plan = Scorer(encoder).resolve(sets, sets)
    assert plan.metric == SoftsetScore() and np.array_equal(plan.moment, encoder.second_moment)
    assert Scorer(encoder, metric="bertscore").resolve(sets, sets).moment is None
    own = TokenSets.from_arrays([np.eye(12)])
    assert Scorer(encoder).resolve(own, own).metric == SoftsetScore(weights="none")


def test_calibration_uses_the_resolved_metric() -> None:
    texts = ["a red book", "the king walks in the park", "queen of the park"]
    plain = Calibration.fit(texts, model=ToyEncoder())
    known = Calibration.fit(texts, model=KnownEncoder())
    assert plain.signature.startswith("metric:softset(weights=none)|") and known.signature.startswith("metric:softset|")
    assert Scorer(ToyEncoder(), rescale=plain).score(texts, texts).score == pytest.approx(np.ones(3))
    assert Scorer(ToyEncoder(), metric="softset(weights=none)", rescale=plain).score(
        texts, texts
    ).score == pytest.approx(1)
    with pytest.raises(softset.SoftsetError, match="this calibration was fitted with"):
        Scorer(KnownEncoder(), rescale=plain).score(texts, texts)


def test_rows_with_equal_memberships_share_their_weight() -> None:
    """Two occurrences of one word have one share each, wherever they stand."""
    rows = np.eye(3)[[0, 0, 1]]
    sets = TokenSets.from_arrays([rows])
    metric, pairs = SoftsetScore(weights="none"), Pairs.of(sets, sets)
    shares = metric.mean_weights(pairs, metric.memberships(pairs))
    assert shares == pytest.approx(np.full(6, 1 / 3))
