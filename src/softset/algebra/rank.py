"""The rank of a set of vectors, and an orthonormal basis: one rule for all of softset.

A unit row is independent if the sine of its angle to the span of the rows chosen so far is above `tolerance(d, dtype)`.
This threshold is absolute. The usual rule, a fraction of the largest singular value, would let a thousand copies of one
word raise the threshold for all others.
"""

from collections.abc import Iterable
from math import sqrt
from typing import Any, NamedTuple

from array_api_compat import device

from softset.algebra.arrays import Array, attach, detach, generic_vector, namespace, row_norms, transpose, widen


def tolerance(d: int, dtype: Any, xp: Any) -> float:
    """Return the largest sine that counts as zero: sqrt(d) times 6.4e-6 for float32 and 1.5e-8 for float64.

    In float32, sines of about eps are rounding, and after a few operations those up to eps^(3/4) = 6.4e-6. In float64
    rounding is far smaller, but a direction chosen at a sine of s is known only to eps / s. With a threshold of
    sqrt(eps) = 1.5e-8 the error of no direction exceeds the threshold, so that any order of the same examples gives the
    same set. Both values are far below the sines between different words (about .1 and more).
    """
    eps, wide = float(xp.finfo(dtype).eps), float(xp.finfo(xp.float64).eps)
    return sqrt(d) * max(sqrt(eps) * sqrt(sqrt(eps)), sqrt(wide))


class Frame(NamedTuple):
    """Orthonormal rows (r, d), and the indices (r,) of the input rows that span the same space."""

    directions: Array
    pivots: Array


def independent(units: Array, cut: float) -> Frame:
    """Return a basis of the span of (k, d) rows, each of length 1 or 0."""
    return independent_stack(units[None, ...], cut)[0]


def independent_stack(units: Array, cut: float) -> list[Frame]:
    """Return the bases of a (b, k, d) stack of such rows, by one factorisation for all sets of full rank.

    If the smallest singular value is above cut * sqrt(k), some row is above the cut until min(k, d) rows are chosen, in
    any order. Then the rank is min(k, d), and no pivoting is needed.
    """
    b, k, _ = units.shape
    if not k:
        return [Frame(units[i, ...], _indices(units, [])) for i in range(b)]
    xp = namespace(units)
    Q, R = xp.linalg.qr(transpose(units))
    full = xp.min(xp.linalg.svdvals(R), axis=-1) > cut * sqrt(k)
    return [_finish(units[i, ...], Q[i, ...], R[i, ...], bool(full[i]), cut) for i in range(b)]


def _finish(units: Array, Q: Array, R: Array, full: bool, cut: float) -> Frame:
    """Return the basis from the factors of one set, with pivoting only if the rank is not full."""
    xp = namespace(units)
    if full:
        signs = xp.where(xp.linalg.diagonal(R) < 0, -1.0, 1.0)  # keep the sign of a single vector
        return Frame(transpose(Q * signs), _indices(Q, range(Q.shape[-1])))
    # Rows are ordered by |cosine| with a fixed direction, so that the caller's order and signs do not matter.
    order = xp.argsort(-xp.abs(units @ generic_vector(units)), stable=True)
    directions, chosen = _pivoted(xp.take(transpose(R), order, axis=0), cut)
    return Frame(directions @ transpose(Q), xp.take(order, chosen, axis=0))


def _pivoted(rows: Array, cut: float) -> tuple[Array, Array]:
    """Run Gram-Schmidt on (k, m) rows, the row with the largest sine first, until all sines are within the cut."""
    xp = namespace(rows)
    # The norms are 1 or 0 by definition; with measured norms, rounding would choose the first pivot.
    residuals, sines = rows, xp.round(row_norms(rows))
    basis = rows[:0, :]
    chosen: list[int] = []
    for _ in range(min(rows.shape)):
        pivot = int(xp.argmax(sines))
        if not float(sines[pivot]) > cut:
            break
        q = residuals[pivot, :]
        q = q - (q @ transpose(basis)) @ basis  # once more: cancellation leaves a part of the basis in q
        q = q / xp.linalg.vector_norm(q)
        basis = xp.concat([basis, q[None, :]])
        chosen.append(pivot)
        residuals = residuals - (residuals @ q)[:, None] * q
        sines = row_norms(residuals)
    return basis, _indices(rows, chosen)


def _indices(like: Array, values: Iterable[int]) -> Array:
    """Return integers as an index array in the library and on the device of `like`."""
    xp = namespace(like)
    return xp.asarray(list(values), dtype=xp.int64, device=device(like))


def differentiable_basis(directions: Array, rows: Array) -> Array:
    """Return orthonormal directions (r, d) as a differentiable function of the r rows that span them.

    A constant change of basis makes the rows equal to the directions in value, so that their Gram matrix is the
    identity. Its Cholesky factor keeps them orthonormal to first order. No step divides by a difference of singular
    values, so that the derivative is finite on orthonormal rows too, unlike that of an SVD.
    """
    xp = namespace(directions)
    if not directions.shape[0]:
        return directions
    change = detach(rows) @ transpose(directions)
    basis = attach(directions, xp.linalg.solve(change, rows))
    factor = xp.linalg.cholesky(basis @ transpose(basis))
    return attach(widen(directions), xp.linalg.solve(factor, basis))
