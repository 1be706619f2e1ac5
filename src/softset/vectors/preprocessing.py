"""Preprocessing of all vectors, such as centring and whitening.

======================  ========================================================================
centre                  subtract the mean of all vectors
all-but-the-top(k)      centre, then remove the k strongest directions (Mu and Viswanath 2018)
whiten(a)               scale to length 1, centre, then apply the covariance to the power -a
======================  ========================================================================

Full whitening, a = .5, gives all directions the same variance, noise included; a = .2 is a partial whitening. On the
training and validation sets of LDA-1k it increases the recall of three kinds of vectors, as does any a from .15 to .25.

The name of a fitted preprocessing ends with the number of vectors it was fitted on: centre@33753.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.errors import InputError
from softset.vectors.rows import row_norms

Blocks = Callable[[], Iterator[np.ndarray]]

WHITENING_POWER = 0.2
NEGLIGIBLE = 1e-6  # entries of a unit vector that differ from the mean by less are equal in float32
SMALLEST_VARIANCE = 1e-6  # relative to the largest; limits the amplification of directions without variance
VECTORS_PER_DIMENSION = 10  # with fewer vectors the covariance is mostly noise


@dataclass(frozen=True)
class Preprocessing:
    """A fitted map x -> (x - mean) @ matrix; `unit` scales each x to length 1 first.

    The mean has shape (d,). The matrix is symmetric, (d, d), or None for the identity.
    """

    name: str
    mean: np.ndarray
    matrix: np.ndarray | None = None
    unit: bool = False

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return the preprocessed (n, d) rows; with `unit`, zero rows and rows equal to the mean become zero."""
        units = unit_rows(rows, rows.dtype) if self.unit else rows
        centred: np.ndarray = units - self.mean.astype(rows.dtype)
        if self.unit:
            centred[(np.abs(centred).max(axis=1) < NEGLIGIBLE) | ~units.any(axis=1)] = 0
        return centred if self.matrix is None else centred @ self.matrix.astype(rows.dtype)


def fit_preprocessing(name: str, blocks: Blocks, d: int) -> Preprocessing:
    """Fit a preprocessing, such as "whiten(0.2)", on blocks of (b, d) rows; the defaults are k = d / 100, a = 0.2."""
    match = re.fullmatch(r"centre|all-but-the-top(?:\((\d+)\))?|whiten(?:\((\d*\.?\d+)\))?", name)
    if match is None:
        raise InputError(f"the preprocessing {name!r} is not known: use centre, all-but-the-top(3) or whiten(0.2)")
    if name.startswith("whiten"):
        return _whitening(float(match[2] or WHITENING_POWER), blocks, d)
    k = 0 if name == "centre" else int(match[1] or max(round(d / 100), 1))
    if k > d:
        raise InputError(f"all-but-the-top({k}) removes more directions than the {d} dimensions of the vectors")
    mean, covariance, n = _moments(blocks, d)
    if name == "centre":
        return Preprocessing(f"centre@{n}", mean)
    top = np.linalg.eigh(covariance)[1].T[::-1][:k]
    return Preprocessing(f"all-but-the-top({k})@{n}", mean, np.eye(d) - top.T @ top)


def _whitening(power: float, blocks: Blocks, d: int) -> Preprocessing:
    if not 0 < power <= 0.5:
        raise InputError(f"the power of whitening must be above 0 and at most 0.5, but {power:g} was given")
    mean, covariance, n = _moments(lambda: (unit_rows(rows, rows.dtype) for rows in blocks()), d)
    variances, directions = np.linalg.eigh(covariance)
    largest = float(variances[-1]) if variances[-1] > 0 else 1.0
    factors = np.maximum(variances / largest, SMALLEST_VARIANCE) ** -power
    matrix = (directions * factors) @ directions.T
    # float32, as in the file: vectors in memory and vectors in a folder give equal results.
    return Preprocessing(f"whiten({power:g})@{n}", mean.astype(np.float32), matrix.astype(np.float32), unit=True)


def _moments(blocks: Blocks, d: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the mean (d,), the covariance (d, d) and the number of rows, computed in float64 block by block."""
    total, n = np.zeros(d), 0
    for rows in blocks():
        total, n = total + rows.sum(axis=0, dtype=np.float64), n + len(rows)
    mean = total / max(n, 1)
    scatter = np.zeros((d, d))
    for rows in blocks():
        centred = rows.astype(np.float64) - mean
        scatter += centred.T @ centred
    return mean, scatter / max(n, 1), n


class Whitening(NamedTuple):
    """A fitted whitening and the norms (n,) of all vectors after it; fitted at import, because set queries use it.

    Whitened cosines need no whitened copy of the vectors: for a unit vector u, (M (u - mean)) q = u (M q) - mean (M q).
    """

    preprocessing: Preprocessing
    norms: np.ndarray


def can_be_whitened(n: int, d: int) -> bool:
    """Return whether n vectors of d dimensions are enough to estimate the covariance."""
    return n >= VECTORS_PER_DIMENSION * d


def fit_whitening(blocks: Blocks, d: int) -> Whitening:
    """Fit the default whitening on blocks of (b, d) rows, and compute the norms after it."""
    fitted = fit_preprocessing("whiten", blocks, d)
    # In float64, so that equal vectors have equal norms: a float32 product may round its last rows differently.
    return Whitening(fitted, np.concatenate([row_norms(fitted(rows.astype(np.float64))) for rows in blocks()]))
