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

Where numba is installed, `kernels.compiled` takes the fast path for pairs of up to 128 rows a side: the same numbers
but for rounding, in a third of the time. Which code it is depends on the pair alone, and not on those beside it.

A graded set does not hold its own rows in full: with the ridge D on the diagonal, M = G + D, the squared membership of
its i-th row is M_ii - 2 D_i + D_i^2 (M^-1)_ii. What a row has in the other set can be measured by that.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import device

from softset.algebra.arrays import Array, detach, namespace, to_numpy, traces_gradient, transpose, unit_rows
from softset.algebra.rank import differentiable_basis, independent
from softset.runtime.jit import can_compile
from softset.similarity.kernels.bases import graded_factor
from softset.similarity.kernels.stacks import Bucket, stacked
from softset.similarity.kernels.triangles import cholesky, lower_inverse, root
from softset.similarity.sides import Gathered

__all__ = ["memberships", "relative_memberships"]

FAST = {"float32": 1e2, "float64": 1e10}  # the largest |L^-1|^2, by the type of the products: pivots of .1 and 1e-5
LONG = 512  # rows of a graded set, from which on directions take less time than Gram matrices, if these are larger
SMALL = 128  # rows of a side, up to which compiled code is quicker than LAPACK


def memberships(
    rows: Array | Gathered,
    offsets: np.ndarray,
    *,
    cut: float,
    lengths: np.ndarray | None = None,
    exact: Callable[[int, int], Array] | None = None,
    ridge: np.ndarray | None = None,
    tally: Counter[str] | None = None,
) -> Array:
    """Return how much each row belongs to the other side of its pair, (rows,) in [0, 1].

    Args:
        rows: (rows, d), NumPy or torch: side 0 and side 1 of pair 0, then of pair 1, and so on; or what gathers them.
        offsets: (2n + 1,) where each side begins.
        cut: the sine up to which a row counts as dependent on others, `algebra.rank.tolerance`.
        lengths: (rows,) of the rows; they are 1 unless given. To divide products by them takes less than to scale rows.
        exact: gives the rows from start to stop with length 1 in float64, where `rows` are rounded to less.
        ridge: (rows,) added to the diagonal of Gram matrices: aperture^-2 over a row's share makes the sets graded.
        tally: counts the pairs by the path they took.

    >>> memberships(np.array([[1.0, 0], [0.6, 0.8]]), np.array([0, 1, 2]), cut=1e-7).round(6)
    array([0.6, 0.6])
    """
    kernel = _Kernel(rows, offsets, cut, lengths, exact, ridge, Counter() if tally is None else tally)
    kernel.fill()
    return _at_most_one(kernel.found)


def relative_memberships(
    rows: Array | Gathered,
    offsets: np.ndarray,
    *,
    cut: float,
    ridge: np.ndarray,
    lengths: np.ndarray | None = None,
    exact: Callable[[int, int], Array] | None = None,
    tally: Counter[str] | None = None,
) -> Array:
    """Return what each row has in the other side's graded set as a share of what it has in its own, at most 1.

    >>> relative_memberships(np.array([[1.0, 0], [0.6, 0.8]]), np.array([0, 1, 2]), cut=1e-7, ridge=np.ones(2)).round(6)
    array([0.6, 0.6])
    """
    kernel = _Kernel(rows, offsets, cut, lengths, exact, ridge, Counter() if tally is None else tally)
    kernel.fill()
    xp, filled = kernel.xp, kernel.own > 0
    return xp.where(filled, _at_most_one(kernel.found / xp.where(filled, kernel.own, 1.0)), 0.0 * kernel.own)


def _at_most_one(found: Array) -> Array:
    """Return memberships without what rounding added; they are roots, and never below 0."""
    xp = namespace(found)
    return xp.where(found > 1, xp.ones_like(found), found)


class _Kernel:
    """The arrays of one call, and the paths through them."""

    def __init__(
        self,
        rows: Array | Gathered,
        offsets: np.ndarray,
        cut: float,
        lengths: np.ndarray | None,
        exact: Callable[[int, int], Array] | None,
        ridge: np.ndarray | None,
        tally: Counter[str],
    ) -> None:
        self.take: Callable[[int, int], Array]
        if isinstance(rows, Gathered):
            like, self.take, self.given, self.starts = rows.like, rows, rows.given, rows.starts
        else:
            like, self.take = rows, lambda start, stop: rows[start:stop, :]
            self.given, self.starts = (rows, rows), offsets[:-1].reshape(-1, 2)
        self.xp = xp = namespace(like)
        self.like, self.cut, self.tally = like, cut, tally
        self.offsets, self.begins, self.counts = offsets.tolist(), offsets, np.diff(offsets)
        self.places: dict[str, Any] = {"dtype": xp.float64, "device": device(like)}
        self.inverse = None if lengths is None else 1 / lengths
        self.scale = None if self.inverse is None else self.inverse.astype(like.dtype)
        self.exact = exact or (lambda start, stop: unit_rows(self.take(start, stop)))
        self.ridge = None if ridge is None else xp.asarray(ridge, **self.places)
        self.found = xp.zeros(int(offsets[-1]), **self.places)
        self.own = xp.ones(int(offsets[-1]), **self.places)
        self.limit = FAST["float32" if str(like.dtype).endswith("float32") else "float64"]

    def fill(self) -> None:
        """Send all pairs through, each by the first path that is sure."""
        left, right = self.counts[0::2], self.counts[1::2]
        filled = np.flatnonzero((left > 0) & (right > 0))
        # With more rows than dimensions no Gram matrix is regular, unless a ridge makes it so; but one of a long text
        # would take far more memory than its rows.
        d = self.like.shape[1]
        crowded = np.maximum(left, right)[filled] > (d if self.ridge is None else max(d, LONG))
        regular = filled[~crowded]
        small = (np.maximum(left, right)[regular] <= SMALL) & self._compiles
        unsure = np.concatenate(
            [self._compiled(regular[small]), self._path("fast", regular[~small], self._product, self.limit)]
        )
        unsure = self._path("wide", unsure, self._exact_product, FAST["float64"])
        for pair in [*filled[crowded].tolist(), *unsure.tolist()]:
            self._revealing(pair)

    @property
    def _compiles(self) -> bool:
        """Whether there is compiled code that can read the rows."""
        readable = all(
            isinstance(rows, np.ndarray) and rows.dtype == self.like.dtype and rows.flags.c_contiguous
            for rows in self.given
        )
        return readable and can_compile()

    def _compiled(self, pairs: np.ndarray) -> np.ndarray:
        """Do what `_path` does on the fast path, by compiled code."""
        if not len(pairs):
            return pairs
        from softset.similarity.kernels.compiled import explain

        counts, traces, rows = self.counts.reshape(-1, 2)[pairs], np.empty((len(pairs), 2)), self.offsets[-1]
        explain(
            (_read_only(self.given[0]), _read_only(self.given[1])),
            self.starts[pairs],
            counts,
            self.begins[2 * pairs],
            np.ones(rows) if self.inverse is None else self.inverse,
            np.zeros(rows) if self.ridge is None else self.ridge,
            self.found,
            self.own,
            traces,
        )
        sure = self._sure(traces, counts, self.limit).all(axis=1)
        self.tally["fast"] += int(sure.sum())
        unsure: np.ndarray = pairs[~sure]
        return unsure

    def _path(self, name: str, pairs: np.ndarray, product: Callable[[int, int], Array], limit: float) -> np.ndarray:
        """Fill in the memberships of some pairs by products of their rows; return the pairs where that was not sure."""
        if not len(pairs):
            return pairs
        sure = np.ones(len(self.counts) // 2, dtype=bool)
        for some, stacks in stacked(self.counts, pairs, self.xp, self.places):
            for at, pair in enumerate(some.tolist()):
                start, stop = self._ends(pair)
                stacks.put(at, product(start, stop), self.offsets[2 * pair + 1] - start)
            for bucket in stacks.buckets:
                sure[bucket.sides[~self._explain(bucket, limit)] // 2] = False
        self.tally[name] += int(sure[pairs].sum())
        unsure: np.ndarray = pairs[~sure[pairs]]
        return unsure

    def _ends(self, pair: int) -> tuple[int, int]:
        return self.offsets[2 * pair], self.offsets[2 * pair + 2]

    def _product(self, start: int, stop: int) -> Array:
        """Return the cosines (n, n) of the rows from start to stop, in their own type."""
        X = self.take(start, stop)
        G = X @ transpose(X)
        if self.scale is not None:
            scale = self.scale[start:stop]
            G *= scale[:, None] * scale  # in one step, so that G stays symmetric to the last bit
        return G

    def _exact_product(self, start: int, stop: int) -> Array:
        """Return the same in float64, of rows that are not rounded to less."""
        X = self.exact(start, stop)
        return X @ transpose(X)

    def _explain(self, bucket: Bucket, limit: float) -> np.ndarray:
        """Fill in what the other sides' rows have in the sets of a bucket; return which of the sets are sure, (b,)."""
        xp, M, C, sides = self.xp, bucket.G, bucket.C, bucket.sides
        counts = self.counts[sides]
        own_at, own_row, own = self._rows_of(sides, M.shape[1])
        if self.ridge is not None:
            M[own_at, own_row, own_row] += self.ridge[own]
        factor, whole = cholesky(M)
        inverse = lower_inverse(factor)
        explained = inverse @ C
        diagonals = xp.sum(inverse * inverse, axis=1)
        at, row, others = self._rows_of(sides ^ 1, C.shape[2])
        self.found[others] = root(xp.sum(explained * explained, axis=1))[at, row]
        if self.ridge is not None:
            D = self.ridge[own]
            self.own[own] = root(M[own_at, own_row, own_row] - 2 * D + D * D * diagonals[own_at, own_row])
        traces = to_numpy(xp.sum(diagonals, axis=1)) - (M.shape[1] - counts)  # without the pads
        sure: np.ndarray = whole & self._sure(traces, counts, limit)
        return sure

    def _sure(self, traces: np.ndarray, counts: np.ndarray, limit: float) -> np.ndarray:
        """Return for which sets errors are small enough, by the trace of M^-1, and their rank is beyond question."""
        rank_is_clear = traces * counts * self.cut**2 < 1  # as in algebra.rank: the rule would take every row
        sure: np.ndarray = (traces <= limit) & rank_is_clear
        return sure

    def _rows_of(self, sides: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return for all rows of some sides which side (from 0) and which of its rows each is, and its place."""
        at, row = np.nonzero(np.arange(size) < self.counts[sides][:, None])
        return at, row, self.begins[sides[at]] + row

    def _revealing(self, pair: int) -> None:
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

    def _revealed(self, members: Array, rows: Array, start: int) -> Array:
        """Return the memberships of rows in the set that the members, whose ridge begins at start, make."""
        fixed = detach(members)
        if self.ridge is None:
            frame = independent(fixed, self.cut)
            factor = frame.directions
            if traces_gradient(members) and factor.shape[0] < factor.shape[1]:
                factor = differentiable_basis(factor, self.xp.take(members, frame.pivots, axis=0))
        else:  # with an aperture so large, grades hardly move: the derivative is that of the rows alone
            factor = graded_factor(fixed, self.ridge[start : start + members.shape[0]], self.cut)
        part = rows @ transpose(factor)
        return root(self.xp.sum(part * part, axis=-1))


def _read_only(rows: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written: rows of a file are such, and code is compiled for one kind only."""
    view = np.asarray(rows).view()
    view.flags.writeable = False
    return view
