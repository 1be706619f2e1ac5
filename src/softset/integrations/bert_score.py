"""The calls of bert_score, of evaluate's "bertscore" and of torchmetrics' `BERTScore`.

What differs from them is listed in docs/coming-from-bert-score.md.

>>> from softset.integrations.bert_score import score
>>> P, R, F = score(["A red book."], ["The book is red."], lang="en", num_layers=4)
>>> F.round(3)
array([0.798])
"""

import os
from collections.abc import Sequence
from typing import Any

from softset.integrations.accumulating import BERTScore
from softset.integrations.scorer import BERTScorer
from softset.similarity.explain import Explanation
from softset.similarity.idf import Idf
from softset.similarity.metrics import Metric

__all__ = ["BERTScore", "BERTScorer", "compute", "plot_example", "score"]


def score(
    cands: Sequence[str],
    refs: Sequence[str] | Sequence[Sequence[str]],
    model_type: Any = None,
    num_layers: int | None = None,
    verbose: bool = False,
    idf: bool | Idf = False,
    device: Any = None,
    batch_size: int = 64,
    nthreads: int = 4,
    all_layers: bool = False,
    lang: str | None = None,
    return_hash: bool = False,
    rescale_with_baseline: bool = False,
    baseline_path: str | os.PathLike[str] | None = None,
    use_fast_tokenizer: bool = False,
    metric: str | Metric = "bertscore",
) -> Any:
    """Return precision, recall and F of each pair, (n,) each, or (layers, n); with `return_hash` ((P, R, F), hash).

    The arguments are those of `bert_score.score`, explained in `BERTScorer`, and `metric`.

    >>> (P, R, F), how = score(["A pen."], ["A pen."], metric="subspace", return_hash=True)
    >>> float(F[0].round(6)), how
    (1.0, 'minilm_L6_no-idf_version=softset-..._metric=subspace')
    """
    scorer = BERTScorer(
        model_type,
        num_layers,
        batch_size,
        nthreads,
        all_layers,
        idf,
        device=device,
        lang=lang,
        rescale_with_baseline=rescale_with_baseline,
        baseline_path=baseline_path,
        use_fast_tokenizer=use_fast_tokenizer,
        metric=metric,
    )
    return scorer.score(cands, refs, verbose=verbose, batch_size=batch_size, return_hash=return_hash)


def plot_example(
    candidate: str,
    reference: str,
    model_type: Any = None,
    num_layers: int | None = None,
    lang: str | None = None,
    rescale_with_baseline: bool = False,
    baseline_path: str | os.PathLike[str] | None = None,
    use_fast_tokenizer: bool = False,
    fname: str | os.PathLike[str] = "",
    metric: str | Metric = "bertscore",
) -> Explanation:
    """Return why a candidate scores what it does, and draw it into a PNG if a name is given.

    >>> plot_example("A book.", "A red book.", num_layers=4).reference.tokens
    ('[CLS]', 'a', 'red', 'book', '.', '[SEP]')
    """
    scorer = BERTScorer(
        model_type,
        num_layers,
        lang=lang,
        rescale_with_baseline=rescale_with_baseline,
        baseline_path=baseline_path,
        use_fast_tokenizer=use_fast_tokenizer,
        metric=metric,
    )
    return scorer.plot_example(candidate, reference, fname)


def compute(
    *,
    predictions: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
    lang: str | None = None,
    model_type: Any = None,
    num_layers: int | None = None,
    verbose: bool = False,
    idf: bool | Idf = False,
    device: Any = None,
    batch_size: int = 64,
    nthreads: int = 4,
    all_layers: bool = False,
    rescale_with_baseline: bool = False,
    baseline_path: str | os.PathLike[str] | None = None,
    use_fast_tokenizer: bool = False,
    metric: str | Metric = "bertscore",
) -> dict[str, Any]:
    """Return lists of precision, recall and f1, and the hashcode, as `evaluate.load("bertscore").compute` does.

    Nothing is kept from call to call: idf weights are those of the references given.

    >>> found = compute(predictions=["A pen."], references=[["A pen.", "A book."]], num_layers=4)
    >>> sorted(found), [round(value, 6) for value in found["f1"]]
    (['f1', 'hashcode', 'precision', 'recall'], [1.0])
    """
    (P, R, F), hashcode = score(
        predictions,
        references,
        model_type=model_type,
        num_layers=num_layers,
        verbose=verbose,
        idf=idf,
        device=device,
        batch_size=batch_size,
        nthreads=nthreads,
        all_layers=all_layers,
        lang=lang,
        return_hash=True,
        rescale_with_baseline=rescale_with_baseline,
        baseline_path=baseline_path,
        use_fast_tokenizer=use_fast_tokenizer,
        metric=metric,
    )
    return {"precision": P.tolist(), "recall": R.tolist(), "f1": F.tolist(), "hashcode": hashcode}
