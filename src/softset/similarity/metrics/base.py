"""The base classes of metrics, which turn pairs of token sets into precision, recall and score."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from math import nan
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from softset.algebra.rank import independent
from softset.encoders.tokensets import TokenSets, hash_texts
from softset.errors import InputError
from softset.runtime.progress import Progress
from softset.runtime.threads import on_one_thread
from softset.similarity.idf import Idf
from softset.similarity.metrics.pairs import Pairs, pair_blocks, unpaired
from softset.similarity.metrics.weights import WEIGHTS, Weights, token_weights
from softset.vectors.rows import bounded_slices

# On one core a tile of 2,048 x 2,048 tokens takes 0.2 s (bertscore) to 0.8 s (wmd).
TILE_TOKENS = 2048

ScoreKind = Literal["f1", "mean", "sum", "similarity"]
_Texts = tuple[TokenSets, np.ndarray]  # token sets, and the indices of texts in them


class PRF(NamedTuple):
    """Precision over the candidates, recall over the references, and the score; arrays of one shape."""

    precision: np.ndarray
    recall: np.ndarray
    score: np.ndarray


@dataclass(frozen=True, repr=False)
class Metric(ABC):
    """A measure of how similar two token sets are. Its repr shows parameters that differ from the defaults.

    Identical texts score `MAX_SCORE`, and so do two empty ones; a text and an empty text score 0. There are two
    exceptions: no token has membership 1 in a graded set, and a mean vector of 0 has no direction.
    """

    NAME: ClassVar[str]
    MAX_SCORE: ClassVar[float] = 1.0
    SCORE_KIND: ClassVar[ScoreKind] = "f1"

    @abstractmethod
    def _compute(self, pairs: Pairs) -> PRF:
        """Return the numbers (n,) of each pair; the numbers of pairs with an empty side are ignored."""

    def _combine(self, P: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return the score for a precision and a recall: their harmonic mean."""
        return harmonic_mean(P, R)

    @property
    def needs_idf(self) -> bool:
        """Whether the metric weights tokens by idf."""
        return getattr(self, "weights", None) == "idf"

    @property
    def needs_moment(self) -> bool:
        """Whether the metric weights tokens by the encoder's second moment."""
        return getattr(self, "weights", None) == "rare"

    def resolve(self, *, has_moment: bool) -> "Metric":  # noqa: ARG002 (used by metrics that have a fallback)
        """Return the metric for an encoder with or without a known second moment."""
        return self

    @on_one_thread
    def compute(self, pairs: Pairs) -> PRF:
        """Return precision, recall and score of each pair, (n,)."""
        texts = [(side.sets, side.texts) for side in pairs.sides]
        return self._score_empty(self._compute(pairs), pairs.empty[0::2], pairs.empty[1::2], *texts)

    def compute_matrix(
        self,
        candidates: TokenSets,
        references: TokenSets,
        idf: Idf | None = None,
        moment: np.ndarray | None = None,
        progress: Progress | None = None,
    ) -> PRF:
        """Return precision, recall and score of every candidate with every reference, (n, m).

        With `progress` the matrix is computed in tiles; the function is called after each of them.
        """
        A, B = unpaired(candidates, references, idf, moment), unpaired(references, candidates, idf, moment)
        texts = (candidates, np.arange(len(A))[:, None]), (references, np.arange(len(B))[None, :])
        if progress is None or not len(A) or not len(B):
            numbers = self._compute_matrix(A, B)
        else:
            numbers = self._compute_tiles(candidates, references, A, progress)
        return self._score_empty(numbers, A.empty[::2, None], B.empty[None, ::2], *texts)

    def _compute_tiles(self, candidates: TokenSets, references: TokenSets, A: Pairs, progress: Progress) -> PRF:
        """Return the numbers (n, m) of all pairs, tile by tile."""
        n, m, done, rows = len(candidates), len(references), 0, []
        for left in bounded_slices(candidates.offsets[1:], TILE_TOKENS):
            tile_A, row = unpaired(candidates[left], references, A.idf, A.moment), []
            for right in bounded_slices(references.offsets[1:], TILE_TOKENS):
                tile_B = unpaired(references[right], candidates, A.idf, A.moment)
                row.append(self._compute_matrix(tile_A, tile_B))
                done += len(tile_A) * len(tile_B)
                progress(done, n * m)
            rows.append(row)
        return PRF(*(np.block([[tile[part] for tile in row] for row in rows]) for part in range(3)))

    def _compute_matrix(self, A: Pairs, B: Pairs) -> PRF:
        """Return the numbers (n, m) of unpaired sets, pair by pair; metrics with a faster way override this."""
        candidates, references, n, m = A.sides[0].sets, B.sides[0].sets, len(A), len(B)
        left, right = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
        numbers = np.zeros((3, n * m))
        for rows, pairs in pair_blocks(candidates, references, left, right, A.idf, A.moment):
            numbers[:, rows] = self.compute(pairs)
        return PRF(*numbers.reshape(3, n, m))

    def _score_empty(self, numbers: PRF, left: np.ndarray, right: np.ndarray, A: "_Texts", B: "_Texts") -> PRF:
        """Apply the rule for empty sets: two empty texts are identical, an empty text matches no other.

        Two texts that are empty only because none of their tokens has a vector match only if they are the same.
        """
        if not (left.any() or right.any()):
            return numbers
        match = left & right
        if match.any():
            match &= _same_text(*A, *B)
        mismatch = (left | right) & ~match
        best = (1.0, 1.0, self.MAX_SCORE)
        return PRF(*(np.where(match, top, np.where(mismatch, 0.0, x)) for x, top in zip(numbers, best, strict=True)))

    def __repr__(self) -> str:
        parameters = [(field.name, getattr(self, field.name), field.default) for field in fields(self)]
        changed = ", ".join(f"{name}={_plain(value)}" for name, value, default in parameters if value != default)
        return f"{self.NAME}({changed})" if changed else self.NAME


def _plain(value: Any) -> str:
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


@dataclass(frozen=True, repr=False)
class WeightedMetric(Metric):
    """A metric with token weights."""

    weights: Weights = "none"

    def __post_init__(self) -> None:
        check_choice(self, "weights", WEIGHTS)


@dataclass(frozen=True, repr=False)
class MembershipMetric(WeightedMetric):
    """A metric with a membership for each token: precision and recall are weighted means of memberships."""

    LINKS: ClassVar[Literal["cosine", "share"]] = "share"  # what `links` returns

    @abstractmethod
    def memberships(self, pairs: Pairs) -> np.ndarray:
        """Return the membership of each row in the other side of its pair, (rows,)."""

    def _queries(self, sets: Pairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the unit rows of unpaired sets, where each set begins, and the weights of the rows."""
        return sets.units, sets.offsets[::2], self.token_weights(sets).astype(sets.units.dtype)

    def links(self, rows: np.ndarray, others: np.ndarray, cut: float) -> np.ndarray:
        """Return (k, l): the contribution of each of l other unit rows to the membership of each of k unit rows.

        It is the share in the squared membership. `cut` is the sine up to which a row counts as dependent on others.
        """
        return membership_contributions(rows, others, self._ridge_of(len(others)), cut)

    def _ridge_of(self, k: int) -> float:  # noqa: ARG002 (used by metrics of graded sets)
        """Return the ridge on the Gram matrix of a set of k rows."""
        return 0.0

    def token_weights(self, pairs: Pairs) -> np.ndarray:
        """Return the weight of each row among the rows of its set, (rows,)."""
        return pairs.normalized(token_weights(pairs, self.weights))

    def mean_weights(self, pairs: Pairs, m: np.ndarray) -> np.ndarray:  # noqa: ARG002 (used by softset)
        """Return the weight (rows,) of each row's membership m (rows,) in the mean over its set."""
        return self.token_weights(pairs)

    def _compute(self, pairs: Pairs) -> PRF:
        m = self.memberships(pairs)
        means = pairs.sums(self.mean_weights(pairs, m) * m)
        return self._from_means(means[0::2], means[1::2])

    def _from_means(self, P: np.ndarray, R: np.ndarray) -> PRF:
        P, R = np.clip(P, -1.0, 1.0), np.clip(R, -1.0, 1.0)  # sums round up
        return PRF(P, R, self._combine(P, R))


class SumMetric(Metric):
    """A metric whose score is the sum of precision and recall, from 0 to 2, as in the paper's code."""

    MAX_SCORE: ClassVar[float] = 2.0
    SCORE_KIND: ClassVar[ScoreKind] = "sum"

    def _combine(self, P: np.ndarray, R: np.ndarray) -> np.ndarray:
        return np.asarray(P + R)


class SimilarityMetric(Metric):
    """A metric with one number per pair, which is reported as precision, recall and score."""

    SCORE_KIND: ClassVar[ScoreKind] = "similarity"

    @abstractmethod
    def _similarity(self, pairs: Pairs) -> np.ndarray:
        """Return the similarity of each pair, (n,); the values of pairs with an empty side are ignored."""

    def _compute(self, pairs: Pairs) -> PRF:
        value = self._similarity(pairs)
        return PRF(value, value.copy(), value.copy())


def _same_text(A: TokenSets, left: np.ndarray, B: TokenSets, right: np.ndarray) -> np.ndarray:
    """Return which pairs of texts with empty sets match: the same text twice, or two texts without any token.

    Without their texts, token sets are compared by their tokens if no token is unknown. Arrays without tokens whose
    vectors are all zero count as the same text.
    """
    known = A.unknown[left] + B.unknown[right] == 0
    if A.text_hashes is not None and B.text_hashes is not None:
        blank = known & (A.counts[left] + B.counts[right] == 0)
        return np.asarray(blank | (A.text_hashes[left] == B.text_hashes[right]))
    if A.tokens is not None and B.tokens is not None:
        known = known & (_token_hashes(A, left) == _token_hashes(B, right))
    return np.asarray(known | (left == right)) if A is B else np.asarray(known)


def _token_hashes(sets: TokenSets, texts: np.ndarray) -> np.ndarray:
    return hash_texts("\0".join(sets.tokens_of(text)) for text in texts.ravel().tolist()).reshape(texts.shape)


def harmonic_mean(P: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return 2 P R / (P + R); 0 if one of them is 0, or if their signs differ, where the formula is unbounded."""
    same_sign = P * R > 0
    return np.asarray(np.minimum(np.where(same_sign, 2 * P * R / np.where(same_sign, P + R, 1.0), 0.0), 1.0))


def membership_contributions(rows: np.ndarray, others: np.ndarray, ridge: float, cut: float) -> np.ndarray:
    """Return (k, l): the share of each of l other unit rows in the squared memberships of k unit rows.

    The squared membership is the sum of coefficient times cosine over the others; the shares of a row sum to 1. The
    coefficients (G + ridge)^-1 C are computed in a basis of the others, because copies make their Gram matrix G
    singular. Of all coefficients that give the projection, they are the smallest: copies have equal shares.
    """
    directions = independent(others, cut).directions
    U, s, Vt = np.linalg.svd(others @ directions.T, full_matrices=False)
    coefficients = (U * (s / (s**2 + ridge))) @ (Vt @ (directions @ rows.T))
    terms = (coefficients * (others @ rows.T)).T
    total = terms.sum(axis=1, keepdims=True)
    return np.asarray(terms / np.where(total > 0, total, 1))


def check_choice(metric: Metric, name: str, choices: tuple[str, ...]) -> None:
    """Raise an error if a parameter is not one of its choices."""
    value = getattr(metric, name)
    if value not in choices:
        raise InputError(f"{metric.NAME} has no {name} {value!r}: use one of {', '.join(choices)}")


def check_number(metric: Metric, name: str, smallest: float, largest: float) -> None:
    """Raise an error if a parameter is not a number between two limits; store it as a float: 2 and 2.0 are equal."""
    value = getattr(metric, name)
    try:
        number = nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    except OverflowError:  # an int above the largest float
        number = nan
    if not smallest <= number <= largest:
        limits = f"from {smallest:g} to {largest:g}"
        raise InputError(f"the {name} must be a number {limits}, but {str(value)[:80]} was given")
    object.__setattr__(metric, name, number)
