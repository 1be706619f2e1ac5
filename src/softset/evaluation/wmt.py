"""Metrics against people's judgements of translations, WMT18 to English: the paper's table of Kendall's tau."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from softset import __version__
from softset.embed.encoders.protocol import Encoder, Progress
from softset.evaluation.agreement import Finding, averaged
from softset.evaluation.kendall import kendall, surplus
from softset.evaluation.methods import BASELINE, DEFAULT, Method, usable_methods
from softset.evaluation.parts import Parts
from softset.evaluation.results import Row, Table
from softset.evaluation.scoring import Scored
from softset.evaluation.wmt_data import LanguagePair
from softset.evaluation.wmt_scores import CHRF, chrf_scores, translation_scores
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
AVERAGE = "Avg"
TITLE = "WMT18 to English, single segments: Kendall's tau with people's judgements"
FACTS = {
    "tau": "(concordant - discordant) / (concordant + discordant), a tie of the metric is discordant",
    "idf": "fitted on the references of each language pair",
    "intervals": "95 in 100, percentiles of draws of segments; of Avg from the variances of its language pairs",
    "seconds": "of the metric alone: texts are encoded and laid out once for all",
}


def with_parts(methods: Iterable[Method]) -> list[Method]:
    """Return F, P and R of each method's metric; those with one number a pair have only that.

    >>> [one.name for one in with_parts([Method.named("subspace+chance"), Method.named("average")])]
    ['subspace+chance', 'subspace+chance P', 'subspace+chance R', 'average']
    """
    parts = {one: "F" if isinstance(one.metric, SimilarityMetric) else "FPR" for one in methods}
    return list(dict.fromkeys(replace(one, part=part) for one, some in parts.items() for part in some))


@dataclass(frozen=True, eq=False)
class WmtRun:
    """An encoder, the methods to compare, and how: `table` gives the result.

    Attributes:
        encoder: what encodes the texts.
        methods: what is compared; those that the encoder cannot serve are left out.
        chrf: chrF of a translation and its reference, for a row to check the data by; or None.
        samples: draws of the bootstrap.
        seed: of these draws.
        note: is told what was left out, and how long each language pair took.
        progress: is told how many translations of a language pair are scored.

    >>> import softset
    >>> texts = ["a red book", "the books", "a pen"]
    >>> pair = LanguagePair("cs-en", ["the book is red"], texts, *map(np.array, ([0, 0, 0], [0, 0], [0, 1], [2, 2])))
    >>> run = WmtRun(softset.load_encoder("words"), [Method.named("average")])
    >>> run.table([pair]).value("average", "cs-en", "kendall")
    1.0
    """

    encoder: Encoder
    methods: Sequence[Method]
    chrf: Callable[[str, str], float] | None = None
    samples: int = 1000
    seed: int = 12345
    note: Callable[[str], None] = lambda _: None
    progress: Progress | None = None

    def facts(self) -> dict[str, Any]:
        """Return what makes the numbers, beside the data.

        >>> import softset
        >>> WmtRun(softset.load_encoder("words"), []).facts()["samples"]
        1000
        """
        return {"encoder": self.encoder.signature, "samples": self.samples, "seed": self.seed, **FACTS}

    def made_by(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return what must be the same for a run that goes on.

        >>> import softset
        >>> WmtRun(softset.load_encoder("words"), [Method.named("average")]).made_by({"limit": 3})["methods"]
        ['average']
        """
        names = [*(one.name for one in self.methods), *([] if self.chrf is None else [CHRF])]
        return {"softset": __version__, "methods": names, **self.facts(), **data}

    def table(
        self, pairs: Sequence[LanguagePair], *, parts: Parts | None = None, facts: dict[str, Any] | None = None
    ) -> Table:
        """Return the taus of all language pairs, and their means where there are several."""
        kept = parts or Parts(None, {})
        moment = getattr(self.encoder, "second_moment", None)
        methods = usable_methods(self.methods, self.encoder.encode(["a"]), moment, self.note)
        found = []
        for pair in pairs:
            made = kept.kept(pair.name, partial(self._pair, pair, methods))
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
            (_row(pair.name, name, one, len(pair), scored.seconds[name]).to_dict(), one)
            for name, one in zip(names, found, strict=True)
        ]

    def _average(self, found: Sequence[dict[str, tuple[Row, Finding]]], method: str) -> Row:
        """Return the mean of a method over the language pairs, each of which counts the same."""
        mine = [each[method] for each in found]
        held = [each[BASELINE][1] for each in found] if BASELINE in found[0] and method != BASELINE else None
        mean = averaged([finding for _, finding in mine], held, self.samples)
        return _row(AVERAGE, method, mean, sum(row.n for row, _ in mine), sum(row.seconds or 0.0 for row, _ in mine))


def _row(dataset: str, method: str, found: Finding, n: int, seconds: float) -> Row:
    return Row(
        task="wmt",
        dataset=dataset,
        method=method,
        metric="kendall",
        value=found.value,
        n=n,
        low=found.low,
        high=found.high,
        p=found.p,
        seconds=round(seconds, 4),
        default=method == DEFAULT,
    )
