"""How many dimensions a handful of vectors has: decided here, once, by one rule.

A unit row counts as new when the sine between it and the span of the rows already taken is above `tolerance(d, dtype)`.
The cut is absolute. A share of the largest singular value, the usual rule, would let a thousand copies of one word
raise the bar for all the others.
"""

from collections.abc import Iterable
from math import sqrt
from typing import Any, NamedTuple

from array_api_compat import device

from softset.algebra.arrays import Array, attach, detach, generic, namespace, row_norms, transpose, widen

__all__ = ["Frame", "carried", "independent", "independent_stack", "tolerance"]


def tolerance(d: int, dtype: Any, xp: Any) -> float:
    """Return the largest sine that still counts as zero: sqrt(d) times 6.4e-6 for float32 and 1.5e-8 for float64.

    float32 vectors are rounded, so that sines of about eps mean nothing and, combined a few times, those up to
    eps^(3/4) = 6.4e-6. float64 vectors are rounded far below; but a direction taken at a sine of s is itself only known
    to eps / s. With a cut of sqrt(eps) = 1.5e-8 no direction is less certain than the cut, and two orders of the same
    examples make the same set. Both are far below the sines of words that differ (about .1 and more).
    """
    eps, wide = float(xp.finfo(dtype).eps), float(xp.finfo(xp.float64).eps)
    return sqrt(d) * max(sqrt(eps) * sqrt(sqrt(eps)), sqrt(wide))


class Frame(NamedTuple):
    """Orthonormal rows (r, d), and which r of the given rows span the same space."""

    directions: Array
    pivots: Array


def independent(units: Array, cut: float) -> Frame:
    """Return the frame of (k, d) rows, each of length 1 or 0."""
    if not units.shape[0]:
        return Frame(units, _indices(units, []))
    Q, R, full = _factor(units, cut)
    return _finish(units, Q, R, bool(full), cut)


def independent_stack(units: Array, cut: float) -> list[Frame]:
    """Return the frames of a (b, k, d) stack of such rows: one factorisation for all that have full rank."""
    if not units.shape[1]:
        return [independent(units[i, ...], cut) for i in range(units.shape[0])]
    Q, R, full = _factor(units, cut)
    return [_finish(units[i, ...], Q[i, ...], R[i, ...], bool(full[i]), cut) for i in range(units.shape[0])]


def _factor(units: Array, cut: float) -> tuple[Array, Array, Array]:
    """Factor the transposed rows as Q R, and tell whether the rank is as large as it can be.

    With the smallest singular value above cut * sqrt(k), no set of rows taken so far can leave every other row within
    the cut: whatever the order, the rule of this file would take min(k, d) rows. So the unpivoted factor will do.
    """
    xp = namespace(units)
    Q, R = xp.linalg.qr(transpose(units))
    smallest = xp.min(xp.linalg.svdvals(R), axis=-1)
    return Q, R, smallest > cut * sqrt(units.shape[-2])


def _finish(units: Array, Q: Array, R: Array, full: bool, cut: float) -> Frame:
    """Turn one set's factors into its frame, pivoting among the rows only where the rank is in question."""
    xp = namespace(units)
    if full:
        signs = xp.where(xp.linalg.diagonal(R) < 0, -1.0, 1.0)  # a single vector's direction is its own
        return Frame(transpose(Q * signs), _indices(Q, range(Q.shape[-1])))
    order = _fixed_order(units)
    directions, chosen = _pivoted(xp.take(transpose(R), order, axis=0), cut)
    return Frame(directions @ transpose(Q), xp.take(order, chosen, axis=0))


def _fixed_order(units: Array) -> Array:
    """Order rows by their share of one fixed, generic direction: the caller's order, signs and copies do not matter."""
    xp = namespace(units)
    return xp.argsort(-xp.abs(units @ generic(units)), stable=True)


def _pivoted(rows: Array, cut: float) -> tuple[Array, Array]:
    """Gram-Schmidt on (k, m) rows, farthest row first, until every row is within the cut."""
    xp = namespace(rows)
    # A row's length is 1 or 0 by definition; taken as measured, rounding would choose the first pivot.
    rest, sines = rows, xp.round(row_norms(rows))
    basis = rows[:0, :]
    chosen: list[int] = []
    for _ in range(min(rows.shape)):
        at = int(xp.argmax(sines))
        if not float(sines[at]) > cut:
            break
        q = rest[at, :]
        q = q - (q @ transpose(basis)) @ basis  # once more: cancellation has left some of the basis in q
        q = q / xp.linalg.vector_norm(q)
        basis = xp.concat([basis, q[None, :]])
        chosen.append(at)
        rest = rest - (rest @ q)[:, None] * q
        sines = row_norms(rest)
    return basis, _indices(rows, chosen)


def _indices(like: Array, values: Iterable[int]) -> Array:
    """Return integers as an index array where `like` lives."""
    xp = namespace(like)
    return xp.asarray(list(values), dtype=xp.int64, device=device(like))


def carried(directions: Array, rows: Array) -> Array:
    """Return the orthonormal directions (r, d) with their derivative as a function of the r rows that span them.

    A constant change of basis makes the rows equal to the directions in value, so that their Gram matrix is the
    identity; its Cholesky factor then keeps them orthonormal to first order. No step divides by a difference of
    singular values, so the derivative is finite on orthonormal rows too, where that of an SVD is not.
    """
    xp = namespace(directions)
    if not directions.shape[0]:
        return directions
    change = detach(rows) @ transpose(directions)
    moved = attach(directions, xp.linalg.solve(change, rows))
    factor = xp.linalg.cholesky(moved @ transpose(moved))
    return attach(widen(directions), xp.linalg.solve(factor, moved))
