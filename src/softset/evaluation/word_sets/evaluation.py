"""Evaluation of word vectors on the four tasks of set retrieval, with intervals and paired tests over queries."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from softset.evaluation.significance import Estimate, Floats, estimates, mean_statistic, randomisation_p_values
from softset.evaluation.tables import ResultRow
from softset.evaluation.word_sets.data import TASKS, Concepts, SetTask, draw_tasks
from softset.evaluation.word_sets.methods import BASELINE, DEFAULT, QueryScorer, SetMethod
from softset.query.background import Background, sample_words
from softset.vectors.matching import find_token
from softset.vectors.vocabulary import Vocabulary

RANDOM = "random"
CUTOFFS = {"R@10": 10, "R@100": 100, "R@1k": 1000}
METRICS = (*CUTOFFS, "MAP", "median", "nDCG", "A outside B", "leak", "difference")

Column = tuple[str, str]  # task and metric


def target_ranks(
    scores: npt.NDArray[np.floating],
    known: npt.NDArray[np.bool_],
    shown: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
) -> list[Floats]:
    """Return the rank of each target of each query, from scores (q, v) of all words.

    Words that a query shows are not ranked. Equal scores share the mean of their ranks, so the order of the vocabulary
    does not matter. Words without a vector rank last.
    """
    ranks = []
    for row, query, query_targets in zip(scores, shown, targets, strict=True):
        ranked = known.copy()
        ranked[list(query)] = False
        ordered = np.sort(row[ranked])
        values = row[list(query_targets)]
        above = len(ordered) - np.searchsorted(ordered, values, side="right")
        at_least = len(ordered) - np.searchsorted(ordered, values, side="left")
        last = len(row) - len(set(query))
        ranks.append(np.where(known[list(query_targets)], (above + 1 + at_least) / 2, last))
    return ranks


def ndcg(ranks: Floats) -> float:
    """Return the normalised discounted cumulative gain of the targets' ranks."""
    ideal = np.arange(1, len(ranks) + 1)
    return float((1 / np.log2(ranks + 1)).sum() / (1 / np.log2(ideal + 1)).sum())


def average_precision(ranks: Floats) -> float:
    """Return the average precision of the targets' ranks: the mean of the precision at each target.

    >>> average_precision(np.array([4.0, 1.0]))
    0.75
    """
    return float((np.arange(1, len(ranks) + 1) / np.sort(ranks)).mean())


def median_rank(ranks: Sequence[Floats], *, samples: int, seed: int) -> Estimate:
    """Return the median rank of all targets, with its bootstrap interval over queries."""
    values = np.concatenate(ranks)
    order = np.argsort(values, kind="stable")
    owner = np.repeat(np.arange(len(ranks)), list(map(len, ranks)))[order]

    def medians(counts: Floats) -> Floats:
        cumulative = counts[owner].cumsum(axis=0)
        half = cumulative[-1] / 2
        lower, upper = (cumulative >= half).argmax(axis=0), (cumulative > half).argmax(axis=0)
        return np.asarray(values[order][[lower, upper]].mean(axis=0, keepdims=True))

    (result,) = estimates(medians, len(ranks), samples=samples, seed=seed)
    return result


@dataclass(frozen=True)
class _Measurement:
    """The values (q,) of all queries by task and metric, and the ranks of all targets by task."""

    values: dict[Column, Floats] = field(default_factory=dict)
    ranks: dict[str, list[Floats]] = field(default_factory=dict)


class WordSetEvaluation:
    """The evaluation of one collection of word vectors on the four tasks.

    Args:
        words: The vectors.
        concepts: The sets.
        split: The split whose sets are the queries.
        seed: Seed of pairs, random rankings and resampling.
        samples: Draws of the bootstrap and of the paired test.
        limit: Maximum number of queries of a task.
        title: Prefix of the methods' names, to tell several vectors apart.
        baseline: The method that the others are tested against.
    """

    def __init__(
        self,
        words: Vocabulary,
        concepts: Concepts,
        *,
        split: str = "test",
        seed: int = 12345,
        samples: int = 1000,
        limit: int | None = None,
        title: str = "",
        baseline: SetMethod = BASELINE,
    ) -> None:
        self.words, self.concepts, self.seed, self.samples, self.baseline = words, concepts, seed, samples, baseline
        self.prefix = f"{title}: " if title else ""
        tokens = [find_token(words.words, word) for word in concepts.words]
        self.known = np.array([token is not None for token in tokens])
        self._indices = [token[1] for token in tokens if token is not None]
        self.tasks = draw_tasks(concepts, self.known, split=split, seed=seed, limit=limit)
        self.measured: dict[str, _Measurement] = {}
        self._shown = {task.name: [task.shown(concepts, query) for query in range(len(task))] for task in self.tasks}

    def rows(self, methods: Sequence[SetMethod], progress: Callable[[int, int], None] | None = None) -> list[ResultRow]:
        """Return the rows of a random ranking and of the methods."""
        rng = np.random.default_rng(self.seed)
        self._measure(RANDOM, lambda task: rng.random((len(task), len(self.known))))
        for name, group in groupby(methods, lambda method: method.preprocessing):
            scorer = self._scorer(name)
            for method in group:
                self._measure(method.name, partial(scorer.scores, method.leaf, method.logic))
                if progress is not None:
                    progress(len(self.measured) - 1, len(methods))
        return list(self._result_rows([RANDOM, *(method.name for method in methods)]))

    def vectors(self, preprocessing: str) -> npt.NDArray[np.float32]:
        """Return the vocabulary's unit rows (v, d) after a preprocessing; words without a vector have zeros."""
        words = self.words if preprocessing == "none" else self.words.preprocess(preprocessing)
        V = np.zeros((len(self.known), words.dimensions), dtype=np.float32)
        V[self.known] = words.normalised().take(self._indices)
        return V

    def _scorer(self, preprocessing: str) -> QueryScorer:
        """Return the scorer of the words after a preprocessing, with the background of the whole vocabulary."""
        words = self.words if preprocessing == "none" else self.words.preprocess(preprocessing)
        background = Background.of(words.take(sample_words(len(words))))
        return QueryScorer(self.concepts, self.vectors(preprocessing), self.known, background)

    def _measure(self, name: str, score: Callable[[SetTask], npt.NDArray[np.floating] | None]) -> None:
        values: dict[Column, Floats] = {}
        ranks: dict[str, list[Floats]] = {}
        for task in self.tasks:
            scores = score(task)
            if scores is not None:
                ranks[task.name] = target_ranks(scores, self.known, self._shown[task.name], task.targets)
                values |= self._values(task, scores, ranks[task.name])
        self.measured[name] = _Measurement(values, ranks)

    def _values(self, task: SetTask, scores: npt.NDArray[np.floating], ranks: list[Floats]) -> dict[Column, Floats]:
        """Return the values (q,) of all queries by task and metric."""
        if not task.leaks:
            values = {name: _recall(ranks, cutoff) for name, cutoff in CUTOFFS.items()}
            values["nDCG"] = np.array([ndcg(query) for query in ranks])
        else:
            leak_ranks = target_ranks(scores, self.known, self._shown[task.name], task.leaks)
            inside, leaked = (_recall(side, CUTOFFS["R@100"]) for side in (ranks, leak_ranks))
            values = {"A outside B": inside, "leak": leaked, "difference": inside - leaked}
        values["MAP"] = np.array([average_precision(query) for query in ranks])
        return {(task.name, metric): column for metric, column in values.items()}

    def _result_rows(self, methods: Sequence[str]) -> Iterator[ResultRow]:
        """Yield the rows by method, task and metric; all methods use the same draws."""
        if self.baseline.name not in self.measured:
            scorer = self._scorer(self.baseline.preprocessing)
            self._measure(self.baseline.name, partial(scorer.scores, self.baseline.leaf, self.baseline.logic))
        baseline = self.measured[self.baseline.name]
        measured = {name: self.measured[name] for name in methods}
        columns = dict.fromkeys(column for measurement in measured.values() for column in measurement.values)
        results = {column: self._test(column, measured, baseline) for column in columns}
        for name, measurement in measured.items():
            cells = {column: results[column][name] for column in measurement.values}
            for task, ranks in measurement.ranks.items():
                if (task, "R@10") in cells:
                    cells[task, "median"] = median_rank(ranks, samples=self.samples, seed=self.seed)
            default, method = name == DEFAULT, self.prefix + name
            for task, metric in sorted(cells, key=lambda column: (TASKS.index(column[0]), METRICS.index(column[1]))):
                value, low, high, p, *_ = cells[task, metric]
                n = len(measurement.ranks[task])
                yield ResultRow("sets", task, method, metric, value, n, low, high, p, default)

    def _test(self, column: Column, measured: dict[str, _Measurement], baseline: _Measurement) -> dict[str, Estimate]:
        """Return the estimate of each method in one column, with a p value if the baseline has that column."""
        names = [name for name, measurement in measured.items() if column in measurement.values]
        values = np.stack([measured[name].values[column] for name in names])
        options: dict[str, Any] = {"samples": self.samples, "seed": self.seed}
        results = dict(zip(names, estimates(mean_statistic(values), values.shape[1], **options), strict=True))
        if column in baseline.values:
            p_values = randomisation_p_values(values - baseline.values[column], **options)
            for name, p in zip(names, p_values.tolist(), strict=True):
                results[name] = results[name]._replace(p=None if name == self.baseline.name else p)
        return results


def _recall(ranks: Sequence[Floats], cutoff: int) -> Floats:
    """Return the share (q,) of each query's targets that rank up to the cutoff."""
    return np.array([(query <= cutoff).mean() for query in ranks])
