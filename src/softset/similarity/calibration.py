"""What unrelated texts score, and scores counted from there: 0 is chance, 1 is identity."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from softset.encoders.tokensets import TokenSets
from softset.errors import FileError, InputError
from softset.io.atomic import write_atomically
from softset.io.json_files import read_json
from softset.similarity.inputs import read_side
from softset.similarity.metrics import DEFAULT, PRF

__all__ = ["Calibration", "rescaled"]

NEAR_ONE = 1e-6  # a chance level within this of 1 leaves nothing to count


@dataclass(frozen=True)
class Calibration:
    """The mean precision, recall and F of unrelated texts, measured with one model and metric.

    Attributes:
        precision: the mean precision of the unrelated pairs.
        recall: their mean recall.
        score: their mean F.
        pairs: how many pairs were scored.
        signature: the model and metric, which must be those of the scores that are rescaled.

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
        metric: Any = DEFAULT,
        rounds: int = 4,
        seed: int = 0,
        **options: Any,
    ) -> "Calibration":
        """Return what texts of a corpus score that have nothing to do with each other: each with `rounds` others.

        Args:
            texts: at least two different ones, or token sets; a thousand sentences give three digits.
            model: as in `score`.
            metric: as in `score`.
            rounds: how many others each text is paired with.
            seed: which others.
            options: those of `load_encoder`, and `idf`.

        >>> import softset
        >>> softset.Calibration.fit(["A red book.", "Dogs bark.", "Rain falls."], model="words").pairs
        6
        """
        from softset.similarity.scorer import Scorer

        for name, value, least in (("rounds", rounds, 1), ("seed", seed, 0)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{name} is {value!r}, but a whole number of at least {least} was wanted")
        side = read_side(texts, "text")
        distinct = side if isinstance(side, TokenSets) else list(dict.fromkeys(side))
        if len(distinct) < 2:
            raise InputError(f"a calibration needs at least 2 different texts, but there are {len(distinct)}")
        order = np.random.default_rng(seed).permutation(len(distinct)).tolist()
        shifts = range(1, min(rounds, len(distinct) - 1) + 1)  # a text is never its own neighbour on the circle
        places = [(order[at], order[(at + by) % len(order)]) for by in shifts for at in range(len(order))]
        scorer = Scorer(model, metric=metric, **options)
        left, right = ([place[side] for place in places] for side in (0, 1))
        if isinstance(distinct, TokenSets):
            scores = scorer.score(distinct.take(left), distinct.take(right))
        else:
            scores = scorer.score([distinct[at] for at in left], [distinct[at] for at in right])
        filled = ~scores.empty
        if not filled.any():
            raise InputError("every text of the calibration is empty: give texts with words")
        P, R, F = (float(values[filled].mean()) for values in (scores.precision, scores.recall, scores.score))
        of_metric = "metric:" + scores.signature.partition("|metric:")[2]  # of any version of softset
        return cls(P, R, F, int(filled.sum()), of_metric)

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
        """Read what `save` wrote.

        >>> Calibration.load("missing.json")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'missing.json'
        """
        facts = read_json(path, "Calibration")
        facts.setdefault("score", facts.get("f1"))  # the name up to version 0.6
        numbers = [facts.get(name) for name in ("precision", "recall", "score")]
        good = all(isinstance(one, float) and -1 <= one < most for one, most in zip(numbers, (1, 1, 2), strict=True))
        pairs = facts.get("pairs")
        counted = isinstance(pairs, int) and not isinstance(pairs, bool) and pairs > 0
        if not good or not counted or not isinstance(facts.get("signature"), str):
            raise FileError(f"{path} holds no calibration that makes sense: fit and save it again")
        return cls(facts["precision"], facts["recall"], facts["score"], facts["pairs"], facts["signature"])

    def must_fit(self, signature: str) -> None:
        """Refuse to rescale the scores of another model or metric.

        >>> Calibration(0.4, 0.4, 0.4, 100, "metric:subspace|encoder:a").must_fit("metric:subspace|encoder:b")
        Traceback (most recent call last):
        softset.errors.InputError: this calibration was fitted with metric:subspace|encoder:a, but ...
        """
        if signature != self.signature:
            raise InputError(
                f"this calibration was fitted with {self.signature}, but the scores are of {signature}: fit it with "
                "the same model, metric and options (and idf weights, if it has some)"
            )

    @property
    def levels(self) -> tuple[float, float, float]:
        """What chance gives: precision, recall, F."""
        return self.precision, self.recall, self.score


def rescaled(numbers: PRF, chance: PRF, best: float = 1.0) -> PRF:
    """Return (x - c) / (1 - c) for precision, recall and F; x itself where c is 1 and tells nothing.

    `best` is the F of identical texts, 2 for sums of precision and recall.

    >>> one = PRF(np.array([0.7]), np.array([1.0]), np.array([0.4]))
    >>> [float(values[0].round(3)) for values in rescaled(one, PRF(np.array([0.4]), np.array([0.4]), np.array([0.4])))]
    [0.5, 1.0, 0.0]
    """
    found = []
    for x, c, top in zip(numbers, chance, (1.0, 1.0, best), strict=True):
        hopeless = top - c < NEAR_ONE
        found.append(np.where(hopeless, x / top, (x - c) / np.where(hopeless, 1.0, top - c)))
    return PRF(*found)
