"""Graded sets: against 40-digit conceptors, by their laws, and in the crisp limit."""

from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset import GradedSubspace, SoftSet, Subspace
from softset.errors import InputError, ShapeError
from tests.algebra import exact
from tests.algebra.cases import Case, array, cases, in_every_library, numbers, rotation

pytestmark = in_every_library


def dense(C: GradedSubspace) -> np.ndarray:
    """Return the (d, d) matrix of a graded set, by projecting the unit vectors."""
    eye = C.directions[:0, :]
    eye = array(np.eye(C.ambient), "numpy" if isinstance(eye, np.ndarray) else "torch")
    return numbers(C.project(eye))


def graded(case: Case, i: int, library: str, aperture: float = 1.0) -> GradedSubspace:
    return GradedSubspace.of(array(case.rows(i), library, case.dtype), aperture=aperture)


def vectors(d: int, seed: int, shared: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the examples of two sets whose spans meet in `shared` dimensions."""
    E, random = rotation(d, seed), np.random.default_rng(seed)
    a = random.standard_normal((4, 3)) @ E[:3]
    b = random.standard_normal((4, 3)) @ E[3 - shared : 6 - shared]
    return a, b


apertures = st.sampled_from([0.1, 0.5, 1.0, 4.0, 30.0, 1000.0])


@settings(max_examples=20)
@given(seed=st.integers(0, 500), shared=st.integers(0, 3), a=apertures, b=apertures, d=st.sampled_from([6, 7]))
def test_the_logic_agrees_with_conceptors_in_40_digits(
    library: str, seed: int, shared: int, a: float, b: float, d: int
) -> None:
    x, y = vectors(d, seed, shared)
    w = np.random.default_rng(seed).uniform(0.5, 2, 4)
    A = GradedSubspace.of(array(x, library), aperture=a, weights=array(w, library))
    B = GradedSubspace.of(array(y, library), aperture=b)
    # The spans meet exactly in numbers only up to rounding: the reference cuts its 40-digit eigenvalues where we do.
    C, D = exact.conceptor(x, w, a), exact.conceptor(y, np.ones(4), b)
    cut = 1e-14
    eye = exact.matrix(np.eye(d))
    np.testing.assert_allclose(dense(A), exact.numbers(C), atol=1e-12)
    np.testing.assert_allclose(dense(~A), exact.numbers(eye - C), atol=1e-12)
    np.testing.assert_allclose(dense(A & B), exact.numbers(exact.conjunction(C, D, cut)), atol=1e-10)
    either = eye - exact.conjunction(eye - C, eye - D, cut)
    np.testing.assert_allclose(dense(A | B), exact.numbers(either), atol=1e-10)
    np.testing.assert_allclose(dense(A - B), exact.numbers(exact.conjunction(C, eye - D, cut)), atol=1e-10)


def test_two_grades_of_one_half_make_one_third(library: str) -> None:
    half = GradedSubspace.of(array([[1.0, 0.0]], library), aperture=1)
    assert numbers(half.grades) == pytest.approx([0.5])
    assert numbers((half & half).grades) == pytest.approx([1 / 3])
    assert numbers((half | half).grades) == pytest.approx([2 / 3])
    assert half & half != half  # not idempotent
    assert half & (half | half) != half  # no absorption
    assert half & ~half != GradedSubspace.from_crisp(Subspace.empty(2, like=half.directions))  # no contradiction either


@given(case=cases(sets=3, max_d=16, dtypes=("float64",)), a=apertures, b=apertures)
def test_laws_that_hold(library: str, case: Case, a: float, b: float) -> None:
    A, B, C = graded(case, 0, library, a), graded(case, 1, library, b), graded(case, 2, library, a)
    assert A & B == B & A
    assert A | B == B | A
    assert ~~A == A
    assert ~(A & B) == ~A | ~B
    assert ~(A | B) == ~A & ~B
    assert A & B <= A <= A | B
    assert (A & B) & C == A & (B & C)
    assert (A | B) | C == A | (B | C)
    assert A - B == A & ~B
    assert A.without(B) == (A | B) & ~B
    v = case.vectors(library)
    np.testing.assert_allclose(numbers(A.membership(v)) ** 2 + numbers((~A).membership(v)) ** 2, 1, atol=1e-12)
    assert (numbers((A & B).membership(v)) <= numbers(A.membership(v)) + 1e-9).all()
    empty, whole = Subspace.empty(A.ambient, like=A.directions), Subspace.whole(A.ambient, like=A.directions)
    assert A & whole == A == A | empty
    assert A & empty == empty
    assert A | whole == whole


@given(case=cases(sets=2, max_d=16))
def test_crisp_sets_keep_the_lattice(library: str, case: Case) -> None:
    """On grades 0 and 1 conceptor logic is the lattice of subspaces."""
    A, B = case.sets(library)
    C, D = GradedSubspace.from_crisp(A), GradedSubspace.from_crisp(B)
    assert C & D == A & B
    assert C | D == A | B
    assert ~C == ~A
    assert C - D == A - B
    assert (C <= D) == (A <= B)
    assert C.crisp() == A and (~C).crisp() == ~A
    assert C.dim == A.dim and C.chance == pytest.approx(A.chance)
    assert C.similarity(D) == pytest.approx(A.similarity(B), abs=case.close)
    v = case.vectors(library)
    np.testing.assert_allclose(numbers((~C).membership(v)), numbers((~A).membership(v)), atol=case.close)


@given(case=cases(sets=2, max_d=16, dtypes=("float64",)))
def test_it_tends_to_the_crisp_subspace_and_its_logic_to_the_lattice(library: str, case: Case) -> None:
    A, B = case.sets(library)
    v = case.vectors(library)
    errors = []
    for aperture in (1e2, 1e3, 1e4):
        C, D = graded(case, 0, library, aperture), graded(case, 1, library, aperture)
        pairs = [(C, A), (~C, ~A), (C & D, A & B), (C | D, A | B), (C - D, A - B), (C.without(D), A.without(B))]
        errors.append([np.abs(numbers(X.membership(v)) ** 2 - numbers(Y.membership(v)) ** 2).max() for X, Y in pairs])
        assert C.crisp() == A
    assert (np.array(errors[1]) <= np.array(errors[0]) / 50 + 1e-6).all()
    assert max(errors[2]) < 1e-5
    assert graded(case, 0, library, inf) == A


def test_the_rank_is_decided_before_grading(library: str) -> None:
    """The third vector is the sum of the others, to rounding: no aperture may lift what is left of it."""
    x = rotation(20, 0)[:2]
    rows = np.vstack([x, [0.1 * x[0] + 0.7 * x[1]]])
    for aperture in (1.0, 1e8, 1e15, inf):
        assert GradedSubspace.of(array(rows, library), aperture=aperture).dim == 2
    assert GradedSubspace.of(array(rows, library), aperture=inf) == Subspace.span(array(rows, library))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_copies_count_like_weights(library: str, dtype: str) -> None:
    rows = np.random.default_rng(0).standard_normal((3, 8))
    copies = GradedSubspace.of(array(rows[[0, 0, 1, 2, 2, 2]], library, dtype))
    weights = GradedSubspace.of(array(np.vstack([rows, 0 * rows[:1]]), library, dtype), weights=[2, 1, 3, 9])
    assert copies == weights
    assert (
        copies.grades.dtype == copies.membership(array(rows, library, dtype)).dtype == array(rows, library, dtype).dtype
    )
    assert weights == GradedSubspace.of(array(5 * rows, library, dtype), weights=[4, 2, 6])
    assert copies != GradedSubspace.of(array(rows, library, dtype))


def test_a_vector_of_weight_zero_is_ignored(library: str) -> None:
    rows = array(np.eye(3), library)
    assert GradedSubspace.of(rows, weights=[1, 0, 1]).dim == 2
    assert not GradedSubspace.of(rows, weights=[0, 0, 0])
    assert not GradedSubspace.of(array(np.zeros((2, 3)), library))


def test_loewner_order(library: str) -> None:
    x = array(np.random.default_rng(0).standard_normal((3, 5)), library)
    A, B = GradedSubspace.of(x, aperture=1), GradedSubspace.of(x, aperture=2)
    assert A <= B and B >= A and not B <= A and A != B
    assert A <= Subspace.span(x) and not Subspace.span(x) <= A
    assert Subspace.empty(5, like=x) <= A <= Subspace.whole(5, like=x)
    gap = np.linalg.eigvalsh(dense(B) - dense(A))
    assert gap.min() > -1e-12 and gap.max() > 0.01
    elsewhere = GradedSubspace.of(x + 3.0)
    assert not A <= elsewhere and not elsewhere <= A


def test_a_floor_keeps_the_and_of_disjoint_sets_informative(library: str) -> None:
    x, y = (array(rows, library) for rows in vectors(8, 0, 0))
    A, B = GradedSubspace.of(x), GradedSubspace.of(y)
    assert not A & B
    shared = A.intersection(B, floor=0.05)
    assert shared == A.with_floor(0.05) & B.with_floor(0.05) == GradedSubspace.of(x, floor=0.05) & B.with_floor(0.05)
    assert shared.rest == pytest.approx(0.05 / 1.95)
    m = numbers(shared.membership(array(np.vstack([numbers(x), rotation(8, 0)[6:]]), library)))
    assert m[:4].min() > m[4:].max() == pytest.approx(sqrt(0.05 / 1.95))
    assert A.with_floor(0) == A


def test_operators_accept_crisp_and_graded_sets(library: str) -> None:
    x, y = (array(rows, library) for rows in vectors(8, 0, 1))
    A, B = Subspace.span(x), GradedSubspace.of(y)
    C = GradedSubspace.from_crisp(A)
    assert A & B == C & B and B & A == B & C
    assert A | B == C | B
    assert A - B == C - B and B - A == B - C
    assert A.similarity(B) == B.similarity(A) == pytest.approx(C.similarity(B), rel=1e-14)
    assert (A & B <= A) and (A >= A & B)
    assert A == C and C == A and A != B
    for S in (A, B, ~A, ~B):
        assert isinstance(S, SoftSet)
    with pytest.raises(TypeError):
        _ = A & 3
    with pytest.raises(TypeError):
        _ = B | "fruit"
    with pytest.raises(InputError, match="a Subspace or GradedSubspace was expected, but str was given"):
        B.similarity("fruit")


def test_membership_in_a_complement_keeps_its_digits(library: str) -> None:
    x = np.random.default_rng(0).standard_normal((3, 50))
    A = GradedSubspace.of(array(x, library), aperture=inf)
    assert numbers((~A).membership(array(x, library))).max() < 1e-15
    assert numbers(A.membership(array(x, library))) == pytest.approx(1, abs=1e-15)


def test_one_vector_many_and_none(library: str) -> None:
    A = GradedSubspace.of(array([3.0, 4.0], library))
    assert A.membership(array([3.0, 4.0], library)).shape == ()
    assert A.project(array([3.0, 4.0], library)).shape == (2,)
    assert tuple(A.membership(array(np.zeros((0, 2)), library)).shape) == (0,)
    assert A.membership(array([0.0, 0.0], library)) == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"aperture": 0}, "the aperture must be from 1e-06 to infinity"),
        ({"aperture": 1e-200}, "the aperture must be from 1e-06 to infinity"),
        ({"aperture": float("nan")}, "the aperture must be from 1e-06 to infinity"),
        ({"weights": [1, 2]}, r"weights of shape \(2,\) were given for 3 vectors"),
        ({"weights": [[1, 2, 3], [1, 2, 3]]}, r"weights of shape \(2, 3\) were given for 3 vectors"),
        ({"weights": [1, -2, 1]}, r"weight 1 is -2.0: weights must be finite and not negative"),
        ({"weights": [1, float("nan"), 1]}, "weight 1 is nan"),
        ({"floor": 1}, "the floor must be at least 0 and below 1"),
    ],
)
def test_bad_options(library: str, options: dict[str, object], sentence: str) -> None:
    with pytest.raises((InputError, ShapeError), match=sentence):
        GradedSubspace.of(array(np.eye(3), library), **options)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_smallest_aperture_keeps_rare_examples(library: str, dtype: str) -> None:
    """Grades are 0 only if they are rounding: a share of 1 in 100 of the examples has the grade 1e-14."""
    x = array(np.eye(3)[:2], library, dtype)
    A = GradedSubspace.of(x, weights=[99, 1], aperture=1e-6)
    assert A.dim == 2 and not A <= GradedSubspace.of(x[:1], aperture=1e-6)
    assert GradedSubspace.of(x, weights=[9999, 1], aperture=1e-6).dim == 1


def test_a_direction_at_the_threshold_is_not_above_it(library: str) -> None:
    half = GradedSubspace.of(array([[1.0, 0.0, 0.0]], library), aperture=1)
    assert half.crisp(0.5).dim == 0 and half.crisp(0.49).dim == 1
    assert (~half).crisp(0.5).dim == 2 and (~half).crisp(0.49).dim == 3
    assert half.with_floor(0.5).crisp(0.5).dim == 1  # its grade is 0.75, and that of the rest is at the threshold


@given(case=cases(sets=2, max_d=8, dtypes=("float64",)))
def test_intersection_without_a_floor_is_and(library: str, case: Case) -> None:
    A, B = graded(case, 0, library), graded(case, 1, library)
    assert A.intersection(B) == A & B
    assert A.intersection(B, floor=0.2) == A.with_floor(0.2) & B.with_floor(0.2)


def test_a_threshold_has_limits(library: str) -> None:
    with pytest.raises(InputError, match="the threshold must be"):
        GradedSubspace.of(array(np.eye(3), library)).crisp(1)


def test_huge_weights_do_not_overflow(library: str) -> None:
    x = array(np.eye(3), library)
    assert GradedSubspace.of(x, weights=[1e308] * 3) == GradedSubspace.of(x)


@pytest.mark.parametrize("aperture", [1e-3, 1e-2, 1e2, 3e3])
def test_float32_sets_keep_small_and_large_apertures_apart(library: str, aperture: float) -> None:
    """Grades are kept in float64, so that a float32 set is no coarser than its examples."""
    x, y = np.random.default_rng(0).standard_normal((2, 3, 6))
    A, B = (GradedSubspace.of(array(rows, library, "float32"), aperture=aperture) for rows in (x, y))
    C, D = (GradedSubspace.of(array(rows, library), aperture=aperture) for rows in (x, y))
    assert A.dim == 3 and A != B and A != Subspace.empty(6, like=A.directions)
    v = np.random.default_rng(1).standard_normal((9, 6))
    for rough, exact_one in ((A, C), (~A, ~C), (A & A, C & C), (A | B, C | D), (A.without(B), C.without(D))):
        m = numbers(rough.membership(array(v, library, "float32")))
        np.testing.assert_allclose(m, numbers(exact_one.membership(array(v, library))), rtol=2e-3, atol=1e-6)
    assert A.similarity(B) == pytest.approx(C.similarity(D), abs=1e-5)


@settings(max_examples=15)
@given(seed=st.integers(0, 500), f=st.sampled_from([0.0, 0.1, 0.7]), g=st.sampled_from([0.2, 0.9]))
def test_floors_and_full_grades_in_40_digits(library: str, seed: int, f: float, g: float) -> None:
    """A rest strictly between 0 and 1, against crisp directions of grade exactly 1."""
    x, y = vectors(6, seed, 1)
    A = GradedSubspace.of(array(x, library), aperture=2, floor=f)
    B = GradedSubspace.from_crisp(Subspace.span(array(y[:2], library))).with_floor(g)
    eye = exact.matrix(np.eye(6))
    C = f * eye + (1 - exact.mp.mpf(f)) * exact.conceptor(x, np.ones(4), 2)
    Q = exact.frame(y[:2])
    D = exact.mp.mpf(g) * eye + (1 - exact.mp.mpf(g)) * (Q.T * Q)
    np.testing.assert_allclose(dense(A & B), exact.numbers(exact.conjunction(C, D, 1e-14)), atol=1e-10)
    either = eye - exact.conjunction(eye - C, eye - D, 1e-14)
    np.testing.assert_allclose(dense(A | B), exact.numbers(either), atol=1e-10)


def test_in_and_strict_order(library: str) -> None:
    A = GradedSubspace.from_crisp(Subspace.span(array(np.eye(3)[:2], library)))
    assert array([1.0, 2.0, 0.0], library) in A and array([0.0, 0.0, 0.0], library) in A
    assert array([1.0, 2.0, 0.1], library) not in A
    B = GradedSubspace.of(array(np.eye(3)[:2], library))
    assert B < A and A > B and not A < A
    assert not GradedSubspace.empty(3, like=A.directions) and GradedSubspace.whole(3, like=A.directions).trace == 3


def test_dimension_of_a_complement_counts_the_rest_of_the_space(library: str) -> None:
    A = GradedSubspace.of(array([[1.0, 0, 0, 0], [0, 1.0, 0, 0]], library))
    assert (A.dim, (~A).dim) == (2, 4)
    assert (~GradedSubspace.from_crisp(A.crisp(0))).dim == 2
