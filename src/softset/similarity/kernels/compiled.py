"""The fast path of `kernels.gram`, compiled by numba: one pass over each pair while its rows are in the CPU cache.

BLAS loses most of its speed on matrices as small as those of two sentences, and each NumPy call holds the GIL. Here one
call without the GIL handles a whole block of pairs, so threads do not wait for each other.

Importing this module imports numba, which takes half a second; `kernels.gram` imports it for the first pairs.
"""

import numpy as np

from softset.runtime.jit import compiled

TILE = 4  # rows of a square tile: its 16 sums stay in registers, and each number that is read is used four times
LANES = 8  # rows are padded to multiples of this many numbers, the width of a vector register


@compiled
def _products(A: np.ndarray, B: np.ndarray, G: np.ndarray, below: bool) -> None:
    """Write the products of rows (k, d) with rows (l, d) to G; with `below`, only those on and below its diagonal.

    Tiles at the edges repeat the last row: G has room for the extra products.
    """
    k, l, d = len(A), len(B), A.shape[1]
    zero = A.dtype.type(0)
    for i in range(0, k, TILE):
        a0, a1, a2, a3 = A[i], A[min(i + 1, k - 1)], A[min(i + 2, k - 1)], A[min(i + 3, k - 1)]
        for j in range(0, i + 1 if below else l, TILE):
            b0, b1, b2, b3 = B[j], B[min(j + 1, l - 1)], B[min(j + 2, l - 1)], B[min(j + 3, l - 1)]
            s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = zero
            s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = zero
            for t in range(d):
                p, q, r, s = a0[t], a1[t], a2[t], a3[t]
                u, v, w, x = b0[t], b1[t], b2[t], b3[t]
                s00, s01, s02, s03 = s00 + p * u, s01 + p * v, s02 + p * w, s03 + p * x
                s10, s11, s12, s13 = s10 + q * u, s11 + q * v, s12 + q * w, s13 + q * x
                s20, s21, s22, s23 = s20 + r * u, s21 + r * v, s22 + r * w, s23 + r * x
                s30, s31, s32, s33 = s30 + s * u, s31 + s * v, s32 + s * w, s33 + s * x
            G[i, j], G[i, j + 1], G[i, j + 2], G[i, j + 3] = s00, s01, s02, s03
            G[i + 1, j], G[i + 1, j + 1], G[i + 1, j + 2], G[i + 1, j + 3] = s10, s11, s12, s13
            G[i + 2, j], G[i + 2, j + 1], G[i + 2, j + 2], G[i + 2, j + 3] = s20, s21, s22, s23
            G[i + 3, j], G[i + 3, j + 1], G[i + 3, j + 2], G[i + 3, j + 3] = s30, s31, s32, s33


@compiled
def _cosines(G: np.ndarray, k: int, l: int, scale: np.ndarray, C: np.ndarray) -> None:
    """Write the cosines (k + l, k + l) to C, from products below the diagonal; side 1 begins at a whole tile."""
    gap = -k % TILE
    for i in range(k + l):
        row, later = G[i + gap if i >= k else i], G[i + gap if i >= k else i, k + gap :]
        for j in range(min(i + 1, k)):
            C[i, j] = C[j, i] = scale[i] * scale[j] * row[j]
        for j in range(i + 1 - k):
            C[i, k + j] = C[k + j, i] = scale[i] * scale[k + j] * later[j]


@compiled
def _eliminated(W: np.ndarray, k: int, width: int, squares: np.ndarray) -> bool:
    """Eliminate (M | C | I) to (. | L^-1 C | L^-1) and add up squared columns; return False if M has no factor L.

    Each row subtracts four finished rows at a time, over its whole width: loops that skip zeros would be slower,
    because their lengths vary.
    """
    for i in range(k):
        row = W[i]
        whole = i // TILE * TILE
        for j in range(0, whole, TILE):
            r0, r1, r2, r3 = W[j], W[j + 1], W[j + 2], W[j + 3]
            f0, f1, f2, f3 = r0[i], r1[i], r2[i], r3[i]
            for c in range(width):
                row[c] -= f0 * r0[c] + f1 * r1[c] + f2 * r2[c] + f3 * r3[c]
        for j in range(whole, i):
            r0 = W[j]
            f0 = r0[i]
            for c in range(width):
                row[c] -= f0 * r0[c]
        if not row[i] > 0:
            return False
        factor = 1 / np.sqrt(row[i])
        for c in range(width):
            row[c] *= factor
            squares[c] += row[c] * row[c]
    return True


@compiled
def _side(
    C: np.ndarray,
    own: int,
    k: int,
    other: int,
    l: int,
    ridge: np.ndarray,
    W: np.ndarray,
    in_other: np.ndarray,
    in_own: np.ndarray,
) -> float:
    """Fill in the memberships in the set of the k rows from `own`: those of the l rows from `other`, and its own.

    Return the trace of M^-1: infinite if M is not positive definite.
    """
    width = -(-(k + l + k) // LANES) * LANES
    squares = np.zeros(width)
    for i in range(k):
        row, tail, mine, others = W[i], W[i, k:], C[own + i, own:], C[own + i, other:]
        for j in range(k):
            row[j] = mine[j]
        for j in range(l):
            tail[j] = others[j]
        for j in range(l, width - k):
            tail[j] = 0
        row[i] += ridge[own + i]
        tail[l + i] = 1
    if not _eliminated(W, k, width, squares):
        return np.inf
    explained, inverse = squares[k:], squares[k + l :]
    trace = 0.0
    for j in range(l):
        in_other[other + j] = np.sqrt(explained[j])
    for i in range(k):
        D = ridge[own + i]
        in_own[own + i] = np.sqrt(max(C[own + i, own + i] - D + D * D * inverse[i], 0.0))
        trace += inverse[i]
    return trace


@compiled
def pair_memberships(
    rows: tuple[np.ndarray, np.ndarray],
    starts: np.ndarray,
    counts: np.ndarray,
    offsets: np.ndarray,
    scale: np.ndarray,
    ridge: np.ndarray,
    in_other: np.ndarray,
    in_own: np.ndarray,
    traces: np.ndarray,
) -> None:
    """Fill in the memberships of rows in the other side's set and in their own, and the traces of the inverses.

    `rows` (both sides) and `starts` are those of `gram.PairRows`. Side s of pair i has counts[i, s] > 0 rows; the pair
    begins at offsets[i] in `scale`, the inverse lengths of the rows, in `ridge` and in the outputs `in_other` and
    `in_own`. The output `traces` (n, 2) is infinite where M is not positive definite.
    """
    left, right = rows
    k, l = counts[:, 0].max(), counts[:, 1].max()
    products = np.empty((k + l + 2 * TILE, k + l + 2 * TILE), left.dtype)
    C = np.empty((k + l, k + l))
    W = np.empty((max(k, l), k + l + max(k, l) + LANES))
    for pair in range(len(offsets)):
        k, l = counts[pair]
        A = left[starts[pair, 0] : starts[pair, 0] + k]
        B = right[starts[pair, 1] : starts[pair, 1] + l]
        second = k + -k % TILE
        _products(A, A, products, True)
        _products(B, A, products[second:], False)
        _products(B, B, products[second:, second:], True)
        own = slice(offsets[pair], offsets[pair] + k + l)
        _cosines(products, k, l, scale[own], C)
        traces[pair, 0] = _side(C, 0, k, k, l, ridge[own], W, in_other[own], in_own[own])
        traces[pair, 1] = _side(C, k, l, 0, k, ridge[own], W, in_other[own], in_own[own])
