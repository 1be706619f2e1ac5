"""Errors of memberships and angles against 40-digit values: the bounds that docs/algebra.md states."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset import Subspace
from tests.algebra import exact
from tests.algebra.cases import array, in_every_library, numbers, rotation

pytestmark = in_every_library

# Of float32 vectors, the result is rounded to float32 and the products are; the directions are not.
BOUND = {"float64": 8 * np.finfo("float64").eps, "float32": 8 * np.finfo("float32").eps}


def tilted(d: int, angles: list[float], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two sets with these canonical angles, each set's own rows far from dependent."""
    k = len(angles)
    E = rotation(d, seed)
    t = np.array(angles)[:, None]
    mix = np.linalg.qr(np.random.default_rng(seed).standard_normal((k, k)))[0] @ np.diag(np.linspace(1, 2, k))
    return mix @ E[:k], mix.T @ (np.cos(t) * E[:k] + np.sin(t) * E[k : 2 * k])


small_angles = st.floats(-9, 0.19).map(lambda p: 10.0**p)  # from below the tolerance to nearly pi/2


@settings(max_examples=25)
@given(
    angles=st.lists(small_angles, min_size=1, max_size=3),
    seed=st.integers(0, 1000),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_angles_and_memberships_are_accurate(library: str, angles: list[float], seed: int, dtype: str) -> None:
    a, b = (rows.astype(dtype) for rows in tilted(8, angles, seed))
    A, B = Subspace.span(array(a, library, dtype)), Subspace.span(array(b, library, dtype))
    expected = np.array([float(t) for t in exact.angles(a, b)])
    np.testing.assert_allclose(numbers(A.angles(B)), expected, atol=BOUND[dtype], rtol=0)
    for v in b:
        given_v = array(v, library, dtype)
        assert abs(float(A.membership(given_v)) - exact.membership(a, v)) < BOUND[dtype]
        assert abs(float((~A).membership(given_v)) - exact.outside(a, v)) < BOUND[dtype]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("d", "k"), [(300, 5), (4096, 2)])
def test_the_error_hardly_grows_with_the_dimension(library: str, d: int, k: int, dtype: str) -> None:
    random = np.random.default_rng(d)
    rows = (random.standard_normal((k, d)) + random.standard_normal(d)).astype(dtype)
    others = (random.standard_normal((2, d)) + rows.mean(axis=0)).astype(dtype)
    A, B = Subspace.span(array(rows, library, dtype)), Subspace.span(array(others, library, dtype))
    np.testing.assert_allclose(
        numbers(A.angles(B)), [float(t) for t in exact.angles(rows, others)], atol=2 * BOUND[dtype], rtol=0
    )
    for v in (others[0], rows[0]):
        given_v = array(v, library, dtype)
        assert abs(float(A.membership(given_v)) - exact.membership(rows, v)) < 2 * BOUND[dtype]
        assert abs(float((~A).membership(given_v)) - exact.outside(rows, v)) < 2 * BOUND[dtype]


@settings(max_examples=25)
@given(power=st.floats(-6, 0), seed=st.integers(0, 1000), dtype=st.sampled_from(["float32", "float64"]))
def test_nearly_dependent_vectors_cost_one_over_their_sine(library: str, power: float, seed: int, dtype: str) -> None:
    sine = 10.0**power
    if dtype == "float32" and sine < 1e-3:
        sine **= 0.5
    E = rotation(8, seed)
    rows = np.array([E[0], E[0] + sine * E[1], E[2]]).astype(dtype)
    v = np.random.default_rng(seed).standard_normal(8).astype(dtype)
    A = Subspace.span(array(rows, library, dtype))
    assert A.dim == 3
    wide = 8 * np.finfo("float64").eps / sine
    assert abs(float(A.membership(array(v, library, dtype))) - exact.membership(rows, v)) < BOUND[dtype] + wide


@given(angles=st.lists(small_angles, min_size=1, max_size=4), seed=st.integers(0, 1000))
def test_laws_that_hold_at_every_angle(library: str, angles: list[float], seed: int) -> None:
    """No tolerance makes the join associative inside the gap, but these hold at any angle, however small."""
    for dtype in ("float32", "float64"):
        a, b = (array(rows, library, dtype) for rows in tilted(16, angles, seed))
        A, B = Subspace.span(a), Subspace.span(b)
        for X, Y in ((A, B), (A, ~B), (~A, ~B)):
            assert X | Y == Y | X
            assert X & Y == Y & X
            assert np.array_equal(numbers((X & Y).basis), numbers((Y & X).basis))
            assert np.array_equal(numbers((X | Y).basis), numbers((Y | X).basis))
            assert ~(X | Y) == ~X & ~Y
            assert ~(X & Y) == ~X | ~Y
            assert ~~X == X
            assert (X | Y).dim + (X & Y).dim == X.dim + Y.dim
            soft = X.intersection(Y, alpha=0.3)
            assert soft == Y.intersection(X, alpha=0.3)


def test_commutative_to_the_bit_for_one_hot_vectors_too(library: str) -> None:
    A, B = (Subspace.span(array(np.eye(3)[i], library)) for i in (0, 1))
    assert np.array_equal(numbers((A | B).basis), numbers((B | A).basis))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [256, 1024, 4096, 8192])
def test_the_error_grows_with_the_root_of_the_dimension(library: str, d: int, dtype: str) -> None:
    """Vectors inside have membership 1 and 0, known without a reference: a hundred of them."""
    rows = np.random.default_rng(d).standard_normal((5, d)).astype(dtype)
    v = array(np.random.default_rng(1).standard_normal((100, 5)).astype(dtype) @ rows, library, dtype)
    A = Subspace.span(array(rows, library, dtype))
    bound = max(8, sqrt(d) / 2) * np.finfo(dtype).eps
    assert np.abs(numbers(A.membership(v)) - 1).max() < bound
    if dtype == "float64":  # a float32 combination of float32 rows is not inside to float32 digits
        assert numbers((~A).membership(v)).max() < bound


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_vector_inside_has_no_membership_outside(library: str, dtype: str) -> None:
    """sqrt(1 - m^2) would be NaN or about sqrt(eps) here."""
    rows = array(np.random.default_rng(0).standard_normal((5, 300)), library, dtype)
    outside = numbers((~Subspace.span(rows)).membership(rows))
    assert outside.max() < BOUND[dtype]
