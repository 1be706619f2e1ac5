"""AND, OR and NOT of memberships."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset.algebra import and_min, and_product, not_, or_max, or_product
from softset.errors import NotFiniteError

memberships = st.floats(0, 1).map(np.float64)
FAMILIES = [(and_product, or_product), (and_min, or_max)]


@pytest.mark.parametrize(("conjunction", "either"), FAMILIES)
@given(a=memberships, b=memberships, c=memberships)
def test_laws(conjunction, either, a, b, c) -> None:
    a, b, c = (np.array([x]) for x in (a, b, c))
    for f in (conjunction, either):
        np.testing.assert_allclose(f(a, b), f(b, a), atol=1e-15)
        np.testing.assert_allclose(f(f(a, b), c), f(a, f(b, c)), atol=1e-7)
        assert 0 <= f(a, b) <= 1 + 1e-15
    np.testing.assert_allclose(not_(conjunction(a, b)), either(not_(a), not_(b)), atol=1e-7)
    np.testing.assert_allclose(not_(not_(a)), a, atol=1e-7)
    assert (conjunction(a, b) <= np.minimum(a, b) + 1e-15).all()
    assert (either(a, b) >= np.maximum(a, b) - 1e-15).all()
    ones, zero = np.ones(1), np.zeros(1)
    assert conjunction(a, ones) == a
    np.testing.assert_allclose(either(a, zero), a, atol=1e-15)


def test_values() -> None:
    a, b = np.array([0.6]), np.array([0.5])
    assert and_product(a, b) == pytest.approx(0.3)
    assert or_product(a, b) == pytest.approx(np.sqrt(0.36 + 0.25 - 0.09))
    assert (and_min(a, b), or_max(a, b)) == (0.5, 0.6)
    assert not_(a) == pytest.approx(0.8)


def test_negative_cosines_count_as_none() -> None:
    a, b = np.array([-0.9]), np.array([0.5])
    assert and_product(a, b) == and_min(a, b) == 0
    assert or_product(a, b) == or_max(a, b) == 0.5
    assert not_(a) == 1


def test_connectives_agree_with_orthogonal_sets() -> None:
    """For sets at right angles the lattice's union and the product family's are near for small memberships."""
    v = np.array([[1.0, 2.0, 9.0]])
    m = v / np.linalg.norm(v)
    exact = np.hypot(m[:, 0], m[:, 1])
    np.testing.assert_allclose(or_product(m[:, 0], m[:, 1]), exact, rtol=0.01)


def test_connectives_accept_numbers_but_not_nan() -> None:
    assert and_product(0.5, 0.5) == 0.25
    assert or_max(np.array([0.1, 0.9]), 0.5).tolist() == [0.5, 0.9]
    for f in (lambda: and_min(np.array([np.nan]), 0.5), lambda: not_([float("nan")])):
        with pytest.raises(NotFiniteError, match="a membership is nan"):
            f()
