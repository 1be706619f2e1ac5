"""Matrices of scores equal the scores of single pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset import Idf, metric
from softset.similarity.kernels import all_pairs
from softset.similarity.metrics import PRF
from softset.similarity.metrics.bertscore import SubspaceBertScore
from softset.similarity.metrics.pairs import Pairs
from tests.similarity.cases import EVERY, TEXTS, TRANSPORT, ToyEncoder, moment_of, rows_of, sets_of

LEFT = ["the red book", "a king", "", "king king and queen", "of of of", "a red red park walks in the book of a"]
RIGHT = ["the red book", "the queen and a king walks", "", "park"]
CRISP_TO_GRADED = ("subspace", "subspace(aperture=3)", "subspace(aperture=1e7)")


def one_by_one(name: str, A, B, idf=None, moment=None) -> PRF:
    n, m = len(A), len(B)
    pairs = Pairs.of(A, B, np.repeat(np.arange(n), m), np.tile(np.arange(m), n), idf, moment)
    return PRF(*(values.reshape(n, m) for values in metric(name).compute(pairs)))


def assert_same(name: str, A, B, idf=None, moment=None, atol: float = 1e-5) -> None:
    results = metric(name).compute_matrix(A, B, idf, moment), one_by_one(name, A, B, idf, moment)
    for result, expected in zip(*results, strict=True):
        assert result.shape == (len(A), len(B))
        assert np.abs(result - expected).max(initial=0) < atol


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EVERY)
def test_matrix_equals_scores_of_single_pairs(name: str, dtype: str) -> None:
    if name in TRANSPORT:
        pytest.importorskip("ot")
    encoder = ToyEncoder(dtype=dtype)
    A, B = encoder.encode(LEFT), encoder.encode(RIGHT)
    assert_same(name, A, B, Idf.fit(B), moment_of(12))


@given(st.lists(TEXTS, max_size=5), st.lists(TEXTS, max_size=5), st.sampled_from([1, 3, 2048]))
def test_block_size_does_not_change_scores(left: list[str], right: list[str], block: int) -> None:
    encoder = ToyEncoder()
    A, B = encoder.encode(left), encoder.encode(right)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(all_pairs, "BLOCK_ROWS", block)
        for name in ("softset(weights=none)", "subspace", "bertscore", "subspace(aperture=2)"):
            assert_same(name, A, B)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["copies", "scaled", "combined", "near", "nearer", "as one", "crowded"])
@pytest.mark.parametrize("name", [*CRISP_TO_GRADED, "softset(weights=none)", "softset(weights=l2, ridge=0.01)"])
def test_degenerate_sets(kind: str, dtype: str, name: str) -> None:
    rng = np.random.default_rng(4)
    A = sets_of(*(rows_of(kind, rng, 16, dtype) for _ in range(6)))
    B = sets_of(*(rows_of("apart", rng, 16, dtype) for _ in range(6)))
    assert_same(name, A, B)
    assert_same(name, B, A)


@pytest.mark.parametrize("angle", [1e-2, 1e-3, 2e-4])
def test_near_copies_in_float32(angle: float) -> None:
    """Two tokens at a small angle differ in their last digits only: rows rounded twice would turn the plane."""
    rng = np.random.default_rng(1)
    left, right = [], []
    for _ in range(12):
        E = np.linalg.qr(rng.standard_normal((16, 16)))[0]
        left.append(np.array([3 * E[0], E[0] + angle * E[1]], dtype=np.float32))
        right.append((E[1:2] + 0.5 * rng.standard_normal(16) / 4).astype(np.float32))
    assert_same("subspace", sets_of(*left), sets_of(*right))


def test_sides_may_have_different_dtypes() -> None:
    rng = np.random.default_rng(4)
    A = sets_of(*(rows_of("combined", rng, 8, "float32") for _ in range(5)))
    B = sets_of(*(rows_of("combined", rng, 8, "float64") for _ in range(5)))
    assert_same("subspace", A, B)
    assert_same("bertscore", A, B)
    assert_same("softset(weights=none)", A, B)


def test_zero_vectors() -> None:
    A = sets_of(np.zeros((1, 3)), np.array([[1.0, 0, 0], [0, 0, 0]]))
    for name in ("softset(weights=none)", "subspace", "bertscore", "average"):
        assert_same(name, A, A)
    assert SubspaceBertScore().compute_matrix(A, A).score.tolist() == [
        [1, 0],
        [0, 1],
    ]  # a zero vector has no direction
