"""Drop-in replacements for bert_score, for evaluate's "bertscore" and for torchmetrics' `BERTScore`.

docs/coming-from-bert-score.md lists the differences.

>>> from softset.integrations.bert_score import score
>>> P, R, F = score(["A red book."], ["The book is red."], lang="en")
>>> F.round(3)
array([0.802])
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from softset.encoders.texts import check_texts
from softset.errors import InputError
from softset.integrations import bert_score_arguments as arguments
from softset.integrations.bert_score_arguments import BaselineFile, bundled_baselines, is_bert_score, rescaled
from softset.integrations.bert_score_matching import MatchedBertScore, MatchingEncoder
from softset.similarity.explain import Explanation
from softset.similarity.idf import Idf
from softset.similarity.inputs import check_count
from softset.similarity.metrics import Metric
from softset.similarity.metrics import metric as named
from softset.similarity.rescaling import has_closed_form
from softset.similarity.scorer import Scorer

__all__ = ["BERTScore", "BERTScorer", "compute", "plot_example", "score"]


class BERTScorer:
    """A scorer with the arguments and results of `bert_score.BERTScorer`; it loads its model once.

    Args:
        model_type: A model as in `softset.load_encoder`; default: the bundled model for English, or if `lang` is None.
        num_layers: The layer; default: bert_score's tuned layer for the models that it knows, otherwise the last one.
        all_layers: Score at every layer.
        idf: Weight tokens by inverse document frequency in `idf_sents` or in the references of each call; or an `Idf`.
        idf_sents: Texts in which document frequencies are counted.
        device: Device of torch models, such as "cuda".
        lang: Language of the texts.
        rescale_with_baseline: Rescale scores with `baseline_path`, by default with the baselines of the bundled model;
            metric="subspace" is rescaled with its closed-form chance level.
        baseline_path: File with the header LAYER,P,R,F and one row for each layer.
        batch_size, nthreads, use_fast_tokenizer: Accepted without effect.
        metric: "bertscore" matches as bert_score does; other metrics of softset use softset's own token sets.

    >>> scorer = BERTScorer(lang="en")
    >>> P, R, F = scorer.score(["A red book."], ["The book is red."])
    >>> F.round(3), scorer.hash
    (array([0.802]), 'minilm_L6_no-idf_version=softset-...')
    """

    def __init__(
        self,
        model_type: Any = None,
        num_layers: int | None = None,
        batch_size: int = 64,
        nthreads: int = 4,
        all_layers: bool = False,
        idf: bool | Idf = False,
        idf_sents: Sequence[str] | None = None,
        device: Any = None,
        lang: str | None = None,
        rescale_with_baseline: bool = False,
        baseline_path: str | os.PathLike[str] | None = None,
        use_fast_tokenizer: bool = False,
        metric: str | Metric = "bertscore",
    ) -> None:
        check_count("batch_size", batch_size, 1)
        check_count("nthreads", nthreads, 0)
        self.model_type = arguments.model_for(lang) if model_type is None else model_type
        self.batch_size, self.nthreads, self.all_layers, self.device = batch_size, nthreads, all_layers, device
        self.lang, self.baseline_path, self.use_fast_tokenizer = lang, baseline_path, use_fast_tokenizer
        self.rescale_with_baseline = rescale_with_baseline
        self.signature = ""  # of the last scores; one line for each layer with all_layers
        self._layer = arguments.tuned_layer(self.model_type) if num_layers is None else num_layers
        self._metric = arguments.matching_metric(named(metric), idf)
        path = bundled_baselines(self.model_type, self._metric) if baseline_path is None else baseline_path
        self._baselines = BaselineFile(path) if rescale_with_baseline and path is not None else None
        self._from_chance = rescale_with_baseline and self._baselines is None
        if self._from_chance and not has_closed_form(self._metric):
            raise InputError(
                f"rescale_with_baseline for {self._metric} and this model needs baseline_path=..., a file with the "
                "header LAYER,P,R,F; or give softset.score rescale=softset.Calibration.fit(texts, metric=...)"
            )
        self._idf = idf if isinstance(idf, Idf) else None
        if idf_sents is not None:
            self.compute_idf(idf_sents)

    @property
    def idf(self) -> bool:
        """Whether tokens are weighted by inverse document frequency."""
        return self._metric.needs_idf

    @property
    def _used_idf(self) -> Idf | None:
        """The idf weights; bert_score counts `idf_sents` without idf=True too, and then ignores them."""
        return self._idf if self.idf else None

    @property
    def num_layers(self) -> int | None:
        """The layer, or None for a model without layers."""
        known = isinstance(self._layer, int) and self._layer >= 0
        return self._layer if known else arguments.layer_of(self._scorer.encoder)

    @property
    def hash(self) -> str:
        """The model, the layer and the other settings that change scores, in bert_score's spelling."""
        from softset import __version__

        layer = "_all-layers" if self.all_layers else f"_L{self.num_layers}" if self.num_layers is not None else ""
        model = self.model_type if isinstance(self.model_type, str | os.PathLike) else type(self.model_type).__name__
        line = f"{os.fspath(model)}{layer}_{'idf' if self.idf else 'no-idf'}_version=softset-{__version__}"
        if not is_bert_score(self._metric):
            line += f"_metric={self._metric}"
        custom = self._baselines is not None and self.baseline_path is not None
        return line + ("-custom-rescaled" if custom else "-rescaled" if self.rescale_with_baseline else "")

    def compute_idf(self, sents: Sequence[str]) -> None:
        """Count the document frequency of each token in some texts, for all later calls of `score`.

        >>> scorer = BERTScorer(idf=True)
        >>> scorer.compute_idf(["A red book.", "A blue book."])
        >>> scorer.score(["A red book."], ["The book is red."])[2].round(3)
        array([0.801])
        """
        self._idf = Idf.fit(sents, model=self._scorer.encoder)

    def score(
        self, cands: Any, refs: Any, verbose: bool = False, batch_size: int = 64, return_hash: bool = False
    ) -> Any:
        """Return (P, R, F) of each candidate with its reference, or with the best of its references.

        P, R and F have the shape (n,), or (layers, n) with `all_layers`. With `return_hash`: ((P, R, F), hash).

        >>> scorer = BERTScorer(all_layers=True)
        >>> P, R, F = scorer.score(["A red book."], [["A pen.", "The book is red."]])
        >>> F.shape
        (7, 1)
        """
        check_count("batch_size", batch_size, 1)
        candidates, references, all_references = arguments.read_texts(cands, refs)
        start, idf, layers = time.perf_counter(), self._used_idf, []
        for scorer in self._scorers():
            if idf is None and all_references:
                idf = scorer.resolve_idf(all_references)  # once for all layers
            scores = scorer.with_options(idf=idf).score(candidates, references, progress=verbose)
            layer = arguments.layer_of(scorer.encoder)
            layers.append(rescaled(scores, self._baselines, layer, self._metric.MAX_SCORE))
        if verbose:
            sys.stderr.write(f"{len(candidates):,} pairs in {time.perf_counter() - start:.2f} seconds\n")
        self.signature = "\n".join(signature for _, signature in layers)
        stacked = tuple(np.stack(rows) for rows in zip(*(numbers for numbers, _ in layers), strict=True))
        numbers = stacked if self.all_layers else tuple(rows[0] for rows in stacked)
        return (numbers, self.hash) if return_hash else numbers

    def plot_example(self, candidate: str, reference: str, fname: str | os.PathLike[str] = "") -> Explanation:
        """Explain the score of one pair, and write a heat map to the PNG file `fname` if it is given.

        The explanation is rescaled with the closed-form chance level where scores are, but not with a baseline file.

        >>> BERTScorer().plot_example("A book.", "A red book.").candidate.tokens
        ('[CLS]', 'a', 'book', '.', '[SEP]')
        """
        check_texts([candidate, reference])
        explanation = self._scorer.with_options(idf=self._used_idf).explain(candidate.strip(), reference.strip())
        if os.fspath(fname):
            explanation.save_png(fname)
        return explanation

    def __repr__(self) -> str:
        return f"BERTScorer(model_type={self.model_type!r}, num_layers={self._layer}, metric={self._metric})"

    @cached_property
    def _scorer(self) -> Scorer:
        return self._scorer_at(self._layer)

    def _scorer_at(self, layer: int | float | str | None) -> Scorer:
        encoder = arguments.open_encoder(self.model_type, layer, self.device)
        matched = MatchingEncoder(encoder) if isinstance(self._metric, MatchedBertScore) else encoder
        return Scorer(matched, metric=self._metric, rescale="chance" if self._from_chance else None)

    def _scorers(self) -> Iterator[Scorer]:
        """Return the scorer, or with `all_layers` one scorer for each layer; one model is in memory at a time."""
        last = (
            arguments.layer_of(arguments.open_encoder(self.model_type, None, self.device)) if self.all_layers else None
        )
        return iter([self._scorer]) if last is None else map(self._scorer_at, range(last + 1))


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
    """Return (P, R, F) of each pair, as `bert_score.score` does; with `return_hash` ((P, R, F), hash).

    The arguments have the order of `bert_score.score`; `BERTScorer` explains them.

    >>> (P, R, F), hash = score(["A pen."], ["A pen."], metric="subspace", return_hash=True)
    >>> float(F[0].round(6)), hash
    (1.0, 'minilm_L6_no-idf_version=softset-..._metric=subspace')
    """
    scorer = BERTScorer(
        *(model_type, num_layers, batch_size, nthreads, all_layers, idf, None, device, lang),
        *(rescale_with_baseline, baseline_path, use_fast_tokenizer, metric),
    )
    return scorer.score(cands, refs, verbose, batch_size, return_hash)


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
    """Explain the score of one pair, and write a heat map to the PNG file `fname` if it is given.

    >>> plot_example("A book.", "A red book.").reference.tokens
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
    model_type: Any = None,
    num_layers: int | None = None,
    all_layers: bool = False,
    verbose: bool = False,
    **options: Unpack[arguments.ScorerOptions],
) -> dict[str, Any]:
    """Return lists of precision, recall and f1, and the hashcode, as `evaluate.load("bertscore").compute` does.

    Calls are independent of each other: idf weights are those of the references of this call.

    >>> scores = compute(predictions=["A pen."], references=[["A pen.", "A book."]])
    >>> sorted(scores), [round(value, 6) for value in scores["f1"]]
    (['f1', 'hashcode', 'precision', 'recall'], [1.0])
    """
    scorer = BERTScorer(model_type, num_layers, all_layers=all_layers, **options)
    P, R, F = scorer.score(predictions, references, verbose)
    return {"precision": P.tolist(), "recall": R.tolist(), "f1": F.tolist(), "hashcode": scorer.hash}


class BERTScore:
    """A metric with the methods of torchmetrics' `BERTScore`, which collects pairs of texts; it needs no torch.

    The options are the keyword arguments of `BERTScorer`. Scores are in the order of the pairs.

    >>> metric = BERTScore()
    >>> metric.update(["A red book."], ["The book is red."])
    >>> metric.update(["A pen.", "Dogs bark."], ["A pen.", "It rains."])
    >>> metric.compute()["f1"].round(2)
    array([0.8 , 1.  , 0.31])
    """

    def __init__(
        self,
        model_name_or_path: Any = None,
        num_layers: int | None = None,
        all_layers: bool = False,
        *,
        verbose: bool = False,
        num_threads: int = 0,
        return_hash: bool = False,
        **options: Unpack[arguments.ScorerOptions],
    ) -> None:
        options["nthreads"] = num_threads
        self.scorer = BERTScorer(model_name_or_path, num_layers, all_layers=all_layers, **options)
        self.verbose, self.return_hash = verbose, return_hash
        self.reset()

    def reset(self) -> None:
        """Remove all pairs."""
        self._preds: list[str] = []
        self._target: list[list[str]] = []

    def update(self, preds: Any, target: Any) -> None:
        """Add two texts, two lists of texts, or a list of texts and a list of references for each of them.

        >>> BERTScore().update(["a", "b"], ["c"])
        Traceback (most recent call last):
        softset.errors.ShapeError: there are 2 candidates but 1 reference: give one for each candidate, in the same \
order
        """
        candidates, references = arguments.read_batch(preds, target)
        self._preds += candidates
        self._target += references

    def compute(self) -> dict[str, Any]:
        """Return precision, recall and f1 of all pairs, (n,) each, and the hash with `return_hash`."""
        return self._scores(self._preds, self._target)

    def forward(self, preds: Any, target: Any) -> dict[str, Any]:
        """Add pairs and return their scores; calling the object does the same.

        >>> BERTScore()(["a red book"], ["a red book"])["f1"].round(6)
        array([1.])
        """
        batch = arguments.read_batch(preds, target)
        self.update(*batch)
        return self._scores(*batch)

    __call__ = forward

    def _scores(self, candidates: list[str], references: list[list[str]]) -> dict[str, Any]:
        numbers = self.scorer.score(candidates, references, verbose=self.verbose)
        scores: dict[str, Any] = dict(zip(("precision", "recall", "f1"), numbers, strict=True))
        return {**scores, "hash": self.scorer.hash} if self.return_hash else scores
