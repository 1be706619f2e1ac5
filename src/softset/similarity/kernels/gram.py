"""Compute the membership of each row in the span of the other side of its pair, by Gram matrices.

With unit rows A and B, G = A A' and C = A B', the squared membership of b in the span of A is c' G^-1 c, which is
|L^-1 c|^2 for the Cholesky factor L of G. One product of a pair's stacked rows with themselves gives G for both sides
and C, so both directions cost no more than one.

A rounding error e in the products grows to e |L^-1| + e |L^-1|^2 / 2 in the membership (Frobenius norm; its square is
the trace of G^-1, and no pivot of L is below 1 / |L^-1|). A pair takes the first path whose error bound holds:

==========  ==============================================  =====================================================
path        method                                          condition
==========  ==============================================  =====================================================
fast        products in the rows' type, factors in float64  |L^-1| is at most 10 for float32 (error below 1e-5)
wide        products in float64                             |L^-1| is at most 1e5, and the rank is certain
revealing   orthonormal directions by `algebra.rank`        none; for more rows than dimensions and near copies
==========  ==============================================  =====================================================

If numba is installed, `kernels.compiled` runs the fast path for pairs with up to 128 rows per side, three times as fast
and with the same numbers except for rounding. The choice depends on the pair alone, never on the rest of the batch.

The rows of a graded set have memberships below 1 in it. With the ridge D on the diagonal, M = G + D, the squared
membership of its i-th row in the set itself is M_ii - 2 D_i + D_i^2 (M^-1)_ii. Relative memberships are divided by its
root.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.algebra.rank import independent
from softset.runtime.jit import can_compile

TRACE_LIMITS = {"float32": 1e2, "float64": 1e10}  # the largest |L^-1|^2 by type of the products: pivots of .1 and 1e-5
MAX_GRADED_ROWS = 512  # above this, and above d, a graded set uses directions: they need less memory and time
MAX_COMPILED_ROWS = 128  # up to this many rows per side the compiled loop is faster than LAPACK
SIZE_STEP = 8  # sides are padded to multiples of this many rows, so that few sizes have to be factored
STACK_BYTES = 16 << 20  # limit for the Gram matrices of one stack
INVERSE_ROWS = 8  # up to this size LAPACK inverts a stack of triangular matrices as fast as recursion


@dataclass(frozen=True, eq=False)
class PairRows:
    """The rows of n pairs, where they are stored.

    Attributes:
        left: (., d) the array that holds the rows of side 0.
        right: (., d) the array that holds the rows of side 1.
        starts: (n, 2) the index of each side's first row in `left` and `right`.
        offsets: (2n + 1,) where each side begins in the results: side 0 and side 1 of pair 0, then of pair 1, ...
        norms: (rows,) the lengths of the rows, in the order of the results.
    """

    left: np.ndarray
    right: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray
    norms: np.ndarray

    @classmethod
    def consecutive(cls, rows: np.ndarray, offsets: np.ndarray, norms: np.ndarray | None = None) -> "PairRows":
        """Return the pairs of one array (rows, d) that holds all sides in order; the norms are 1 by default."""
        norms = np.ones(len(rows)) if norms is None else norms
        return cls(rows, rows, offsets[:-1].reshape(-1, 2), offsets, norms)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of products of rows: at least float32."""
        return np.result_type(np.float32, self.left.dtype, self.right.dtype)

    def rows_of(self, pair: int) -> np.ndarray:
        """Return the rows (k + l, d) of both sides of a pair."""
        (first, second), (k, l) = self.starts[pair], np.diff(self.offsets[2 * pair : 2 * pair + 3])
        return np.concatenate([self.left[first : first + k], self.right[second : second + l]], dtype=self.dtype)


def memberships(
    rows: PairRows, *, cut: float, ridge: np.ndarray | None = None, tally: Counter[str] | None = None
) -> np.ndarray:
    """Return the membership of each row in the other side of its pair, (rows,) in [0, 1].

    Args:
        rows: the pairs.
        cut: the sine up to which a row counts as dependent on others, `algebra.rank.tolerance`.
        ridge: (rows,) added to the diagonal of the Gram matrices: aperture^-2 over a row's share makes the sets graded.
        tally: counts the pairs by the path they took.
    """
    in_other, _ = _GramKernel(rows, cut, ridge, tally).run()
    return np.asarray(np.minimum(in_other, 1.0))


def relative_memberships(
    rows: PairRows, *, cut: float, ridge: np.ndarray, tally: Counter[str] | None = None
) -> np.ndarray:
    """Return the membership of each row in the other side, divided by the membership in its own side; at most 1."""
    in_other, in_own = _GramKernel(rows, cut, ridge, tally).run()
    positive = in_own > 0
    return np.where(positive, np.minimum(in_other / np.where(positive, in_own, 1.0), 1.0), 0.0)


class _GramKernel:
    """The arrays of one call, and the paths that fill them."""

    def __init__(self, rows: PairRows, cut: float, ridge: np.ndarray | None, tally: Counter[str] | None) -> None:
        self.rows, self.cut, self.ridge = rows, cut, ridge
        self.tally: Counter[str] = Counter() if tally is None else tally
        self.offsets, self.counts = rows.offsets, np.diff(rows.offsets)
        self.in_other, self.in_own = np.zeros(len(rows.norms)), np.ones(len(rows.norms))

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the memberships in the other side and, for graded sets, in the own side, (rows,) each."""
        left, right = self.counts[0::2], self.counts[1::2]
        filled, longest = np.flatnonzero((left > 0) & (right > 0)), np.maximum(left, right)
        # With more rows than dimensions no Gram matrix is regular, unless a ridge makes it so.
        d = self.rows.left.shape[1]
        crowded = longest[filled] > (d if self.ridge is None else max(d, MAX_GRADED_ROWS))
        regular = filled[~crowded]
        arrays = (self.rows.left, self.rows.right)
        readable = all(rows.dtype == self.rows.dtype and rows.flags.c_contiguous for rows in arrays)
        small = (longest[regular] <= MAX_COMPILED_ROWS) & (readable and can_compile())
        unsure = np.concatenate([self._compiled(regular[small]), self._stacked("fast", regular[~small])])
        unsure = self._stacked("wide", unsure)
        for pair in [*filled[crowded].tolist(), *unsure.tolist()]:
            self._rank_revealing(pair)
        return self.in_other, self.in_own

    def _compiled(self, pairs: np.ndarray) -> np.ndarray:
        """Run the fast path in compiled code; return the pairs whose error bound does not hold."""
        if not len(pairs):
            return pairs
        from softset.similarity.kernels.compiled import pair_memberships

        counts, traces = self.counts.reshape(-1, 2)[pairs], np.empty((len(pairs), 2))
        pair_memberships(
            (_read_only(self.rows.left), _read_only(self.rows.right)),
            self.rows.starts[pairs],
            counts,
            self.offsets[2 * pairs],
            1 / self.rows.norms,
            np.zeros(len(self.in_other)) if self.ridge is None else self.ridge,
            self.in_other,
            self.in_own,
            traces,
        )
        accurate = self._is_accurate(traces, counts, TRACE_LIMITS[str(self.rows.dtype)]).all(axis=1)
        self.tally["fast"] += int(accurate.sum())
        return np.asarray(pairs[~accurate])

    def _stacked(self, path: Literal["fast", "wide"], pairs: np.ndarray) -> np.ndarray:
        """Run a path by stacks of Gram matrices; return the pairs whose error bound does not hold."""
        limit = TRACE_LIMITS["float64" if path == "wide" else str(self.rows.dtype)]
        accurate = np.ones(len(self.counts) // 2, dtype=bool)
        for batch in _bounded_runs(self.counts, pairs):
            products = {pair: self._cosines(pair, exact=path == "wide") for pair in batch.tolist()}
            for sides, G, C in _stacks(self.counts, products):
                accurate[sides[~self._solve(sides, G, C, limit)] // 2] = False
        self.tally[path] += int(accurate[pairs].sum())
        return np.asarray(pairs[~accurate[pairs]])

    def _cosines(self, pair: int, *, exact: bool) -> np.ndarray:
        """Return the cosines (k + l, k + l) of a pair's rows: in the rows' type, or exactly in float64."""
        X = unit_rows(self.rows.rows_of(pair)) if exact else self.rows.rows_of(pair)
        G: np.ndarray = X @ X.T
        if not exact:
            scale = (1 / self.rows.norms[self.offsets[2 * pair] : self.offsets[2 * pair + 2]]).astype(X.dtype)
            G *= scale[:, None] * scale  # in one step, so that G is symmetric to the last bit
        return G

    def _solve(self, sides: np.ndarray, M: np.ndarray, C: np.ndarray, limit: float) -> np.ndarray:
        """Fill in the memberships of the other sides' rows in a stack of sides; return which are accurate, (b,)."""
        counts = self.counts[sides]
        stack, row, own = self._indices(sides, M.shape[1])
        if self.ridge is not None:
            M[stack, row, row] += self.ridge[own]
        factor, exists = _cholesky(M)
        inverse = _lower_inverse(factor)
        explained = inverse @ C
        diagonals = np.sum(inverse * inverse, axis=1)
        other_stack, other_row, others = self._indices(sides ^ 1, C.shape[2])
        self.in_other[others] = np.sqrt(np.sum(explained * explained, axis=1))[other_stack, other_row]
        if self.ridge is not None:
            D = self.ridge[own]
            squares = M[stack, row, row] - 2 * D + D * D * diagonals[stack, row]
            self.in_own[own] = np.sqrt(np.maximum(squares, 0.0))
        traces = diagonals.sum(axis=1) - (M.shape[1] - counts)  # without the padding
        return np.asarray(exists & self._is_accurate(traces, counts, limit))

    def _indices(self, sides: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return three indices of each row of some sides: its side, its row in the side, its row in the results."""
        stack, row = np.nonzero(np.arange(size) < self.counts[sides][:, None])
        return stack, row, self.offsets[sides[stack]] + row

    def _is_accurate(self, traces: np.ndarray, counts: np.ndarray, limit: float) -> np.ndarray:
        """Return which sets have full rank, and an error within the limit by the trace of M^-1."""
        full_rank = traces * counts * self.cut**2 < 1  # the rule of algebra.rank would accept every row
        return np.asarray((traces <= limit) & full_rank)

    def _rank_revealing(self, pair: int) -> None:
        """Fill in the memberships of one pair by orthonormal directions of its sides."""
        start, middle, stop = self.offsets[2 * pair : 2 * pair + 3].tolist()
        units = unit_rows(self.rows.rows_of(pair))
        sides = (slice(start, middle), units[: middle - start]), (slice(middle, stop), units[middle - start :])
        self.tally["revealing"] += 1
        for (own, members), (other, others) in (sides, sides[::-1]):
            if self.ridge is None:
                factor = independent(members, self.cut).directions
            else:
                factor = graded_factor(members, self.ridge[own], self.cut)
                self.in_own[own] = np.linalg.norm(members @ factor.T, axis=1)
            self.in_other[other] = np.linalg.norm(others @ factor.T, axis=1)


def _read_only(rows: np.ndarray) -> np.ndarray:
    """Return a read-only view: mapped files are read-only, and numba compiles once for each kind of array."""
    view = np.asarray(rows).view()
    view.flags.writeable = False
    return view


def _bounded_runs(counts: np.ndarray, pairs: np.ndarray) -> Iterator[np.ndarray]:
    """Yield runs of pairs whose Gram matrices together take about STACK_BYTES."""
    if len(pairs):
        sizes = 8 * (counts[2 * pairs] + counts[2 * pairs + 1] + 2 * SIZE_STEP) ** 2
        run = np.cumsum(sizes) // STACK_BYTES
        yield from np.split(pairs, np.flatnonzero(np.diff(run)) + 1)


def _stacks(counts: np.ndarray, products: dict[int, np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield sides of nearly the same size with their Gram matrices G (b, K, K) and cross products C (b, K, L).

    Side 2i + s is side s of pair i. Padding has ones on the diagonal of G and zeros in C, so it changes nothing.
    """
    sides = np.array([2 * pair + side for pair in products for side in (0, 1)])
    sizes = -(-counts[sides] // SIZE_STEP) * SIZE_STEP
    for K in np.unique(sizes).tolist():
        members = sides[sizes == K]
        G = np.tile(np.eye(K), (len(members), 1, 1))
        C = np.zeros((len(members), K, int(counts[members ^ 1].max())))
        for index, side in enumerate(members.tolist()):
            k, l = int(counts[side]), int(counts[side ^ 1])
            own, other = (slice(l, None), slice(l)) if side % 2 else (slice(k), slice(k, None))
            G[index, :k, :k], C[index, :k, :l] = products[side // 2][own, own], products[side // 2][own, other]
        yield members, G, C


def _cholesky(G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Cholesky factors of a stack (b, n, n) and which of them exist; the others are the identity.

    NumPy rejects a whole stack for one bad matrix: the stack is halved until the bad matrix is alone.
    """
    try:
        return np.linalg.cholesky(G), np.ones(len(G), dtype=bool)
    except np.linalg.LinAlgError:
        if len(G) == 1:
            return np.eye(G.shape[1])[None], np.zeros(1, dtype=bool)
    half = len(G) // 2
    (first, first_exist), (second, second_exist) = _cholesky(G[:half]), _cholesky(G[half:])
    return np.concatenate([first, second]), np.concatenate([first_exist, second_exist])


def _lower_inverse(L: np.ndarray) -> np.ndarray:
    """Return the inverses of lower triangular matrices (b, n, n), by recursion on the two halves.

    A general solver would take several times as long, because it ignores that half of the matrix is zero.
    """
    n = L.shape[-1]
    if n <= INVERSE_ROWS:
        return np.linalg.inv(L)
    h = n // (2 * INVERSE_ROWS) * INVERSE_ROWS or INVERSE_ROWS
    first, last = _lower_inverse(L[:, :h, :h]), _lower_inverse(L[:, h:, h:])
    inverse = np.zeros_like(L)
    inverse[:, :h, :h], inverse[:, h:, h:] = first, last
    inverse[:, h:, :h] = -(last @ (L[:, h:, :h] @ first))
    return inverse


def graded_factor(units: np.ndarray, ridge: np.ndarray, cut: float) -> np.ndarray:
    """Return the factor F (r, d) of the graded set of unit rows (k, d): directions times the roots of their grades.

    The membership of a unit vector v is |F v|. With T the rows over the roots of their ridges, the grades are
    s^2 / (s^2 + 1) for the singular values s of T. The rank is decided before grading, as in `GradedSubspace.of`.
    """
    directions = independent(units, cut).directions
    T = (units @ directions.T) / np.sqrt(ridge)[:, None]
    _, s, Vt = np.linalg.svd(T, full_matrices=False)
    roots = 1 / np.sqrt(1 + s**-2)  # s / sqrt(s^2 + 1) without squares that overflow
    return np.asarray((roots[:, None] * Vt) @ directions)
