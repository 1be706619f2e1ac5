"""The compiled kernel gives the same results as NumPy; without numba it runs as plain Python on small sets."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset import Scorer, TokenSets
from softset.runtime import jit as compiling
from softset.similarity.kernels import compiled, gram
from softset.similarity.metrics.bertscore import SubspaceBertScore
from softset.similarity.metrics.pairs import Pairs
from tests.similarity import literal

by_numba = pytest.mark.skipif(not compiling.can_compile(), reason="numba is not installed")


@pytest.fixture
def only_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gram, "can_compile", lambda: False)


@st.composite
def blocks(draw: st.DrawFn) -> tuple[list[np.ndarray], list[np.ndarray], str]:
    """Draw both sides of some pairs: any number of rows from 1 on, so that blocks of four are full and not."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    d, dtype = draw(st.sampled_from([12, 17, 24])), draw(st.sampled_from(["float32", "float64"]))
    sizes = draw(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=3))
    sides = [[rng.standard_normal((size[index], d)).astype(dtype) for size in sizes] for index in (0, 1)]
    return sides[0], sides[1], dtype


def explained(
    left: list[np.ndarray], right: list[np.ndarray], ridge: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what compiled code fills in, whether numba is here or not."""
    A, B = TokenSets.from_arrays(left), TokenSets.from_arrays(right)
    pairs = Pairs.of(A, B)
    result, own, traces = np.zeros(len(pairs.norms)), np.zeros(len(pairs.norms)), np.zeros((len(left), 2))
    compiled.pair_memberships(
        (A.vectors, B.vectors),
        np.stack([A.offsets[:-1], B.offsets[:-1]], axis=1),
        np.stack([A.counts, B.counts], axis=1),
        pairs.offsets[:-1:2].copy(),
        1 / pairs.norms,
        np.full(len(pairs.norms), ridge),
        result,
        own,
        traces,
    )
    return result, own, traces


@given(blocks())
@settings(max_examples=25)
def test_memberships_match_the_paper(block: tuple[list[np.ndarray], list[np.ndarray], str]) -> None:
    left, right, dtype = block
    result, own, traces = explained(left, right, 0.0)
    cut = 1e-5 if dtype == "float32" else 1e-12
    expected = [literal.memberships(A, B, cut) for A, B in zip(left, right, strict=True)]
    assert np.abs(result - np.concatenate(expected)).max() < (2e-4 if dtype == "float32" else 1e-9)
    assert np.abs(own - 1).max() < 1e-3
    inverse = np.linalg.inv(literal.units(left[0]) @ literal.units(left[0]).T)
    assert traces[0, 0] == pytest.approx(np.trace(inverse), rel=2e-3)


@given(blocks(), st.floats(0.1, 3.0))
@settings(max_examples=25)
def test_graded_memberships_match_their_definition(
    block: tuple[list[np.ndarray], list[np.ndarray], str], ridge: float
) -> None:
    """u' T' (T T' + ridge)^-1 T u, for rows of the other side and for the set's own."""
    left, right, _ = block
    result, own, _ = explained(left, right, ridge)
    index = 0
    for A, B in zip(left, right, strict=True):
        sides = literal.units(A), literal.units(B)
        for mine, others in (sides, sides[::-1]):
            for answer, T in ((result, others), (own, mine)):
                C = T.T @ np.linalg.solve(T @ T.T + ridge * np.eye(len(T)), T)
                expected = np.sqrt(np.einsum("ij,jk,ik->i", mine, C, mine))
                assert np.abs(answer[index : index + len(mine)] - expected).max() < 1e-5
            index += len(mine)


def test_singular_matrices_have_an_infinite_trace() -> None:
    twice = np.array([[1.0, 0, 0], [1.0, 0, 0]])
    _, _, traces = explained([twice], [np.array([[0.0, 1, 0]])], 0.0)
    assert traces[0, 0] == np.inf and traces[0, 1] == 1


@by_numba
@pytest.mark.parametrize("metric", ["subspace", "subspace(aperture=2)", "softset(weights=none)", "johnson"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiled_scores_match_numpy(metric: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    A, B = ([rng.standard_normal((k, 64)).astype(dtype) for k in rng.integers(1, 41, 200)] for _ in "AB")
    scorer = Scorer(None, metric=metric)
    quick = scorer.score(A, B)
    monkeypatch.setattr(gram, "can_compile", lambda: False)
    slow = scorer.score(A, B)
    for name in ("precision", "recall", "score"):
        assert np.abs(getattr(quick, name) - getattr(slow, name)).max() < (1e-5 if dtype == "float32" else 1e-10)


@by_numba
def test_scores_are_bitwise_equal_in_any_batch_and_direction() -> None:
    rng = np.random.default_rng(4)
    A, B = ([rng.standard_normal((k, 96)).astype(np.float32) for k in rng.integers(1, 41, 60)] for _ in "AB")
    scorer = Scorer(None, metric="subspace")
    batch, turned = scorer.score(A, B), scorer.score(B, A)
    for index in range(60):
        assert scorer.score([A[index]], [B[index]]).score[0] == batch.score[index]
    assert (batch.precision == turned.recall).all() and (batch.recall == turned.precision).all()


@by_numba
def test_compiled_code_is_used_for_small_pairs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long texts have LAPACK's stacks, float16 has no arithmetic of its own; the paths count alike."""
    rng = np.random.default_rng(5)
    seen: list[int] = []
    real = compiled.pair_memberships
    monkeypatch.setattr(
        compiled, "pair_memberships", lambda *arguments: (seen.append(len(arguments[2])), real(*arguments))
    )

    def taken(k: int, dtype: str) -> Counter[str]:
        rows = [rng.standard_normal((k, 160)).astype(dtype) for _ in range(3)]
        tally: Counter[str] = Counter()
        SubspaceBertScore(aperture=1.0).memberships(Pairs.of(*([TokenSets.from_arrays(rows)] * 2)), tally)
        return tally

    assert taken(20, "float32")["fast"] == 3 and seen == [3]
    assert taken(129, "float32").total() == 3 and seen == [3]
    assert taken(20, "float16")["fast"] == 3 and seen == [3]
    assert taken(20, "float64")["fast"] == 3 and seen == [3, 3]


@by_numba
def test_mapped_rows_are_scored(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    sets = TokenSets.from_arrays([rng.standard_normal((k, 32)).astype(np.float32) for k in (3, 8, 5)])
    sets.save(tmp_path / "sets")
    mapped = TokenSets.open(tmp_path / "sets")
    scorer = Scorer(None, metric="subspace")
    again = [2, 1, 0]
    result = scorer.score(mapped, TokenSets.from_arrays([mapped[index] for index in again]))
    assert (result.score == scorer.score(sets, TokenSets.from_arrays([sets[index] for index in again])).score).all()


@pytest.mark.usefixtures("only_stacks")
def test_scores_without_numba() -> None:
    rng = np.random.default_rng(7)
    A, B = rng.standard_normal((5, 16)), rng.standard_normal((7, 16))
    result = SubspaceBertScore().memberships(Pairs.of(TokenSets.from_arrays([A]), TokenSets.from_arrays([B])))
    assert np.abs(result - literal.memberships(A, B, 1e-12)).max() < 1e-10


def test_compilation_without_a_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    class ReadOnly:
        """numba where no folder can be written to."""

        @staticmethod
        def njit(*, cache: bool = False, **_: object) -> object:
            if cache:
                raise RuntimeError("cannot cache function: no locator available")
            return lambda function: lambda *arguments: ("compiled", function(*arguments))

    monkeypatch.setattr(compiling, "_numba", lambda: ReadOnly)
    assert compiling.compiled(lambda value: value + 1)(1) == ("compiled", 2)
    monkeypatch.setattr(compiling, "_numba", lambda: None)
    assert compiling.compiled(len)([1]) == 1
    assert not compiling.can_compile()
