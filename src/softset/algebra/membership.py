"""Membership as a norm: |Q v| / |v| for all vectors by one matrix product, without an SVD."""

from typing import Any, NamedTuple

import numpy as np

from softset.algebra.arrays import Array, as_rows, check_finite, detach, namespace, row_norms, traces_gradient

__all__ = ["MeasuredRows", "measure_rows", "norm_ratio"]


class MeasuredRows(NamedTuple):
    """Rows (n, d), their norms (n,) with 1 for zero rows, and whether the caller gave a single (d,) vector."""

    rows: Array
    norms: Array
    single: bool


def measure_rows(v: Array, frame: Array, dtype: Any) -> MeasuredRows:
    """Return vectors checked against a set's frame, in the wider of their type and the set's.

    The norms show whether all numbers are finite, so that the million rows of a vocabulary are read only once. Rows
    whose squares would overflow or underflow are rescaled here; membership does not depend on the scale.
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
    return MeasuredRows(rows, xp.where(norms > 0, norms, xp.ones_like(norms)), single)


def _in_safe_range(norms: Array, d: int) -> bool:
    """Tell whether every squared norm is a normal number with all its digits (false for NaN and zero)."""
    xp = namespace(norms)
    limits = xp.finfo(norms.dtype)
    low = (float(limits.smallest_normal) / float(limits.eps)) ** 0.5
    high = (float(limits.max) / d) ** 0.5
    return bool(xp.all(xp.logical_and(norms > low, norms < high)))


def norm_ratio(part: Array, measured: MeasuredRows) -> Array:
    """Return |part| / |v| (n,), clipped to [0, 1]; zero vectors have 0."""
    xp = namespace(part)
    m = row_norms(part) / measured.norms
    if traces_gradient(m):
        # A membership of a few eps is rounding, and so is the direction of its derivative: take the subgradient 0.
        m = xp.where(m > 8 * float(xp.finfo(m.dtype).eps), m, detach(m))
    return xp.clip(m, 0.0, 1.0)
