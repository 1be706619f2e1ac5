"""Agreement of metrics with human judgements of translations: WMT18 into English, Kendall's tau.

tau = (concordant - discordant) / (concordant + discordant) over all judgements "translation A is better than B". A tie
of the metric is discordant (Ma, Bojar and Graham 2018, "Results of the WMT18 Metrics Shared Task"). Judgements of one
segment share its reference and translations, so the bootstrap draws segments, not judgements. The data are
wmt18/PAIR/ref.txt, hyp/SYSTEM.txt and darr.tsv.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from softset.encoders.base import Encoder, Progress
from softset.encoders.texts import distinct_indices
from softset.errors import FileError
from softset.evaluation.data import DataFolder, finite_number
from softset.evaluation.metric_evaluation import MetricEvaluation, Result, ScoringMethod, score_blocks
from softset.evaluation.significance import Floats, Statistic
from softset.io.text import check_names, import_extra
from softset.runtime.progress import iter_blocks
from softset.similarity.idf import Idf
from softset.similarity.metrics.base import SimilarityMetric
from softset.similarity.metrics.pairs import Pairs, pair_blocks

FOLDER = "wmt18"
COLUMNS = ("sid", "better", "worse", "raw_better", "raw_worse")
METRICS = (
    *("softset", "bertscore", "bertscore(weights=l2)", "subspace", "subspace(weights=l2)"),
    *("subspace+chance", "subspace(aperture=2)", "average"),
)
CHRF = "sacrebleu chrF"
TRANSLATIONS_PER_BLOCK = 1_024  # with their references, 50 MB of vectors for sentences of 25 tokens
# Vectors of equal token sequences may differ in the seventh digit from batch to batch. Real differences are larger:
# of 5,110 judgements of cs-en by 19 scores, none lies between 0 and this.
TIE = 1e-6

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LanguagePair:
    """The judgements of a language pair, with the texts that are judged.

    Attributes:
        name: Such as cs-en.
        references: The reference of each of s segments.
        translations: The m judged translations, ordered by segment.
        owner: The segment of each translation (m,), ascending.
        segment: The segment of each judgement (n,).
        better: The preferred translation of each judgement (n,).
        worse: The other translation of each judgement (n,).
    """

    name: str
    references: list[str]
    translations: list[str]
    owner: Integers
    segment: Integers
    better: Integers
    worse: Integers

    def __len__(self) -> int:
        return len(self.segment)


def choose_pairs(data: DataFolder, names: Iterable[str]) -> list[str]:
    """Return the language pairs with these names; "all" means every pair in the folder."""
    known = sorted(path.parent.name for path in (data.path / FOLDER).glob("*/darr.tsv"))
    if not known:
        raise FileError(f"{data.path / FOLDER} has no language pairs: it needs folders such as cs-en with a darr.tsv")
    chosen = list(dict.fromkeys(names))
    check_names(chosen, [*known, "all"], "language pair")
    return known if "all" in chosen else chosen


def read_pair(data: DataFolder, name: str, limit: int | None = None) -> LanguagePair:
    """Return the judgements of one language pair; `limit` counts segments that have judgements."""
    folder = f"{FOLDER}/{name}"
    references = data.lines(f"{folder}/ref.txt")
    rows = data.table(f"{folder}/darr.tsv", COLUMNS, [int, str, str, finite_number, finite_number])
    hypotheses = data.path / folder / "hyp"
    systems = sorted(path.name.removesuffix(".txt") for path in hypotheses.glob("*.txt"))
    if not systems:
        raise FileError(f"{hypotheses} is missing or empty: it needs a SYSTEM.txt with one line per segment")
    for line, (sid, better, worse, high, low) in enumerate(rows, 2):
        if not 1 <= sid <= len(references) or better == worse or not {better, worse} <= {*systems} or not high > low:
            raise FileError(
                f"{data.path / folder / 'darr.tsv'} has no valid judgement in line {line}: it needs a segment from 1 "
                f"to {len(references)}, two systems of {', '.join(systems)}, and a higher score for the first"
            )
    segments = sorted({row[0] for row in rows})[:limit]
    rows = [row for row in rows if row[0] <= segments[-1]]
    judged = sorted({(row[0], system) for row in rows for system in row[1:3]})
    texts = {system: data.lines(f"{folder}/hyp/{system}.txt") for system in sorted({system for _, system in judged})}
    for system, lines in texts.items():
        if len(lines) != len(references):
            counts = f"{len(lines):,} lines, but ref.txt has {len(references):,}"
            raise FileError(f"{hypotheses / system}.txt has {counts}: both need one line per segment")
    segment_index = {sid: index for index, sid in enumerate(segments)}
    translation_index = {key: index for index, key in enumerate(judged)}
    return LanguagePair(
        name,
        [references[sid - 1] for sid in segments],
        [texts[system][sid - 1] for sid, system in judged],
        np.array([segment_index[sid] for sid, _ in judged]),
        np.array([segment_index[row[0]] for row in rows]),
        np.array([translation_index[row[0], row[1]] for row in rows]),
        np.array([translation_index[row[0], row[2]] for row in rows]),
    )


def all_parts(methods: Iterable[ScoringMethod]) -> list[ScoringMethod]:
    """Return F, P and R of each method; metrics with a single number have only F."""
    parts = {method: "F" if isinstance(method.metric, SimilarityMetric) else "FPR" for method in methods}
    return list(dict.fromkeys(replace(method, part=part) for method, letters in parts.items() for part in letters))


@dataclass(frozen=True, eq=False)
class TranslationEvaluation(MetricEvaluation):
    """An evaluation on language pairs.

    Attributes:
        chrf: Computes chrF of a translation and its reference; its known taus validate the data. None leaves it out.
    """

    TASK: ClassVar[str] = "wmt"
    TITLE: ClassVar[str] = "WMT18 into English, segment level: Kendall's tau with human judgements"
    FACTS: ClassVar[dict[str, str]] = {
        "tau": "(concordant - discordant) / (concordant + discordant), a tie of the metric is discordant",
        "idf": "fitted on the references of each language pair",
        "intervals": "95%, percentile bootstrap over segments; for Avg from the variances of its language pairs",
    }
    UNIT: ClassVar[str] = "translations"

    chrf: Callable[[str, str], float] | None = None

    def _dataset(self, pair: LanguagePair) -> list[Result]:
        start = perf_counter()
        scores = score_translations(self.encoder, self.methods, pair, self._moment, self.progress)
        if self.chrf is not None:
            owners = zip(pair.translations, pair.owner, strict=True)
            scores[CHRF] = np.array([self.chrf(text, pair.references[owner]) for text, owner in owners])
        statistic = tau_statistic(np.stack(list(scores.values())), pair)
        results = self._results(pair.name, scores, {"kendall": statistic}, len(pair.references), len(pair))
        empty = sum(not text.strip() for text in pair.translations)
        seconds = perf_counter() - start
        self.note(
            f"{pair.name}: {len(pair):,} judgements of {len(pair.references):,} segments in {seconds:.1f} s"
            + (f", {empty} empty translations" if empty else "")
        )
        return results


def tau_statistic(scores: Floats, pair: LanguagePair) -> Statistic:
    """Return the statistic that computes tau (k, b) from scores (k, m) of a pair's m translations."""
    signs = np.where(scores[:, pair.better] > scores[:, pair.worse] + TIE, 1.0, -1.0)
    segments = len(pair.references)
    judgements = np.bincount(pair.segment, minlength=segments).astype(np.float64)
    surplus = np.stack([np.bincount(pair.segment, weights=row, minlength=segments) for row in signs])
    return lambda counts: surplus @ counts / (judgements @ counts)


def score_translations(
    encoder: Encoder,
    methods: Sequence[ScoringMethod],
    pair: LanguagePair,
    moment: np.ndarray | None = None,
    progress: Progress | None = None,
) -> dict[str, np.ndarray]:
    """Return the scores (m,) of the m translations of a language pair by every method.

    Memory holds the vectors of one block. A translation that several systems share is scored once, so that it ties with
    itself exactly.
    """
    weighted = any(method.metric.needs_idf for method in methods)
    idf = Idf.fit(pair.references, model=encoder) if weighted else None
    keys = [(text, pair.references[owner]) for text, owner in zip(pair.translations, pair.owner, strict=True)]
    index = {key: row for row, key in enumerate(dict.fromkeys(keys))}
    distinct = list(index)

    def blocks() -> Iterator[tuple[slice, Pairs]]:
        for start, stop, _ in iter_blocks(len(distinct), TRANSLATIONS_PER_BLOCK, progress):
            block = distinct[start:stop]
            texts = distinct_indices([text for key in block for text in key])
            left, right = np.array([[texts[text] for text in key] for key in block]).T
            sets = encoder.encode(list(texts))
            for part, pairs in pair_blocks(sets, sets, left, right, idf, moment):
                yield slice(start + part.start, start + part.stop), pairs

    scores = score_blocks(methods, blocks(), len(distinct), moment)
    rows = [index[key] for key in keys]
    return {name: values[rows] for name, values in scores.items()}


def sentence_chrf() -> Callable[[str, str], float]:
    """Return a function that computes sacrebleu's chrF of a translation and its reference."""
    metric = import_extra("sacrebleu.metrics", "chrF needs sacrebleu: pip install sacrebleu").CHRF()
    return lambda translation, reference: float(metric.sentence_score(translation, [reference]).score)
