"""Score texts by one call: pairs of texts, or every text with every other."""

from typing import Any, Unpack

import numpy as np

from softset.encoders.base import Progress
from softset.encoders.loading import EncoderOptions
from softset.similarity.idf import Idf
from softset.similarity.metrics import DEFAULT, Metric
from softset.similarity.plan import MultiReference
from softset.similarity.rescaling import Rescale
from softset.similarity.scorer import Scorer
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
    **options: Unpack[EncoderOptions],
) -> Scores:
    """Score each candidate with its reference: precision over the candidate's tokens, recall, and a score of both.

    Args:
        candidates: texts, `TokenSets`, or one (tokens, dimensions) array a text.
        references: the same, one for each candidate; or a list of texts for each candidate.
        model: as in `load_encoder`.
        metric: a metric or its name: see `softset.metric`.
        rescale: "chance", a `Calibration`, or None for the raw numbers.
        multi_reference: how to combine several references: the "best" score, the "mean", or the "union" of their sets.
        idf: token weights; fitted on the references by default if the metric uses them.
        progress: called with the number of finished pairs and of all pairs.
        **options: options of `load_encoder`, such as layer=4.

    >>> import softset
    >>> softset.score(["A red book."], ["The book is red."], metric="bertscore")
    Scores(1 pair, precision=0.805, recall=0.762, score=0.783)
    """
    scorer = Scorer(model, metric=metric, rescale=rescale, multi_reference=multi_reference, idf=idf, **options)
    return scorer.score(candidates, references, progress=progress)


def pairwise(
    X: Any,
    Y: Any = None,
    *,
    model: Any = "minilm",
    metric: str | Metric = DEFAULT,
    rescale: Rescale = None,
    idf: Idf | None = None,
    distance: bool = False,
    **options: Unpack[EncoderOptions],
) -> np.ndarray:
    """Return the scores (n, m) of every text of X with every text of Y, or of X, like sklearn's pairwise functions.

    With `distance` the result is 1 - score, symmetric if Y is None, for clustering with metric="precomputed". The other
    options are those of `score`.

    >>> import softset
    >>> softset.pairwise(["red", "blue", "pen"], model="words", distance=True).round(2)
    array([[0.  , 0.16, 0.67],
           [0.16, 0.  , 0.65],
           [0.67, 0.65, 0.  ]])
    """
    scorer = Scorer(model, metric=metric, rescale=rescale, idf=idf, **options)
    values = scorer.matrix(X, Y).score
    if not distance:
        return values
    values = values / scorer.metric.MAX_SCORE
    if Y is None:
        values = (values + values.T) / 2
        np.fill_diagonal(values, 1.0)
    distances: np.ndarray = np.maximum(1 - values, 0.0)
    return distances
