"""What scoring gives: three numbers a pair, what they were made of, and the signature that says how."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from softset.errors import InputError
from softset.similarity.metrics.base import ScoreKind

__all__ = ["Row", "ScoreMatrix", "Scores"]


class Row(NamedTuple):
    """The scores of one pair."""

    precision: float
    recall: float
    score: float
    candidate_tokens: int
    reference_tokens: int
    truncated: int
    unknown: int
    empty: bool
    saturated: bool
    best_reference: int


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """The scores of n pairs, in the order that the pairs were given in.

    Attributes:
        precision: (n,) over the candidate's tokens.
        recall: (n,) over the reference's tokens.
        score: (n,) the score.
        candidate_tokens: (n,) how many tokens the candidate has.
        reference_tokens: (n,) how many the reference has, or of several the one that counted, or all of them.
        truncated: (n,) how many tokens of both were cut away.
        unknown: (n,) how many tokens of both the model has no vector for; they are in no set.
        empty: (n,) whether a side has no token in its set: both empty score 1, one empty scores 0.
        saturated: (n,) whether so much of the space is spanned that anything would be a member.
        best_reference: (n,) which of several references counted, from 0; -1 where all of them did.
        signature: what made the numbers, in one line that parses back.
        score_kind: what the score is: "f1", the "mean" or "sum" of precision and recall, or a "similarity".

    >>> import softset
    >>> scores = softset.score(["A red book.", ""], ["The book is red.", "A pen."], layer=4)
    >>> scores
    Scores(2 pairs, precision=0.414, recall=0.373, score=0.393, 1 empty)
    >>> scores.score.round(3).tolist()
    [0.787, 0.0]
    """

    precision: np.ndarray
    recall: np.ndarray
    score: np.ndarray
    candidate_tokens: np.ndarray
    reference_tokens: np.ndarray
    truncated: np.ndarray
    unknown: np.ndarray
    empty: np.ndarray
    saturated: np.ndarray
    best_reference: np.ndarray
    signature: str
    score_kind: ScoreKind

    @property
    def f1(self) -> np.ndarray:
        """The score (n,), for metrics whose score is F1, the harmonic mean of precision and recall.

        >>> import softset
        >>> softset.score(["a pen"], ["a pen"], model="words", metric="bertscore").f1.round(6)
        array([1.])
        """
        return _f1(self)

    @classmethod
    def concatenate(cls, parts: Sequence["Scores"]) -> "Scores":
        """Return the scores of several blocks, one after the other.

        >>> import softset
        >>> one = softset.score(["a"], ["b"], model="words")
        >>> len(Scores.concatenate([one, one]))
        2
        """
        if not parts:
            raise InputError("there is nothing to concatenate: give at least one Scores")
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in Row._fields}
        return cls(**columns, signature=parts[0].signature, score_kind=parts[0].score_kind)

    def __len__(self) -> int:
        return len(self.score)

    def __getitem__(self, at: int) -> Row:
        return Row(*(getattr(self, name)[at].item() for name in Row._fields))

    def __iter__(self) -> Iterator[Row]:
        columns = [getattr(self, name).tolist() for name in Row._fields]
        for values in zip(*columns, strict=True):
            yield Row(*values)

    def means(self) -> dict[str, float]:
        """Return the means of precision, recall and F over all pairs; 0 where there are none.

        >>> import softset
        >>> softset.score(["a red book"], ["a red book"], model="words").means()["score"].__round__(6)
        1.0
        """
        return {
            name: float(getattr(self, name).mean()) if len(self) else 0.0 for name in ("precision", "recall", "score")
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the signature, the means, and the numbers of each pair under "segments".

        >>> import softset
        >>> sorted(softset.score(["a"], ["a"], model="words").to_dict())
        ['pairs', 'precision', 'recall', 'score', 'segments', 'signature']
        """
        return {
            "signature": self.signature,
            **self.means(),
            "pairs": len(self),
            "segments": [row._asdict() for row in self],
        }

    def to_json(self) -> str:
        """Return `to_dict` as one JSON object.

        >>> import json, softset
        >>> scores = softset.score(["a"], ["a"], model="words")
        >>> json.loads(scores.to_json())["segments"][0]["candidate_tokens"]
        1
        """
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def __repr__(self) -> str:
        parts = [f"{len(self)} pair{'s' * (len(self) != 1)}"]
        parts += [f"{name}={value:.3f}" for name, value in self.means().items()]
        parts += [f"{int(self.empty.sum())} empty"] if self.empty.any() else []
        parts += [f"{int(self.truncated.sum())} tokens cut away"] if self.truncated.any() else []
        parts += [f"{int(self.unknown.sum())} unknown tokens"] if self.unknown.any() else []
        parts += [f"{int(self.saturated.sum())} saturated"] if self.saturated.any() else []
        return f"Scores({', '.join(parts)})"


@dataclass(frozen=True, eq=False, repr=False)
class ScoreMatrix:
    """The scores (n, m) of every candidate with every reference."""

    precision: np.ndarray
    recall: np.ndarray
    score: np.ndarray
    signature: str
    score_kind: ScoreKind

    @property
    def f1(self) -> np.ndarray:
        """The score (n, m), for metrics whose score is F1.

        >>> import softset
        >>> softset.Scorer("words", metric="bertscore").matrix(["a", "b"]).f1.shape
        (2, 2)
        """
        return _f1(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the signature and the three matrices as lists of rows.

        >>> import softset
        >>> softset.Scorer("words").matrix(["a", "b"]).to_dict()["score"][0][0].__round__(6)
        1.0
        """
        numbers = {name: getattr(self, name).tolist() for name in ("precision", "recall", "score")}
        return {"signature": self.signature, **numbers}

    def __repr__(self) -> str:
        return f"ScoreMatrix({self.score.shape[0]} candidates, {self.score.shape[1]} references)"


def _f1(scores: Scores | ScoreMatrix) -> np.ndarray:
    if scores.score_kind != "f1":
        raise AttributeError(f"the score of this metric is not F1 but a {scores.score_kind}: use .score", name="f1")
    return scores.score
