"""Angles and distances: against SciPy, against dense complements, and by formula."""

from math import pi, sqrt

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given

from softset import Subspace
from softset.algebra.lattice import DISTANCES
from softset.errors import InputError
from tests.algebra.cases import Case, array, cases, in_every_library, numbers

pytestmark = in_every_library


def planes(*angles: float, d: int = 12, extra: int = 0, library: str = "numpy") -> tuple[Subspace, Subspace]:
    """Return sets with these canonical angles; the second has `extra` further dimensions orthogonal to all else."""
    k, E = len(angles), np.eye(d)
    t = np.array(angles)[:, None]
    B = np.vstack([np.cos(t) * E[:k] + np.sin(t) * E[k : 2 * k], E[2 * k : 2 * k + extra]])
    return Subspace.span(array(E[:k], library)), Subspace.span(array(B, library))


@given(case=cases(sets=2, dtypes=("float64",)))
def test_bases_and_angles_agree_with_scipy(library: str, case: Case) -> None:
    A, B = case.sets(library)
    for X, i in ((A, 0), (B, 1)):
        rows = case.rows(i)
        if not X or not rows.any():
            continue
        rows = rows[np.linalg.norm(rows, axis=1) > 0]
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        Q, N = scipy.linalg.orth(rows.T), scipy.linalg.null_space(rows)
        eye = array(np.eye(X.ambient), library)
        np.testing.assert_allclose(numbers(X.project(eye)), Q @ Q.T, atol=1e-12)
        np.testing.assert_allclose(numbers((~X).project(eye)), N @ N.T, atol=1e-12)
        assert X == Subspace.span(array(Q.T, library))
        assert ~X == Subspace.span(array(N.T.reshape(-1, X.ambient), library))
    if A and B:
        expected = np.sort(scipy.linalg.subspace_angles(numbers(A.basis).T, numbers(B.basis).T))
        np.testing.assert_allclose(numbers(A.angles(B)), expected, atol=1e-7)  # SciPy's own error near 0


@given(case=cases(sets=2, dtypes=("float64",)))
def test_angles_of_complements_are_those_of_their_bases(library: str, case: Case) -> None:
    A, B = case.sets(library)
    for X, Y in ((~A, B), (A, ~B), (~A, ~B)):
        dense = Subspace.span(X.basis).angles(Subspace.span(Y.basis))
        np.testing.assert_allclose(numbers(X.angles(Y)), numbers(dense), atol=1e-12)
        assert X.similarity(Y) == pytest.approx(Subspace.span(X.basis).similarity(Subspace.span(Y.basis)), abs=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-9, 1e-4, 0.7, pi / 2 - 1e-9, pi / 2])
def test_tiny_and_right_angles(library: str, angle: float) -> None:
    A, B = planes(angle, 1.0, library=library)
    np.testing.assert_allclose(numbers(A.angles(B)), sorted([angle, 1.0]), rtol=1e-6, atol=4e-16)


def test_distances_by_formula(library: str) -> None:
    t = np.array([0.2, 0.5, 1.1])
    A, B = planes(*t, library=library)
    expected = {
        "geodesic": sqrt((t**2).sum()),
        "chordal": sqrt((np.sin(t) ** 2).sum()),
        "projection": np.sin(1.1),
        "binet-cauchy": sqrt(1 - np.prod(np.cos(t) ** 2)),
        "squared-angles": (t**2).sum(),
    }
    assert set(expected) == set(DISTANCES)
    for kind, value in expected.items():
        assert A.distance(B, kind) == pytest.approx(value, rel=1e-12)
        assert B.distance(A, kind) == A.distance(B, kind)
        assert A.distance(A, kind) == pytest.approx(0, abs=1e-15)
    assert A.distance(B) == A.distance(B, "geodesic")


def test_distances_of_unequal_dimensions(library: str) -> None:
    """Ye and Lim: a missing direction is at a right angle; with containment it is left out."""
    A, B = planes(0.2, 0.5, extra=2, library=library)
    assert (A.dim, B.dim) == (2, 4)
    assert A.distance(B) == pytest.approx(sqrt(0.2**2 + 0.5**2 + 2 * (pi / 2) ** 2))
    assert A.distance(B, "chordal") == pytest.approx(sqrt(np.sin(0.2) ** 2 + np.sin(0.5) ** 2 + 2))
    assert A.distance(B, "projection") == A.distance(B, "binet-cauchy") == 1
    equal = planes(0.2, 0.5, library=library)
    for kind in DISTANCES:
        assert A.distance(B, kind, containment=True) == pytest.approx(equal[0].distance(equal[1], kind))
        assert A.distance(A | B, kind, containment=True) == pytest.approx(0, abs=1e-15)


@given(case=cases(sets=3, dtypes=("float64",)))
def test_distances_satisfy_the_triangle_inequality(library: str, case: Case) -> None:
    A, B, C = case.sets(library)
    for kind in ("geodesic", "chordal", "projection", "binet-cauchy"):
        assert A.distance(C, kind) <= A.distance(B, kind) + B.distance(C, kind) + 1e-9


def test_a_tiny_distance_keeps_its_digits(library: str) -> None:
    A, B = planes(3e-9, 4e-9, library=library)
    for kind in ("geodesic", "chordal", "binet-cauchy"):
        assert A.distance(B, kind) == pytest.approx(5e-9, rel=1e-6)


def test_similarity(library: str) -> None:
    A, B = planes(0.3, 1.2, extra=1, library=library)
    P, Q = (numbers(X.basis).T @ numbers(X.basis) for X in (A, B))
    cosine = np.trace(P @ Q) / np.linalg.norm(P) / np.linalg.norm(Q)
    assert A.similarity(B) == B.similarity(A) == pytest.approx(cosine, rel=1e-12)
    assert A.similarity(A) == pytest.approx(1, rel=1e-12)
    empty = Subspace.empty(12, like=A.basis)
    assert (empty.similarity(empty), empty.similarity(A), A.similarity(~A)) == (1, 0, pytest.approx(0, abs=1e-15))


def test_an_unknown_distance_lists_the_known_ones(library: str) -> None:
    A, B = planes(0.2, library=library)
    with pytest.raises(InputError, match="'euclid' is not known: use one of geodesic, chordal"):
        A.distance(B, "euclid")
