"""Membership is a norm, not an SVD: |Q v| / |v|, for all vectors by one matrix product."""

from typing import Any, NamedTuple

import numpy as np

from softset.algebra.arrays import Array, as_rows, check_finite, detach, namespace, row_norms, traces_gradient

__all__ = ["Measured", "measured", "share"]


class Measured(NamedTuple):
    """Rows (n, d) ready for a product, their lengths (n,) or 1 if zero, and whether they came as one (d,) vector."""

    rows: Array
    norms: Array
    single: bool


def measured(v: Array, frame: Array, dtype: Any) -> Measured:
    """Return vectors checked against a set's frame, in the wider of their type and the set's.

    Whether all numbers are finite shows in the norms, which are needed anyway: the million rows of a vocabulary are not
    read a second time for it. Rows whose squares would overflow or vanish are scaled first; membership does not mind.
    """
    rows, single = as_rows(v, ambient=int(frame.shape[1]), like=frame, finite=False)
    xp = namespace(rows, frame)
    rows = xp.astype(rows, xp.result_type(rows.dtype, dtype), copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = row_norms(rows)
    if not _in_safe_range(norms, rows.shape[1]):
        check_finite(rows)
        largest = detach(xp.max(xp.abs(rows), axis=-1, keepdims=True))
        rows = rows / xp.where(largest > 0, largest, xp.ones_like(largest))
        norms = row_norms(rows)
    return Measured(rows, xp.where(norms > 0, norms, xp.ones_like(norms)), single)


def _in_safe_range(norms: Array, d: int) -> bool:
    """Tell whether every squared norm is a normal number that has all its digits (false for NaN and zero too)."""
    xp = namespace(norms)
    limits = xp.finfo(norms.dtype)
    low = (float(limits.smallest_normal) / float(limits.eps)) ** 0.5
    high = (float(limits.max) / d) ** 0.5
    return bool(xp.all(xp.logical_and(norms > low, norms < high)))


def share(part: Array, whole: Measured) -> Array:
    """Return |part| / |v| (n,) in [0, 1] for rows that are a part of v; a zero vector has 0."""
    xp = namespace(part)
    m = row_norms(part) / whole.norms
    if traces_gradient(m):
        # Where nothing but rounding is left, the direction of the derivative is noise: take the subgradient 0.
        m = xp.where(m > 8 * float(xp.finfo(m.dtype).eps), m, detach(m))
    return xp.clip(m, 0.0, 1.0)
