"""Semantic textual similarity: how well metrics agree with people on pairs of sentences (the paper's tables 1 and 6).

Sentence 1 is the reference and sentence 2 the candidate, so that precision is over sentence 2.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from softset.evaluation.agreement import Finding, averaged, measure
from softset.evaluation.methods import BASELINE, DEFAULT, Method, usable_methods
from softset.evaluation.paper_code import label, padded_blocks, padded_sets
from softset.evaluation.results import Row, Table
from softset.evaluation.run import Run, found_row
from softset.evaluation.scoring import Scored, score_blocks
from softset.evaluation.sts_data import SentencePairs
from softset.io.checkpoint import PartFolder, load_or_compute
from softset.similarity.idf import Idf
from softset.similarity.pairs import blocks

__all__ = ["StsRun"]

AVERAGE = "Avg"


@dataclass(frozen=True, eq=False)
class StsRun(Run):
    """A run over datasets of sentence pairs.

    Attributes:
        every: the mean over sub-datasets and Pearson's r as well.
        batch: compare also what the paper's code does, in batches of so many.

    >>> import softset
    >>> gold, texts = np.array([5.0, 1.0, 0.0]), ["a red book", "a pen", "a green field"]
    >>> pairs = SentencePairs("STSB-dev", gold, texts, ["the book is red", "a king", "his mother"], ["", "", ""])
    >>> run = StsRun(softset.load_encoder("words"), [Method.named("average")], samples=9)
    >>> run.table([pairs]).value("average", "STSB-dev", "spearman")
    1.0
    """

    FACTS: ClassVar[dict[str, str]] = {
        "direction": "sentence 1 is the reference, sentence 2 the candidate",
        "idf": "fitted on the distinct sentences of each dataset, both sides",
        "intervals": "95 in 100, percentiles of draws of pairs; of Avg from the variances of its datasets",
        "seconds": "of the metric alone: sentences are encoded and laid out once for all",
    }

    every: bool = False
    batch: int | None = None

    def table(
        self, datasets: Sequence[SentencePairs], *, parts: PartFolder | None = None, facts: dict[str, Any] | None = None
    ) -> Table:
        """Return the rows of all datasets, and their mean where there are several."""
        here = self._usable()
        found = {}
        for pairs in datasets:
            made = load_or_compute(parts, pairs.name, partial(self._dataset, pairs, here))
            found[pairs.name] = [(Row(**row), Finding(*finding)) for row, finding in made]
        rows = [row for each in found.values() for row, _ in each]
        averages = self._averages(list(found.values())) if len(found) > 1 else []
        rows = [*rows, *averages, *_times(rows)]
        named = any(row.method == BASELINE for row in rows)
        title = "Semantic textual similarity: correlation with people's judgements"
        return Table(title, tuple(rows), BASELINE if named else None, {**self.facts(), **(facts or {})})

    def made_by(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return what must be the same for a run that goes on.

        >>> import softset
        >>> StsRun(softset.load_encoder("words"), [Method.named("average")]).made_by({"limit": 3})["limit"]
        3
        """
        return super().made_by({"every": self.every, "batch": self.batch, **data})

    # One dataset

    def _usable(self) -> "_Usable":
        ours, moment = self.usable()
        if self.batch is None:
            return _Usable(ours, [], moment)
        padded = usable_methods(ours, padded_sets(self.encoder, ["a"]), None, self._note_of_padded)
        return _Usable(ours, padded, moment)

    def _note_of_padded(self, sentence: str) -> None:
        self.note(f"with padding, {sentence}")

    def _dataset(self, pairs: SentencePairs, usable: "_Usable") -> list[Any]:
        """Return each row of one dataset with its finding, as JSON has them."""
        begun = time.perf_counter()
        texts, left, right = pairs.places
        sets = self.encoder.encode(texts, progress=self.progress)
        encoded = time.perf_counter()
        idf = Idf.counted([sets]) if any(one.metric.needs_idf for one in usable.ours) else None
        scored = score_blocks(
            usable.ours, blocks(sets, sets, left, right, idf, usable.moment), len(pairs), usable.moment
        )
        if self.batch is not None:
            padded = score_blocks(usable.padded, padded_blocks(self.encoder, pairs, self.batch), len(pairs))
            scored = scored.and_those(padded.under(label(self.batch)))
        done = time.perf_counter()
        rows = self._rows(pairs, scored)
        times = (encoded - begun, done - encoded, time.perf_counter() - done)
        told = "encoded in {:.1f} s, scored in {:.1f} s, resampled in {:.1f} s".format(*times)
        self.note(f"{pairs.name}: {len(pairs):,} pairs, {told}")
        return rows

    def _rows(self, pairs: SentencePairs, scored: Scored) -> list[Any]:
        names = list(scored.values)
        numbers = np.stack([scored.values[name] for name in names])
        agreement = measure(pairs, numbers, samples=self.samples, seed=self.seed, every=self.every)
        baseline = names.index(BASELINE) if BASELINE in names else None
        rows = []
        for metric, one in agreement.items():
            for name, found in zip(names, one.findings(baseline), strict=True):
                row = found_row("sts", pairs.name, name, metric, found, len(pairs), scored.seconds[name])
                rows.append((row.to_dict(), found))
        return rows

    # All of them

    def _averages(self, found: Sequence[Sequence[tuple[Row, Finding]]]) -> list[Row]:
        """Return the means over datasets of the correlations that all of them have."""
        by_name = [{(row.metric, row.method): (row, finding) for row, finding in each} for each in found]
        rows = []
        for metric, method in by_name[0]:
            if not all((metric, method) in each for each in by_name):
                continue
            mine = [each[metric, method] for each in by_name]
            theirs = [each[metric, BASELINE][1] for each in by_name if (metric, BASELINE) in each]
            held = theirs if theirs and method != BASELINE else None
            mean = averaged([finding for _, finding in mine], held, self.samples)
            seconds = sum(row.seconds or 0.0 for row, _ in mine)
            rows.append(found_row("sts", AVERAGE, method, metric, mean, sum(row.n for row, _ in mine), seconds))
        return rows


@dataclass(frozen=True, eq=False)
class _Usable:
    """The methods that the encoder can serve, those for padded batches, and the encoder's second moment."""

    ours: list[Method]
    padded: list[Method]
    moment: np.ndarray | None


def _times(rows: Sequence[Row]) -> list[Row]:
    """Return how long each method took on all datasets together."""
    taken: dict[str, dict[str, Row]] = {}
    for row in rows:
        taken.setdefault(row.method, {})[row.dataset] = row
    found = []
    for method, by_name in taken.items():
        seconds, n = sum(one.seconds or 0.0 for one in by_name.values()), sum(one.n for one in by_name.values())
        found.append(Row("sts", "all", method, "seconds", seconds, n, default=method == DEFAULT))
    return found
