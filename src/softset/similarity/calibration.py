"""Calibrations: the measured scores of unrelated texts, for rescaling."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np

from softset.encoders.loading import EncoderOptions
from softset.encoders.tokensets import TokenSets
from softset.errors import FileError, InputError
from softset.io.atomic import write_atomically
from softset.io.json_files import read_json
from softset.io.text import check_options
from softset.similarity.idf import Idf
from softset.similarity.inputs import check_count, read_side
from softset.similarity.metrics import DEFAULT, Metric


@dataclass(frozen=True)
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
    def fit(
        cls,
        texts: Sequence[str] | TokenSets,
        *,
        model: Any = "minilm",
        metric: str | Metric = DEFAULT,
        idf: Idf | None = None,
        rounds: int = 4,
        seed: int = 0,
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
            **options: options of `load_encoder`.

        >>> import softset
        >>> softset.Calibration.fit(["A red book.", "Dogs bark.", "Rain falls."], model="words").pairs
        6
        """
        from softset.similarity.scorer import Scorer

        check_options(options, EncoderOptions.__annotations__)  # scores of other options are not comparable
        check_count("rounds", rounds, 1)
        check_count("seed", seed, 0)
        side = read_side(texts, "text")
        distinct = side if isinstance(side, TokenSets) else list(dict.fromkeys(side))
        if len(distinct) < 2:
            raise InputError(f"a calibration needs at least 2 different texts, but there are {len(distinct)}")
        left, right = _random_pairs(len(distinct), rounds, seed)
        scorer = Scorer(model, metric=metric, idf=idf, **options)
        if isinstance(distinct, TokenSets):
            scores = scorer.score(distinct.take(left), distinct.take(right))
        else:
            scores = scorer.score([distinct[index] for index in left], [distinct[index] for index in right])
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
        counted = isinstance(pairs, int) and not isinstance(pairs, bool) and pairs > 0
        if not good or not counted or not isinstance(facts.get("signature"), str):
            raise FileError(f"{path} does not hold a valid calibration: fit and save it again")
        return cls(facts["precision"], facts["recall"], facts["score"], facts["pairs"], facts["signature"])

    @property
    def levels(self) -> tuple[float, float, float]:
        """The mean precision, recall and score of unrelated texts."""
        return self.precision, self.recall, self.score


def _random_pairs(n: int, rounds: int, seed: int) -> tuple[list[int], list[int]]:
    """Pair each of n texts with some others: its next neighbours on a circle in random order, never itself."""
    order = np.random.default_rng(seed).permutation(n).tolist()
    shifts = range(1, min(rounds, n - 1) + 1)
    pairs = [(order[index], order[(index + shift) % n]) for shift in shifts for index in range(n)]
    return [left for left, _ in pairs], [right for _, right in pairs]
