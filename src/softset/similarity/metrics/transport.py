"""Word Mover's and Word Rotator's Distance: the least work that turns one text's words into the other's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from softset.errors import MissingExtraError
from softset.similarity.metrics.base import SimilarityMetric, must_be_one_of
from softset.similarity.metrics.weights import weigh
from softset.similarity.pairs import Pairs

__all__ = ["Wmd", "Wrd", "require_transport"]

CLOSE = 1e-6  # of squares: of a distance below a thousandth of the rows' lengths, a product has half of its digits
MOST_STEPS = 100_000  # of the solver, POT's own default
OPTIMAL = 1  # what it says then


class _Transport(SimilarityMetric):
    """A similarity that falls with the cost of an exact optimal transport."""

    def masses(self, pairs: Pairs) -> np.ndarray:
        """Return what each row has to move, (rows,); a set's sum to 1."""
        raise NotImplementedError

    def costs(self, pairs: Pairs, left: slice, right: slice) -> np.ndarray:
        """Return the cost (k, l) of moving from the rows of one side to those of the other."""
        raise NotImplementedError

    def distances(self, pairs: Pairs) -> np.ndarray:
        """Return the cost of each pair, (n,); NaN where a side is empty."""
        work_of = _solver()
        masses, ends = self.masses(pairs), pairs.offsets.tolist()
        found = np.full(len(pairs), np.nan)
        for at in np.flatnonzero(~pairs.empty[0::2] & ~pairs.empty[1::2]).tolist():
            left, right = slice(*ends[2 * at : 2 * at + 2]), slice(*ends[2 * at + 1 : 2 * at + 3])
            costs = self.costs(pairs, left, right)
            scale = float(costs.max())  # the solver's own limits are made for costs of about 1
            found[at] = scale * work_of(masses[left], masses[right], costs / scale) if scale else 0.0
        work: np.ndarray = np.maximum(found, 0.0)
        return work


@dataclass(frozen=True, repr=False)
class Wmd(_Transport):
    """1 / (1 + WMD): each token moves an equal mass over Euclidean distance (Kusner et al. 2015).

    `distance=rms` divides by the root of d: the root of the mean squared difference, as in the paper's code.
    """

    NAME: ClassVar[str] = "wmd"
    ABOUT: ClassVar[str] = "1 / (1 + Word Mover's Distance), Euclidean or rms"

    distance: Literal["euclidean", "rms"] = "euclidean"

    def __post_init__(self) -> None:
        must_be_one_of(self, "distance", ("euclidean", "rms"))

    def masses(self, pairs: Pairs) -> np.ndarray:
        """Return equal masses."""
        return pairs.shares(np.ones(len(pairs.norms)))

    def costs(self, pairs: Pairs, left: slice, right: slice) -> np.ndarray:
        """Return the distances of the vectors themselves."""
        A, B = pairs.vectors[left].astype(np.float64), pairs.vectors[right].astype(np.float64)
        longest = max(float(pairs.norms[left].max()), float(pairs.norms[right].max()))
        scale = 1.0
        if not 1e-150 < longest < 1e150:  # squares would overflow or vanish
            scale, A, B = longest, A / longest, B / longest
        distances = _distances(A, B)
        return distances * (scale / np.sqrt(pairs.dimensions) if self.distance == "rms" else scale)

    def similarity(self, pairs: Pairs) -> np.ndarray:
        """Return 1 for texts of the same words, falling with the distance."""
        values: np.ndarray = 1 / (1 + np.nan_to_num(self.distances(pairs)))
        return values


@dataclass(frozen=True, repr=False)
class Wrd(_Transport):
    """1 - WRD: each token moves the length of its vector over 1 - cosine (Yokoi et al. 2020)."""

    NAME: ClassVar[str] = "wrd"
    ABOUT: ClassVar[str] = "1 - Word Rotator's Distance"

    def masses(self, pairs: Pairs) -> np.ndarray:
        """Return masses in proportion to the vectors' lengths."""
        return pairs.shares(weigh(pairs, "l2"))

    def costs(self, pairs: Pairs, left: slice, right: slice) -> np.ndarray:
        """Return 1 - cosine, which is at least 0."""
        cosines = pairs.units[left].astype(np.float64) @ pairs.units[right].astype(np.float64).T
        costs: np.ndarray = np.maximum(1 - cosines, 0.0)
        return costs

    def similarity(self, pairs: Pairs) -> np.ndarray:
        """Return 1 for texts of the same words, and at least -1."""
        values: np.ndarray = 1 - np.nan_to_num(self.distances(pairs))
        return values


def require_transport() -> None:
    """Tell, before any work is done, that the package POT is missing.

    >>> from importlib.util import find_spec
    >>> find_spec("ot") is None or require_transport() is None
    True
    """
    _solver()


def _distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the Euclidean distances (k, l) of rows; by a product of matrices, but for those that are close.

    The squares of a product are good to 1e-15 of the rows' own, which leaves nothing of a small distance: equal rows
    would not be at distance 0.

    >>> _distances(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 4.0]])).tolist()
    [[5.0, 0.0]]
    """
    sizes = np.vecdot(A, A)[:, None] + np.vecdot(B, B)
    squares = sizes - 2 * (A @ B.T)
    i, j = np.nonzero(squares < CLOSE * sizes)
    distances: np.ndarray = np.sqrt(np.maximum(squares, 0.0))
    if len(i):
        gaps = A[i] - B[j]
        distances[i, j] = np.sqrt(np.vecdot(gaps, gaps))
    return distances


def _solver() -> Callable[[np.ndarray, np.ndarray, np.ndarray], float]:
    """Return what finds the least work for masses (k,) and (l,) and costs (k, l).

    POT's own entry looks at its arguments for ten times as long as it solves a problem of two sentences, so that its
    solver is called; where that does not come to an end, or is not to be found, the entry has its say.
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

    def work(a: np.ndarray, b: np.ndarray, costs: np.ndarray) -> float:
        _, least, _, _, state = emd_c(a, b * (a.sum() / b.sum()), costs, MOST_STEPS, 1)
        return float(least if state == OPTIMAL else emd2(a, b, costs, numItermax=100 * MOST_STEPS))

    return work
