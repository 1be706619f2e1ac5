"""Word Mover's and Word Rotator's Distance: the least cost of moving one text's words to the other's."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from softset.errors import MissingExtraError
from softset.similarity.metrics.base import SimilarityMetric, check_choice
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.metrics.weights import token_weights

CLOSE = 1e-6  # relative squared distance below which a product of matrices has lost half of its digits
MAX_ITERATIONS = 100_000  # POT's own default
OPTIMAL = 1  # the solver's status code for success


class _Transport(SimilarityMetric):
    """A similarity that falls with the cost of an exact optimal transport."""

    @abstractmethod
    def masses(self, pairs: Pairs) -> np.ndarray:
        """Return the mass of each row, (rows,); the masses of a set sum to 1."""

    @abstractmethod
    def costs(self, pairs: Pairs, left: slice, right: slice) -> np.ndarray:
        """Return the cost (k, l) of moving mass from the rows of one side to the rows of the other."""

    def distances(self, pairs: Pairs) -> np.ndarray:
        """Return the transport cost of each pair, (n,); NaN if a side is empty."""
        solve = _solver()
        masses, ends = self.masses(pairs), pairs.offsets.tolist()
        distances = np.full(len(pairs), np.nan)
        for pair in np.flatnonzero(~pairs.empty[0::2] & ~pairs.empty[1::2]).tolist():
            left, right = slice(*ends[2 * pair : 2 * pair + 2]), slice(*ends[2 * pair + 1 : 2 * pair + 3])
            costs = self.costs(pairs, left, right)
            scale = float(costs.max())  # the solver's tolerances expect costs of about 1
            distances[pair] = scale * solve(masses[left], masses[right], costs / scale) if scale else 0.0
        costs_of_pairs: np.ndarray = np.maximum(distances, 0.0)
        return costs_of_pairs


@dataclass(frozen=True, repr=False)
class Wmd(_Transport):
    """1 / (1 + WMD): each token moves an equal mass over Euclidean distance (Kusner et al. 2015).

    `distance=rms` divides by the root of d: the root of the mean squared difference, as in the paper's code.
    """

    NAME: ClassVar[str] = "wmd"
    ABOUT: ClassVar[str] = "1 / (1 + Word Mover's Distance), Euclidean or rms"

    distance: Literal["euclidean", "rms"] = "euclidean"

    def __post_init__(self) -> None:
        check_choice(self, "distance", ("euclidean", "rms"))

    def masses(self, pairs: Pairs) -> np.ndarray:
        """Return equal masses."""
        return pairs.normalized(np.ones(len(pairs.norms)))

    def costs(self, pairs: Pairs, left: slice, right: slice) -> np.ndarray:
        """Return the Euclidean distances of the vectors."""
        distances = _distances(pairs.vectors[left].astype(np.float64), pairs.vectors[right].astype(np.float64))
        return distances / np.sqrt(pairs.dimensions) if self.distance == "rms" else distances

    def similarity(self, pairs: Pairs) -> np.ndarray:
        """Return 1 for texts with the same words, falling with the distance."""
        values: np.ndarray = 1 / (1 + np.nan_to_num(self.distances(pairs)))
        return values


@dataclass(frozen=True, repr=False)
class Wrd(_Transport):
    """1 - WRD: each token moves the length of its vector over 1 - cosine (Yokoi et al. 2020)."""

    NAME: ClassVar[str] = "wrd"
    ABOUT: ClassVar[str] = "1 - Word Rotator's Distance"

    def masses(self, pairs: Pairs) -> np.ndarray:
        """Return masses in proportion to the vectors' lengths."""
        return pairs.normalized(token_weights(pairs, "l2"))

    def costs(self, pairs: Pairs, left: slice, right: slice) -> np.ndarray:
        """Return 1 - cosine, which is at least 0."""
        cosines = pairs.units[left].astype(np.float64) @ pairs.units[right].astype(np.float64).T
        costs: np.ndarray = np.maximum(1 - cosines, 0.0)
        return costs

    def similarity(self, pairs: Pairs) -> np.ndarray:
        """Return 1 for texts with the same words, and at least -1."""
        values: np.ndarray = 1 - np.nan_to_num(self.distances(pairs))
        return values


def require_transport() -> None:
    """Raise an error if the package POT is missing, before any work is done.

    >>> from importlib.util import find_spec
    >>> find_spec("ot") is None or require_transport() is None
    True
    """
    _solver()


def _distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the Euclidean distances (k, l) of rows, by a product of matrices except for close rows.

    The product has an error of 1e-15 of the rows' squares, which is larger than a small distance: equal rows would not
    have distance 0.

    >>> _distances(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 4.0]])).tolist()
    [[5.0, 0.0]]
    """
    sizes = np.vecdot(A, A)[:, None] + np.vecdot(B, B)
    squares = sizes - 2 * (A @ B.T)
    i, j = np.nonzero(squares < CLOSE * sizes)
    distances: np.ndarray = np.sqrt(np.maximum(squares, 0.0))
    if len(i):
        differences = A[i] - B[j]
        distances[i, j] = np.sqrt(np.vecdot(differences, differences))
    return distances


def _solver() -> Callable[[np.ndarray, np.ndarray, np.ndarray], float]:
    """Return a function that finds the least cost for masses (k,) and (l,) and costs (k, l).

    POT's `emd2` checks its arguments ten times as long as it solves a problem of two sentences, so its solver is called
    directly; `emd2` is used if the solver does not converge or cannot be imported.
    """
    try:
        from ot import emd2
    except ImportError as error:
        raise MissingExtraError(
            "optimal transport needs the package POT: install it with pip install 'softset[transport]'"
        ) from error
    try:
        from ot.lp.emd_wrap import emd_c
    except ImportError:
        return lambda a, b, costs: float(emd2(a, b, costs))

    def solve(a: np.ndarray, b: np.ndarray, costs: np.ndarray) -> float:
        _, least, _, _, status = emd_c(a, b * (a.sum() / b.sum()), costs, MAX_ITERATIONS, 1)
        return float(least if status == OPTIMAL else emd2(a, b, costs, numItermax=100 * MAX_ITERATIONS))

    return solve
