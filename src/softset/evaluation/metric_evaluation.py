"""Base class of evaluations that compare metrics on datasets: scoring, estimates per dataset, and averages."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from softset.encoders.base import Encoder, Progress
from softset.encoders.tokensets import TokenSets
from softset.evaluation.methods import BASELINE, ScoringMethod, usable_methods
from softset.evaluation.significance import Estimate, Statistic, average_estimates, check_draws, estimates
from softset.evaluation.tables import ResultRow, ResultTable
from softset.similarity.idf import Idf
from softset.similarity.metrics import DEFAULT, PRF
from softset.similarity.metrics.pairs import Pairs, pair_blocks
from softset.similarity.rescaling import chance_levels, pair_levels, rescale_scores

AVERAGE = "Avg"

Result = tuple[ResultRow, Estimate]


def score_blocks(
    methods: Sequence[ScoringMethod], blocks: Iterable[tuple[slice, Pairs]], n: int, moment: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Return the scores of n pairs by every method; chance rescaling uses the second moment."""
    computations = {method.computation: method for method in methods}
    numbers = {name: np.zeros((3, n)) for name in computations}
    for block, pairs in blocks:
        for name, method in computations.items():
            numbers[name][:, block] = _score(method, pairs, moment)
    return {method.name: getattr(PRF(*numbers[method.computation]), method.field) for method in methods}


def _score(method: ScoringMethod, pairs: Pairs, moment: np.ndarray | None) -> PRF:
    numbers = method.metric.resolve(has_moment=pairs.moment is not None).compute(pairs)
    levels = chance_levels(method.metric, pairs, moment).of_sets if method.chance else None
    if levels is None:
        return numbers
    empty = pairs.empty[0::2] | pairs.empty[1::2]
    return rescale_scores(numbers, pair_levels(levels[0::2], levels[1::2]), empty)


@dataclass(frozen=True, eq=False)
class MetricEvaluation:
    """An encoder, the methods to compare, and the settings of the bootstrap.

    Attributes:
        encoder: Encodes the texts.
        methods: The methods to compare; those that the encoder does not support are left out.
        samples: Bootstrap draws.
        seed: Seed of all random numbers.
        note: Receives a sentence for each method left out and for each finished dataset.
        progress: Receives the number of finished texts and of all texts.
        facts: Facts about the data, such as their checksums.
    """

    TASK: ClassVar[str] = ""
    TITLE: ClassVar[str] = ""
    FACTS: ClassVar[dict[str, str]] = {}
    UNIT: ClassVar[str] = "sentences"  # what `progress` counts

    encoder: Encoder
    methods: Sequence[ScoringMethod]
    samples: int = 1000
    seed: int = 12345
    note: Callable[[str], None] = lambda _: None
    progress: Progress | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_draws(self.samples, self.seed)
        methods = usable_methods(self.methods, self.encoder.encode(["a"]), self._moment, self.note)
        object.__setattr__(self, "methods", methods)

    def _facts(self) -> dict[str, Any]:
        """Return the settings that determine the results, for the table."""
        others = ("encoder", "methods", "note", "progress", "chrf", "facts")
        options = {option.name: getattr(self, option.name) for option in fields(self) if option.name not in others}
        return {"encoder": self.encoder.signature, **options, **self.FACTS, **self.facts}

    @property
    def _moment(self) -> np.ndarray | None:
        moment: np.ndarray | None = getattr(self.encoder, "second_moment", None)
        return moment

    def table(self, datasets: Sequence[Any]) -> ResultTable:
        """Return the rows of all datasets of the task, and their average if there is more than one."""
        results = [self._dataset(dataset) for dataset in datasets]
        rows = [row for dataset in results for row, _ in dataset]
        averages = self._averages(results) if len(results) > 1 else []
        baseline = BASELINE if any(row.method == BASELINE for row in rows) else None
        return ResultTable(self.TITLE, (*rows, *averages), baseline, self._facts())

    def _dataset(self, dataset: Any) -> list[Result]:
        """Return the results of one dataset."""
        raise NotImplementedError

    def _score_sets(self, sets: TokenSets, left: np.ndarray, right: np.ndarray) -> dict[str, np.ndarray]:
        """Return the scores of the sets at two lists of indices (n,); idf weights are fitted on all sets."""
        idf = Idf.count([sets]) if any(method.metric.needs_idf for method in self.methods) else None
        blocks = pair_blocks(sets, sets, left, right, idf, self._moment)
        return score_blocks(self.methods, blocks, len(left), self._moment)

    def _results(
        self, dataset: str, scores: dict[str, np.ndarray], statistics: dict[str, Statistic], segments: int, n: int
    ) -> list[Result]:
        """Return the rows of one dataset: the statistics of all methods over `segments` that are resampled."""
        names, results = list(scores), list[Result]()
        index = names.index(BASELINE) if BASELINE in names else None
        options: dict[str, Any] = {"baseline": index, "samples": self.samples, "seed": self.seed, "stream": dataset}
        for metric, statistic in statistics.items():
            for name, result in zip(names, estimates(statistic, segments, **options), strict=True):
                results.append((self._row(dataset, name, metric, result, n), result))
        return results

    def _row(self, dataset: str, method: str, metric: str, result: Estimate, n: int) -> ResultRow:
        value, low, high, p, *_ = result
        is_default = method == DEFAULT
        return ResultRow(self.TASK, dataset, method, metric, value, n, low, high, p, is_default)

    def _averages(self, results: Sequence[Sequence[Result]]) -> list[ResultRow]:
        """Return the mean over datasets of each metric and method that all datasets have."""
        datasets = [{(row.metric, row.method): (row, result) for row, result in dataset} for dataset in results]
        averages = []
        for metric, method in datasets[0]:
            if not all((metric, method) in dataset for dataset in datasets):
                continue
            rows, own = zip(*(dataset[metric, method] for dataset in datasets), strict=True)
            baseline = [dataset[metric, BASELINE][1] for dataset in datasets if (metric, BASELINE) in dataset]
            mean = average_estimates(own, baseline if baseline and method != BASELINE else None, self.samples)
            averages.append(self._row(AVERAGE, method, metric, mean, sum(row.n for row in rows)))
        return averages
