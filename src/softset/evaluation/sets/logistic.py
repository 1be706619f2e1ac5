"""Scores as chances to belong: a logistic curve through the score of a set's last presumed member.

Of n words a set is presumed to hold the sqrt(n) best. With s' the score of the last of them and sd the spread of all
scores, negative ones taken as 0, a score s becomes 1 / (1 + exp(-(s - s') / (tau sd))): one half at the border,
whatever the scale of a set's scores. Then AND is a b, NOT is 1 - a, and OR is the larger, or, dual to AND,
a + b - a b.
"""

from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

__all__ = ["OPERATIONS", "belonging"]

Rows = npt.NDArray[np.floating]

OPERATIONS = {
    "Union": lambda a, b: np.maximum(a, b),
    "Dual union": lambda a, b: a + b - a * b,
    "Intersect": lambda a, b: a * b,
    "Difference": lambda a, b: a * (1 - b),
}


def belonging(scores: Rows, known: npt.NDArray[np.bool_], tau: float) -> Rows:
    """Return scores (q, v) as chances; only words that are known (v,) count for the border and the spread.

    >>> scores = np.array([[0.9, 0.5, 0.1, 0.1, 7.0]])
    >>> belonging(scores, np.array([True, True, True, True, False]), 1.0)[0, :3].round(3).tolist()
    [0.77, 0.5, 0.23]
    """
    scores = np.clip(scores, 0, None)
    own = scores[:, known].astype(np.float64)
    border = np.partition(own, -ceil(sqrt(own.shape[1])), axis=1)[:, [-ceil(sqrt(own.shape[1]))]]
    spread = own.std(axis=1, keepdims=True)
    z = (scores - border) / np.where(spread > 0, tau * spread, 1)
    chances: Rows = (1 + np.tanh(z / 2)) / 2  # the logistic curve, without overflow
    return chances
