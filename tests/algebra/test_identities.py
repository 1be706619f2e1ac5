"""The laws of the lattice, on sets whose angles are zero to rounding or well above the tolerance."""

import numpy as np
from hypothesis import given

from softset import Subspace
from tests.algebra.cases import Case, array, cases, in_every_library, numbers

pytestmark = in_every_library


@given(case=cases(sets=1))
def test_one_set(library: str, case: Case) -> None:
    (A,) = case.sets(library)
    d = A.ambient
    empty, whole = Subspace.empty(d, like=A.basis), Subspace.whole(d, like=A.basis)
    assert A | A == A
    assert A & A == A
    assert ~~A == A
    assert A & ~A == empty
    assert A | ~A == whole
    assert A | empty == A == A & whole
    assert A | whole == whole
    assert A & empty == empty
    assert empty <= A <= whole
    assert not (A < A) and A >= A
    assert (~A).dim == d - A.dim
    assert A - A == empty
    assert A.dim == case.rank(0)
    assert bool(A) == (A.dim > 0)


@given(case=cases(sets=2))
def test_two_sets(library: str, case: Case) -> None:
    A, B = case.sets(library)
    assert A | B == B | A
    assert A & B == B & A
    assert A | (A & B) == A
    assert A & (A | B) == A
    assert ~(A | B) == ~A & ~B
    assert ~(A & B) == ~A | ~B
    assert A & B <= A <= A | B
    assert A - B == A & ~B
    assert A.without(B) == (A | B) & ~B
    assert A.intersection(B, alpha=0.0) == A & B
    assert (A | B).dim == case.rank(0, 1)
    assert (A | B).dim + (A & B).dim == A.dim + B.dim
    assert (A | ~B).dim + (A & ~B).dim == A.dim + (~B).dim
    assert (A <= B) == (A | B == B) == (A & B == A) == (~B <= ~A)
    assert (A <= B) == (case.rank(0, 1) == case.rank(1))


def projector(A: Subspace) -> np.ndarray:
    """Return the (d, d) projector, by which sets are compared without the code under test."""
    eye = np.eye(A.ambient)
    return numbers(A.project(array(eye, "numpy" if isinstance(A.basis, np.ndarray) else "torch")))


@given(case=cases(sets=2))
def test_order_and_equality_agree_with_projectors_for_sets_and_complements(library: str, case: Case) -> None:
    A, B = case.sets(library)
    sets = [A, B, A | B, A & B, A - B]
    for X in [*sets, *(~S for S in sets)]:
        for Y in (B, ~B, A | B, ~(A | B), ~A):
            P, Q = projector(X), projector(Y)
            inside = bool(np.abs(P @ Q - P).max() < 1e-3)
            assert (X <= Y) == (Y >= X) == inside
            assert (X < Y) == (Y > X) == (inside and X.dim < Y.dim)
            assert (X == Y) == (Y == X) == bool(np.abs(P - Q).max() < 1e-3)
            assert (X <= Y) == (X | Y == Y) == (X & Y == X) == (~Y <= ~X)


@given(case=cases(sets=3))
def test_three_sets(library: str, case: Case) -> None:
    A, B, C = case.sets(library)
    assert (A | B) | C == A | (B | C)
    assert (A & B) & C == A & (B & C)
    assert (A | ~B) | C == A | (~B | C)
    assert (A & ~B) & C == A & (~B & C)
    assert ((A | B) | C).dim == case.rank(0, 1, 2)
    # One half of distributivity always holds.
    assert (A & B) | (A & C) <= A & (B | C)


@given(case=cases(sets=2))
def test_orthomodular_law(library: str, case: Case) -> None:
    A, other = case.sets(library)
    B = A | other
    assert A <= B
    assert B == A | (B & ~A)
    assert B == A | (B - A)
    assert A <= B | ~B


@given(case=cases(sets=3))
def test_modular_law(library: str, case: Case) -> None:
    A, B, other = case.sets(library)
    C = A | other
    assert A | (B & C) == (A | B) & C


@given(case=cases(sets=2))
def test_memberships(library: str, case: Case) -> None:
    A, B = case.sets(library)
    v = case.vectors(library)
    m = numbers(A.membership(v))
    assert ((m >= 0) & (m <= 1)).all()
    np.testing.assert_allclose(m**2 + numbers((~A).membership(v)) ** 2, 1, atol=case.close)
    assert (numbers((A & B).membership(v)) <= m + case.close).all()
    assert (m <= numbers((A | B).membership(v)) + case.close).all()
    np.testing.assert_allclose(numbers(A.membership(A.project(v))), float(bool(A)), atol=case.close)
    np.testing.assert_allclose(numbers(A.project(v) + (~A).project(v)), numbers(v), atol=10 * case.close)


@given(case=cases(sets=1))
def test_the_complement_is_orthogonal(library: str, case: Case) -> None:
    (A,) = case.sets(library)
    Q, N = numbers(A.basis), numbers((~A).basis)
    np.testing.assert_allclose(Q @ N.T, 0, atol=case.close)
    np.testing.assert_allclose(np.vstack([Q, N]) @ np.vstack([Q, N]).T, np.eye(A.ambient), atol=case.close)


@given(case=cases(sets=2))
def test_in_containment_and_union_agree(library: str, case: Case) -> None:
    A, B = case.sets(library)
    for S in (A, ~A, A | B, A & B, ~B | A):
        for v in numbers(np.vstack([case.rows(0), case.rows(1), np.eye(A.ambient)])):
            v = array(v, library, case.dtype)
            inside = v in S
            assert inside == (Subspace.span(v) <= S) == ((S | Subspace.span(v)).dim == S.dim)
            if inside:
                assert S.membership(v) > 1 - case.close or not numbers(v).any()


def test_distributivity_fails(library: str) -> None:
    """Three lines of a plane: quantum logic is no Boolean algebra."""
    A, B, C = (Subspace.span(array(v, library)) for v in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]))
    assert (A & C) | (B & C) == Subspace.empty(2, like=A.basis)
    assert (A | B) & C == C
