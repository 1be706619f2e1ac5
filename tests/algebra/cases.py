"""Sets to test the algebra on, in every library and type.

The laws of a lattice hold for numbers only if canonical angles are zero to rounding or well above the tolerance. So
sets are spanned by a few sparse integer vectors, some of them shared or combined, in a random orthonormal basis: exact
ranks are known from the integers, and angles are either 0 or far from it.
"""

import importlib.util
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from softset import Subspace

HAS_TORCH = importlib.util.find_spec("torch") is not None

torch_marks = [pytest.mark.torch, pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")]
LIBRARIES = ["numpy", pytest.param("torch", marks=torch_marks)]
in_every_library = pytest.mark.parametrize("library", LIBRARIES)


def array(values: Any, library: str, dtype: str = "float64") -> Any:
    """Return an array of the given library and type."""
    values = np.asarray(values, dtype=dtype)
    if library == "numpy":
        return values
    import torch

    return torch.from_numpy(np.array(values))


def numbers(values: Any) -> np.ndarray:
    """Return NumPy values of any array."""
    return np.asarray(values.detach() if hasattr(values, "detach") else values)


def rotation(d: int, seed: int) -> np.ndarray:
    """Return a random orthonormal basis of R^d."""
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


class Case(NamedTuple):
    """Some sets of one space: their integer vectors, the basis these are written in, and what was done to the rows."""

    integers: list[np.ndarray]
    basis: np.ndarray
    scales: list[np.ndarray]
    dtype: str

    def rows(self, i: int) -> np.ndarray:
        """Return the vectors of set i, rotated and scaled."""
        return (self.integers[i] @ self.basis * self.scales[i][:, None]).astype(self.dtype)

    def sets(self, library: str) -> list[Subspace]:
        """Return the subspaces that the vectors span."""
        return [Subspace.span(array(self.rows(i), library, self.dtype)) for i in range(len(self.integers))]

    def rank(self, *which: int) -> int:
        """Return the exact dimension of the union of some of the sets."""
        together = np.vstack([self.integers[i] for i in which])
        return int(np.linalg.matrix_rank(together)) if together.size else 0

    def vectors(self, library: str, n: int = 5) -> Any:
        """Return a few random vectors of the space."""
        values = np.random.default_rng(1).standard_normal((n, self.basis.shape[0]))
        return array(values, library, self.dtype)

    @property
    def close(self) -> float:
        """How near to equal memberships must be."""
        return 1e-4 if self.dtype == "float32" else 1e-10


@st.composite
def cases(draw: st.DrawFn, sets: int = 3, max_d: int = 64, dtypes: tuple[str, ...] = ("float32", "float64")) -> Case:
    """Draw a case: sets share vectors, hold sums of their vectors, copies and zeros, in any order and scale."""
    d = draw(st.sampled_from([n for n in (1, 2, 3, 4, 5, 8, 16, 64) if n <= max_d]))
    entries = st.tuples(
        st.integers(0, d - 1), st.sampled_from([-1, 1]), st.integers(0, d - 1), st.sampled_from([0, 0, 1])
    )
    pool = []
    for i, a, j, b in draw(st.lists(entries, min_size=1, max_size=6)):
        row = np.zeros(d)
        row[i] += a
        row[j] += b
        pool.append(row)
    integers, scales = [], []
    for _ in range(sets):
        chosen = draw(st.lists(st.sampled_from(range(len(pool))), max_size=4))
        rows = [pool[i] for i in chosen]
        if len(rows) >= 2 and draw(st.booleans()):
            rows.append(rows[0] + rows[-1])  # dependent, or a double, or zero
        if draw(st.booleans()):
            rows.append(np.zeros(d))
        integers.append(np.array(rows).reshape(-1, d))
        powers = draw(st.lists(st.integers(-6, 6), min_size=len(rows), max_size=len(rows)))
        scales.append(np.array([10.0**p for p in powers]))
    basis = np.eye(d) if draw(st.booleans()) else rotation(d, draw(st.integers(0, 5)))
    return Case(integers, basis, scales, draw(st.sampled_from(dtypes)))
