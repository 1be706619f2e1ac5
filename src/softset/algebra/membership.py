"""Membership as a norm: |Q v| / |v| for all vectors by one matrix product, without an SVD."""

from typing import Any, NamedTuple

import numpy as np

from softset.algebra.arrays import Array, as_rows, check_finite, detach, namespace, row_norms, traces_gradient

SAFE_NORMS = (1e-15, 1e15)  # their squares keep all digits in float32


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
    if not bool(xp.all(xp.logical_and(norms > SAFE_NORMS[0], norms < SAFE_NORMS[1]))):  # also for NaN
        check_finite(rows)
        largest = detach(xp.max(xp.abs(rows), axis=-1, keepdims=True))
        rows = rows / xp.where(largest > 0, largest, xp.ones_like(largest))
        norms = row_norms(rows)
    return MeasuredRows(rows, xp.where(norms > 0, norms, xp.ones_like(norms)), single)


def norm_ratio(part: Array, measured: MeasuredRows) -> Array:
    """Return |part| / |v| (n,), clipped to [0, 1]; zero vectors have 0."""
    xp = namespace(part)
    m = row_norms(part) / measured.norms
    if traces_gradient(m):
        # A membership of a few eps is rounding, and so is the direction of its derivative: take the subgradient 0.
        m = xp.where(m > 8 * float(xp.finfo(m.dtype).eps), m, detach(m))
    return xp.clip(m, 0.0, 1.0)
