"""Memberships by Gram matrices equal the paper's memberships by SVD, on every path and for every kind of set."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from softset.similarity.kernels import gram
from softset.similarity.kernels.all_pairs import set_factors
from softset.similarity.kernels.gram import PairRows, memberships, relative_memberships
from softset.similarity.metrics.bertscore import SubspaceBertScore
from softset.similarity.metrics.pairs import Pairs
from tests.similarity import literal
from tests.similarity.cases import KINDS, Pair, cut_of, pairs, rows_of, separate, sets_of


def ours(A: np.ndarray, B: np.ndarray, tally: Counter[str] | None = None) -> np.ndarray:
    return SubspaceBertScore().memberships(Pairs.of(sets_of(A), sets_of(B)), tally)


def ends(*sets: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([len(rows) for rows in sets])])


@given(pairs())
def test_memberships_match_the_paper(pair: Pair) -> None:
    assume(literal.clear(pair.A, pair.cut) and literal.clear(pair.B, pair.cut))
    assert np.abs(ours(*pair) - literal.memberships(*pair, pair.cut)).max() < 1e-5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_set_matches_the_paper(kind: str, dtype: str) -> None:
    """The properties above skip what is near the cut: here nothing is skipped."""
    rng = np.random.default_rng(3)
    for d in (4, 8, 16):
        A, B = rows_of(kind, rng, d, dtype), rows_of("apart", rng, d, dtype)
        assert literal.clear(A, cut_of(A), room=3) and literal.clear(B, cut_of(B))
        assert np.abs(ours(A, B) - literal.memberships(A, B, cut_of(A))).max() < 1e-5


def batch(dtype: str = "float32") -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return 3 pairs for the fast path, 2 for the wide one (float32), 3 for the revealing one."""
    rng = np.random.default_rng(8)
    kinds = ["apart", "one", "apart", "near", "near", "combined", "scaled", "crowded"]
    return (
        [rows_of(kind, rng, 8, dtype) for kind in kinds],
        [rows_of("apart", rng, 8, dtype) for _ in kinds],
    )


def test_all_three_paths_match_the_paper() -> None:
    left, right = batch()
    tally: Counter[str] = Counter()
    result = SubspaceBertScore().memberships(Pairs.of(sets_of(*left), sets_of(*right)), tally)
    assert tally == {"fast": 3, "wide": 2, "revealing": 3}
    expected = np.concatenate([literal.memberships(A, B, cut_of(A)) for A, B in zip(left, right, strict=True)])
    assert np.abs(result - expected).max() < 1e-5


@pytest.mark.parametrize(
    ("path", "dtype"),
    [("fast", "float32"), ("wide", "float32"), ("revealing", "float32"), ("fast", "float64"), ("revealing", "float64")],
)
def test_every_path_gives_the_same_memberships(path: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits are moved so that one well-separated batch has to take each path."""
    rng = np.random.default_rng(5)
    left, right = ([rows_of("apart", rng, 8, dtype) for _ in range(9)] for _ in "AB")
    limits = {"fast": (1e10, 1e10), "wide": (0.0, 1e10), "revealing": (0.0, 0.0)}[path]
    pairs = Pairs.of(sets_of(*left), sets_of(*right))
    monkeypatch.setattr(gram, "TRACE_LIMITS", {"float32": limits[0], "float64": limits[1]})
    tally: Counter[str] = Counter()
    result = SubspaceBertScore().memberships(pairs, tally)
    assert tally[path] == 9 == sum(tally.values())
    expected = np.concatenate([literal.memberships(A, B, cut_of(A)) for A, B in zip(left, right, strict=True)])
    assert np.abs(result - expected).max() < (1e-6 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("angle", [0.1, 0.03, 0.01, 1e-3, 1e-4])
def test_two_tokens_at_a_small_angle_in_float32(angle: float) -> None:
    """At .01 a Cholesky factor in plain float32 exists, and is wrong in the fourth digit: it must not be believed."""
    naive, result, exact = [], [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        E = np.linalg.qr(rng.standard_normal((16, 16)))[0]
        A = np.array([3 * E[0], E[0] + angle * E[1]], dtype=np.float32)
        B = (E[1:4] + 0.3 * E[7]).astype(np.float32)
        U, V = literal.units(A).astype(np.float32), literal.units(B).astype(np.float32)
        if angle >= 0.01:
            L = np.linalg.cholesky(U @ U.T)
            naive.append(np.linalg.norm(np.linalg.solve(L, U @ V.T), axis=0))
        result.append(ours(A, B))
        exact.append(literal.memberships(A, B, cut_of(A)))
    assert np.abs(np.array(result) - exact).max() < 1e-6
    if angle == 0.01:
        assert np.abs(np.array(naive) - np.array(exact)[:, 2:]).max() > 1e-4  # the trap is real


def test_rank_tolerance() -> None:
    """A second token is a new direction just above the tolerance, and a copy just below it."""
    for dtype in ("float32", "float64"):
        E = np.eye(16)
        cut = cut_of(E.astype(dtype))
        for factor, member in ((1.7, 1.0), (1.1, 1.0), (0.9, 0.0), (0.5, 0.0)):  # float32 at .9 has a Cholesky factor
            A = np.array([E[0], E[0] + factor * cut * E[1]], dtype=dtype)
            B = E[1:2].astype(dtype)
            assert ours(A, B)[2] == pytest.approx(member, abs=1e-3)


@given(pairs(), st.integers(0, 1000))
def test_order_sign_and_length_of_tokens_do_not_matter(pair: Pair, seed: int) -> None:
    assume(literal.clear(pair.A, pair.cut) and literal.clear(pair.B, pair.cut))
    rng = np.random.default_rng(seed)
    a, b = (rng.permutation(len(rows)) for rows in pair)
    factors = [rng.choice([-1, 1], (len(rows), 1)) * 2.0 ** rng.integers(-2, 3, (len(rows), 1)) for rows in pair]
    A, B = ((rows * by).astype(rows.dtype) for rows, by in zip(pair, factors, strict=True))
    plain = ours(*pair)
    k = len(pair.A)
    expected = np.concatenate([plain[:k][a], plain[k:][b]])
    assert np.abs(ours(A[a], B[b]) - expected).max() < 1e-5


@given(pairs())
def test_exchanging_the_sides_exchanges_memberships(pair: Pair) -> None:
    there, back = ours(pair.A, pair.B), ours(pair.B, pair.A)
    k = len(pair.A)
    assert np.abs(np.concatenate([there[k:], there[:k]]) - back).max() < 1e-6


@given(st.lists(pairs(dtypes=("float32",)), min_size=2, max_size=8), st.randoms(use_true_random=False))
def test_scores_do_not_depend_on_the_batch(many: list[Pair], random: object) -> None:
    d = many[0].A.shape[1]
    selected = [pair for pair in many if pair.A.shape[1] == d]
    random.shuffle(selected)
    together = SubspaceBertScore().memberships(
        Pairs.of(sets_of(*(p.A for p in selected)), sets_of(*(p.B for p in selected)))
    )
    alone = np.concatenate([ours(*pair) for pair in selected])
    assert np.abs(together - alone).max() < 1e-6


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("k", [2, 3, 7, 8, 9])
def test_the_error_bound_alone_chooses_the_path(k: int, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace of the inverse Gram matrix may be up to 100 in float32, whatever the padding is."""
    if not compiled:
        monkeypatch.setattr(gram, "can_compile", lambda: False)
    E = np.eye(16)
    for trace, path in ((95, "fast"), (105, "wide")):
        square = 2 / (trace - k + 2)  # two rows with this squared sine have the trace 2 / square
        A = np.vstack([E[:1], np.sqrt(1 - square) * E[:1] + np.sqrt(square) * E[1:2], E[2:k]]).astype(np.float32)
        for sides in ((A, E[:1].astype(np.float32)), (E[:1].astype(np.float32), A)):
            tally: Counter[str] = Counter()
            ours(*sides, tally)
            assert tally[path] == 1, (trace, tally)


def test_one_singular_matrix_does_not_affect_its_stack() -> None:
    """NumPy refuses a whole stack for one singular Gram matrix: here it is in a bucket of forty good ones."""
    rng = np.random.default_rng(0)
    left = [separate(rng, 4, 8) for _ in range(41)]
    right = [separate(rng, 3, 8) for _ in range(41)]
    left[17][3] = left[17][0] + left[17][1] - left[17][2]
    tally: Counter[str] = Counter()
    result = SubspaceBertScore().memberships(Pairs.of(sets_of(*left), sets_of(*right)), tally)
    assert tally == {"fast": 40, "revealing": 1, "wide": 0}
    expected = np.concatenate([literal.memberships(A, B, cut_of(A)) for A, B in zip(left, right, strict=True)])
    assert np.abs(result - expected).max() < 1e-7


def test_empty_sides() -> None:
    A, none = np.eye(3)[:2], np.zeros((0, 3))
    units = np.vstack([A, A, A, A])
    tally: Counter[str] = Counter()
    result = memberships(PairRows.consecutive(units, ends(A, none, none, A, A, A)), cut=1e-7, tally=tally)
    assert result.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert tally.total() == 1  # a pair with an empty side takes no path
    assert memberships(PairRows.consecutive(np.zeros((0, 3)), np.array([0, 0, 0])), cut=1e-7).shape == (0,)


# Graded sets, and what a row has in its own


def relative(A: np.ndarray, B: np.ndarray, ridge: float, tally: Counter[str] | None = None) -> np.ndarray:
    """Return the kernel's numbers on unit rows of the type of A; every row is in, whether or not it has copies."""
    rows = np.vstack([literal.units(A), literal.units(B)]).astype(A.dtype)
    pairs = PairRows.consecutive(rows, ends(A, B))
    return relative_memberships(pairs, cut=cut_of(A), ridge=np.full(len(rows), ridge), tally=tally)


def rounded(rows: np.ndarray) -> np.ndarray:
    return literal.units(rows).astype(rows.dtype)


@given(pairs(dtypes=("float32", "float64")), st.sampled_from([1e-3, 0.01, 0.5, 1.0, 30.0]))
def test_relative_memberships_match_the_definition(pair: Pair, ridge: float) -> None:
    result = relative(*pair, ridge)
    assert np.abs(result - literal.relative_memberships(rounded(pair.A), rounded(pair.B), ridge)).max() < 1e-5
    assert result.min() >= 0 and result.max() <= 1


@pytest.mark.parametrize("ridge", [1e-3, 1.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [2, 5, 16])
def test_more_rows_than_dimensions_need_no_revealing_with_a_ridge(d: int, dtype: str, ridge: float) -> None:
    rng = np.random.default_rng(d)
    for k, l in ((d + 1, 2), (3 * d, 4 * d), (2, 10 * d)):
        A, B = (rng.standard_normal((n, d)).astype(dtype) for n in (k, l))
        tally: Counter[str] = Counter()
        result = relative(A, B, ridge, tally)
        assert tally["revealing"] == 0 and tally["fast"] + tally["wide"] == 1
        assert np.abs(result - literal.relative_memberships(rounded(A), rounded(B), ridge)).max() < 1e-5


@pytest.mark.parametrize("angle", [0.1, 0.01, 1e-3, 1e-4, 1e-6, 0.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_near_copies_with_the_smallest_ridge(angle: float, dtype: str) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        E = np.linalg.qr(rng.standard_normal((16, 16)))[0]
        A = np.array([3 * E[0], *(E[0] + angle * row for row in E[1:6])], dtype=dtype)
        B = (E[1:4] + 0.3 * E[7]).astype(dtype)
        assert np.abs(relative(A, B, 1e-3) - literal.relative_memberships(rounded(A), rounded(B), 1e-3)).max() < 1e-5


@pytest.mark.parametrize("path", ["fast", "wide", "revealing"])
def test_every_path_gives_the_same_relative_memberships(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits are moved, so that one batch with sets of every kind has to take each path; what is near no cut."""
    rng = np.random.default_rng(5)
    kinds = ["apart", "crowded", "combined", "scaled", "near", "one"]
    sets = [literal.units(rows_of(kind, rng, 8)) for name in kinds for kind in (name, "apart")]
    limit = {"fast": (1e10, 1e10), "wide": (0.0, 1e10), "revealing": (0.0, 0.0)}[path]
    monkeypatch.setattr(gram, "TRACE_LIMITS", {"float32": limit[0], "float64": limit[1]})
    rows = np.vstack(sets).astype(np.float32)
    tally: Counter[str] = Counter()
    result = relative_memberships(
        PairRows.consecutive(rows, ends(*sets)), cut=1e-5, ridge=np.full(len(rows), 0.3), tally=tally
    )
    assert tally[path] == len(kinds) == sum(tally.values())
    expected = np.concatenate(
        [literal.relative_memberships(A, B, 0.3) for A, B in zip(sets[0::2], sets[1::2], strict=True)]
    )
    assert np.abs(result - expected).max() < 1e-6


def test_smaller_ridge_equals_copies() -> None:
    """One row with ridge r / n stands for n rows with ridge r."""
    rng = np.random.default_rng(2)
    A, B = rounded(separate(rng, 4, 8)), rounded(rows_of("combined", rng, 8))
    often = A[[0, 0, 0, 1, 1, 2, 3]]
    ridge = np.concatenate([[0.7 / 3, 0.7 / 2, 0.7, 0.7], np.full(len(B), 0.7)])
    result = relative_memberships(PairRows.consecutive(np.vstack([A, B]), ends(A, B)), cut=1e-7, ridge=ridge)
    expected = relative(often, B, 0.7)
    assert result == pytest.approx(expected[[0, 3, 5, *range(6, len(expected))]], abs=1e-12)


@given(pairs())
def test_bases_are_orthonormal_and_span_the_set(pair: Pair) -> None:
    assume(literal.clear(pair.A, pair.cut) and literal.clear(pair.B, pair.cut))
    A, B = literal.units(pair.A), literal.units(pair.B)
    units = np.vstack([A, B])
    Q, where = set_factors(units, ends(A, B), cut=pair.cut)
    for index, rows in enumerate((A, B)):
        F = Q[where[index] : where[index + 1]]
        S = literal.subspace(rows, pair.cut)
        assert F.shape == S.shape
        assert np.abs(F @ F.T - np.eye(len(F))).max() < 1e-9
        assert np.abs(F.T @ F - S.T @ S).max() < 1e-5


@pytest.mark.parametrize("layout", ["float16", "columns"])
def test_rows_in_other_layouts_give_the_memberships_of_float32_rows(layout: str) -> None:
    rows = np.random.default_rng(0).standard_normal((9, 24)).astype(np.float16).astype(np.float32)
    given, offsets = rows.astype(np.float16) if layout == "float16" else np.asfortranarray(rows), np.array([0, 4, 9])
    norms = np.linalg.norm(rows, axis=1)
    expected = memberships(PairRows.consecutive(rows, offsets, norms), cut=1e-5)
    assert memberships(PairRows.consecutive(given, offsets, norms), cut=1e-5) == pytest.approx(expected, abs=1e-5)


def test_zero_vectors_are_ignored() -> None:
    A, B = np.array([[1.0, 0, 0], [0, 0, 0], [0, 1, 0]]), np.array([[0, 0, 0], [0.6, 0, 0.8]])
    pairs = Pairs.of(sets_of(A), sets_of(B))
    assert pairs.counts.tolist() == [2, 1]
    P, R, _ = SubspaceBertScore().compute(pairs)
    assert P[0] == pytest.approx(0.3) and R[0] == pytest.approx(0.6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_units_of_extreme_vectors(dtype: str) -> None:
    limits = np.finfo(dtype)
    rows = np.array([[limits.max] * 4, [limits.max, 0, 0, 0], [limits.smallest_normal] * 4, [1, 2, 3, 4]], dtype=dtype)
    pairs = Pairs.of(sets_of(rows), sets_of(rows))
    assert np.abs(np.linalg.norm(pairs.units.astype(np.float64), axis=1) - 1).max() < 1e-6
    assert np.abs(pairs.units - np.vstack([literal.units(rows)] * 2)).max() < 1e-6
