"""Metrics against people's judgements of translations, WMT18 to English: the paper's table of Kendall's tau."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from softset.evaluation.agreement import Finding, averaged
from softset.evaluation.kendall import kendall, surplus
from softset.evaluation.methods import BASELINE, Method
from softset.evaluation.results import Row, Table
from softset.evaluation.run import Run, found_row
from softset.evaluation.scoring import Scored
from softset.evaluation.wmt_data import LanguagePair
from softset.evaluation.wmt_scores import chrf_scores, translation_scores
from softset.io.checkpoint import PartFolder, load_or_compute
from softset.similarity.metrics.base import SimilarityMetric

__all__ = ["METRICS", "WmtRun", "with_parts"]

METRICS = (
    "softset",
    "bertscore",
    "bertscore(weights=l2)",
    "subspace",
    "subspace(weights=l2)",
    "subspace+chance",
    "subspace(aperture=2)",
    "average",
)
AVERAGE, TAU = "Avg", "kendall"
TITLE = "WMT18 to English, single segments: Kendall's tau with people's judgements"


def with_parts(methods: Iterable[Method]) -> list[Method]:
    """Return F, P and R of each method's metric; those with one number a pair have only that.

    >>> [one.name for one in with_parts([Method.named("subspace+chance"), Method.named("average")])]
    ['subspace+chance', 'subspace+chance P', 'subspace+chance R', 'average']
    """
    parts = {one: "F" if isinstance(one.metric, SimilarityMetric) else "FPR" for one in methods}
    return list(dict.fromkeys(replace(one, part=part) for one, some in parts.items() for part in some))


@dataclass(frozen=True, eq=False)
class WmtRun(Run):
    """A run over language pairs.

    Attributes:
        chrf: chrF of a translation and its reference, for a row to check the data by; or None.

    >>> import softset
    >>> texts = ["a red book", "the books", "a pen"]
    >>> pair = LanguagePair("cs-en", ["the book is red"], texts, *map(np.array, ([0, 0, 0], [0, 0], [0, 1], [2, 2])))
    >>> run = WmtRun(softset.load_encoder("words"), [Method.named("average")])
    >>> run.table([pair]).value("average", "cs-en", "kendall")
    1.0
    """

    FACTS: ClassVar[dict[str, str]] = {
        "tau": "(concordant - discordant) / (concordant + discordant), a tie of the metric is discordant",
        "idf": "fitted on the references of each language pair",
        "intervals": "95 in 100, percentiles of draws of segments; of Avg from the variances of its language pairs",
        "seconds": "of the metric alone: texts are encoded and laid out once for all",
    }

    chrf: Callable[[str, str], float] | None = None

    def made_by(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return what must be the same for a run that goes on.

        >>> import softset
        >>> WmtRun(softset.load_encoder("words"), [Method.named("average")]).made_by({"limit": 3})["methods"]
        ['average']
        """
        return super().made_by({**data, "chrF": self.chrf is not None})

    def table(
        self, pairs: Sequence[LanguagePair], *, parts: PartFolder | None = None, facts: dict[str, Any] | None = None
    ) -> Table:
        """Return the taus of all language pairs, and their means where there are several."""
        methods, _ = self.usable()
        found = []
        for pair in pairs:
            made = load_or_compute(parts, pair.name, partial(self._pair, pair, methods))
            found.append({row["method"]: (Row(**row), Finding(*finding)) for row, finding in made})
        rows = [row for each in found for row, _ in each.values()]
        averages = [self._average(found, method) for method in found[0]] if len(found) > 1 else []
        named = any(row.method == BASELINE for row in rows)
        return Table(TITLE, (*rows, *averages), BASELINE if named else None, {**self.facts(), **(facts or {})})

    def _pair(self, pair: LanguagePair, methods: Sequence[Method]) -> list[Any]:
        """Return each row of one language pair with its finding, as JSON has them."""
        begun = perf_counter()
        scored = translation_scores(self.encoder, methods, pair, self.progress)
        if self.chrf is not None:
            scored = scored.and_those(chrf_scores(pair, self.chrf))
        rows = self._rows(pair, scored)
        empty = sum(not text.strip() for text in pair.translations)
        told = f", {empty} of the translations empty" if empty else ""
        took = perf_counter() - begun
        self.note(f"{pair.name}: {len(pair):,} judgements of {len(pair.references):,} segments in {took:.1f} s{told}")
        return rows

    def _rows(self, pair: LanguagePair, scored: Scored) -> list[Any]:
        names = list(scored.values)
        found = kendall(
            surplus(np.stack(list(scored.values.values())), pair.better, pair.worse, pair.segment),
            pair.counts,
            baseline=names.index(BASELINE) if BASELINE in names else None,
            samples=self.samples,
            seed=self.seed,
            name=pair.name,
        )
        return [
            (found_row("wmt", pair.name, name, TAU, one, len(pair), scored.seconds[name]).to_dict(), one)
            for name, one in zip(names, found, strict=True)
        ]

    def _average(self, found: Sequence[dict[str, tuple[Row, Finding]]], method: str) -> Row:
        """Return the mean of a method over the language pairs, each of which counts the same."""
        mine = [each[method] for each in found]
        held = [each[BASELINE][1] for each in found] if BASELINE in found[0] and method != BASELINE else None
        mean = averaged([finding for _, finding in mine], held, self.samples)
        n, seconds = sum(row.n for row, _ in mine), sum(row.seconds or 0.0 for row, _ in mine)
        return found_row("wmt", AVERAGE, method, TAU, mean, n, seconds)
