"""Errors of bad input name the row, the column or the argument."""

import copy
import pickle

import numpy as np
import pytest

from softset import GradedSubspace, SoftsetError, Subspace
from softset.errors import AmbientError, InputError, LibraryError, NotFiniteError, ShapeError

PLANE = Subspace.span([[1.0, 0, 0], [0, 1, 0]])
NAN, INF = float("nan"), float("inf")

VECTORS = [
    (3.0, ShapeError, r"vectors must be an array or a sequence of rows, but 3.0 was given"),
    (np.float64(3), ShapeError, r"one \(d,\) vector or \(n, d\) rows, but an array of shape \(\) was given"),
    (np.array(3), ShapeError, r"one \(d,\) vector or \(n, d\) rows, but an array of shape \(\) was given"),
    (np.zeros((1, 2, 3, 4)), ShapeError, r"shape \(1, 2, 3, 4\) was given"),
    ([[1, 2], [3]], ShapeError, "row 1 has 1 numbers, but row 0 has 2"),
    ([np.ones(2), np.ones(3)], ShapeError, "row 1 has 3 numbers, but row 0 has 2"),
    ([[1, 2], 3], ShapeError, "row 1 has 0 numbers, but row 0 has 2"),
    ([], ShapeError, r"vectors need at least 1 dimension, but an array of shape \(0,\) was given"),
    (np.zeros((3, 0)), ShapeError, r"vectors need at least 1 dimension, but an array of shape \(3, 0\) was given"),
    ([[1, NAN, 3]], NotFiniteError, "row 0, column 1 is nan: every number must be finite"),
    ([[1, 2, 3], [4, 5, -INF]], NotFiniteError, "row 1, column 2 is -inf"),
    (np.array([[1, 2, NAN]], dtype="float16"), NotFiniteError, "row 0, column 2 is nan"),
    (["red", "blue"], LibraryError, "vectors must be numbers, but 'red' was given"),
    ("red", LibraryError, "vectors must be numbers, but 'r' was given"),
    ([[1, None]], LibraryError, "vectors must be numbers, but None was given"),
    (np.array([1j, 2]), LibraryError, "vectors must be real numbers, but their type is complex128"),
    ([[1, 2], [3, [4]]], ShapeError, "the rows have different shapes"),
    (None, ShapeError, "vectors must be an array or a sequence of rows, but None was given"),
]


@pytest.mark.parametrize(("vectors", "kind", "sentence"), VECTORS)
@pytest.mark.parametrize("make", [Subspace.span, GradedSubspace.of])
def test_bad_vectors_for_span(vectors, kind, sentence, make) -> None:
    with pytest.raises(kind, match=sentence) as caught:
        make(vectors)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, SoftsetError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("vectors", "kind", "sentence"), VECTORS)
@pytest.mark.parametrize("ask", ["membership", "project", "__contains__"])
def test_bad_vectors_for_membership(vectors, kind, sentence, ask) -> None:
    for A in (PLANE, GradedSubspace.from_crisp(PLANE)):
        with pytest.raises(kind, match=sentence):
            getattr(A, ask)(vectors)


def test_the_wrong_dimension() -> None:
    for ask in (PLANE.membership, PLANE.project, GradedSubspace.from_crisp(PLANE).membership):
        with pytest.raises(AmbientError, match="the vectors have 4 dimensions, but the set has 3"):
            ask(np.ones((2, 4)))
    other = Subspace.span(np.eye(4)[:2])
    for operation in (
        lambda: PLANE | other,
        lambda: PLANE & other,
        lambda: PLANE <= other,
        lambda: PLANE.angles(other),
        lambda: GradedSubspace.from_crisp(PLANE) & other,
        lambda: GradedSubspace.from_crisp(PLANE).similarity(other),
        lambda: PLANE.similarity(other),
        lambda: Subspace.empty(3).similarity(Subspace.empty(4)),
    ):
        with pytest.raises(AmbientError, match="sets of 3 and 4 dimensions cannot be combined"):
            operation()
    assert other != PLANE
    assert GradedSubspace.from_crisp(other) != PLANE


def test_an_error_in_a_stack_names_the_set() -> None:
    stack = np.ones((3, 2, 4))
    stack[2, 1, 3] = NAN
    with pytest.raises(NotFiniteError, match="set 2, row 1, column 3 is nan"):
        Subspace.span(stack)
    with pytest.raises(
        ShapeError, match=r"a stack of sets must have shape \(sets, vectors, d\), but \(2, 4\) was given"
    ):
        Subspace.spans(np.ones((2, 4)))
    with pytest.raises(ShapeError, match=r"vectors need at least 1 dimension, but an array of shape \(3, 2, 0\)"):
        Subspace.spans(np.ones((3, 2, 0)))


def test_many_vectors_at_once_name_the_row() -> None:
    v = np.ones((1000, 3), dtype="float32")
    v[700, 1] = INF
    with pytest.raises(NotFiniteError, match="row 700, column 1 is inf"):
        PLANE.membership(v)


def test_in_takes_one_vector() -> None:
    for A in (PLANE, GradedSubspace.from_crisp(PLANE)):
        with pytest.raises(ShapeError, match="`in` takes one vector, but 2 were given"):
            _ = np.eye(3)[:2] in A


@pytest.mark.parametrize("other", [3, "fruit", None, GradedSubspace.from_crisp(PLANE)])
def test_methods_of_crisp_sets_require_crisp_sets(other: object) -> None:
    for ask in (PLANE.angles, PLANE.distance, lambda B: PLANE.intersection(B, alpha=0.5)):
        with pytest.raises(InputError, match=f"a Subspace was expected, but {type(other).__name__} was given"):
            ask(other)
    if not isinstance(other, GradedSubspace):
        with pytest.raises(InputError, match="a Subspace was expected"):
            PLANE.similarity(other)
        with pytest.raises(TypeError):
            PLANE.without(other)


def test_sets_can_be_copied_and_pickled() -> None:
    for A in (PLANE, ~PLANE, GradedSubspace.of([[1.0, 2], [3, 1]])):
        assert copy.copy(A) is copy.deepcopy(A) is A
        B = pickle.loads(pickle.dumps(A))
        assert B == A and repr(B) == repr(A)


@pytest.mark.parametrize("d", [0, -1])
def test_spaces_without_dimensions(d: int) -> None:
    with pytest.raises(InputError, match=f"a space needs at least 1 dimension, but {d} was given"):
        Subspace.empty(d)


@pytest.mark.parametrize("kind", [Subspace, GradedSubspace])
def test_sets_are_made_by_name(kind: type) -> None:
    with pytest.raises(TypeError, match=rf"use {kind.__name__}\.\w+\(vectors\).* to make a {kind.__name__}"):
        kind()


def test_sets_never_change() -> None:
    for A in (PLANE, GradedSubspace.of([[1.0, 2]])):
        with pytest.raises(AttributeError, match="is immutable"):
            A.dim = 3
        with pytest.raises(AttributeError, match="is immutable"):
            A._dtype = None
        with pytest.raises(AttributeError, match="is immutable"):
            del A._dtype
        with pytest.raises(TypeError, match="unhashable"):
            hash(A)
    rows = np.eye(3)[:2]
    A = Subspace.span(rows)
    rows[:] = 7
    A.basis[:] = 7
    GradedSubspace.from_crisp(A).grades[:] = 0
    assert A == PLANE


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", ">f4", "float64", ">f8", "longdouble", "int8", "uint64", "bool"]
)
def test_types_are_promoted(dtype: str) -> None:
    rows = np.eye(4)[:2].astype(dtype)
    A = Subspace.span(rows)
    assert (
        A.basis.dtype
        == A.membership(rows).dtype
        == ("float32" if dtype in ("float16", "float32", ">f4") else "float64")
    )
    assert A.membership(rows).tolist() == [1, 1]


def test_a_result_has_the_precision_of_its_least_precise_input() -> None:
    x = np.random.default_rng(0).standard_normal((3, 50))
    rough, exact = Subspace.span(x.astype("float32")), Subspace.span(x)
    assert rough == exact and (rough | exact).dim == 3
    assert (rough | exact).basis.dtype == "float32"
    assert rough.membership(x[0]).dtype == "float64"
