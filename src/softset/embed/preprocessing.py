"""What may be done to all vectors before they are used, each named so that a signature can say it.

======================  ========================================================================
centre                  the mean of all vectors is subtracted
all-but-the-top(k)      centre, and the k strongest directions are taken out (Mu and Viswanath 2018)
======================  ========================================================================

The name in a signature ends with the number of vectors that were looked at: centre@33753.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from softset.errors import InputError

__all__ = ["Preprocessing", "fit_preprocessing"]


@dataclass(frozen=True)
class Preprocessing:
    """x - mean, without its part along some orthonormal directions (k, d)."""

    name: str
    mean: np.ndarray
    directions: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return (n, d) rows after the preprocessing."""
        centred: np.ndarray = rows - self.mean
        centred -= (centred @ self.directions.T) @ self.directions
        return centred


def fit_preprocessing(name: str, blocks: Callable[[], Iterator[np.ndarray]], d: int) -> Preprocessing:
    """Return a preprocessing by name, fitted on blocks of (n, d) rows; k is d / 100 unless given in brackets.

    >>> import numpy as np
    >>> fit_preprocessing("centre", lambda: iter([np.array([[1.0, 3.0], [3.0, 5.0]])]), 2).mean
    array([2., 4.])
    """
    found = re.fullmatch(r"(centre|all-but-the-top)(?:\((\d+)\))?", name)
    if found is None or (found[1] == "centre" and found[2]):
        raise InputError(f"the preprocessing {name!r} is not known: use centre, all-but-the-top or all-but-the-top(3)")
    k = 0 if found[1] == "centre" else int(found[2] or max(round(d / 100), 1))
    if k > d:
        raise InputError(f"{k} directions cannot be taken out of {d}")
    mean, scatter, n = _moments(blocks, d)
    directions = np.linalg.eigh(scatter)[1].T[::-1][:k]
    full_name = found[1] if found[1] == "centre" else f"all-but-the-top({k})"
    return Preprocessing(f"{full_name}@{n}", mean, directions)


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
