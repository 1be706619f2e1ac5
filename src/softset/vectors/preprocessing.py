"""What may be done to all vectors before they are used, each named so that a signature can say it.

======================  ========================================================================
centre                  the mean of all vectors is subtracted
all-but-the-top(k)      centre, and the k strongest directions are taken out (Mu and Viswanath 2018)
whiten(a)               of unit vectors: centre, and the covariance to the power -a is applied
======================  ========================================================================

Whitening in full, a = .5, makes all directions alike, noise included; a = .2 goes part of the way. On the training and
validation sets of LDA-1k it lifts the recall of three kinds of vectors, and so does any a from .15 to .25.

The name in a signature ends with the number of vectors that were looked at: centre@33753.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softset.errors import InputError

__all__ = ["Preprocessing", "fit_preprocessing"]

KNOWN = "centre, all-but-the-top, all-but-the-top(3), whiten or whiten(0.2)"
POWER = 0.2
SAME = 1e-6  # entries of a unit vector that differ from the mean's by less are the same in float32
SMALLEST_VARIANCE = 1e-6  # of the largest: a direction without any is not blown up without end


@dataclass(frozen=True)
class Preprocessing:
    """x - mean, times a symmetric matrix (d, d) if there is one; `unit` vectors are scaled to length 1 first."""

    name: str
    mean: np.ndarray
    matrix: np.ndarray | None = None
    unit: bool = False
    _kept: dict[Any, tuple[np.ndarray, np.ndarray | None]] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return (n, d) rows after the preprocessing; of unit vectors, what has no direction becomes zero."""
        mean, matrix = self.in_precision(rows.dtype)
        done = _centred_units(rows, mean) if self.unit else rows - mean
        return done if matrix is None else done @ matrix

    def in_precision(self, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray | None]:
        """Return mean and matrix in some precision; made once, for rows often come one by one."""
        if dtype not in self._kept:
            matrix = None if self.matrix is None else self.matrix.astype(dtype)
            self._kept[dtype] = self.mean.astype(dtype), matrix
        return self._kept[dtype]


def _centred_units(rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return rows scaled to length 1, less the mean; a zero row, and one that is the mean itself, become zero."""
    units, plain = _units(rows)
    done: np.ndarray = units - mean
    # A row whose entries are all below SAME has a square below d times its square. Squares take half the time of a look
    # at each number, and so asked, a row that is no number leaves the others to be looked at.
    if not (plain and np.vecdot(done, done).min(initial=1.0) > rows.shape[1] * SAME**2):
        near = np.abs(done).max(axis=1, keepdims=True) < SAME
        done = np.where(near | ~units.any(axis=1, keepdims=True), 0, done)
    return done


def fit_preprocessing(name: str, blocks: Callable[[], Iterator[np.ndarray]], d: int) -> Preprocessing:
    """Return a preprocessing by name, fitted on blocks of (n, d) rows; unless given in brackets, k is d / 100, a .2.

    >>> import numpy as np
    >>> fit_preprocessing("centre", lambda: iter([np.array([[1.0, 3.0], [3.0, 5.0]])]), 2).mean
    array([2., 4.])
    """
    found = re.fullmatch(r"centre|all-but-the-top(?:\((\d+)\))?|whiten(?:\((\d*\.?\d+)\))?", name)
    if found is None:
        raise InputError(f"the preprocessing {name!r} is not known: use {KNOWN}")
    if name.startswith("whiten"):
        return _whitening(float(found[2] or POWER), blocks, d)
    k = 0 if name == "centre" else int(found[1] or max(round(d / 100), 1))
    if k > d:
        raise InputError(f"{k} directions cannot be taken out of {d}")
    mean, scatter, n = _moments(blocks, d)
    if name == "centre":
        return Preprocessing(f"centre@{n}", mean)
    top = np.linalg.eigh(scatter)[1].T[::-1][:k]
    return Preprocessing(f"all-but-the-top({k})@{n}", mean, np.eye(d) - top.T @ top)


def _whitening(power: float, blocks: Callable[[], Iterator[np.ndarray]], d: int) -> Preprocessing:
    if not 0 < power <= 0.5:
        raise InputError(f"the power of whitening must be above 0 and at most 0.5, but {power:g} was given")
    mean, scatter, n = _unit_moments(blocks, d)
    variances, directions = np.linalg.eigh(scatter)
    largest = float(variances[-1]) if variances[-1] > 0 else 1.0
    factors = np.maximum(variances / largest, SMALLEST_VARIANCE) ** -power
    matrix = (directions * factors) @ directions.T
    # In float32, as it is stored: vectors in memory and in a folder become the same.
    return Preprocessing(f"whiten({power:g})@{n}", mean.astype(np.float32), matrix.astype(np.float32), unit=True)


def _units(rows: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return rows of length 1 in their own precision, and whether all are; zero stays zero.

    The lengths are summed in float64, so that no square is lost.
    """
    lengths = np.sqrt(np.vecdot(rows, rows, dtype=np.float64))[:, None]
    if lengths.min(initial=1.0) > 0 and lengths.max(initial=1.0) < 1e30:  # mostly: what else may come takes longer
        return rows / lengths.astype(rows.dtype, copy=False), True
    with np.errstate(over="ignore"):
        return rows / np.where(lengths > 0, lengths, 1).astype(rows.dtype), False


def _moments(blocks: Callable[[], Iterator[np.ndarray]], d: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the mean (d,), the covariance (d, d) and the number of all rows, in float64 and block by block."""
    total, n = np.zeros(d), 0
    for rows in blocks():
        total, n = total + rows.sum(axis=0, dtype=np.float64), n + len(rows)
    mean = total / max(n, 1)
    scatter = np.zeros((d, d))
    for rows in blocks():
        centred = rows.astype(np.float64) - mean
        scatter += centred.T @ centred
    return mean, scatter / max(n, 1), n


def _unit_moments(blocks: Callable[[], Iterator[np.ndarray]], d: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the same of rows scaled to length 1: in one pass, for nothing of them can be large; blocks are summed up.

    Products are in the rows' own precision: a variance below a millionth of the largest counts as that anyway.
    """
    total, products, n = np.zeros(d), np.zeros((d, d)), 0
    for rows in blocks():
        units, _ = _units(rows)
        total, products, n = total + units.sum(axis=0, dtype=np.float64), products + units.T @ units, n + len(units)
    mean = total / max(n, 1)
    return mean, products / max(n, 1) - np.outer(mean, mean), n
