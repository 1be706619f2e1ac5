"""Systems against a baseline, on several metrics: means, intervals, differences and how sure they are."""

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
from softset.evaluation import tables
from softset.evaluation.resampling import as_scores, check_draws
from softset.evaluation.significance import Interval, bootstrap_p_values, intervals, randomisation_p_values

__all__ = ["Comparison", "Entry", "compare"]

Rows = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Entry:
    """One system on one metric; the baseline differs from nothing, and has no p values.

    >>> Entry(Interval(0.5, 0.4, 0.6), difference=0.1, p_bootstrap=0.001, p_randomisation=0.03).marks
    '*'
    """

    interval: Interval
    difference: float | None = None
    p_bootstrap: float | None = None
    p_randomisation: float | None = None

    @property
    def mean(self) -> float:
        """The mean score."""
        return self.interval.mean

    @property
    def marks(self) -> str:
        """Two stars where both tests give p below .01, one where both give p below .05."""
        if self.p_bootstrap is None or self.p_randomisation is None:
            return ""
        p = max(self.p_bootstrap, self.p_randomisation)
        return "**" if p < 0.01 else "*" if p < 0.05 else ""


@dataclass(frozen=True)
class Comparison:
    """Systems by metrics; the first system is the baseline. `str` gives a table.

    >>> compared = compare({"old": {"f1": [0.1, 0.4, 0.5]}, "new": {"f1": [0.3, 0.5, 0.7]}})
    >>> round(compared["new", "f1"].difference, 2), compared.baseline
    (0.17, 'old')
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    entries: Mapping[tuple[str, str], Entry]
    segments: int
    samples: int
    swaps: int
    seed: int
    confidence: float
    signatures: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, place: tuple[str, str]) -> Entry:
        return self.entries[place]

    def __str__(self) -> str:
        return tables.as_text(self)

    @property
    def baseline(self) -> str:
        """The system that the others are compared with."""
        return self.systems[0]

    @property
    def signature(self) -> str:
        """What made these numbers, beside the signatures of the metrics."""
        tests = {"bootstrap": self.samples, "randomisation": self.swaps, "confidence": self.confidence}
        return format_signature({**tests, "seed": self.seed, "segments": self.segments, "softset": __version__})

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; the order is that of the metrics, then of the systems.

        >>> compare({"a": {"f1": [1.0, 2.0]}, "b": {"f1": [1.0, 2.0]}}).to_dict()["results"][1]["p_bootstrap"]
        1.0
        """
        results = []
        for metric, system in product(self.metrics, self.systems):
            entry = self[system, metric]
            p_values = {"p_bootstrap": entry.p_bootstrap, "p_randomisation": entry.p_randomisation}
            named = {"metric": metric, "system": system}
            results.append({**named, **entry.interval._asdict(), "difference": entry.difference, **p_values})
        return {
            "signature": self.signature,
            "signatures": dict(self.signatures),
            "baseline": self.baseline,
            "segments": self.segments,
            "samples": self.samples,
            "swaps": self.swaps,
            "seed": self.seed,
            "confidence": self.confidence,
            "results": results,
        }

    def to_json(self) -> str:
        """Return what programs read, on one line.

        >>> compare({"a": {"f1": [1.0, 2.0]}, "b": {"f1": [1.0, 2.0]}}).to_json()[:30]
        '{"signature": "bootstrap:1000|'
        """
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_latex(self) -> str:
        r"""Return a table for a paper, which needs the package booktabs.

        >>> print(compare({"a": {"f1": [1.0, 2.0]}, "b_2": {"f1": [1.0, 2.0]}}).to_latex().splitlines()[6])
        & b\_2 & 1.5000 & 1.0000 to 2.0000 & $+0.0000$ & 1.0000 & 1.0000 \\
        """
        return tables.as_latex(self)


def compare(
    scores: Mapping[str, Mapping[str, npt.ArrayLike]],
    *,
    samples: int = 1000,
    swaps: int = 10_000,
    seed: int = 12345,
    confidence: float = 0.95,
    signatures: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare systems with the first of them, on the same segments.

    Args:
        scores: For each system the metrics, and for each metric one score a segment.
        samples: Draws of the bootstrap, for the intervals and for its p values.
        swaps: Draws of the approximate randomisation.
        seed: The same seed gives the same numbers.
        confidence: How often the interval should hold the true mean.
        signatures: What made the scores of a metric, to be kept with the result.

    >>> print(compare({"old": {"f1": [0.1, 0.4, 0.5, 0.2]}, "new": {"f1": [0.3, 0.5, 0.6, 0.4]}}))
    f1
    system    mean  95% interval      difference  p bootstrap  p randomisation
    old     0.3000  0.1500 to 0.4500
    new     0.4500  0.3500 to 0.5500  +0.1500          0.0010           0.1254
    <BLANKLINE>
    Differences to old over 4 segments; * where both p < 0.05, ** where both p < 0.01.
    Paired bootstrap of 1,000 samples, approximate randomisation of 10,000 swaps, seed 12345.
    """
    check_draws(swaps, seed, "swaps")
    systems, metrics = _names(scores)
    rows = _rows(scores, systems, metrics)
    found = intervals(rows, samples=samples, seed=seed, confidence=confidence)
    first = rows[: len(metrics)]
    differences = (rows.reshape(len(systems), *first.shape) - first)[1:].reshape(-1, rows.shape[1])
    bootstrap = bootstrap_p_values(differences, samples=samples, seed=seed).tolist()
    randomisation = randomisation_p_values(differences, samples=swaps, seed=seed).tolist()
    of_baseline = [Entry(one) for one in found[: len(metrics)]]
    means = differences.mean(axis=1).tolist()
    others = map(Entry, found[len(metrics) :], means, bootstrap, randomisation)
    entries = dict(zip(product(systems, metrics), [*of_baseline, *others], strict=True))
    return Comparison(
        systems, metrics, entries, rows.shape[1], samples, swaps, seed, confidence, dict(signatures or {})
    )


def _names(scores: Mapping[str, Mapping[str, npt.ArrayLike]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the systems and the metrics, which all systems share."""
    systems = tuple(scores)
    if len(systems) < 2:
        given = "1 was" if systems else "0 were"
        raise InputError(f"a comparison needs a baseline and at least one other system, but {given} given")
    metrics = tuple(scores[systems[0]])
    if not metrics:
        raise InputError(f"{systems[0]} has no scores: at least one metric was wanted")
    for system in systems:
        if set(scores[system]) != set(metrics):
            given, wanted = (", ".join(scores[one]) or "none" for one in (system, systems[0]))
            raise InputError(f"{system} has the metrics {given}, and {systems[0]} has {wanted}: the same were wanted")
    return systems, metrics


def _rows(
    scores: Mapping[str, Mapping[str, npt.ArrayLike]], systems: tuple[str, ...], metrics: tuple[str, ...]
) -> Rows:
    """Return all scores as rows (systems x metrics, n), checked to be of the same segments."""
    places = list(product(systems, metrics))
    rows = [as_scores(scores[system][metric], f"{metric} scores of {system}") for system, metric in places]
    for row, (system, metric) in zip(rows, places, strict=True):
        if len(row) != len(rows[0]):
            raise ShapeError(
                f"{system} has {len(row):,} scores of {metric}, but {systems[0]} has {len(rows[0]):,} of {metrics[0]}: "
                "one a segment was wanted of all"
            )
    return np.stack(rows)
