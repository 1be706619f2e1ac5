"""Semantic textual similarity: correlation of metrics with human judgements (the paper's tables 1 and 6).

Sentence 1 is the reference and sentence 2 the candidate, so precision is computed over sentence 2.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from softset.encoders.base import Encoder
from softset.encoders.pipeline import ContextualEncoder
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.evaluation.correlation import pearson_statistic, spearman_statistic
from softset.evaluation.methods import ScoringMethod, usable_methods
from softset.evaluation.metric_evaluation import MetricEvaluation, Result, TimedScores, score_blocks
from softset.evaluation.significance import Statistic
from softset.evaluation.sts_data import SentencePairs
from softset.evaluation.tables import ResultRow, ResultTable
from softset.io.checkpoint import PartFolder
from softset.io.text import counted
from softset.similarity.metrics import DEFAULT
from softset.similarity.metrics.pairs import Pairs

LAYERS = (0.5, "last")  # the middle layer and the last one
LAYER_METHODS = ("cls", "average", "bertscore", "subspace")


@dataclass(frozen=True, eq=False)
class StsEvaluation(MetricEvaluation):
    """An evaluation on datasets of sentence pairs.

    Attributes:
        all_correlations: Also compute Pearson's r and the mean rho over sub-datasets.
        padded_batch: Also score the pairs as the paper's code does, in padded batches of this size.
    """

    TASK: ClassVar[str] = "sts"
    TITLE: ClassVar[str] = "Semantic textual similarity: correlation with human judgements"
    FACTS: ClassVar[dict[str, str]] = {
        "direction": "sentence 1 is the reference, sentence 2 the candidate",
        "idf": "fitted on the distinct sentences of each dataset, both sides",
        "intervals": "95%, percentile bootstrap over pairs; for Avg from the variances of its datasets",
        "seconds": "time of the metric alone, without encoding and pairing",
    }

    all_correlations: bool = False
    padded_batch: int | None = None

    def table(self, datasets: Sequence[SentencePairs], *, parts: PartFolder | None = None) -> ResultTable:
        """Return the rows of all datasets, their average, and the time of each method."""
        table = super().table(datasets, parts=parts)
        return replace(table, rows=(*table.rows, *_times(table, [pairs.name for pairs in datasets])))

    @cached_property
    def _padded_methods(self) -> list[ScoringMethod]:
        """The methods that padded batches support."""
        probe, note = padded_sets(self.encoder, ["a"]), self.note
        return usable_methods(self.methods, probe, None, lambda text: note(f"with padding, {text}"))

    def _dataset(self, pairs: SentencePairs) -> list[Result]:
        start = time.perf_counter()
        padded = self._padded_methods if self.padded_batch else []
        texts, left, right = pairs.distinct_texts
        scores = self._score_sets(self.encoder.encode(texts, progress=self.progress), left, right)
        if self.padded_batch:
            padded_scores = score_blocks(padded, padded_blocks(self.encoder, pairs, self.padded_batch), len(pairs))
            prefix = f"paper-code(batch={self.padded_batch})/"
            scores |= {prefix + name: timed for name, timed in padded_scores.items()}
        results = self._correlations(pairs, scores)
        self.note(f"{pairs.name}: {counted(len(pairs), 'pair')} in {time.perf_counter() - start:.1f} s")
        return results

    def _correlations(self, pairs: SentencePairs, scores: dict[str, TimedScores]) -> list[Result]:
        rows, gold, n = np.stack([timed.values for timed in scores.values()]), pairs.gold, len(pairs)
        statistics = {"spearman": spearman_statistic(gold, rows)}
        if self.all_correlations and pairs.parts:
            statistics["spearman-mean"] = _part_mean(pairs, rows)
        if self.all_correlations:
            statistics["pearson"] = pearson_statistic(gold, rows)
        return self._results(pairs.name, scores, statistics, n, n)


def _part_mean(pairs: SentencePairs, rows: np.ndarray) -> Statistic:
    """Return the statistic that computes the mean of Spearman's rho over sub-datasets."""
    statistics = [(part, spearman_statistic(pairs.gold[part], rows[:, part])) for part in pairs.parts]
    return lambda counts: np.mean([statistic(counts[part]) for part, statistic in statistics], axis=0)


def _times(table: ResultTable, datasets: Sequence[str]) -> list[ResultRow]:
    """Return the time of each method on all datasets together."""
    times = []
    for method in table.methods:
        rows = [row for name in datasets if (row := table.row(method, name, "spearman")) is not None]
        seconds, n = sum(row.seconds or 0.0 for row in rows), sum(row.n for row in rows)
        times.append(ResultRow("sts", "all", method, "seconds", seconds, n, default=method == DEFAULT))
    return times


def compare_layers(
    evaluations: Sequence[StsEvaluation], pairs: SentencePairs, *, parts: PartFolder | None = None
) -> ResultTable:
    """Return one column per evaluation, named by the layer of its encoder (the paper's table 6).

    The paper compares BERT with SimCSE: token vectors before and after training for sentences. Here the middle layer
    of one model, whose vectors still represent tokens, is compared with its last layer, trained for sentences.
    """
    networks = [getattr(evaluation.encoder, "encoder", evaluation.encoder) for evaluation in evaluations]
    layers = [getattr(network, "layer", None) for network in networks]
    if None in layers:
        raise InputError("this model has no layers to compare: use a token encoder such as minilm")
    names = [f"layer {layer}" for layer in layers]
    tables = [
        evaluation.table([replace(pairs, name=f"{pairs.name}, {name}")], parts=parts)
        for name, evaluation in zip(names, evaluations, strict=True)
    ]
    rows = tuple(row for table in tables for row in table.rows if row.metric != "seconds")
    signatures = [evaluation.encoder.signature for evaluation in evaluations]
    facts = {**tables[0].facts, "encoder": dict(zip(names, signatures, strict=True))}
    title = "One vector and sets of vectors: correlation with human judgements"
    return ResultTable(title, rows, tables[0].baseline, facts)


def padded_sets(encoder: Encoder, texts: Sequence[str]) -> TokenSets:
    """Return the token sets of one padded batch, as the paper's code builds them.

    That code takes [CLS], [SEP] and the padding of a batch as tokens, so a pair's score depends on the other sentences
    of its batch. This function exists to measure the effect; nothing else in softset does so.
    """
    network = getattr(encoder, "encoder", encoder)  # a cache stores no padding
    if not isinstance(network, ContextualEncoder):
        raise InputError(
            "--paper-code needs a model that pads batches of texts, such as minilm: word vectors have no padding"
        )
    states = network.padded_states(texts)
    n, length, d = states.shape
    zeros = np.zeros(n, dtype=np.int64)
    offsets = np.arange(n + 1) * length
    return TokenSets(
        states.reshape(n * length, d), offsets, None, None, None, zeros, zeros, f"padded|{encoder.signature}"
    )


def padded_blocks(encoder: Encoder, pairs: SentencePairs, batch: int) -> Iterator[tuple[slice, Pairs]]:
    """Yield the pairs in batches; each side of a batch is padded to its own longest sentence."""
    for start in range(0, len(pairs), batch):
        block = slice(start, min(start + batch, len(pairs)))
        A, B = (padded_sets(encoder, side[block]) for side in (pairs.candidates, pairs.references))
        yield block, Pairs.of(A, B)
