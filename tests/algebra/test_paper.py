"""Agreement with the algorithms of the paper, written down literally."""

import numpy as np
import pytest
from hypothesis import given

from softset import Subspace
from tests.algebra import paper
from tests.algebra.cases import Case, array, cases, in_every_library, numbers

pytestmark = in_every_library


def same(A: Subspace, rows: np.ndarray) -> bool:
    """Tell whether a set equals the span of rows, by the projectors."""
    Q = numbers(A.basis)
    return Q.shape == rows.shape and bool(np.abs(Q.T @ Q - rows.T @ rows).max(initial=0) < 1e-9)


def reference(case: Case, i: int) -> np.ndarray:
    rows = case.rows(i)
    return paper.subspace(rows[np.linalg.norm(rows, axis=1) > 0])


@given(case=cases(sets=2, dtypes=("float64",)))
def test_operations(library: str, case: Case) -> None:
    A, B = case.sets(library)
    a, b = reference(case, 0), reference(case, 1)
    assert same(A, a) and same(B, b)
    assert same(A | B, paper.union(a, b))
    assert same(A & B, paper.intersection(a, b, 1e-9))
    assert same(~A, paper.complement(a))
    for v in numbers(case.vectors(library)):
        assert float(A.membership(array(v, library))) == pytest.approx(paper.soft_membership(v, a), abs=1e-12)


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.5, 0.8])
def test_soft_intersection_bisects_the_papers_directions(library: str, alpha: float) -> None:
    """The paper keeps A's side of each canonical pair; ours is the middle between A's side and B's."""
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, 5, 40)) + random.standard_normal(40)
    A, B = Subspace.span(array(x, library)), Subspace.span(array(y, library))
    a, b = numbers(A.basis), numbers(B.basis)
    left, right = paper.intersection(a, b, alpha), paper.intersection(b, a, alpha)
    A_and_B = A.intersection(B, alpha=alpha)
    assert A_and_B.dim == len(left) == len(right)
    middle = left + np.sign(np.sum(left * right, axis=1, keepdims=True)) * right
    assert A_and_B == Subspace.span(array(middle, library)) if len(left) else A_and_B.dim == 0
