"""The rank of a span, and what does not change it."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset import GradedSubspace, Subspace
from softset.algebra.arrays import namespace
from softset.algebra.rank import tolerance
from tests.algebra.cases import Case, array, cases, in_every_library, numbers, rotation

pytestmark = in_every_library


def words(k: int, d: int = 300, seed: int = 0) -> np.ndarray:
    """Return vectors that lean together as the words of one topic do."""
    random = np.random.default_rng(seed)
    return random.standard_normal((k, d)) + 2 * random.standard_normal(d)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_thousand_copies_change_nothing(library: str, dtype: str) -> None:
    rows = words(5)
    rows[4] = rows[0] + 1e-3 * rows[4]  # near the first: a relative tolerance would lose it under the copies
    A = Subspace.span(array(rows, library, dtype))
    many = Subspace.span(array(np.vstack([rows, np.repeat(rows[:1], 1000, axis=0)]), library, dtype))
    assert many.dim == A.dim == 5
    assert many == A


@given(case=cases(sets=1), seed=st.integers(0, 100))
def test_copies_scale_sign_order_and_zeros_change_nothing(library: str, case: Case, seed: int) -> None:
    rows = case.rows(0)
    random = np.random.default_rng(seed)
    more = np.vstack([rows, -3 * rows, np.zeros((2, rows.shape[1]))])
    more = random.permutation(more) * random.choice([-1e3, 0.5, 7], size=(len(more), 1))
    A, B = Subspace.span(array(rows, library, case.dtype)), Subspace.span(array(more, library, case.dtype))
    assert A == B and A.dim == B.dim == case.rank(0)


@given(seed=st.integers(0, 300), factor=st.floats(0.2, 5))
def test_order_and_copies_change_nothing_inside_the_gap_either(library: str, seed: int, factor: float) -> None:
    """Three vectors about one tolerance apart: whatever the rank, it is the same in every order."""
    random = np.random.default_rng(seed)
    E = rotation(6, seed)
    cut = tolerance(6, np.float64, np)
    rows = E[0] + factor * cut * random.standard_normal((3, 2)) @ E[1:3]
    dims = {
        Subspace.span(array(rows[order], library)).dim for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0, 0, 1], [2, 1, 0])
    }
    assert len(dims) == 1


@pytest.mark.parametrize("copies", [4, 50])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_vectors_within_the_tolerance_do_not_add_up_to_a_direction(library: str, copies: int, dtype: str) -> None:
    """Their singular value grows with the number of vectors, but no sine between two of them is above the cut."""
    E = np.eye(4)
    near = E[0] + 0.9 * tolerance(4, np.dtype(dtype), np) * E[1]
    rows = np.vstack([E[2:], np.repeat([E[0], near], copies, axis=0)])
    for order in (rows, rows[::-1].copy()):
        assert Subspace.span(array(order, library, dtype)).dim == 3
        assert Subspace.spans(array(np.stack([order, order]), library, dtype))[1].dim == 3
        assert GradedSubspace.of(array(order, library, dtype), aperture=1e6).dim == 3


@pytest.mark.parametrize("power", [-7, -6.5, -6, -5, -4, -2])
def test_the_order_does_not_matter_however_near_the_examples_are(library: str, power: float) -> None:
    """From the tolerance up: a direction taken at a sine of s is known to eps / s, which the cut covers."""
    for seed in range(10):
        random = np.random.default_rng(seed)
        a, n, c = np.linalg.qr(random.standard_normal((300, 3)))[0].T
        s = 10.0**power * 3
        rows = np.array([a, a + s * n, c])
        A, B, C = (Subspace.span(array(x, library)) for x in (rows, 7 * rows[::-1], rows[[1, 0, 2, 1]]))
        assert A == B == C and (A | B).dim == A.dim == (3 if s > tolerance(300, np.float64, np) else 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("k", "d"), [(10, 3), (3, 3), (200, 64), (2, 1), (5, 1)])
def test_more_vectors_than_dimensions(library: str, k: int, d: int, dtype: str) -> None:
    A = Subspace.span(array(words(k, d), library, dtype))
    assert A == Subspace.whole(d, like=A.basis)
    assert A.dim == d and numbers(A.basis).shape == (d, d)


def test_many_vectors_of_a_small_space(library: str) -> None:
    rows = words(400, 3) @ words(3, 50)
    A = Subspace.span(array(rows, library))
    assert A.dim == 3
    np.testing.assert_allclose(numbers(A.membership(array(rows, library))), 1, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("above", [True, False])
def test_the_tolerance_equals_the_documented_one(library: str, dtype: str, above: bool) -> None:
    for d in (2, 300):
        sine = tolerance(d, np.dtype(dtype), np) * (1.1 if above else 0.9)
        rows = np.zeros((2, d))
        rows[:, 0], rows[1, 1] = 1, sine
        assert Subspace.span(array(rows, library, dtype)).dim == (2 if above else 1)


def test_the_zero_vector_is_in_every_set(library: str) -> None:
    zero = array(np.zeros(3), library)
    for A in (Subspace.empty(3, like=zero), Subspace.whole(3, like=zero), Subspace.span(array(np.eye(3)[:1], library))):
        assert zero in A
        assert zero in ~A
        assert A.membership(zero) == 0
    assert Subspace.span(zero) == Subspace.empty(3, like=zero)
    assert not Subspace.span(zero)


def test_norms_from_tiny_to_huge(library: str) -> None:
    for dtype, powers in (("float32", (-38, -30, 0, 30, 38)), ("float64", (-307, -30, 0, 30, 307))):
        rows = words(4, 20)
        rows[0, 3] = 0
        A = Subspace.span(array(rows, library, dtype))
        scaled = rows * np.array([10.0**p for p in powers[:4]])[:, None] / 100
        B = Subspace.span(array(scaled, library, dtype))
        assert A == B
        for p in powers:
            v = array(words(1, 20, seed=5)[0] * 10.0**p / 100, library, dtype)
            expected = float(A.membership(array(words(1, 20, seed=5)[0], library, dtype)))
            assert abs(float(A.membership(v)) - expected) < (1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_stack_gives_the_same_sets_as_single_calls(library: str, dtype: str) -> None:
    stack = np.stack([words(4, 10, seed) for seed in range(5)])
    stack[1, 3] = stack[1, 0] - stack[1, 2]
    stack[2] = 0
    stack[3, 1:] = stack[3, 0]
    sets = Subspace.span(array(stack, library, dtype))
    assert len(Subspace.span(stack.tolist())) == 5
    assert [A.dim for A in Subspace.spans(array(stack[:, :0], library, dtype))] == [0] * 5
    assert [A.dim for A in sets] == [4, 3, 0, 1, 4]
    for A, rows in zip(sets, stack, strict=True):
        assert A == Subspace.span(array(rows, library, dtype))


def test_a_stack_is_factored_at_once(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One batched factorisation, however many sets."""
    stack = array(np.random.default_rng(0).standard_normal((50, 3, 8)), library)
    calls, linalg = [], namespace(stack).linalg
    qr = linalg.qr
    monkeypatch.setattr(linalg, "qr", lambda *args: calls.append(1) or qr(*args))
    assert len(Subspace.spans(stack)) == 50
    assert len(calls) == 1


def test_one_vector_gives_its_own_direction(library: str) -> None:
    A = Subspace.span(array([0.0, -3.0, 4.0], library))
    np.testing.assert_allclose(numbers(A.basis), [[0.0, -0.6, 0.8]], atol=1e-15)


def test_the_complement_is_never_built_until_its_basis_is_asked_for(library: str, monkeypatch) -> None:
    d = 20_000
    random = np.random.default_rng(0)
    monkeypatch.setattr(Subspace, "_wide_basis", lambda _: pytest.fail("a basis was built"))
    A, B = (Subspace.span(array(random.standard_normal((3, d)), library)) for _ in range(2))
    v = array(random.standard_normal((2, d)), library)
    tracemalloc.start()
    for X in (~A, ~A & ~B, ~A | B, A - B, ~A | ~B, (~A).intersection(~B, alpha=0.3)):
        assert X.membership(v).shape == (2,)
        assert X <= X and X == X
    assert tracemalloc.get_traced_memory()[1] < 100 * 2**20  # a d x d matrix takes 3 GB
    tracemalloc.stop()
    assert (~A & ~B).dim == d - 6
    assert (~A).distance(~B) == pytest.approx(A.distance(B))


def test_tables_are_read_as_arrays_and_not_by_their_column_names(library: str) -> None:
    class Table:
        """Like a data frame: an array, but iteration yields the names of its columns."""

        def __array__(self, dtype=None, copy=None) -> np.ndarray:
            return np.array([[1.0, 0, 0], [1, 1, 0]])

        def __iter__(self):
            return iter(["x", "y", "z"])

    assert Subspace.span(Table()) == Subspace.span([[1.0, 0, 0], [0, 1, 0]])
    A = Subspace.span(array([[1.0, 0, 0]], library))
    assert numbers(A.membership(Table())) == pytest.approx([1, 0.5**0.5])
