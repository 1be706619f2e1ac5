"""The comparison of systems with a baseline: means, intervals, differences and p values."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from softset import __version__
from softset.encoders.signature import format_signature
from softset.errors import InputError, NotFiniteError, ShapeError
from softset.evaluation.significance import Estimate, check_draws, estimates, mean_statistic, randomisation_p_values
from softset.evaluation.tables import latex_escape, latex_tabular, markdown_table, text_table
from softset.io.text import counted, html_table, import_pandas, printable

RIGHT_ALIGNED = (False, True, False, False, True, True)

Scores = Mapping[str, Mapping[str, npt.ArrayLike]]  # one score per segment, for each system and metric


@dataclass(frozen=True)
class SystemResult:
    """The result of one system on one metric; the baseline has no difference and no p values.

    Attributes:
        mean: The mean score with its interval and the p value of the paired bootstrap.
        difference: The difference of the means.
        p_randomisation: The p value of approximate randomisation.

    >>> SystemResult(Estimate(0.5, 0.4, 0.6, p=0.001), difference=0.1, p_randomisation=0.03).marks
    '*'
    """

    mean: Estimate
    difference: float | None = None
    p_randomisation: float | None = None

    @property
    def marks(self) -> str:
        """Two stars if both tests give p below .01, one star if both give p below .05."""
        p = max(1.0 if p is None else p for p in self._p_values)
        return "**" if p < 0.01 else "*" if p < 0.05 else ""

    @property
    def _p_values(self) -> tuple[float | None, float | None]:
        return self.mean.p, self.p_randomisation

    def cells(self) -> list[str]:
        """Return mean, interval, difference and p values as text."""
        mean, low, high = (f"{number:.4f}" for number in self.mean[:3])
        difference = "" if self.difference is None else f"{self.difference:+.4f} {self.marks}".rstrip()
        p_values = ["" if p is None else f"{p:.4f}" if p >= 0.00005 else "<0.0001" for p in self._p_values]
        return [mean, f"{low} to {high}", difference, *p_values]


@dataclass(frozen=True, repr=False)
class Comparison:
    """The results of several systems on several metrics; the first system is the baseline. `str` gives a table.

    >>> comparison = compare_scores({"old": {"F1": [0.1, 0.4, 0.5]}, "new": {"F1": [0.3, 0.5, 0.7]}})
    >>> round(comparison["new", "F1"].difference, 2), comparison.baseline
    (0.17, 'old')
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    results: Mapping[tuple[str, str], SystemResult]
    segments: int
    samples: int
    swaps: int
    seed: int
    confidence: float
    signatures: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, key: tuple[str, str]) -> SystemResult:
        return self.results[key]

    @property
    def baseline(self) -> str:
        """The system that the others are compared with."""
        return self.systems[0]

    @property
    def signature(self) -> str:
        """The settings of the tests; the signatures of the metrics are separate."""
        tests = {"bootstrap": self.samples, "randomisation": self.swaps, "confidence": self.confidence}
        return format_signature({**tests, "seed": self.seed, "segments": self.segments, "softset": __version__})

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ordered by metric and then by system."""
        results = []
        for metric, system in product(self.metrics, self.systems):
            result = self[system, metric]
            mean, low, high, p, *_ = result.mean
            row = {"metric": metric, "system": system, "mean": mean, "low": low, "high": high}
            p_values = {"p_bootstrap": p, "p_randomisation": result.p_randomisation}
            results.append({**row, "difference": result.difference, **p_values})
        names = ("signature", "signatures", "baseline", "segments", "samples", "swaps", "seed", "confidence")
        return {**{name: getattr(self, name) for name in names}, "results": results}

    def to_json(self) -> str:
        """Return everything as JSON on one line."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with one row for each metric and system; its `attrs` have the signature."""
        facts = self.to_dict()
        frame = import_pandas().DataFrame(facts["results"])
        frame.attrs["signature"] = self.signature
        return frame

    def to_markdown(self) -> str:
        """Return a Markdown table with a legend."""
        return "\n".join([*markdown_table(self._header, self._rows()), "", self._legend()])

    def _repr_html_(self) -> str:
        return html_table(self._header, self._rows(), caption=self._legend())

    @property
    def _header(self) -> list[str]:
        columns = ["mean", f"{self._percent}% interval", "difference", "p bootstrap", "p randomisation"]
        return ["metric", "system", *columns]

    def _rows(self) -> list[list[str]]:
        pairs = product(self.metrics, self.systems)
        return [[metric, system, *self[system, metric].cells()] for metric, system in pairs]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        header = self._header[1:]
        rows = [[system, *self[system, metric].cells()] for metric, system in product(self.metrics, self.systems)]
        first, *lines = text_table([header, *rows], RIGHT_ALIGNED)
        starts = range(0, len(lines), len(self.systems))
        blocks = [
            "\n".join([printable(metric), first, *lines[start : start + len(self.systems)]])
            for metric, start in zip(self.metrics, starts, strict=True)
        ]
        return "\n\n".join([*blocks, self._legend()])

    def to_latex(self) -> str:
        r"""Return a LaTeX tabular for the package booktabs, with the signatures as comments."""
        header = ["Metric", "System", "Mean", rf"{self._percent}\% interval", "Difference", "$p$ bootstrap"]
        blocks = [[[*header, "$p$ randomisation"]]]
        for metric in self.metrics:
            blocks.append([])
            for system in self.systems:
                mean, interval, difference, *p_values = self[system, metric].cells()
                number, _, marks = difference.partition(" ")
                change = f"${number}{f'^{{{marks}}}' if marks else ''}$" if number else ""
                name = latex_escape(metric) if system == self.baseline else ""
                blocks[-1].append([name, latex_escape(system), mean, interval, change, *map(latex_escape, p_values)])
        comments = [f"% {printable(line)}" for line in (self.signature, *self.signatures.values())]
        legend = [f"% {line}" for line in self._legend().splitlines()]
        return "\n".join([*comments, *latex_tabular("llrrlrr", blocks), *legend])

    @property
    def _percent(self) -> str:
        return f"{100 * self.confidence:.6g}"

    def _legend(self) -> str:
        count = (len(self.systems) - 1) * len(self.metrics)
        several = f"; p values are not corrected for the {count} comparisons" if count > 1 else ""
        return (
            f"Differences to {printable(self.baseline)} over {counted(self.segments, 'segment')}; "
            "* both p < 0.05, ** both p < 0.01.\n"
            f"Paired bootstrap with {self.samples:,} samples, approximate randomisation with {self.swaps:,} swaps, "
            f"seed {self.seed}{several}."
        )


def compare_scores(
    scores: Scores,
    *,
    samples: int = 1000,
    swaps: int = 10_000,
    seed: int = 12345,
    confidence: float = 0.95,
    signatures: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare systems with the first of them, the baseline, on the same segments.

    Args:
        scores: For each system and metric, one score per segment.
        samples: Bootstrap draws for intervals and p values.
        swaps: Draws of the approximate randomisation test.
        seed: Random seed.
        confidence: Confidence level of the intervals.
        signatures: The signature of each metric, stored with the result.

    >>> print(compare_scores({"old": {"F1": [0.1, 0.4, 0.5, 0.2]}, "new": {"F1": [0.3, 0.5, 0.6, 0.4]}}))
    F1
    system    mean  95% interval      difference  p bootstrap  p randomisation
    old     0.3000  0.1500 to 0.4500
    new     0.4500  0.3500 to 0.5500  +0.1500          0.0010           0.1254
    <BLANKLINE>
    Differences to old over 4 segments; * both p < 0.05, ** both p < 0.01.
    Paired bootstrap with 1,000 samples, approximate randomisation with 10,000 swaps, seed 12345.
    """
    check_draws(swaps, seed, "swaps")
    rows_by_metric = _score_rows(scores)
    results: dict[tuple[str, str], SystemResult] = {}
    for metric, rows in rows_by_metric.items():
        segments, differences = rows.shape[1], rows - rows[0]
        means = estimates(mean_statistic(rows), segments, baseline=0, samples=samples, seed=seed, confidence=confidence)
        p_values = randomisation_p_values(differences, samples=swaps, seed=seed)
        tested = zip(scores, means, differences.mean(axis=1).tolist(), p_values.tolist(), strict=True)
        results |= {(system, metric): SystemResult(*result) for system, *result in tested}
        baseline = next(iter(scores)), metric
        results[baseline] = SystemResult(means[0])
    systems, metrics = tuple(scores), tuple(rows_by_metric)
    return Comparison(systems, metrics, results, segments, samples, swaps, seed, confidence, dict(signatures or {}))


def _score_rows(scores: Scores) -> dict[str, npt.NDArray[np.float64]]:
    """Return each metric's scores of all systems (k, n), which must be complete."""
    if len(scores) < 2:
        raise InputError(f"a comparison needs a baseline and at least one other system, but {len(scores)} were given")
    metrics = tuple(next(iter(scores.values())))
    if not metrics or any(set(values) != set(metrics) for values in scores.values()):
        names = "; ".join(f"{system} has {', '.join(values) or 'none'}" for system, values in scores.items())
        raise InputError(f"all systems need the same metrics, at least one, but {names}")
    try:
        rows = np.array([[values[metric] for values in scores.values()] for metric in metrics], dtype=np.float64)
    except (ValueError, TypeError):
        rows = np.empty(0)
    if rows.ndim != 3 or not rows.size:
        raise ShapeError("the scores are not lists of numbers of the same length: give one number per segment")
    if not np.isfinite(rows).all():
        metric, system, segment = np.argwhere(~np.isfinite(rows))[0]
        name = f"{metrics[metric]} scores of {list(scores)[system]}"
        raise NotFiniteError(f"the {name} contain {rows[metric, system, segment]} at segment {segment}")
    return dict(zip(metrics, rows, strict=True))
