"""The paper's algorithms written down literally, slow and plain: what the fast code must agree with.

`ortho_normal` is a rank-revealing SVD; the paper's own code uses a plain QR, which counts a repeated word twice.
"""

import numpy as np


def ortho_normal(columns: np.ndarray) -> np.ndarray:
    """Return orthonormal columns (d, r) that span the columns given."""
    U, s, _ = np.linalg.svd(columns, full_matrices=False)
    return U[:, s > 1e-9]


def subspace(vectors: np.ndarray) -> np.ndarray:
    """Algorithm 1: the bases (r, d) of the subspace that rows span."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return ortho_normal(units.T).T


def soft_membership(v: np.ndarray, S: np.ndarray) -> float:
    """Algorithm 2: the cosine of the first canonical angle between a vector and a subspace, by an SVD."""
    v = (v / np.linalg.norm(v))[None, :]
    return float(np.linalg.svd(v @ S.T, compute_uv=False)[0]) if len(S) else 0.0


def union(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The appendix's union: the rows of both, made orthonormal."""
    return ortho_normal(np.vstack([A, B]).T).T


def intersection(A: np.ndarray, B: np.ndarray, alpha: float) -> np.ndarray:
    """The appendix's intersection: left singular vectors with |s - 1| <= alpha, times S_A, which the text forgets."""
    U, s, _ = np.linalg.svd(A @ B.T)
    m = int(np.sum(np.abs(s - 1) <= alpha))
    return U[:, :m].T @ A


def complement(A: np.ndarray) -> np.ndarray:
    """The appendix's complement: the left singular vectors beyond the rank."""
    U, _, _ = np.linalg.svd(A.T, full_matrices=True)
    return U[:, len(A) :].T
