"""Comparison of systems with a baseline on several metrics: means, intervals, differences and p values."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from softset import __version__
from softset.encoders.signature import format_signature
from softset.errors import InputError, ShapeError
from softset.evaluation.significance import (
    Estimate,
    as_scores,
    check_draws,
    estimates,
    mean_statistic,
    randomisation_p_values,
)
from softset.evaluation.tables import latex_escape, latex_row, text_table
from softset.io.text import counted, printable

__all__ = ["Comparison", "SystemResult", "compare"]

RIGHT_ALIGNED = (False, True, False, False, True, True)


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
        if self.mean.p is None or self.p_randomisation is None:
            return ""
        p = max(self.mean.p, self.p_randomisation)
        return "**" if p < 0.01 else "*" if p < 0.05 else ""

    def cells(self) -> list[str]:
        """Return mean, interval, difference and p values as text.

        >>> SystemResult(Estimate(0.5, 0.4, 0.6)).cells()
        ['0.5000', '0.4000 to 0.6000', '', '', '']
        """
        mean, low, high = (f"{number:.4f}" for number in self.mean[:3])
        if self.difference is None or self.mean.p is None or self.p_randomisation is None:
            return [mean, f"{low} to {high}", "", "", ""]
        difference = f"{self.difference:+.4f} {self.marks}".rstrip()
        p_values = (f"{p:.4f}" if p >= 0.00005 else "<0.0001" for p in (self.mean.p, self.p_randomisation))
        return [mean, f"{low} to {high}", difference, *p_values]


@dataclass(frozen=True)
class Comparison:
    """The results of several systems on several metrics; the first system is the baseline. `str` gives a table.

    >>> comparison = compare({"old": {"F1": [0.1, 0.4, 0.5]}, "new": {"F1": [0.3, 0.5, 0.7]}})
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
        """Return everything as plain values, ordered by metric and then by system.

        >>> compare({"a": {"F1": [1.0, 2.0]}, "b": {"F1": [1.0, 2.0]}}).to_dict()["results"][1]["p_bootstrap"]
        1.0
        """
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
        """Return everything as JSON on one line.

        >>> compare({"a": {"F1": [1.0, 2.0]}, "b": {"F1": [1.0, 2.0]}}).to_json()[:30]
        '{"signature": "bootstrap:1000|'
        """
        return json.dumps(self.to_dict(), allow_nan=False)

    def __str__(self) -> str:
        header = ["system", "mean", f"{self._percent}% interval", "difference", "p bootstrap", "p randomisation"]
        keys = list(product(self.metrics, self.systems))
        rows = [[system, *self[system, metric].cells()] for metric, system in keys]
        first, *lines = text_table([header, *rows], RIGHT_ALIGNED)
        size = len(self.systems)
        blocks = [
            "\n".join([printable(metric), first, *lines[index * size : (index + 1) * size]])
            for index, metric in enumerate(self.metrics)
        ]
        return "\n\n".join([*blocks, self._legend()])

    def to_latex(self) -> str:
        r"""Return a LaTeX tabular for the package booktabs, with the signatures as comments.

        >>> print(compare({"a": {"F1": [1.0, 2.0]}, "b_2": {"F1": [1.0, 2.0]}}).to_latex().splitlines()[6])
        & b\_2 & 1.5000 & 1.0000 to 2.0000 & $+0.0000$ & 1.0000 & 1.0000 \\
        """
        header = ["Metric", "System", "Mean", rf"{self._percent}\% interval", "Difference", "$p$ bootstrap"]
        lines = [r"\toprule", latex_row([*header, "$p$ randomisation"])]
        for metric in self.metrics:
            lines.append(r"\midrule")
            for system in self.systems:
                mean, interval, difference, *p_values = self[system, metric].cells()
                number, _, marks = difference.partition(" ")
                change = f"${number}{f'^{{{marks}}}' if marks else ''}$" if number else ""
                name = latex_escape(metric) if system == self.baseline else ""
                cells = [name, latex_escape(system), mean, interval, change, *map(latex_escape, p_values)]
                lines.append(latex_row(cells))
        comments = [f"% {printable(line)}" for line in (self.signature, *self.signatures.values())]
        legend = [f"% {line}" for line in self._legend().splitlines()]
        return "\n".join([*comments, r"\begin{tabular}{llrrlrr}", *lines, r"\bottomrule", r"\end{tabular}", *legend])

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


def compare(
    scores: Mapping[str, Mapping[str, npt.ArrayLike]],
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

    >>> print(compare({"old": {"F1": [0.1, 0.4, 0.5, 0.2]}, "new": {"F1": [0.3, 0.5, 0.6, 0.4]}}))
    F1
    system    mean  95% interval      difference  p bootstrap  p randomisation
    old     0.3000  0.1500 to 0.4500
    new     0.4500  0.3500 to 0.5500  +0.1500          0.0010           0.1254
    <BLANKLINE>
    Differences to old over 4 segments; * both p < 0.05, ** both p < 0.01.
    Paired bootstrap with 1,000 samples, approximate randomisation with 10,000 swaps, seed 12345.
    """
    check_draws(swaps, seed, "swaps")
    systems, metrics = _names(scores)
    options: dict[str, Any] = {"samples": samples, "seed": seed, "confidence": confidence}
    results: dict[tuple[str, str], SystemResult] = {}
    for metric in metrics:
        rows = _score_rows(scores, systems, metric)
        baseline, *others = estimates(mean_statistic(rows), rows.shape[1], baseline=0, **options)
        results[systems[0], metric] = SystemResult(baseline)
        differences = rows[1:] - rows[0]
        p_values = randomisation_p_values(differences, samples=swaps, seed=seed)
        tested = zip(others, differences.mean(axis=1).tolist(), p_values.tolist(), strict=True)
        for system, result in zip(systems[1:], tested, strict=True):
            results[system, metric] = SystemResult(*result)
    segments = rows.shape[1]
    return Comparison(systems, metrics, results, segments, samples, swaps, seed, confidence, dict(signatures or {}))


def _names(scores: Mapping[str, Mapping[str, npt.ArrayLike]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the systems and the metrics, which must be the same for all systems."""
    systems = tuple(scores)
    if len(systems) < 2:
        count = "1 was" if systems else "0 were"
        raise InputError(f"a comparison needs a baseline and at least one other system, but {count} given")
    metrics = tuple(scores[systems[0]])
    if not metrics:
        raise InputError(f"{systems[0]} has no scores: give at least one metric")
    for system in systems:
        if set(scores[system]) != set(metrics):
            own, expected = (", ".join(scores[name]) or "none" for name in (system, systems[0]))
            raise InputError(f"{system} has the metrics {own}, but {systems[0]} has {expected}: give the same for all")
    return systems, metrics


def _score_rows(
    scores: Mapping[str, Mapping[str, npt.ArrayLike]], systems: tuple[str, ...], metric: str
) -> npt.NDArray[np.float64]:
    """Return all systems' scores of a metric as rows (k, n); raise ShapeError if the numbers of segments differ."""
    rows = [as_scores(scores[system][metric], f"{metric} scores of {system}") for system in systems]
    expected = len(as_scores(next(iter(scores[systems[0]].values()))))
    for row, system in zip(rows, systems, strict=True):
        if len(row) != expected:
            raise ShapeError(
                f"{system} has {len(row):,} scores of {metric}, but {systems[0]} has {expected:,}: "
                "give one per segment for all systems and metrics"
            )
    return np.stack(rows)
