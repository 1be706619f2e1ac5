"""Scoring by one call: pairs of texts, or every text with every other."""

from typing import Any

import numpy as np

from softset.encoders.base import Progress
from softset.similarity.idf import Idf
from softset.similarity.metrics import DEFAULT, Metric
from softset.similarity.references import MultiReference
from softset.similarity.scorer import Rescale, Scorer
from softset.similarity.scores import Scores

__all__ = ["pairwise", "score"]


def score(
    candidates: Any,
    references: Any,
    *,
    model: Any = "minilm",
    metric: str | Metric = DEFAULT,
    rescale: Rescale = None,
    multi_reference: MultiReference = "best",
    idf: Idf | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Scores:
    """Return how alike each candidate is to its reference: precision over the candidate's tokens, recall, and F.

    Args:
        candidates: texts, `TokenSets`, or one (tokens, dimensions) array a text.
        references: the same, one for each candidate; or for each candidate a list of texts.
        model: as in `load_encoder`.
        metric: a metric or its name: see `softset.metric`.
        rescale: "chance", a `Calibration`, or None for the raw numbers.
        multi_reference: how to combine several references: "best" score, "mean", or "union" of their sets.
        idf: weights of tokens; fitted on the references where the metric needs them and none are given.
        progress: is told how many pairs are done, of how many.
        options: those of `load_encoder`, such as layer=4.

    >>> import softset
    >>> softset.score(["A red book."], ["The book is red."], layer=4, metric="bertscore")
    Scores(1 pair, precision=0.818, recall=0.768, score=0.792)
    """
    scorer = Scorer(model, metric=metric, rescale=rescale, multi_reference=multi_reference, idf=idf, **options)
    return scorer.score(candidates, references, progress=progress)


def pairwise(
    X: Any,
    Y: Any = None,
    *,
    model: Any = "minilm",
    metric: str | Metric = DEFAULT,
    distance: bool = False,
    **options: Any,
) -> np.ndarray:
    """Return the scores F (n, m) of every text of X with every text of Y, or of X, as pairwise functions of sklearn do.

    With `distance` it is 1 - F, made symmetric if Y is None, ready for clustering with metric="precomputed". Options
    are those of `Scorer`.

    >>> import softset
    >>> softset.pairwise(["red", "blue", "pen"], model="words", distance=True).round(2)
    array([[0.  , 0.16, 0.67],
           [0.16, 0.  , 0.65],
           [0.67, 0.65, 0.  ]])
    """
    scorer = Scorer(model, metric=metric, **options)
    values = scorer.matrix(X, Y).score
    if not distance:
        return values
    values = values / scorer.metric.BEST
    if Y is None:
        values = (values + values.T) / 2
        np.fill_diagonal(values, 1.0)
    far: np.ndarray = np.maximum(1 - values, 0.0)
    return far
