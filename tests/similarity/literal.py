"""The paper's Algorithms 1 and 2 and what they are compared with, written down literally: slow, plain, in float64.

The rank is that of the SVD with the project's own cut. `clear` tells whether any other sensible rule of the same cut
would find the same rank: only then may two programs be compared.
"""

import numpy as np


def units(rows: np.ndarray) -> np.ndarray:
    """Return rows of length 1, of any size that float64 holds."""
    rows = np.asarray(rows, dtype=np.float64)
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def subspace(rows: np.ndarray, cut: float) -> np.ndarray:
    """Algorithm 1: the bases (r, d) of the subspace that rows span."""
    U, s, _ = np.linalg.svd(units(rows).T, full_matrices=False)
    return U[:, s > cut].T


def soft_membership(v: np.ndarray, S: np.ndarray) -> float:
    """Algorithm 2: the cosine of the first canonical angle between a vector and a subspace, by one SVD."""
    return float(np.linalg.svd(units(v[None, :]) @ S.T, compute_uv=False)[0])


def memberships(A: np.ndarray, B: np.ndarray, cut: float) -> np.ndarray:
    """Return how much each row of A belongs to B, then each row of B to A."""
    S_A, S_B = subspace(A, cut), subspace(B, cut)
    return np.array([soft_membership(a, S_B) for a in A] + [soft_membership(b, S_A) for b in B])


def clear(rows: np.ndarray, cut: float, room: float = 10.0) -> bool:
    """Tell whether no singular value is within a factor of the cut: the rank is then no matter of opinion."""
    s = np.linalg.svd(units(rows), compute_uv=False)
    return not ((s > cut / room) & (s < cut * room * np.sqrt(len(rows)))).any()


def closest(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """BERTScore's matching: the largest cosine of each row of A with one of B, then of B with A."""
    C = units(A) @ units(B).T
    return np.concatenate([C.max(axis=1), C.max(axis=0)])


def harmonic(P: float, R: float) -> float:
    """The harmonic mean."""
    return 2 * P * R / (P + R) if P + R else 0.0
