"""The scorer of bert_score: its arguments and results, over softset's encoders and metrics."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from softset.encoders.models import BUNDLED
from softset.encoders.signature import format_signature, parse_signature
from softset.encoders.texts import check_texts
from softset.errors import InputError
from softset.integrations.baselines import Baselines
from softset.integrations.matching import MatchedBertScore, MatchingEncoder, fitted
from softset.integrations.models import depth_of, model_for, name_of, open_encoder, tuned_layer
from softset.integrations.texts import read_texts
from softset.io.assets import bundled_file
from softset.similarity.explain import Explanation
from softset.similarity.idf import Idf
from softset.similarity.metrics import PRF, Metric
from softset.similarity.metrics import metric as named
from softset.similarity.metrics.bertscore import BertScore
from softset.similarity.metrics.subspace import Johnson, SubspaceBertScore
from softset.similarity.scorer import Scorer
from softset.similarity.scores import Scores

__all__ = ["BERTScorer", "Numbers"]

BUNDLED_BASELINES = "baselines/minilm.csv"

Numbers = tuple[np.ndarray, np.ndarray, np.ndarray]  # precision, recall and F: (n,), or (layers, n) with all_layers


class BERTScorer:
    """Keeps a model and scores whatever comes, with the arguments of `bert_score.BERTScorer`.

    Args:
        model_type: as in `softset.load_encoder`; the bundled model unless it or another `lang` than English is given.
        num_layers: the layer; bert_score's own for the models it was tuned for, and the last one otherwise.
        batch_size: accepted, and without effect: batches are made by length.
        nthreads: accepted, and without effect: tokens are counted in this process.
        all_layers: score at every layer.
        idf: weigh tokens by their rarity, in `idf_sents` or in the references of each call; or a `softset.Idf`.
        idf_sents: texts that rarity is counted in.
        device: for torch models, such as "cuda".
        lang: the language of the texts.
        rescale_with_baseline: count scores from the levels of `baseline_path`, or unless a path is given, from those
            that ship with the bundled model; for metric="subspace" from the closed-form chance level.
        baseline_path: a file with the header LAYER,P,R,F and one row a layer.
        use_fast_tokenizer: accepted, and without effect: tokenisers are fast.
        metric: "bertscore" matches as bert_score does; any other metric of softset is over the sets of its encoders.

    >>> scorer = BERTScorer(lang="en", num_layers=4)
    >>> P, R, F = scorer.score(["A red book."], ["The book is red."])
    >>> F.round(3), scorer.hash
    (array([0.798]), 'minilm_L4_no-idf_version=softset-...')
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
        _check_counts(batch_size, nthreads)
        self.batch_size, self.nthreads, self.all_layers, self.device = batch_size, nthreads, all_layers, device
        self.use_fast_tokenizer, self.baseline_path = use_fast_tokenizer, baseline_path
        self._lang, self._model = lang, model_for(lang) if model_type is None else model_type
        self._layer = tuned_layer(self._model) if num_layers is None else num_layers
        self._metric = _metric(named(metric), idf)
        self._rescale = bool(rescale_with_baseline)
        file = baseline_path if baseline_path is not None else bundled_baselines(self._model, self._metric)
        self._baselines = Baselines(file) if self._rescale and file is not None else None
        self._chance = self._rescale and self._baselines is None
        if self._chance:
            _must_have_chance(self._metric)
        self._weights = idf if isinstance(idf, Idf) else None
        self._signature = ""
        if idf_sents is not None:
            self.compute_idf(idf_sents)

    # What was asked for

    @property
    def lang(self) -> str | None:
        """The language that was given."""
        return self._lang

    @property
    def idf(self) -> bool:
        """Whether tokens are weighed by their rarity."""
        return self._metric.needs_idf

    @property
    def model_type(self) -> Any:
        """The model, as `softset.load_encoder` takes it."""
        return self._model

    @property
    def num_layers(self) -> int | None:
        """The layer; None for models that have no layers."""
        return self._layer if isinstance(self._layer, int) and self._layer >= 0 else depth_of(self._scorer.encoder)

    @property
    def rescale_with_baseline(self) -> bool:
        """Whether scores are counted from what unrelated texts score."""
        return self._rescale

    @property
    def hash(self) -> str:
        """The model, its layer, and what else decides the numbers, as bert_score spells it."""
        from softset import __version__

        layers = None if self.num_layers is None else f"L{self.num_layers}"
        shown = "all-layers" if self.all_layers else layers
        parts = [name_of(self._model), shown, "idf" if self.idf else "no-idf", f"version=softset-{__version__}"]
        line = "_".join(part for part in parts if part)
        line += "" if isinstance(self._metric, BertScore) and not _more(self._metric) else f"_metric={self._metric}"
        own = self._baselines is not None and self.baseline_path is not None
        return line + ("-custom-rescaled" if own else "-rescaled" if self._rescale else "")

    @property
    def signature(self) -> str:
        """What made the last scores, in one line that parses back (one a layer with all_layers); "" before them."""
        return self._signature

    # Scoring

    def compute_idf(self, sents: Sequence[str]) -> None:
        """Count in which of some texts each token is, for all scores to come.

        >>> scorer = BERTScorer(idf=True)
        >>> scorer.compute_idf(["A red book.", "A blue book."])
        >>> scorer.score(["A red book."], ["The book is red."])[2].round(3)
        array([0.801])
        """
        if not (texts := check_texts(sents)):
            raise InputError("idf needs at least one text to be fitted on")
        self._weights = fitted(texts, self._scorer.encoder)

    @overload
    def score(
        self, cands: Any, refs: Any, verbose: bool = False, batch_size: int = 64, return_hash: Literal[False] = False
    ) -> Numbers: ...
    @overload
    def score(
        self, cands: Any, refs: Any, verbose: bool = False, batch_size: int = 64, *, return_hash: Literal[True]
    ) -> tuple[Numbers, str]: ...
    @overload
    def score(
        self, cands: Any, refs: Any, verbose: bool = False, batch_size: int = 64, return_hash: bool = False
    ) -> Numbers | tuple[Numbers, str]: ...
    def score(
        self, cands: Any, refs: Any, verbose: bool = False, batch_size: int = 64, return_hash: bool = False
    ) -> Numbers | tuple[Numbers, str]:
        """Return precision, recall and F of each candidate with its reference, or the best of its list of references.

        >>> scorer = BERTScorer(all_layers=True)
        >>> P, R, F = scorer.score(["A red book."], [["A pen.", "The book is red."]])
        >>> F.shape
        (7, 1)
        """
        _check_counts(batch_size, self.nthreads)
        candidates, references, flat = read_texts(cands, refs)
        begun, weights, found = time.perf_counter(), self._weights, []
        for scorer in self._scorers():
            if self.idf and weights is None:
                weights = fitted(flat, scorer.encoder)
            using = scorer.with_options(rescale=scorer.rescale, idf=weights)
            scores = using.score(candidates, references, progress=_told if verbose else None)
            found.append(self._rescaled(scores, depth_of(scorer.encoder)))
        if verbose:
            seconds = time.perf_counter() - begun
            sys.stderr.write(f"\r{len(candidates):,} pairs in {seconds:.2f} seconds\n")
        self._signature = "\n".join(signature for _, signature in found)
        P, R, F = (np.stack(rows) for rows in zip(*(numbers for numbers, _ in found), strict=True))
        out = (P, R, F) if self.all_layers else (P[0], R[0], F[0])
        return (out, self.hash) if return_hash else out

    def plot_example(self, candidate: str, reference: str, fname: str | os.PathLike[str] = "") -> Explanation:
        """Return why a candidate scores what it does, and draw it into a PNG if a name is given.

        Numbers are counted from the chance level where the scores are, but not from a baseline file.

        >>> BERTScorer(num_layers=4).plot_example("A book.", "A red book.").candidate.tokens
        ('[CLS]', 'a', 'book', '.', '[SEP]')
        """
        check_texts([candidate, reference])
        scorer = self._scorer.with_options(rescale=self._scorer.rescale, idf=self._weights)
        explanation = scorer.explain(candidate.strip(), reference.strip())
        if os.fspath(fname):
            from softset.similarity.explain.plot import save_png

            save_png(explanation, fname)
        return explanation

    def __repr__(self) -> str:
        return f"BERTScorer(model_type={self._model!r}, num_layers={self._layer}, metric={self._metric})"

    # What does it

    @cached_property
    def _scorer(self) -> Scorer:
        return self._scorer_at(self._layer)

    def _scorer_at(self, layer: int | float | str | None) -> Scorer:
        encoder = open_encoder(self._model, layer, self.device)
        matched = isinstance(self._metric, MatchedBertScore)
        return Scorer(
            MatchingEncoder(encoder) if matched else encoder,
            metric=self._metric,
            rescale="chance" if self._chance else None,
        )

    def _scorers(self) -> Iterator[Scorer]:
        """Yield the scorer, or one for every layer: one after the other, since each has the model in memory."""
        depth = depth_of(open_encoder(self._model, None, self.device)) if self.all_layers else None
        if depth is None:
            yield self._scorer
            return
        for layer in range(depth + 1):
            yield self._scorer_at(layer)

    def _rescaled(self, scores: Scores, layer: int | None) -> tuple[PRF, str]:
        """Return the numbers counted from the baseline file, if there is one, and the signature that says so."""
        numbers = PRF(scores.precision, scores.recall, scores.score)
        if self._baselines is None:
            return numbers, scores.signature
        facts = parse_signature(scores.signature)
        levels = ",".join(f"{level:.6g}" for level in self._baselines.at(layer))
        told = {"softset": facts.pop("softset"), "rescale": f"baseline({levels})", **facts}
        return self._baselines.rescale(numbers, scores.empty, layer), format_signature(told)


def bundled_baselines(model: Any, metric: Metric) -> Path | None:
    """Return the file of measured levels that ships with the bundled model, for bert_score's own metric."""
    plain = isinstance(metric, BertScore) and not _more(metric)
    return bundled_file(BUNDLED_BASELINES) if model == BUNDLED and plain else None


def _metric(given: Metric, idf: Any) -> Metric:
    """Return the metric that weighs tokens as asked, and matches as bert_score does if it is its own."""
    if not isinstance(idf, bool | Idf):
        raise InputError(f"idf is of type {type(idf).__name__}, but True, False or softset.Idf.fit(texts) was wanted")
    wanted = given
    if idf is not False and not given.needs_idf:
        weights = {one.name: one.default for one in fields(given)}.get("weights")
        if weights is None or _more(given, "weights"):
            raise InputError(f"{given} does not weigh tokens by their rarity: leave idf out")
        wanted = replace(given, weights="idf")  # type: ignore[call-arg]  # only those that have weights get here
    return MatchedBertScore(wanted.weights) if type(wanted) is BertScore else wanted


def _more(metric: Metric, *names: str) -> bool:
    """Tell whether parameters of a metric (all but idf weights, or those named) differ from the defaults."""
    some = [one for one in fields(metric) if not names or one.name in names]
    return any(getattr(metric, one.name) not in (one.default, "idf") for one in some)


def _must_have_chance(metric: Metric) -> None:
    if not isinstance(metric, SubspaceBertScore) or isinstance(metric, Johnson):
        raise InputError(
            f"rescale_with_baseline for {metric} and this model needs baseline_path=..., a file with the header "
            "LAYER,P,R,F; or give "
            "softset.score rescale=softset.Calibration.fit(texts, metric=...), the level of your own texts"
        )


def _check_counts(batch_size: Any, nthreads: Any) -> None:
    for name, value, least in (("batch_size", batch_size, 1), ("nthreads", nthreads, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InputError(f"{name} is {value!r}, but a whole number of at least {least} was wanted")


def _told(done: int, total: int) -> None:
    sys.stderr.write(f"\r{done:,} of {total:,} pairs")
    sys.stderr.flush()
