"""The functions `score` and `pairwise` for one call, and scorers of several metrics."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from softset.encoders.loading import EncoderOptions
from softset.errors import InputError
from softset.io.options import named_options
from softset.runtime.progress import ProgressOption
from softset.similarity.idf import Idf, check_idf
from softset.similarity.metrics import DEFAULT, Metric
from softset.similarity.metrics import metric as parse_metric
from softset.similarity.rescaling import Rescale
from softset.similarity.run import MultiReference
from softset.similarity.scorer import Scorer
from softset.similarity.scores import Scores


@named_options
def score(
    candidates: Any,
    references: Any,
    *,
    model: Any = "minilm",
    metric: str | Metric = DEFAULT,
    rescale: Rescale = None,
    multi_reference: MultiReference = "best",
    idf: Idf | None = None,
    progress: ProgressOption = None,
    **options: Unpack[EncoderOptions],
) -> Scores:
    """Score each candidate with its reference: precision over the candidate's tokens, recall, and a score of both.

    Args:
        candidates: texts (a list, an array or a column of a DataFrame), `TokenSets`, or one (tokens, dimensions) array
            for each text.
        references: the same, one for each candidate; or a list of texts for each candidate, or a 2-D array of texts.
        model: as in `load_encoder`.
        metric: a metric or its name: see `softset.metric`.
        rescale: "chance", a `Calibration`, or None for the raw numbers.
        multi_reference: how to combine several references: the "best" score, the "mean", or the "union" of their sets.
        idf: token weights; fitted on the references by default if the metric uses them.
        progress: True shows a progress bar; a function is called with the numbers of finished and of all pairs.
        **options: options of `load_encoder`, such as layer=4.

    >>> import softset
    >>> softset.score(["A red book."], ["The book is red."], metric="bertscore")
    Scores(1 pair, precision=0.805, recall=0.762, score=0.783)
    """
    scorer = Scorer(model, metric=metric, rescale=rescale, multi_reference=multi_reference, idf=idf, **options)
    return scorer.score(candidates, references, progress=progress)


@named_options
def pairwise(
    X: Any,
    Y: Any = None,
    *,
    model: Any = "minilm",
    metric: str | Metric = DEFAULT,
    rescale: Rescale = None,
    idf: Idf | None = None,
    distance: bool = False,
    progress: ProgressOption = None,
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
    values = scorer.matrix(X, Y, progress=progress).score
    if not distance:
        return values
    values = values / (scorer.metric.MAX_SCORE if rescale is None else 1.0)
    if Y is None:
        values = (values + values.T) / 2
        np.fill_diagonal(values, 1.0)
    return np.asarray(np.maximum(1 - values, 0.0))


def open_scorers(
    metrics: Sequence[str | Metric],
    model: Any = "minilm",
    *,
    rescale: Rescale = None,
    multi_reference: MultiReference = "best",
    idf: Idf | None = None,
    **options: Unpack[EncoderOptions],
) -> list[Scorer]:
    """Return a scorer for each metric, which share the encoder; idf weights that no metric uses are refused."""
    parsed = [parse_metric(name) for name in metrics]
    if not parsed:
        raise InputError("no metric was given: give at least one")
    check_idf(idf, ", ".join(map(str, parsed)), is_used=any(metric.needs_idf for metric in parsed))
    of_metrics = [idf if metric.needs_idf else None for metric in parsed]
    first = Scorer(
        model, metric=parsed[0], rescale=rescale, multi_reference=multi_reference, idf=of_metrics[0], **options
    )
    others = zip(parsed[1:], of_metrics[1:], strict=True)
    return [first, *(first.with_options(metric=metric, idf=weights) for metric, weights in others)]
