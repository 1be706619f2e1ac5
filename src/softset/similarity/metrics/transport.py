"""Optimal transport metrics: Word Mover's Distance and Word Rotator's Distance, as similarities."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from softset.errors import InputError
from softset.io.text import import_extra
from softset.similarity.metrics.base import SimilarityMetric, check_choice
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.metrics.weights import token_weights

CLOSE = 1e-6  # relative squared distance below which a product of matrices has lost half of its digits
MAX_ITERATIONS = 10_000_000  # a hundred times POT's default
MAX_DISTANCE = 1e300  # so that sums do not overflow
OPTIMAL = 1  # POT's status of a solved problem


class _Transport(SimilarityMetric):
    """A similarity that falls with the cost of an exact optimal transport."""

    @abstractmethod
    def _masses(self, pairs: Pairs) -> np.ndarray:
        """Return the mass of each row, (rows,); the masses of a set sum to 1."""

    @abstractmethod
    def _costs(self, pairs: Pairs, left: slice, right: slice) -> np.ndarray:
        """Return the cost (k, l) of moving mass from the rows of one side to the rows of the other."""

    def distances(self, pairs: Pairs) -> np.ndarray:
        """Return the transport cost of each pair, (n,); NaN if a side is empty."""
        solve, masses = require_transport(), self._masses(pairs)
        distances = np.full(len(pairs), np.nan)
        for pair, left, right in pairs.filled():
            costs = self._costs(pairs, left, right)
            scale = float(costs.max())  # the solver's tolerances expect costs of about 1
            distances[pair] = scale * solve(masses[left], masses[right], costs / scale) if scale else 0.0
        return np.asarray(np.maximum(distances, 0.0))


@dataclass(frozen=True, repr=False)
class Wmd(_Transport):
    """1 / (1 + WMD): each token moves an equal mass over Euclidean distance (Kusner et al. 2015).

    `distance=rms` divides by the root of d: the root of the mean squared difference, as in the paper's code.
    """

    NAME: ClassVar[str] = "wmd"

    distance: Literal["euclidean", "rms"] = "euclidean"

    def __post_init__(self) -> None:
        check_choice(self, "distance", ("euclidean", "rms"))

    def _masses(self, pairs: Pairs) -> np.ndarray:
        return pairs.normalized(np.ones(len(pairs.norms)))

    def _costs(self, pairs: Pairs, left: slice, right: slice) -> np.ndarray:
        A, B, scale = pairs.with_lengths(left, right)
        distances = np.minimum(_distances(A, B), MAX_DISTANCE / scale) * scale
        return np.asarray(distances / np.sqrt(pairs.dimensions) if self.distance == "rms" else distances)

    def _similarity(self, pairs: Pairs) -> np.ndarray:
        return np.asarray(1 / (1 + np.nan_to_num(self.distances(pairs))))


@dataclass(frozen=True, repr=False)
class Wrd(_Transport):
    """1 - WRD: each token moves the length of its vector over 1 - cosine (Yokoi et al. 2020)."""

    NAME: ClassVar[str] = "wrd"

    def _masses(self, pairs: Pairs) -> np.ndarray:
        return pairs.normalized(token_weights(pairs, "l2"))

    def _costs(self, pairs: Pairs, left: slice, right: slice) -> np.ndarray:
        cosines = pairs.units[left].astype(np.float64) @ pairs.units[right].astype(np.float64).T
        return np.asarray(np.maximum(1 - cosines, 0.0))

    def _similarity(self, pairs: Pairs) -> np.ndarray:
        return np.asarray(1 - np.nan_to_num(self.distances(pairs)))


def _distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the Euclidean distances (k, l) of rows, by a product of matrices except for close rows.

    The product has an error of 1e-15 of the rows' squares, which is larger than a small distance: equal rows would not
    have distance 0.
    """
    sizes = np.vecdot(A, A)[:, None] + np.vecdot(B, B)
    squares = sizes - 2 * (A @ B.T)
    i, j = np.nonzero(squares < CLOSE * sizes)
    distances: np.ndarray = np.sqrt(np.maximum(squares, 0.0))
    if len(i):
        differences = A[i] - B[j]
        distances[i, j] = np.sqrt(np.vecdot(differences, differences))
    return distances


def require_transport() -> Callable[[np.ndarray, np.ndarray, np.ndarray], float]:
    """Return a function that finds the least cost for masses (k,) and (l,) and costs (k, l).

    POT's `emd2` checks its arguments ten times as long as it solves a problem of two sentences, so its solver is called
    directly. If the package POT is missing, the error says how to install it.
    """
    message = "optimal transport needs the package POT: install it with pip install 'softset[transport]'"
    emd_c = import_extra("ot.lp.emd_wrap", message).emd_c

    def solve(a: np.ndarray, b: np.ndarray, costs: np.ndarray) -> float:
        _, cost, _, _, status = emd_c(a, b * (a.sum() / b.sum()), costs, MAX_ITERATIONS, 1)
        if status != OPTIMAL:
            raise InputError(f"optimal transport of {len(a)} and {len(b)} tokens did not converge: use shorter texts")
        return float(cost)

    return solve
