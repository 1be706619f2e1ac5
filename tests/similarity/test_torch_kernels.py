"""The kernels on torch: the values of NumPy, and gradients that are finite and right."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from softset.similarity.kernels.gram import memberships, relative_memberships
from softset.similarity.kernels.max_cosine import largest_cosines
from tests.similarity import literal
from tests.similarity.cases import Pair, pairs, rows_of, separate

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def stacked(*sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return unit rows of all sets, and where each begins."""
    rows = np.vstack([literal.units(one) for one in sets])
    return rows, np.concatenate([[0], np.cumsum([len(one) for one in sets])])


@given(pairs(dtypes=("float32", "float64")))
def test_same_values_as_numpy(pair: Pair) -> None:
    rows, ends = stacked(*pair)
    rows = rows.astype(pair.A.dtype)
    expected = memberships(rows, ends, cut=pair.cut)
    found = memberships(torch.from_numpy(rows), ends, cut=pair.cut)
    assert isinstance(found, torch.Tensor)
    assert np.abs(found.numpy() - expected).max() < 1e-6
    cosines = largest_cosines(torch.from_numpy(rows), ends).numpy()
    assert np.abs(cosines - largest_cosines(rows, ends)).max() < 1e-6
    assert np.abs(cosines - literal.closest(*pair)).max() < 1e-5


def test_every_path_in_one_batch() -> None:
    rng = np.random.default_rng(8)
    kinds = ["apart", "one", "near", "near", "combined", "scaled", "crowded"]
    sets = [rows_of(kind, rng, 8) for one in kinds for kind in (one, "apart")]
    rows, ends = stacked(*sets)
    rows = rows.astype(np.float32)
    tally: Counter[str] = Counter()
    found = memberships(torch.from_numpy(rows), ends, cut=1e-5, tally=tally)
    assert tally == {"fast": 2, "wide": 2, "revealing": 3}
    assert np.abs(found.numpy() - memberships(rows, ends, cut=1e-5)).max() < 1e-6


@pytest.mark.parametrize("least", [1e-3, 1.0, 50.0])
@given(pairs(dtypes=("float32", "float64")))
def test_relative_memberships_are_those_of_numpy(least: float, pair: Pair) -> None:
    rows, ends = stacked(*pair)
    rows, ridge = rows.astype(pair.A.dtype), np.linspace(least, 2 * least, len(rows))
    expected = relative_memberships(rows, ends, cut=pair.cut, ridge=ridge)
    found = relative_memberships(torch.from_numpy(rows), ends, cut=pair.cut, ridge=ridge)
    assert isinstance(found, torch.Tensor)
    assert np.abs(found.numpy() - expected).max() < 1e-6


def differentiable(
    ends: np.ndarray, ridge: np.ndarray | None = None, kernel: Any = memberships, cut: float = 1e-7
) -> Any:
    """Return a number that depends on every membership, as a function of vectors of any length."""
    weights = torch.linspace(0.5, 1.5, int(ends[-1]), dtype=torch.float64)

    def total(x: Any) -> Any:
        return (kernel(x / x.norm(dim=1, keepdim=True), ends, cut=cut, ridge=ridge) * weights).sum()

    return total


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (1, 1), (2, 8), (7, 6)])  # with pads in a bucket, and without
@pytest.mark.parametrize("graded", [False, True])
def test_gradients_match_finite_differences(sizes: tuple[int, int], graded: bool) -> None:
    rng = np.random.default_rng(1)
    rows, ends = stacked(*(separate(rng, k, 9) for k in sizes))
    ridge = np.linspace(0.2, 0.9, len(rows)) if graded else None
    x = torch.tensor(rows, requires_grad=True)
    assert torch.autograd.gradcheck(differentiable(ends, ridge), (x,), fast_mode=True)


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (1, 1), (2, 8), (7, 6), (12, 6)])
def test_gradients_of_relative_memberships_match_finite_differences(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    rows, ends = stacked(*(rng.standard_normal((k, 9)) for k in sizes))
    ridge = np.linspace(0.2, 0.9, len(rows))
    found = relative_memberships(rows, ends, cut=1e-7, ridge=ridge)
    assert ((found < 0.999) | (found == 1)).all() and (found < 0.999).any()  # there is a corner just below 1
    x = torch.tensor(rows, requires_grad=True)
    assert torch.autograd.gradcheck(differentiable(ends, ridge, relative_memberships), (x,), fast_mode=True)


def test_gradients_of_several_pairs_in_one_bucket() -> None:
    rng = np.random.default_rng(2)
    rows, ends = stacked(*(separate(rng, k, 9) for k in (3, 4, 2, 4, 4, 1)))
    x = torch.tensor(rows, requires_grad=True)
    assert torch.autograd.gradcheck(differentiable(ends), (x,), fast_mode=True)


def test_gradients_where_there_are_more_tokens_than_dimensions() -> None:
    rng = np.random.default_rng(3)
    rows, ends = stacked(rng.standard_normal((6, 4)), rng.standard_normal((2, 4)))
    x = torch.tensor(rows, requires_grad=True)
    assert torch.autograd.gradcheck(differentiable(ends), (x,), fast_mode=True)


@pytest.fixture
def every_warning() -> Iterator[None]:
    """Let torch say each time what it says once a process."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


@pytest.mark.usefixtures("every_warning")
@pytest.mark.parametrize("kind", ["copies", "scaled", "combined", "crowded"])
def test_gradients_of_degenerate_sets_are_finite_and_come_without_warnings(kind: str) -> None:
    rng = np.random.default_rng(4)
    rows, ends = stacked(rows_of(kind, rng, 8), separate(rng, 4, 8))
    x = torch.tensor(rows, requires_grad=True)
    memberships(x, ends, cut=1e-7).sum().backward()
    assert torch.isfinite(x.grad).all()


@pytest.mark.usefixtures("every_warning")
@pytest.mark.parametrize("ridge", [1e-3, 1.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["apart", "copies", "scaled", "combined", "crowded", "near", "as one"])
def test_gradients_of_relative_memberships_of_degenerate_sets_are_finite(kind: str, dtype: str, ridge: float) -> None:
    rng = np.random.default_rng(4)
    A = rows_of(kind, rng, 8)
    for B in (separate(rng, 4, 8), A):  # what is the same is at the corner of min(m, 1)
        rows, ends = stacked(A, B)
        x = torch.tensor(rows.astype(dtype), requires_grad=True)
        relative_memberships(x, ends, cut=1e-7, ridge=np.full(len(rows), ridge)).sum().backward()
        assert torch.isfinite(x.grad).all()


def test_gradients_at_membership_zero_are_finite() -> None:
    """The norm has a corner at 0: no direction is better than another, but NaN is none at all."""
    x = torch.eye(8, dtype=torch.float64)[:8].clone().requires_grad_()
    found = memberships(x, np.array([0, 4, 8]), cut=1e-7)
    found.sum().backward()
    assert found.detach().abs().max() == 0
    assert torch.isfinite(x.grad).all()
    x.grad = None
    graded = relative_memberships(x, np.array([0, 4, 8]), cut=1e-7, ridge=np.ones(8))
    graded.sum().backward()
    assert graded.detach().abs().max() == 0
    assert torch.isfinite(x.grad).all()


def test_training_on_precision_works_in_float32() -> None:
    """A candidate of three tokens is pulled into the span of five: the pads of a bucket must not turn it to NaN."""
    rng = np.random.default_rng(5)
    B = torch.tensor(literal.units(separate(rng, 5, 9)), dtype=torch.float32)
    x = torch.tensor(separate(rng, 3, 9), dtype=torch.float32, requires_grad=True)
    optimiser = torch.optim.Adam([x], lr=0.05)
    losses = []
    for _ in range(40):
        optimiser.zero_grad()
        units = torch.cat([x / x.norm(dim=1, keepdim=True), B])
        loss = 1 - memberships(units, np.array([0, 3, 8]), cut=1e-5)[:3].mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
