"""Cholesky factors and their inverses for stacks of small matrices, NumPy or torch."""

import numpy as np

from softset.algebra.arrays import Array, identity, namespace

__all__ = ["cholesky", "lower_inverse", "root"]

SMALL = 8  # rows: up to here LAPACK's own inverse of a stack is as quick


def cholesky(G: Array) -> tuple[Array, np.ndarray]:
    """Return the Cholesky factors of a stack (b, n, n), and which exist; the identity stands for those that do not.

    NumPy refuses a whole stack for one bad matrix: it is then halved until the bad ones are alone.

    >>> cholesky(np.array([[[4.0]], [[-1.0]]]))[1].tolist()
    [True, False]
    """
    xp = namespace(G)
    try:
        return xp.linalg.cholesky(G), np.ones(G.shape[0], dtype=bool)
    except (np.linalg.LinAlgError, RuntimeError):  # torch's error is one of the latter
        if G.shape[0] == 1:
            return identity(G[0, ...])[None, ...], np.zeros(1, dtype=bool)
    half = G.shape[0] // 2
    (first, good), (second, fine) = cholesky(G[:half, ...]), cholesky(G[half:, ...])
    return xp.concat([first, second]), np.concatenate([good, fine])


def lower_inverse(L: Array) -> Array:
    """Return the inverses of lower triangular matrices (b, n, n): halves are inverted, and a product fills the corner.

    A general solver would take several times as long, for it does not know that half of the matrix is zero.

    >>> lower_inverse(np.array([[[2.0, 0.0], [1.0, 1.0]]])).tolist()
    [[[0.5, 0.0], [-0.5, 1.0]]]
    """
    xp, n = namespace(L), L.shape[-1]
    if n <= SMALL:
        return xp.linalg.inv(L)
    h = n // (2 * SMALL) * SMALL or SMALL
    first, last = lower_inverse(L[:, :h, :h]), lower_inverse(L[:, h:, h:])
    found = xp.zeros_like(L)
    found[:, :h, :h], found[:, h:, h:] = first, last
    found[:, h:, :h] = -(last @ (L[:, h:, :h] @ first))
    return found


def root(squares: Array) -> Array:
    """Return square roots whose derivative at 0 is 0 and not infinite: pads and orthogonal rows stay harmless.

    >>> root(np.array([4.0, 0.0, -1e-20])).tolist()
    [2.0, 0.0, 0.0]
    """
    xp = namespace(squares)
    filled = squares > 0
    return xp.where(filled, xp.sqrt(xp.where(filled, squares, xp.ones_like(squares))), xp.zeros_like(squares))
