"""What a method found, as rows: means over queries with intervals, and paired tests against the baseline."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from softset.evaluation.results import Row
from softset.evaluation.sets.measures import METRICS, Ranks, median
from softset.evaluation.sets.methods import DEFAULT
from softset.evaluation.significance import Interval, intervals, randomisation_p_values

__all__ = ["Found", "Reporter"]

CONFIDENCE = 0.95

Values = npt.NDArray[np.float64]
Cell = tuple[str, str, str]  # method, dataset, metric


@dataclass
class Found:
    """The values (q,) of all queries by dataset and metric, the ranks of all targets by dataset, and the time."""

    values: dict[tuple[str, str], Values] = field(default_factory=dict)
    ranks: dict[str, Ranks] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Reporter:
    """Makes rows: draws by a seed, what stands before methods' names, the number of queries, and the baseline."""

    samples: int
    seed: int
    title: str
    queries: int
    baseline: str

    def rows(self, found: dict[str, Found], baseline: Found) -> list[Row]:
        """Return the rows of some methods, by method, dataset and metric, tested against what the baseline found."""
        cells: dict[Cell, tuple[Interval, float | None, int]] = {}
        for column in dict.fromkeys(column for one in found.values() for column in one.values):
            cells |= self._tested(column, found, baseline)
        for name, one in found.items():
            for dataset, ranks in one.ranks.items():
                if (dataset, METRICS[0]) in one.values:
                    pooled = median(ranks, samples=self.samples, seed=self.seed, confidence=CONFIDENCE)
                    cells[name, dataset, "median"] = (pooled, None, len(ranks))
        return list(self._in_order(found, cells))

    def _tested(
        self, column: tuple[str, str], found: dict[str, Found], baseline: Found
    ) -> dict[Cell, tuple[Interval, float | None, int]]:
        """Return one column: all methods by the same draws."""
        names = [name for name, one in found.items() if column in one.values]
        values = np.stack([found[name].values[column] for name in names])
        spans = intervals(values, samples=self.samples, seed=self.seed, confidence=CONFIDENCE)
        tests: list[float | None] = [None] * len(names)  # where the baseline has no such number
        if column in baseline.values:
            differences = values - baseline.values[column]
            tests = randomisation_p_values(differences, samples=self.samples, seed=self.seed).tolist()
        return {
            (name, *column): (span, None if name == self.baseline else p, values.shape[1])
            for name, span, p in zip(names, spans, tests, strict=True)
        }

    def _in_order(
        self, found: dict[str, Found], cells: dict[Cell, tuple[Interval, float | None, int]]
    ) -> Iterator[Row]:
        for name, one in found.items():
            default = name == DEFAULT
            for dataset in one.ranks:
                own = [metric for method, where, metric in cells if (method, where) == (name, dataset)]
                for metric in sorted(own, key=lambda metric: METRICS.index(metric) if metric in METRICS else 0):
                    span, p, n = cells[name, dataset, metric]
                    method = self.title + name
                    yield Row("sets", dataset, method, metric, *_span(span, n), p, one.seconds, default)
            yield Row("sets", "all", self.title + name, "seconds", one.seconds, self.queries, default=default)


def _span(span: Interval, n: int) -> tuple[float, int, float, float]:
    return span.mean, n, span.low, span.high
