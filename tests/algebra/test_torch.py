"""torch arrays: the same values as NumPy, the same device and type, and correct gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from softset import GradedSubspace, Subspace
from softset.algebra import and_min, and_product, not_, or_max, or_product
from softset.algebra.arrays import to_numpy
from softset.errors import LibraryError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Set = Subspace | GradedSubspace


def tensor(*shape: int, seed: int = 0) -> Any:
    values = np.random.default_rng(seed).standard_normal(shape)
    return torch.tensor(values, requires_grad=True)


def crisp(x: Any) -> Subspace:
    return Subspace.span(x)


def graded(x: Any) -> GradedSubspace:
    return GradedSubspace.of(x, aperture=1.5, weights=torch.arange(1.0, 1 + x.shape[0], dtype=x.dtype))


ONE: dict[str, Callable[[Any], Set]] = {
    "span": crisp,
    "complement": lambda x: ~crisp(x),
    "graded": graded,
    "graded complement": lambda x: ~graded(x),
    "graded with a floor": lambda x: graded(x).with_floor(0.2),
    "graded at infinite aperture": lambda x: GradedSubspace.of(x, aperture=float("inf")),
    "graded from crisp": lambda x: ~GradedSubspace.from_crisp(crisp(x)),
    "moved": lambda x: crisp(x).like(x.detach()),
    "graded moved": lambda x: graded(x).like(x.detach()),
    "graded whole moved": lambda x: graded(torch.vstack([x, torch.eye(6, dtype=x.dtype)])).like(x.detach()),
    "crisp from graded": lambda x: graded(x).crisp(0.3),
    "crisp from a graded complement": lambda x: (~graded(x)).with_floor(0.1).crisp(0.75),
    "crisp at threshold 0": lambda x: graded(x).crisp(0.0),
}
TWO: dict[str, Callable[[Any, Any], Set]] = {
    "union": lambda x, y: crisp(x) | crisp(y),
    "union of unequal sets": lambda x, y: crisp(x[:1]) | crisp(y),
    "neither": lambda x, y: ~crisp(x) & ~crisp(y),
    "without": lambda x, y: crisp(x).without(crisp(y)),
    "graded or": lambda x, y: graded(x) | graded(y),
    "graded and": lambda x, y: graded(x).with_floor(0.1) & graded(y).with_floor(0.2),
    "graded without": lambda x, y: graded(x).without(graded(y)),
    "mixed": lambda x, y: graded(x) | crisp(y),
}


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("what", ["membership", "project"])
@pytest.mark.parametrize("orthonormal", [True, False])
def test_gradients_of_one_set(name: str, what: str, orthonormal: bool) -> None:
    x, v = tensor(3, 6), tensor(4, 6, seed=1)
    if orthonormal:  # where the derivative of an SVD is infinite
        x = torch.eye(6, dtype=torch.float64)[:3].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, v: getattr(ONE[name](x), what)(v), (x, v))


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("what", ["membership", "project"])
def test_gradients_of_two_sets(name: str, what: str) -> None:
    x, y, v = tensor(2, 7), tensor(3, 7, seed=1), tensor(4, 7, seed=2)
    assert torch.autograd.gradcheck(lambda x, y, v: getattr(TWO[name](x, y), what)(v), (x, y, v))


@pytest.mark.parametrize("name", TWO)
def test_gradients_of_either_set_alone(name: str) -> None:
    x, y, v = tensor(2, 7), tensor(3, 7, seed=1), tensor(4, 7, seed=2).detach()
    assert torch.autograd.gradcheck(lambda x: TWO[name](x, y.detach()).membership(v), (x,))
    assert torch.autograd.gradcheck(lambda y: TWO[name](x.detach(), y).membership(v), (y,))


@pytest.mark.parametrize("name", ["span", "graded"])
@pytest.mark.parametrize("rotated", [True, False])
def test_gradients_at_membership_zero_and_one(name: str, rotated: bool) -> None:
    """The norm has a corner at 0: its subgradient 0, not NaN, is what central differences see too."""
    basis = torch.eye(6, dtype=torch.float64)
    if rotated:
        basis = torch.linalg.qr(tensor(6, 6, seed=3).detach())[0]
    x = basis[:3].clone().requires_grad_()
    for v in (basis[4], 2 * basis[4] - basis[5], basis[0] + basis[1]):
        for make in (ONE[name], lambda x: ~ONE[name](x)):
            v = v.clone().requires_grad_()
            assert torch.autograd.gradcheck(lambda x, v, make=make: make(x).membership(v), (x, v))


@pytest.mark.parametrize("name", ONE)
def test_the_zero_vector_has_a_finite_gradient(name: str) -> None:
    x, v = tensor(3, 6), torch.zeros(2, 6, dtype=torch.float64, requires_grad=True)
    ONE[name](x).membership(v).sum().backward()
    assert torch.isfinite(v.grad).all() and torch.isfinite(x.grad).all()


@pytest.mark.parametrize("make", [crisp, graded])
def test_training_on_membership_works(make: Callable[[Any], Set]) -> None:
    """Gradient descent pulls a set's examples towards what should belong to it."""
    x, target = tensor(2, 5).detach().float().requires_grad_(), tensor(3, 5, seed=1).detach().float()
    optimiser = torch.optim.Adam([x], lr=0.05)
    first = last = None
    for _ in range(60):
        optimiser.zero_grad()
        loss = (1 - make(x).membership(target)).mean()
        loss.backward()
        optimiser.step()
        first, last = first or loss.item(), loss.item()
    assert last < 0.75 * first


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool]
)
def test_types(dtype: Any) -> None:
    expected = {torch.float64: torch.float64, torch.int64: torch.float64, torch.bool: torch.float64}
    rows = (torch.eye(4)[:2] * 3).to(dtype)
    A = Subspace.span(rows)
    result_type = expected.get(dtype, torch.float32)
    assert A.dim == 2
    assert A.basis.dtype == A.membership(rows).dtype == A.project(rows).dtype == result_type
    assert GradedSubspace.of(rows).membership(rows).dtype == result_type
    assert A.membership(rows).tolist() == [1.0, 1.0]


def test_results_have_no_gradient_unless_the_input_has() -> None:
    x = tensor(3, 6)
    A = Subspace.span(x)
    assert not A.basis.requires_grad and not A.angles(~A).requires_grad
    assert A.membership(tensor(6).detach()).requires_grad
    assert not Subspace.span(x.detach()).membership(tensor(6).detach()).requires_grad
    v = tensor(2, 6)
    Subspace.span(x.detach()).membership(v).sum().backward()
    assert torch.isfinite(v.grad).all()


def test_the_caller_cannot_change_a_set_through_its_basis() -> None:
    A = Subspace.span(tensor(2, 4).detach())
    A.basis.zero_()
    assert A.membership(A.basis[0]) == pytest.approx(1)


def test_libraries_do_not_mix_silently() -> None:
    A, B = Subspace.span(np.eye(3)[:2]), Subspace.span(torch.eye(3)[1:])
    with pytest.raises(LibraryError, match=r"arrays of numpy and torch cannot be combined.*\.like\(array\)"):
        _ = A | B
    with pytest.raises(LibraryError):
        A.membership(torch.ones(3))
    assert (A.like(torch.ones(3)) & B).dim == 1
    assert isinstance(B.like(np.ones(3)).basis, np.ndarray)
    assert GradedSubspace.of(np.eye(3)).like(torch.ones(3)).membership(torch.ones(3)) > 0
    assert B.membership([0, 1, 1]) == pytest.approx(1)  # plain numbers go anywhere
    assert isinstance(B.membership([0, 1, 1]), torch.Tensor)
    assert Subspace.span([torch.ones(3), torch.zeros(3)]).dim == 1


def test_connectives_on_tensors() -> None:
    a, b = (tensor(5, seed=i).detach().abs().clamp(0.05, 0.95).requires_grad_() for i in (1, 2))
    for f in (and_product, or_product, and_min, or_max):
        assert torch.autograd.gradcheck(f, (a, b))
    assert torch.autograd.gradcheck(not_, (a,))


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0])
def test_connectives_have_finite_gradients_at_the_ends(value: float) -> None:
    for f in (and_product, or_product, and_min, or_max):
        a, b = (torch.full((3,), value, dtype=torch.float64, requires_grad=True) for _ in range(2))
        f(a, b).sum().backward()
        assert torch.isfinite(a.grad).all() and torch.isfinite(b.grad).all()
    a = torch.full((3,), value, dtype=torch.float64, requires_grad=True)
    not_(a).sum().backward()
    assert torch.isfinite(a.grad).all()


@pytest.mark.parametrize("make", [crisp, graded])
def test_more_examples_than_dimensions(make: Callable[[Any], Set]) -> None:
    rows = [[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0.5, 1]]
    x = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    v = tensor(2, 3)
    assert torch.autograd.gradcheck(lambda v: make(x.detach()).membership(v), (v,))
    if make is graded:
        assert torch.autograd.gradcheck(lambda x: graded(x).membership(v.detach()), (x,))


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-5])
def test_float32_gradients_are_those_of_float64(scale: float) -> None:
    """Also of small memberships, and with a gradient asked of one side only."""
    E = torch.linalg.qr(tensor(6, 6, seed=3).detach())[0]
    results = []
    for dtype in (torch.float32, torch.float64):
        for make in (crisp, graded):
            x = E[:3].to(dtype).requires_grad_()
            v = (E[5] + scale * E[0]).to(dtype).requires_grad_()
            make(x).membership(v).backward()
            only = (E[5] + scale * E[0]).to(dtype).requires_grad_()
            make(x.detach()).membership(only).backward()
            assert (only.grad - v.grad).norm() < 0.03 * v.grad.norm()
            results.append((x.grad.double(), v.grad.double()))
    for rough, exact in zip(results[:2], results[2:], strict=True):
        for a, b in zip(rough, exact, strict=True):
            assert (a - b).norm() < 0.03 * b.norm()


@pytest.mark.parametrize("make", [crisp, graded, lambda x: ~graded(x)])
def test_moving_a_set_keeps_its_gradient(make: Callable[[Any], Set]) -> None:
    x, v = tensor(2, 4), torch.ones(4)
    memberships = make(x).like(v).membership(v), make(x).membership(v.double())
    assert memberships[0].dtype == torch.float32
    gradients = [torch.autograd.grad(m, x)[0] for m in memberships]
    assert torch.allclose(*gradients, atol=1e-6)
    in_numpy = make(x).like(np.ones(4)).membership(np.ones(4))
    assert isinstance(in_numpy, np.floating) and in_numpy == pytest.approx(memberships[1].item())


def test_saved_and_read_back(tmp_path: Any) -> None:
    A = ~Subspace.span(tensor(2, 4))
    A.save(tmp_path / "a")
    assert Subspace.load(tmp_path / "a").like(tensor(4)) == A


def test_arrays_of_other_devices_are_copied_to_the_processor() -> None:
    class OnDevice:
        """Like a tensor on a GPU: NumPy can read only its copy."""

        def cpu(self) -> np.ndarray:
            return np.array([1.0, 2.0])

    assert to_numpy(OnDevice()).tolist() == [1, 2]
