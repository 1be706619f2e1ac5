"""Membership of each row of a pair in the span of the other side's rows, by Gram matrices.

With unit rows A and B, G = A A' and C = A B', the squared membership of b in the span of A is c' G^-1 c, which is
|L^-1 c|^2 for the Cholesky factor L of G. One product of a pair's stacked rows with themselves gives G for both sides
and C, so that both directions cost no more than one.

Rounding errors e of the products grow to e |L^-1| + e |L^-1|^2 / 2 in the membership (Frobenius norm; its square is the
trace of G^-1, and no pivot of L is below 1 / |L^-1|). So three paths, each taken where the one before is not sure:

==========  ==============================================  =====================================================
path        what                                            taken when
==========  ==============================================  =====================================================
fast        products in the rows' type, factors in float64  |L^-1| is at most 10 for float32 (error below 1e-5)
wide        products in float64                             |L^-1| is at most 1e5, and the rank is beyond question
revealing   orthonormal directions by `algebra.rank`        always right: more rows than dimensions, near copies
==========  ==============================================  =====================================================

A graded set does not hold its own rows in full: with the ridge D on the diagonal, M = G + D, the squared membership of
its i-th row is M_ii - 2 D_i + D_i^2 (M^-1)_ii. What a row has in the other set can be measured by that.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import device

from softset.algebra.arrays import Array, detach, identity, namespace, to_numpy, traces_gradient, transpose, unit_rows
from softset.algebra.rank import carried, independent
from softset.similarity.kernels.bases import graded_factor
from softset.similarity.kernels.buckets import buckets

__all__ = ["memberships", "relative_memberships"]

SMALL = 8  # rows: below, LAPACK's own inverse of a stack is as quick
FAST = {"float32": 1e2, "float64": 1e10}  # the largest |L^-1|^2, by the type of the products: pivots of .1 and 1e-5


def memberships(
    units: Array,
    offsets: np.ndarray,
    *,
    cut: float,
    exact: Callable[[int, int], Array] | None = None,
    ridge: np.ndarray | None = None,
    tally: Counter[str] | None = None,
) -> Array:
    """Return how much each row belongs to the other side of its pair, (rows,) in [0, 1].

    Args:
        units: (rows, d) of length 1, NumPy or torch: side 0 and side 1 of pair 0, then of pair 1, and so on.
        offsets: (2n + 1,) where each side begins.
        cut: the sine up to which a row counts as dependent on others, `algebra.rank.tolerance`.
        exact: gives the rows from start to stop in float64, where `units` are rounded to less.
        ridge: (rows,) added to the diagonal of Gram matrices: aperture^-2 over a row's share makes the sets graded.
        tally: counts the pairs by the path they took.

    >>> memberships(np.array([[1.0, 0], [0.6, 0.8]]), np.array([0, 1, 2]), cut=1e-7).round(6)
    array([0.6, 0.6])
    """
    kernel = _filled(units, offsets, cut, exact, ridge, tally)
    return namespace(units).clip(kernel.found, 0.0, 1.0)


def relative_memberships(
    units: Array,
    offsets: np.ndarray,
    *,
    cut: float,
    ridge: np.ndarray,
    exact: Callable[[int, int], Array] | None = None,
    tally: Counter[str] | None = None,
) -> Array:
    """Return what each row has in the other side's graded set as a share of what it has in its own, at most 1.

    >>> relative_memberships(np.array([[1.0, 0], [0.6, 0.8]]), np.array([0, 1, 2]), cut=1e-7, ridge=np.ones(2)).round(6)
    array([0.6, 0.6])
    """
    kernel, xp = _filled(units, offsets, cut, exact, ridge, tally), namespace(units)
    filled = kernel.own > 0
    return xp.where(filled, xp.clip(kernel.found / xp.where(filled, kernel.own, 1.0), 0.0, 1.0), 0.0 * kernel.own)


def _filled(
    units: Array,
    offsets: np.ndarray,
    cut: float,
    exact: Callable[[int, int], Array] | None,
    ridge: np.ndarray | None,
    tally: Counter[str] | None,
) -> "_Kernel":
    """Return the kernel after all pairs went through it, each by the first path that is sure."""
    kernel = _Kernel(units, offsets, cut, exact, ridge, Counter() if tally is None else tally)
    left, right = kernel.counts[0::2], kernel.counts[1::2]
    filled = np.flatnonzero((left > 0) & (right > 0))
    # With more rows than dimensions no Gram matrix is regular, unless a ridge makes it so.
    crowded = (np.maximum(left, right)[filled] > units.shape[1]) & (ridge is None)
    unsure = filled[~crowded]
    for path in (kernel.fast, kernel.wide):
        unsure = np.concatenate([unsure[:0], *(path(*bucket) for bucket in buckets(left, right, unsure))])
    for pair in [*filled[crowded].tolist(), *unsure.tolist()]:
        kernel.revealing(pair)
    return kernel


class _Kernel:
    """The arrays of one call, and the paths through them."""

    def __init__(
        self,
        units: Array,
        offsets: np.ndarray,
        cut: float,
        exact: Callable[[int, int], Array] | None,
        ridge: np.ndarray | None,
        tally: Counter[str],
    ) -> None:
        self.xp = xp = namespace(units)
        self.units, self.cut, self.tally = units, cut, tally
        self.offsets, self.begins, self.counts = offsets.tolist(), offsets, np.diff(offsets)
        self.exact = exact or (lambda start, stop: unit_rows(units[start:stop, :]))
        self.ridge = None if ridge is None else xp.asarray(ridge, dtype=xp.float64, device=device(units))
        self.found = xp.zeros(units.shape[0], dtype=xp.float64, device=device(units))
        self.own = xp.ones(units.shape[0], dtype=xp.float64, device=device(units))
        self.limit = FAST["float32" if str(units.dtype).endswith("float32") else "float64"]

    def fast(self, group: np.ndarray, K: int, L: int) -> np.ndarray:
        """Fill in the memberships of a bucket of pairs, and return the pairs where that was not sure."""
        stacks = self._stacks([self.units[slice(*self._ends(pair)), :] for pair in group.tolist()], group, K, L)
        return self._fill(stacks, group, self.limit, "fast")

    def wide(self, group: np.ndarray, K: int, L: int) -> np.ndarray:
        """Do the same with products in float64, of rows that are not rounded to less."""
        stacks = self._stacks([self.exact(*self._ends(pair)) for pair in group.tolist()], group, K, L)
        return self._fill(stacks, group, FAST["float64"], "wide")

    def revealing(self, pair: int) -> None:
        """Fill in the memberships of one pair by orthonormal directions of its sides."""
        start, stop = self._ends(pair)
        rows = self.exact(start, stop)
        k = int(self.counts[2 * pair])
        self.tally["revealing"] += 1
        self.found[start : start + k] = self._revealed(rows[k:, :], rows[:k, :], start + k)
        self.found[start + k : stop] = self._revealed(rows[:k, :], rows[k:, :], start)
        if self.ridge is not None:
            self.own[start : start + k] = self._revealed(rows[:k, :], rows[:k, :], start)
            self.own[start + k : stop] = self._revealed(rows[k:, :], rows[k:, :], start + k)

    def _ends(self, pair: int) -> tuple[int, int]:
        return self.offsets[2 * pair], self.offsets[2 * pair + 2]

    def _stacks(self, rows: list[Array], group: np.ndarray, K: int, L: int) -> tuple[Array, Array, Array]:
        """Return G of both sides (b, K, K) and (b, L, L), and C (b, K, L), padded so that a pad changes nothing."""
        xp, b = self.xp, len(group)
        places: dict[str, Any] = {"dtype": xp.float64, "device": device(self.units)}
        A = xp.zeros((b, K, K), **places) + xp.eye(K, **places)
        B = xp.zeros((b, L, L), **places) + xp.eye(L, **places)
        C = xp.zeros((b, K, L), **places)
        for at, (X, pair) in enumerate(zip(rows, group.tolist(), strict=True)):
            G = X @ transpose(X)
            k, n = int(self.counts[2 * pair]), X.shape[0]
            A[at, :k, :k], B[at, : n - k, : n - k], C[at, :k, : n - k] = G[:k, :k], G[k:, k:], G[:k, k:]
            if self.ridge is not None:
                start = self.offsets[2 * pair]
                A[at, :k, :k] += _diagonal(self.ridge[start : start + k])
                B[at, : n - k, : n - k] += _diagonal(self.ridge[start + k : start + n])
        return A, B, C

    def _fill(self, stacks: tuple[Array, Array, Array], group: np.ndarray, limit: float, path: str) -> np.ndarray:
        """Fill in what is sure of a group's memberships; return the pairs where it is not."""
        A, B, C = stacks
        k, l = self.counts[2 * group], self.counts[2 * group + 1]
        of_B, inverse_A, sure_A = self._explained(A, C, k, limit)
        of_A, inverse_B, sure_B = self._explained(B, transpose(C), l, limit)
        sure = sure_A & sure_B
        for side, counts, M, other, inverse in ((0, k, A, of_A, inverse_A), (1, l, B, of_B, inverse_B)):
            at, row = np.nonzero((np.arange(other.shape[1]) < counts[:, None]) & sure[:, None])
            places = self.begins[2 * group[at] + side] + row
            self.found[places] = other[at, row]
            if self.ridge is not None:
                D = self.ridge[places]
                self.own[places] = _root(M[at, row, row] - 2 * D + D * D * inverse[at, row])
        self.tally[path] += int(sure.sum())
        unsure: np.ndarray = group[~sure]
        return unsure

    def _explained(self, G: Array, C: Array, counts: np.ndarray, limit: float) -> tuple[Array, Array, np.ndarray]:
        """Return |L^-1 c| of all columns (b, columns), the diagonals (b, n) of G^-1, and whether a matrix is sure."""
        xp = self.xp
        factor, whole = _cholesky(G)
        inverse = _inverse(factor)
        M = inverse @ C
        diagonals = xp.sum(inverse * inverse, axis=1)
        trace = to_numpy(xp.sum(diagonals, axis=1)) - (G.shape[1] - counts)  # without the pads
        rank_is_clear = trace * counts * self.cut**2 < 1  # as in algebra.rank: the rule would take every row
        return _root(xp.sum(M * M, axis=1)), diagonals, whole & (trace <= limit) & rank_is_clear

    def _revealed(self, members: Array, rows: Array, start: int) -> Array:
        """Return the memberships of rows in the set that the members, whose ridge begins at start, make."""
        fixed = detach(members)
        if self.ridge is None:
            frame = independent(fixed, self.cut)
            factor = frame.directions
            if traces_gradient(members) and factor.shape[0] < factor.shape[1]:
                factor = carried(factor, self.xp.take(members, frame.pivots, axis=0))
        else:  # with an aperture so large, grades hardly move: the derivative is that of the rows alone
            factor = graded_factor(fixed, self.ridge[start : start + members.shape[0]], self.cut)
        part = rows @ transpose(factor)
        return _root(self.xp.sum(part * part, axis=-1))


def _root(squares: Array) -> Array:
    """Return square roots whose derivative at 0 is 0 and not infinite: pads and orthogonal rows stay harmless."""
    xp = namespace(squares)
    filled = squares > 0
    return xp.where(filled, xp.sqrt(xp.where(filled, squares, xp.ones_like(squares))), xp.zeros_like(squares))


def _diagonal(values: Array) -> Array:
    xp = namespace(values)
    return values[:, None] * xp.eye(values.shape[0], dtype=values.dtype, device=device(values))


def _inverse(L: Array) -> Array:
    """Return the inverses of lower triangular matrices (b, n, n): halves are inverted, and a product fills the corner.

    A general solver would take several times as long, for it does not know that half of the matrix is zero.
    """
    xp, n = namespace(L), L.shape[-1]
    if n <= SMALL:
        return xp.linalg.inv(L)
    h = n // 2
    first, last = _inverse(L[:, :h, :h]), _inverse(L[:, h:, h:])
    found = xp.zeros_like(L)
    found[:, :h, :h], found[:, h:, h:] = first, last
    found[:, h:, :h] = -(last @ (L[:, h:, :h] @ first))
    return found


def _cholesky(G: Array) -> tuple[Array, np.ndarray]:
    """Return the Cholesky factors of a stack (b, n, n), and which exist; the identity stands for those that do not.

    NumPy refuses a whole stack for one bad matrix: it is then halved until the bad ones are alone.
    """
    xp = namespace(G)
    try:
        return xp.linalg.cholesky(G), np.ones(G.shape[0], dtype=bool)
    except (np.linalg.LinAlgError, RuntimeError):  # torch's error is one of the latter
        if G.shape[0] == 1:
            return identity(G[0, ...])[None, ...], np.zeros(1, dtype=bool)
    half = G.shape[0] // 2
    (first, good), (second, fine) = _cholesky(G[:half, ...]), _cholesky(G[half:, ...])
    return xp.concat([first, second]), np.concatenate([good, fine])
