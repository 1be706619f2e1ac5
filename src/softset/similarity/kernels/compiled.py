"""The fast path of `kernels.gram`, compiled by numba: one pass over a pair while its rows are in the processor's cache.

Libraries for linear algebra lose most of their speed on products as small as those of two sentences, and every call on
one pair holds Python's lock. Here pairs go through in one call that holds none, so that threads do not wait.

Importing this module imports numba, where it is installed, which takes half a second: `kernels.gram` does so when the
first pairs come.
"""

import numpy as np

from softset.runtime.jit import compiled

__all__ = ["explain"]

BLOCK = 4  # rows by rows: 16 sums at a time stay in registers, and each number that is read is used four times
LANES = 8  # numbers: rows are padded to multiples of it, as many as a processor adds at once


@compiled
def _products(A: np.ndarray, B: np.ndarray, G: np.ndarray, below: bool) -> None:
    """Write the products of rows (k, d) with rows (l, d) to G, or with `below` those on and below its diagonal.

    Blocks at the ends take the last row again and again: G has room for what comes of it.
    """
    k, l, d = len(A), len(B), A.shape[1]
    zero = A.dtype.type(0)
    for i in range(0, k, BLOCK):
        a0, a1, a2, a3 = A[i], A[min(i + 1, k - 1)], A[min(i + 2, k - 1)], A[min(i + 3, k - 1)]
        for j in range(0, i + 1 if below else l, BLOCK):
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
    """Write to C the cosines (k + l, k + l) that products below the diagonal stand for; side 1 begins a whole block."""
    gap = -k % BLOCK
    for i in range(k + l):
        row, later = G[i + gap if i >= k else i], G[i + gap if i >= k else i, k + gap :]
        for j in range(min(i + 1, k)):
            C[i, j] = C[j, i] = scale[i] * scale[j] * row[j]
        for j in range(i + 1 - k):
            C[i, k + j] = C[k + j, i] = scale[i] * scale[k + j] * later[j]


@compiled
def _eliminated(W: np.ndarray, k: int, width: int, squares: np.ndarray) -> bool:
    """Eliminate rows (M | C | I) to (. | L^-1 C | L^-1), and sum the squares of columns; is M (k, k) positive definite?

    A row takes off what it shares with four finished rows at a time, over its whole width: to spare what is zero or no
    longer needed would cost more than it saves, for loops of a few vectors have to be even.
    """
    for i in range(k):
        row = W[i]
        whole = i // BLOCK * BLOCK
        for j in range(0, whole, BLOCK):
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
    at: int,
    k: int,
    other: int,
    l: int,
    ridge: np.ndarray,
    W: np.ndarray,
    found: np.ndarray,
    own: np.ndarray,
) -> float:
    """Fill in the memberships of the l rows at `other` in the set of the k rows at `at`, and of these in their own set.

    Return the trace of M^-1, infinite where M is not positive definite.
    """
    width = -(-(k + l + k) // LANES) * LANES
    squares = np.zeros(width)
    for i in range(k):
        row, rest, mine, others = W[i], W[i, k:], C[at + i, at:], C[at + i, other:]
        for j in range(k):
            row[j] = mine[j]
        for j in range(l):
            rest[j] = others[j]
        for j in range(l, width - k):
            rest[j] = 0
        row[i] += ridge[at + i]
        rest[l + i] = 1
    if not _eliminated(W, k, width, squares):
        return np.inf
    in_other, inverse = squares[k:], squares[k + l :]
    trace = 0.0
    for j in range(l):
        found[other + j] = np.sqrt(in_other[j])
    for i in range(k):
        D = ridge[at + i]
        own[at + i] = np.sqrt(max(C[at + i, at + i] - D + D * D * inverse[i], 0.0))
        trace += inverse[i]
    return trace


@compiled
def explain(
    given: tuple[np.ndarray, np.ndarray],
    starts: np.ndarray,
    counts: np.ndarray,
    begins: np.ndarray,
    scale: np.ndarray,
    ridge: np.ndarray,
    found: np.ndarray,
    own: np.ndarray,
    traces: np.ndarray,
) -> None:
    """Fill in the memberships of rows in the other side's set and in their own, and traces of inverses.

    Args:
        given: where the rows of side 0 and of side 1 are, (., d) each.
        starts: (n, 2) where in these each side begins.
        counts: (n, 2) how many rows each side has, none of them 0.
        begins: (n,) where the rows of each pair begin in the arrays that follow.
        scale: (rows,) the inverse lengths of rows.
        ridge: (rows,) what comes to the diagonal of Gram matrices.
        found: (rows,) to fill in: in the other side's set.
        own: (rows,) to fill in: in their own.
        traces: (n, 2) to fill in: the trace of M^-1, infinite where M is not positive definite.
    """
    left, right = given
    k, l = counts[:, 0].max(), counts[:, 1].max()
    room = np.empty((k + l + 2 * BLOCK, k + l + 2 * BLOCK), left.dtype)
    C = np.empty((k + l, k + l))
    W = np.empty((max(k, l), k + l + max(k, l) + LANES))
    for pair in range(len(begins)):
        k, l = counts[pair]
        A = left[starts[pair, 0] : starts[pair, 0] + k]
        B = right[starts[pair, 1] : starts[pair, 1] + l]
        second = k + -k % BLOCK
        _products(A, A, room, True)
        _products(B, A, room[second:], False)
        _products(B, B, room[second:, second:], True)
        here = slice(begins[pair], begins[pair] + k + l)
        _cosines(room, k, l, scale[here], C)
        traces[pair, 0] = _side(C, 0, k, k, l, ridge[here], W, found[here], own[here])
        traces[pair, 1] = _side(C, k, l, 0, k, ridge[here], W, found[here], own[here])
