"""The whitening that questions to sets ask for, kept beside stored vectors so that nothing is fitted when they open.

whitening.npy  (d + 1, d) float32: the mean of all unit vectors, and the matrix that whitens what differs from it
whitened.npy   (n,) float32: the lengths of all vectors after that

Whitened cosines need no whitened copy of the vectors: with u a unit vector, (M (u - mean)) q = u (M q) - mean (M q).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from softset.vectors.lengths import row_lengths
from softset.vectors.preprocessing import POWER, Preprocessing, fit_preprocessing

__all__ = ["FILES", "Whitened", "can_be_whitened", "read_whitened", "whiten", "write_whitened"]

FILES = ("whitening.npy", "whitened.npy")
LEAST = 10  # vectors a dimension: of fewer, the covariance is an accident

Blocks = Callable[[], Iterator[np.ndarray]]


class Whitened(NamedTuple):
    """What whitens all of some vectors, and their lengths (n,) afterwards."""

    preprocessing: Preprocessing
    lengths: np.ndarray


def can_be_whitened(n: int, d: int) -> bool:
    """Tell whether n vectors of d dimensions are enough.

    >>> can_be_whitened(33_753, 300), can_be_whitened(100, 300)
    (True, False)
    """
    return n >= LEAST * d


def whiten(blocks: Blocks, d: int) -> Whitened:
    """Fit the whitening of vectors that come in blocks (b, d), and measure what it makes of them.

    >>> whiten(lambda: iter([np.array([[1, 0], [0, 1]], dtype=np.float32)]), 2).preprocessing.name
    'whiten(0.2)@2'
    """
    fitted = fit_preprocessing(f"whiten({POWER:g})", blocks, d)
    # In float64, so that equal vectors have equal lengths: a product in float32 rounds its last rows otherwise.
    return Whitened(fitted, np.concatenate([row_lengths(fitted(rows.astype(np.float64))) for rows in blocks()]))


def write_whitened(folder: Path, blocks: Blocks, n: int, d: int) -> None:
    """Write both files to a folder, if there are vectors enough."""
    if can_be_whitened(n, d):
        fitted, lengths = whiten(blocks, d)
        np.save(folder / FILES[0], np.concatenate([fitted.mean[None], fitted.matrix]), allow_pickle=False)
        np.save(folder / FILES[1], lengths, allow_pickle=False)


def read_whitened(arrays: dict[str, np.ndarray], n: int) -> Whitened | None:
    """Return what the two files hold, given by their names, or None where a folder has none."""
    if not all(name in arrays for name in FILES):
        return None
    both = arrays[FILES[0]]
    return Whitened(Preprocessing(f"whiten({POWER:g})@{n}", both[0], both[1:], unit=True), arrays[FILES[1]])
