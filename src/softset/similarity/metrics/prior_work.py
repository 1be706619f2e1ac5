"""Metrics of prior work: cosines of pooled vectors, fuzzy sets, exact overlap of tokens, and optimal transport."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import fsum
from typing import ClassVar, Literal

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError, MissingExtraError
from softset.similarity.metrics.base import PRF, Metric, SimilarityMetric, SumMetric, WeightedMetric, check_choice
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.metrics.weights import MAX_LENGTH, token_weights

CLOSE = 1e-6  # relative squared distance below which a product of matrices has lost half of its digits
MAX_ITERATIONS = 10_000_000  # a hundred times POT's default
MAX_DISTANCE = 1e300  # so that sums do not overflow
OPTIMAL = 1  # POT's status of a solved problem


class _Pooled(SimilarityMetric):
    """The cosine of two pooled vectors."""

    @abstractmethod
    def _pooled(self, pairs: Pairs) -> np.ndarray:
        """Return one vector a set, (2n, d)."""

    def _similarity(self, pairs: Pairs) -> np.ndarray:
        units = unit_rows(self._pooled(pairs))
        return np.asarray(np.clip(np.einsum("ij,ij->i", units[0::2], units[1::2]), -1.0, 1.0))

    def _compute_matrix(self, A: Pairs, B: Pairs) -> PRF:
        cosines = unit_rows(self._pooled(A)[::2]) @ unit_rows(self._pooled(B)[::2]).T
        cosines = np.clip(cosines, -1.0, 1.0)
        return PRF(cosines, cosines.copy(), cosines.copy())


@dataclass(frozen=True, repr=False)
class Average(WeightedMetric, _Pooled):
    """Avg-cos: the cosine of the two texts' mean token vectors."""

    NAME: ClassVar[str] = "average"

    def _pooled(self, pairs: Pairs) -> np.ndarray:
        means = np.zeros((len(pairs.counts), pairs.dimensions))
        filled = ~pairs.empty
        if filled.any():
            weights = pairs.normalized(token_weights(pairs, self.weights))
            if pairs.rescaled is not None:  # any multiple of the mean has the same direction
                weights = pairs.normalized(weights * np.minimum(pairs.lengths, MAX_LENGTH) / pairs.norms)
            means[filled] = np.add.reduceat(pairs.vectors * weights[:, None], pairs.offsets[:-1][filled], axis=0)
        return means


@dataclass(frozen=True, repr=False)
class Cls(_Pooled):
    """CLS-cos: the cosine of the vectors of each text's first special token."""

    NAME: ClassVar[str] = "cls"

    def _pooled(self, pairs: Pairs) -> np.ndarray:
        vectors = np.zeros((len(pairs.counts), pairs.dimensions))
        for number, side in enumerate(pairs.sides):
            if not pairs.empty[number::2].all():
                vectors[number::2] = _first_special(side.sets, side.texts)
        return vectors


def _first_special(sets: TokenSets, texts: np.ndarray) -> np.ndarray:
    """Return the vector (n, d) of the special token at the start of each text; zero if an empty text has none."""
    special = sets.special
    if special is None or special.spans is None or not len(special.vectors):
        raise InputError(
            "the metric cls needs the vectors of special tokens such as [CLS], which these token sets do not have: use "
            "a model that has them, with special_tokens=False, and no union of references"
        )
    first = np.minimum(special.offsets[:-1][texts], len(special.vectors) - 1)
    exists = (special.counts[texts] > 0) & (special.spans[first] == 0).all(axis=1)
    missing = np.flatnonzero(~exists & ~sets.empty[texts])
    if missing.size:
        raise InputError(
            f"text {texts[missing[0]]} has no special token at its start: the metric cls needs a model with one"
        )
    return np.where(exists[:, None], special.vectors[first], 0.0)


@dataclass(frozen=True, repr=False)
class DynaMax(SimilarityMetric):
    """Each token of either text is a dimension of the universe; a text's degree in it is its largest product with it.

    With degrees x and y, cut at 0: Jaccard is sum min(x, y) / sum max(x, y), Otsuka divides by the root of the product
    of both sums, Dice by the mean of both sums.
    """

    NAME: ClassVar[str] = "dynamax"

    index: Literal["jaccard", "otsuka", "dice"] = "jaccard"

    def __post_init__(self) -> None:
        check_choice(self, "index", ("jaccard", "otsuka", "dice"))

    def _similarity(self, pairs: Pairs) -> np.ndarray:
        values = np.zeros(len(pairs))
        for pair, left, right in pairs.filled():
            A, B, _ = pairs.with_lengths(left, right)  # the indices do not depend on the scale
            universe = np.concatenate([A, B])
            x, y = (np.maximum((side @ universe.T).max(axis=0), 0.0) for side in (A, B))
            values[pair] = self._index(x, y)
        return values

    def _index(self, x: np.ndarray, y: np.ndarray) -> float:
        common = float(np.minimum(x, y).sum())
        if self.index == "jaccard":
            return common / float(np.maximum(x, y).sum())
        if self.index == "dice":
            return 2 * common / float(x.sum() + y.sum())
        return common / float(np.sqrt(x.sum()) * np.sqrt(y.sum()))


@dataclass(frozen=True, repr=False)
class Symbolic(Metric):
    """Precision, recall and F1 of the sets of distinct tokens: the share that the other text has too."""

    NAME: ClassVar[str] = "symbolic"

    weights: Literal["none", "idf"] = "none"

    def __post_init__(self) -> None:
        check_choice(self, "weights", ("none", "idf"))

    def _compute(self, pairs: Pairs) -> PRF:
        P, R = np.zeros((2, len(pairs)))
        for pair, A, B in _distinct_tokens(pairs):
            P[pair], R[pair] = self._share(pairs, A, B), self._share(pairs, B, A)
        return PRF(P, R, self._combine(P, R))

    def _share(self, pairs: Pairs, tokens: set[str], others: set[str]) -> float:
        """Return the share of the tokens' weight that the other text has too."""
        if self.weights == "idf":
            idf = pairs.required_idf()
            total = fsum(idf[token] for token in tokens)  # exact, because the order of a set depends on the process
            if total > 0:
                return fsum(idf[token] for token in tokens & others) / total
        return len(tokens & others) / len(tokens)


@dataclass(frozen=True, repr=False)
class JohnsonSymbolic(SumMetric, Symbolic):
    """The sum of symbolic precision and recall, from 0 to 2."""

    NAME: ClassVar[str] = "johnson-symbolic"


@dataclass(frozen=True, repr=False)
class Jaccard(SimilarityMetric):
    """The number of common tokens over the number of distinct tokens of both texts."""

    NAME: ClassVar[str] = "jaccard"

    def _similarity(self, pairs: Pairs) -> np.ndarray:
        shares = np.zeros(len(pairs))
        for pair, A, B in _distinct_tokens(pairs):
            shares[pair] = len(A & B) / len(A | B)
        return shares


@dataclass(frozen=True, repr=False)
class TfIdf(SimilarityMetric):
    """The cosine of token counts times (1 + idf), so that tokens that occur in every text still count."""

    NAME: ClassVar[str] = "tfidf"

    @property
    def needs_idf(self) -> bool:
        """Whether the metric weights tokens by idf: always."""
        return True

    def _similarity(self, pairs: Pairs) -> np.ndarray:
        idf, tokens = pairs.required_idf(), pairs.required_tokens()
        cosines = np.zeros(len(pairs))
        for pair, left, right in pairs.filled():
            names, token = np.unique(tokens[left.start : right.stop], return_inverse=True)
            weights = 1 + idf.weights(names.tolist())
            k = left.stop - left.start
            a = np.bincount(token[:k], minlength=len(names)) * weights
            b = np.bincount(token[k:], minlength=len(names)) * weights
            cosines[pair] = a @ b / (np.linalg.norm(a) * np.linalg.norm(b))
        return cosines


def _distinct_tokens(pairs: Pairs) -> Iterator[tuple[int, set[str], set[str]]]:
    """Yield the distinct tokens of both sides of each pair with its number, except for empty sides."""
    tokens = pairs.required_tokens()
    for pair, left, right in pairs.filled():
        yield pair, set(tokens[left]), set(tokens[right])


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
    try:
        from ot.lp.emd_wrap import emd_c
    except ImportError as error:
        raise MissingExtraError(
            "optimal transport needs the package POT: install it with pip install 'softset[transport]'"
        ) from error

    def solve(a: np.ndarray, b: np.ndarray, costs: np.ndarray) -> float:
        _, cost, _, _, status = emd_c(a, b * (a.sum() / b.sum()), costs, MAX_ITERATIONS, 1)
        if status != OPTIMAL:
            raise InputError(f"optimal transport of {len(a)} and {len(b)} tokens did not converge: use shorter texts")
        return float(cost)

    return solve
