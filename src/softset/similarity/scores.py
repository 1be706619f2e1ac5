"""The results of scoring: three numbers per pair, counts of tokens, and the signature."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np

from softset.errors import InputError
from softset.io.text import counted, html_table, import_pandas
from softset.similarity.metrics.base import ScoreKind

HTML_ROWS = 10  # rows that a notebook shows
NUMBERS = ("precision", "recall", "score")


class ScoreRow(NamedTuple):
    """The scores of one pair; `Scores` describes the fields."""

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


class _HasF1:
    """Scores that have the additional name `f1` if the score is F1."""

    score: np.ndarray
    score_kind: ScoreKind

    @property
    def f1(self) -> np.ndarray:
        """The score, for metrics whose score is F1, the harmonic mean of precision and recall.

        >>> import softset
        >>> softset.score(["a pen"], ["a pen"], model="words", metric="bertscore").f1.round(6)
        array([1.])
        """
        if self.score_kind != "f1":
            raise AttributeError(f"the score of this metric is not F1 but a {self.score_kind}: use .score", name="f1")
        return self.score


@dataclass(frozen=True, eq=False, repr=False)
class Scores(_HasF1):
    """The scores of n pairs, in the order of the input.

    Attributes:
        precision: (n,) over the candidate's tokens.
        recall: (n,) over the reference's tokens.
        score: (n,) the metric's score.
        candidate_tokens: (n,) the number of the candidate's tokens.
        reference_tokens: (n,) the number of tokens of the reference; of several, the best one's or all of them.
        truncated: (n,) the number of tokens of both texts that were cut off.
        unknown: (n,) the number of tokens of both texts that the model has no vector for; they are in no set.
        empty: (n,) whether a text has no token in its set: two empty texts score 1, an empty and a non-empty one 0.
        saturated: (n,) whether a text spans so much of the space that any token would be a member.
        best_reference: (n,) which of several references has the best score, from 0; -1 if all of them count.
        signature: the model, metric and options in one line.
        score_kind: what the score is: "f1", the "mean" or "sum" of precision and recall, or a "similarity".

    >>> import softset
    >>> scores = softset.score(["A red book.", ""], ["The book is red.", "A pen."])
    >>> scores
    Scores(2 pairs, precision=0.420, recall=0.392, score=0.406, 1 empty)
    >>> scores.score.round(3).tolist()
    [0.812, 0.0]
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

    @classmethod
    def concatenate(cls, parts: Sequence["Scores"]) -> "Scores":
        """Return the scores of several blocks as one.

        >>> import softset
        >>> scores = softset.score(["a"], ["b"], model="words")
        >>> len(Scores.concatenate([scores, scores]))
        2
        """
        if not parts:
            raise InputError("there is nothing to concatenate: give at least one Scores")
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ScoreRow._fields}
        return cls(**columns, signature=parts[0].signature, score_kind=parts[0].score_kind)

    def __len__(self) -> int:
        return len(self.score)

    @overload
    def __getitem__(self, index: int) -> ScoreRow: ...

    @overload
    def __getitem__(self, index: slice | np.ndarray | list[int]) -> "Scores": ...

    def __getitem__(self, index: int | slice | np.ndarray | list[int]) -> "ScoreRow | Scores":
        columns = {name: getattr(self, name)[index] for name in ScoreRow._fields}
        if columns["score"].ndim:
            return replace(self, **columns)
        return ScoreRow(**{name: value.item() for name, value in columns.items()})

    def __iter__(self) -> NoReturn:
        raise TypeError(
            "Scores is not a tuple of three arrays: use P, R, F = scores.precision, scores.recall, scores.score; "
            "for one row per pair, use scores.rows()"
        )

    def rows(self) -> Iterator[ScoreRow]:
        """Yield the numbers and flags of each pair.

        >>> import softset
        >>> [row.score.__round__(2) for row in softset.score(["a pen"], ["a pen"], model="words").rows()]
        [1.0]
        """
        columns = [getattr(self, name).tolist() for name in ScoreRow._fields]
        for values in zip(*columns, strict=True):
            yield ScoreRow(*values)

    def means(self) -> dict[str, float]:
        """Return the means of precision, recall and score over all pairs; 0 if there are no pairs.

        >>> import softset
        >>> softset.score(["a red book"], ["a red book"], model="words").means()["score"].__round__(6)
        1.0
        """
        return {name: float(getattr(self, name).mean()) if len(self) else 0.0 for name in NUMBERS}

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
            "segments": [row._asdict() for row in self.rows()],
        }

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with one row for each pair; its `attrs` have the signature.

        >>> import softset
        >>> scores = softset.score(["a pen", "a book"], ["a pen", "a red book"], model="words")
        >>> scores.to_pandas()[["score", "candidate_tokens"]].round(2)
           score  candidate_tokens
        0    1.0                 2
        1    0.8                 2
        """
        frame = import_pandas().DataFrame({name: getattr(self, name) for name in ScoreRow._fields})
        frame.attrs["signature"] = self.signature
        return frame

    def to_json(self) -> str:
        """Return `to_dict` as one JSON object.

        >>> import json, softset
        >>> scores = softset.score(["a"], ["a"], model="words")
        >>> json.loads(scores.to_json())["segments"][0]["candidate_tokens"]
        1
        """
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def __repr__(self) -> str:
        parts = [counted(len(self), "pair")]
        parts += [f"{name}={value:.3f}" for name, value in self.means().items()]
        for name, noun in (("empty", ""), ("truncated", " tokens"), ("unknown", " tokens"), ("saturated", "")):
            total = int(getattr(self, name).sum())
            parts += [f"{total} {name}{noun}"] if total else []
        return f"Scores({', '.join(parts)})"

    def _repr_html_(self) -> str:
        header = ["pair", *ScoreRow._fields[:5]]
        rows = [
            [str(index), *(f"{number:.3f}" for number in row[:3]), *(f"{count:,}" for count in row[3:5])]
            for index, row in enumerate(self[:HTML_ROWS].rows())
        ]
        return html_table(header, rows, caption=f"{self}, {self.signature}")


@dataclass(frozen=True, eq=False, repr=False)
class ScoreMatrix(_HasF1):
    """The scores (n, m) of every candidate with every reference; `Scores` describes the fields."""

    precision: np.ndarray
    recall: np.ndarray
    score: np.ndarray
    signature: str
    score_kind: ScoreKind

    def to_dict(self) -> dict[str, Any]:
        """Return the signature and the three matrices as lists of rows.

        >>> import softset
        >>> softset.Scorer("words").matrix(["a", "b"]).to_dict()["score"][0][0].__round__(6)
        1.0
        """
        return {"signature": self.signature, **{name: getattr(self, name).tolist() for name in NUMBERS}}

    def to_pandas(self) -> Any:
        """Return the scores as a pandas DataFrame: a row for each candidate, a column for each reference.

        >>> import softset
        >>> softset.Scorer("words").matrix(["red", "blue"]).to_pandas().round(2)
              0     1
        0  1.00  0.84
        1  0.84  1.00
        """
        frame = import_pandas().DataFrame(self.score)
        frame.attrs["signature"] = self.signature
        return frame

    def __repr__(self) -> str:
        n, m = self.score.shape
        mean = f", mean score={self.score.mean():.3f}" if self.score.size else ""
        return f"ScoreMatrix({counted(n, 'candidate')}, {counted(m, 'reference')}{mean})"

    def _repr_html_(self) -> str:
        shown = self.score[:HTML_ROWS, :HTML_ROWS]
        rows = [[str(index), *(f"{score:.3f}" for score in row)] for index, row in enumerate(shown)]
        header = ["score", *map(str, range(shown.shape[1]))]
        return html_table(header, rows, caption=f"{self}, {self.signature}")
