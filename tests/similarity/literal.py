"""The paper's Algorithms 1 and 2, softset's metric and what they are compared with, literally: slow, in float64.

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


def graded(rows: np.ndarray, ridge: float) -> np.ndarray:
    """The graded set C = T' (T T' + ridge)^-1 T of rows, (d, d): a row that occurs twice is there twice."""
    T = units(rows)
    return T.T @ np.linalg.inv(T @ T.T + ridge * np.eye(len(T))) @ T


def relative_memberships(A: np.ndarray, B: np.ndarray, ridge: float) -> np.ndarray:
    """Return what each row of A has in B's graded set by what it has in A's, at most 1; then each row of B in A's."""
    C_A, C_B = graded(A, ridge), graded(B, ridge)
    shares = [(u @ C_B @ u) / (u @ C_A @ u) for u in units(A)] + [(u @ C_A @ u) / (u @ C_B @ u) for u in units(B)]
    return np.sqrt(np.clip(shares, 0.0, 1.0))  # nothing at all may be rounded to -1e-20


def rarity(rows: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Return (u' S u)^-1/2 of each row's direction u."""
    return np.array([(u @ S @ u) ** -0.5 for u in units(rows)])


def least_of_two(m: np.ndarray, w: np.ndarray) -> float:
    """Return the mean of min(m_i, m_j) over all i and j, drawn by their weights."""
    p = w / w.sum()
    return float(sum(p[i] * p[j] * min(m[i], m[j]) for i in range(len(m)) for j in range(len(m))))


def softset(A: np.ndarray, B: np.ndarray, of_A: np.ndarray, of_B: np.ndarray, ridge: float = 1.0) -> list[float]:
    """Return P, R and the score of softset's metric, for weights of the rows of A and B."""
    m = relative_memberships(A, B, ridge)
    P, R = least_of_two(m[: len(A)], of_A), least_of_two(m[len(A) :], of_B)
    return [P, R, (P + R) / 2]


def closest(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """BERTScore's matching: the largest cosine of each row of A with one of B, then of B with A."""
    C = units(A) @ units(B).T
    return np.concatenate([C.max(axis=1), C.max(axis=0)])


def harmonic(P: float, R: float) -> float:
    """The harmonic mean."""
    return 2 * P * R / (P + R) if P + R else 0.0
