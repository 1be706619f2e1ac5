"""Rescale scores so that unrelated texts score about 0 and identical texts score 1.

The score of unrelated texts is measured (`Calibration`), or it has a closed form: a random token's RMS membership in a
set with projector P is c = sqrt(tr(P S)), where S is the second moment of the encoder's unit vectors. c is sqrt(k / d)
for k tokens if the vectors are isotropic, and much higher for real encoders.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np

from softset.encoders.loading import EncoderOptions
from softset.encoders.tokensets import TokenSets
from softset.errors import FileError, InputError
from softset.io.atomic import write_atomically
from softset.io.json_files import read_json
from softset.io.options import named_options
from softset.io.text import counted, html_table
from softset.runtime.progress import ProgressOption
from softset.similarity.idf import Idf
from softset.similarity.inputs import check_count, read_side
from softset.similarity.metrics import DEFAULT, PRF, Metric
from softset.similarity.metrics.base import harmonic_mean
from softset.similarity.metrics.bertscore import Johnson, SubspaceBertScore
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.metrics.softset import SoftsetScore

MIN_RANGE = 1e-6  # a level within this of the maximum leaves no range to rescale to
MAX_LEVEL = 0.95  # sets with a higher chance level are saturated


@dataclass(frozen=True, repr=False)
class Calibration:
    """The mean precision, recall and score of unrelated texts, measured with one model and metric.

    Attributes:
        precision: the mean precision of the unrelated pairs.
        recall: their mean recall.
        score: their mean score.
        pairs: the number of pairs that were scored.
        signature: the model and metric; scores can be rescaled only if their signature is the same.

    >>> import softset
    >>> texts = ["A red book.", "Dogs bark.", "Rain falls in May.", "The train was late."]
    >>> calibration = softset.Calibration.fit(texts, model="words")
    >>> scores = softset.score(["A red book."], ["A red book."], model="words", rescale=calibration)
    >>> scores.score.round(6).tolist()
    [1.0]
    """

    precision: float
    recall: float
    score: float
    pairs: int
    signature: str

    @classmethod
    @named_options
    def fit(
        cls,
        texts: Sequence[str] | TokenSets,
        *,
        model: Any = "minilm",
        metric: str | Metric = DEFAULT,
        idf: Idf | None = None,
        rounds: int = 4,
        seed: int = 0,
        progress: ProgressOption = None,
        **options: Unpack[EncoderOptions],
    ) -> "Calibration":
        """Measure the scores of unrelated texts: each text of a corpus is scored with `rounds` random others.

        Args:
            texts: at least two different texts, or token sets; a thousand sentences give three digits.
            model: as in `score`.
            metric: as in `score`.
            idf: as in `score`.
            rounds: the number of other texts that each text is paired with.
            seed: the random seed for the choice of the others.
            progress: as in `score`.
            **options: options of `load_encoder`.

        >>> import softset
        >>> softset.Calibration.fit(["A red book.", "Dogs bark.", "Rain falls."], model="words").pairs
        6
        """
        from softset.similarity.scorer import Scorer

        check_count("rounds", rounds, 1)
        check_count("seed", seed, 0)
        side = read_side(texts, "text")
        distinct = side if isinstance(side, TokenSets) else list(dict.fromkeys(side))
        if len(distinct) < 2:
            raise InputError(f"a calibration needs at least 2 different texts, but there are {len(distinct)}")
        left, right = _random_pairs(len(distinct), rounds, seed)
        scorer = Scorer(model, metric=metric, idf=idf, **options)
        if isinstance(distinct, TokenSets):
            scores = scorer.score(distinct.take(left), distinct.take(right), progress=progress)
        else:
            candidates, references = ([distinct[index] for index in side] for side in (left, right))
            scores = scorer.score(candidates, references, progress=progress)
        filled = ~scores.empty
        if not filled.any():
            raise InputError("every text of the calibration is empty: give texts with words")
        P, R, S = (float(values[filled].mean()) for values in (scores.precision, scores.recall, scores.score))
        signature = "metric:" + scores.signature.partition("|metric:")[2]  # without the version of softset
        return cls(P, R, S, int(filled.sum()), signature)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the calibration to a JSON file.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Calibration(0.4, 0.4, 0.4, 100, "metric:subspace").save(f"{folder}/mine.json")
        ...     Calibration.load(f"{folder}/mine.json").pairs
        100
        """
        write_atomically(path, (json.dumps({"softset": "Calibration", **asdict(self)}) + "\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Calibration":
        """Read a calibration that `save` wrote.

        >>> Calibration.load("missing.json")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'missing.json'
        """
        facts = read_json(path, "Calibration")
        facts.setdefault("score", facts.get("f1"))  # the key up to version 0.6
        levels = [facts.get(name) for name in ("precision", "recall", "score")]
        limits = zip(levels, (1, 1, 2), strict=True)
        good = all(isinstance(level, float) and -1 <= level < limit for level, limit in limits)
        pairs = facts.get("pairs")
        has_pairs = isinstance(pairs, int) and not isinstance(pairs, bool) and pairs > 0
        if not good or not has_pairs or not isinstance(facts.get("signature"), str):
            raise FileError(f"{path} does not hold a valid calibration: fit and save it again")
        return cls(facts["precision"], facts["recall"], facts["score"], facts["pairs"], facts["signature"])

    @property
    def levels(self) -> tuple[float, float, float]:
        """The mean precision, recall and score of unrelated texts."""
        return self.precision, self.recall, self.score

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={getattr(self, name):.3f}" for name in ("precision", "recall", "score"))
        return f"Calibration({counted(self.pairs, 'pair')}, {numbers}, {self.signature})"

    def _repr_html_(self) -> str:
        numbers = [f"{level:.3f}" for level in self.levels]
        header = ["pairs", "precision", "recall", "score"]
        return html_table(header, [[f"{self.pairs:,}", *numbers]], caption=f"Unrelated texts: {self.signature}")


Rescale = Literal["chance"] | Calibration | None


class ChanceLevels(NamedTuple):
    """The chance level of each set (2n,), if a second moment is known, and which pairs are saturated, (n,)."""

    of_sets: np.ndarray | None
    saturated: np.ndarray


def chance_levels(metric: Metric, pairs: Pairs, moment: np.ndarray | None, min_rows: int = 0) -> ChanceLevels:
    """Return the chance levels sqrt(tr(P S)) of the pairs' sets for a second moment S (d, d), and which are saturated.

    A pair is saturated if a set spans more than half of the space, or if its chance level is above .95. Metrics that
    are not based on subspaces have no levels and are never saturated. No level is computed if all sets have fewer than
    `min_rows` rows, see `min_saturated_rows`.
    """
    if not has_chance_levels(metric):
        return ChanceLevels(None, np.zeros(len(pairs), dtype=bool))
    levels, ranks = None, pairs.counts
    needs_levels = moment is not None and (pairs.counts >= min_rows).any()
    if needs_levels or (pairs.counts > pairs.dimensions / 2).any():  # otherwise no rank can be that large
        span = metric if isinstance(metric, SubspaceBertScore) else SubspaceBertScore()
        factors, offsets = span.set_factors(pairs)
        ranks = np.diff(offsets)
        if moment is not None:
            squares = np.einsum("ij,ij->i", factors @ moment, factors)  # their sum over a set is tr(F S F')
            owner = np.repeat(np.arange(len(ranks)), ranks)
            levels = np.sqrt(np.clip(np.bincount(owner, squares, len(ranks)), 0.0, 1.0))
    saturated = ranks > pairs.dimensions / 2
    if levels is not None:
        saturated = saturated | (levels > MAX_LEVEL)
    return ChanceLevels(levels, saturated[0::2] | saturated[1::2])


def has_chance_levels(metric: Metric) -> bool:
    """Return whether a metric is based on subspaces, which have a chance level in closed form."""
    return isinstance(metric, SubspaceBertScore | SoftsetScore)


def has_closed_form(metric: Metric) -> bool:
    """Return whether the chance level of a metric's score has a closed form."""
    return isinstance(metric, SubspaceBertScore) and not isinstance(metric, Johnson)


def min_saturated_rows(moment: np.ndarray) -> int:
    """Return the smallest number of rows with which a set can have a chance level above .95.

    For k rows, tr(P S) is at most the sum of the k largest eigenvalues of S.
    """
    totals = np.cumsum(np.linalg.eigvalsh(moment)[::-1])
    return int(np.searchsorted(totals, MAX_LEVEL**2 - MIN_RANGE)) + 1


def pair_levels(of_candidates: np.ndarray, of_references: np.ndarray) -> PRF:
    """Return the chance levels of precision (of the reference's set), recall (of the candidate's) and F1."""
    return PRF(of_references, of_candidates, harmonic_mean(of_references, of_candidates))


def check_rescale(rescale: Any, metric: Metric) -> None:
    """Raise an error unless the scores of a metric can be rescaled this way."""
    if rescale is None or isinstance(rescale, Calibration):
        return
    if not isinstance(rescale, str) or rescale != "chance":
        raise InputError(f'rescale is {rescale!r}, but "chance", a softset.Calibration or None was expected')
    if not has_closed_form(metric):
        raise InputError(
            f"the chance level of {metric} has no closed form: use metric subspace, or measure the level with "
            "softset.Calibration.fit(texts, metric=...), on the command line with softset fit calibration"
        )


def rescale_scores(
    numbers: PRF, levels: Sequence[np.ndarray | float], empty: np.ndarray, max_score: float = 1.0
) -> PRF:
    """Return (x - c) / (best - c) for precision, recall and score, so that identical texts score 1.

    The best score is `max_score`, 2 for sums of precision and recall. The result is x / best for pairs with an `empty`
    side, and where c is so close to the best score that rescaling has no meaning.
    """
    rescaled = []
    for x, c, best in zip(numbers, levels, (1.0, 1.0, max_score), strict=True):
        fixed = empty | (best - np.asarray(c) < MIN_RANGE)
        rescaled.append(np.where(fixed, x / best, (x - c) / np.where(fixed, 1.0, best - c)))
    return PRF(*rescaled)


def _random_pairs(n: int, rounds: int, seed: int) -> tuple[list[int], list[int]]:
    """Pair each of n texts with some others: its next neighbours on a circle in random order, never itself."""
    order = np.random.default_rng(seed).permutation(n).tolist()
    shifts = range(1, min(rounds, n - 1) + 1)
    pairs = [(order[index], order[(index + shift) % n]) for shift in shifts for index in range(n)]
    return [left for left, _ in pairs], [right for _, right in pairs]
