"""Scoring of several systems, and their comparison with a baseline: means, intervals, differences and p values."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from softset import __version__
from softset.encoders.base import Progress
from softset.encoders.signature import format_signature
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError, NotFiniteError, ShapeError
from softset.evaluation.significance import Estimate, check_draws, estimates, mean_statistic, randomisation_p_values
from softset.evaluation.tables import latex_escape, latex_tabular, text_table
from softset.io.text import counted, printable
from softset.similarity.scorer import Scorer

RIGHT_ALIGNED = (False, True, False, False, True, True)
FLAGS = ("empty", "truncated", "unknown", "saturated")
SEGMENTS_PER_BLOCK = 512  # two systems and a reference are 1,500 texts, about 50 MB of vectors

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

    def __str__(self) -> str:
        header = ["system", "mean", f"{self._percent}% interval", "difference", "p bootstrap", "p randomisation"]
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


def compare(
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


def score_systems(
    scorers: Sequence[Scorer],
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    *,
    part: Literal["score", "precision", "recall"] = "score",
    progress: Progress | None = None,
) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, str], Counter[str]]:
    """Return each system's scores (n,) of each metric, as `compare` reads them, and the metrics' signatures.

    Every text is encoded once, whatever the number of metrics. The third value counts the flags of the first metric.

    Args:
        scorers: One scorer per metric, all with the encoder of the first.
        systems: The n texts of each system.
        references: One or several lists of n references.
        part: The number of each metric to return.
        progress: Receives the number of finished segments and of all segments.
    """
    columns = [*references, *systems.values()]
    sizes = [len(column) for column in columns]
    if not scorers or not references or len(set(sizes)) > 1 or not sizes[0]:
        raise ShapeError(
            f"there are {counted(len(scorers), 'scorer')}, {counted(len(references), 'list')} of references, and lists "
            f"of {', '.join(map(str, sizes))} texts: give at least one of each, and the same number of texts in all"
        )
    named = {}
    for scorer in scorers:  # idf weights are fitted on all references
        idf = scorer.resolve_idf([text for column in references for text in column])
        fitted = scorer if idf is None else scorer.with_options(rescale=scorer.rescale, idf=idf)
        named[f"{scorer.metric} {part}"] = fitted
    blocks: dict[str, dict[str, list[np.ndarray]]] = {system: {name: [] for name in named} for system in systems}
    signatures, flags = dict[str, str](), Counter[str]()
    for sets in _encoded_blocks(scorers[0], columns, progress):
        reference_sets, system_sets = sets[: len(references)], sets[len(references) :]
        for (system, texts), (name, scorer) in product(zip(systems, system_sets, strict=True), named.items()):
            scores = scorer.score(texts, reference_sets if len(reference_sets) > 1 else reference_sets[0])
            blocks[system][name].append(getattr(scores, part))
            if scorer.metric == scorers[0].metric:
                flags.update({flag: int(getattr(scores, flag).sum()) for flag in FLAGS})
            signatures[name] = scores.signature
    joined = {
        system: {name: np.concatenate(parts) for name, parts in metrics.items()} for system, metrics in blocks.items()
    }
    return joined, signatures, flags


def _encoded_blocks(
    scorer: Scorer, columns: Sequence[Sequence[str]], progress: Progress | None
) -> Iterator[list[TokenSets]]:
    """Yield the token sets of each column, one block of segments at a time; equal texts are encoded once."""
    count = len(columns[0])
    for start in range(0, count, SEGMENTS_PER_BLOCK):
        texts = [text for column in columns for text in column[start : start + SEGMENTS_PER_BLOCK]]
        size = len(texts) // len(columns)
        sets = scorer.encode(texts)
        yield [sets[row : row + size] for row in range(0, len(sets), size)]
        if progress is not None:
            progress(start + size, count)
