"""Membership as the paper defines it, and the soft forms of intersection and difference."""

import time

import numpy as np
import pytest
import scipy.optimize

from softset import Subspace
from tests.algebra.cases import array, in_every_library, numbers

pytestmark = in_every_library


@pytest.mark.parametrize("seed", range(5))
def test_membership_is_the_largest_cosine_to_any_vector_of_the_set(library: str, seed: int) -> None:
    """The paper's definition, by direct optimisation over the coefficients of the spanning vectors."""
    random = np.random.default_rng(seed)
    rows, v = random.standard_normal((3, 6)), random.standard_normal(6)

    def minus_cosine(c: np.ndarray) -> float:
        a = c @ rows
        return -abs(a @ v) / np.linalg.norm(a) / np.linalg.norm(v)

    best = min(scipy.optimize.minimize(minus_cosine, start, tol=1e-14).fun for start in random.standard_normal((5, 3)))
    assert float(Subspace.span(array(rows, library)).membership(array(v, library))) == pytest.approx(-best, abs=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_vector_and_many(library: str, dtype: str) -> None:
    random = np.random.default_rng(0)
    A = Subspace.span(array(random.standard_normal((3, 8)), library, dtype))
    v = array(random.standard_normal((7, 8)), library, dtype)
    for X in (A, ~A):
        many = X.membership(v)
        assert many.dtype == v.dtype and tuple(many.shape) == (7,)
        assert X.project(v).dtype == v.dtype
        for i in range(7):
            alone = X.membership(v[i])
            assert alone.shape == ()
            np.testing.assert_allclose(numbers(alone), numbers(many)[i], atol=1e-6 if dtype == "float32" else 1e-15)
            np.testing.assert_allclose(numbers(X.project(v[i])), numbers(X.project(v))[i], atol=1e-6)


def test_no_vectors_have_no_memberships(library: str) -> None:
    A = Subspace.span(array(np.eye(3)[:2], library))
    none = array(np.zeros((0, 3)), library)
    assert tuple(A.membership(none).shape) == (0,)
    assert tuple((~A).project(none).shape) == (0, 3)
    assert Subspace.span(none) == Subspace.empty(3, like=none)


def test_membership_does_not_depend_on_the_batch(library: str) -> None:
    random = np.random.default_rng(0)
    A = Subspace.span(array(random.standard_normal((5, 50)), library))
    v = random.standard_normal((100_000, 50))
    v[10], v[20] = 0, 1e200
    many = numbers(A.membership(array(v, library)))
    assert many[10] == 0
    for i in (0, 20, 99_999):
        assert many[i] == pytest.approx(float(A.membership(array(v[i], library))), abs=1e-14)


def test_chance_is_the_root_mean_square_membership_of_random_vectors(library: str) -> None:
    random = np.random.default_rng(0)
    A = Subspace.span(array(random.standard_normal((5, 50)), library))
    m = numbers(A.membership(array(random.standard_normal((20_000, 50)), library)))
    assert A.chance == pytest.approx(np.sqrt(0.1))
    assert np.sqrt((m**2).mean()) == pytest.approx(A.chance, abs=0.002)


def word_sets(library: str) -> tuple[Subspace, Subspace]:
    """Return two sets that share no direction but lean together, as sets of words do."""
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, 5, 60)) + 0.8 * random.standard_normal(60)
    return Subspace.span(array(x, library)), Subspace.span(array(y, library))


def test_real_sets_share_no_direction_exactly(library: str) -> None:
    A, B = word_sets(library)
    assert not A & B and not A - B
    near = A.intersection(B, alpha=0.5)
    assert near.dim == int((1 - np.cos(numbers(A.angles(B))) <= 0.5).sum()) > 0
    assert A.without(B).dim == 5 and A.without(B) <= ~B
    assert A.without(B) | B == A | B


def test_soft_intersection_is_no_lower_bound_and_not_associative(library: str) -> None:
    A, B = word_sets(library)
    assert not A.intersection(B, alpha=0.5) <= A
    lines = [Subspace.span(array([np.cos(t), np.sin(t)], library)) for t in (0.0, 0.6, 1.0)]
    X, Y, Z = lines
    left = X.intersection(Y, alpha=0.3).intersection(Z, alpha=0.3)
    right = X.intersection(Y.intersection(Z, alpha=0.3), alpha=0.3)
    assert left != right


def test_soft_intersection_with_complements(library: str) -> None:
    """The same as on dense bases, without building them."""
    A, B = word_sets(library)
    for X, Y in ((A, ~B), (~A, B), (~A, ~B)):
        dense = Subspace.span(X.basis).intersection(Subspace.span(Y.basis), alpha=0.2)
        assert X.intersection(Y, alpha=0.2) == dense


@pytest.mark.parametrize("alpha", [-0.1, 1.0, float("nan")])
def test_alpha_has_limits(library: str, alpha: float) -> None:
    A, B = word_sets(library)
    with pytest.raises(ValueError, match="alpha must be at least 0 and below 1"):
        A.intersection(B, alpha=alpha)


def test_many_memberships_cost_few_passes_over_the_matrix(library: str) -> None:
    """One product: asking about 200,000 vectors takes a few times their bare product, not 200,000 times one vector."""
    random = np.random.default_rng(0)
    A = Subspace.span(array(random.standard_normal((5, 50)), library))
    v, Q = array(random.standard_normal((200_000, 50)), library), A.basis

    def seconds(task) -> float:
        def once() -> float:
            start = time.perf_counter()
            task()
            return time.perf_counter() - start

        return sorted(once() for _ in range(5))[2]

    assert seconds(lambda: A.membership(v)) < 25 * seconds(lambda: v @ Q.T)
