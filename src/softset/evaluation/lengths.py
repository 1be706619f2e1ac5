"""Dependence of scores on the length of texts, for unrelated pairs of sentences and for similar ones.

Any vector belongs to a larger set to a larger degree by chance. Scores that are rescaled by chance should not follow
the number of tokens where the texts share nothing.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from softset.encoders.texts import distinct_indices
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.evaluation.correlation import spearman_statistic
from softset.evaluation.metric_evaluation import MetricEvaluation, Result
from softset.evaluation.significance import mean_statistic
from softset.evaluation.sts_data import SentencePairs
from softset.evaluation.tables import ResultTable
from softset.io.checkpoint import PartFolder
from softset.io.text import counted

METRICS = (
    *("softset", "softset P", "softset R"),
    *("subspace", "subspace P", "subspace R", "subspace+chance", "subspace+chance P", "subspace+chance R"),
    *("bertscore", "bertscore P", "bertscore R", "average"),
)
MAX_UNRELATED = 20_000  # the standard error of a correlation of so many pairs is 0.007
MIN_GOLD = 4.0  # of 5: the sentences mean the same except for details
BUCKETS = ((1, 8), (9, 16), (17, 32), (33, None))  # tokens of the reference, both ends included


class PairSample(NamedTuple):
    """A sample of sentence pairs: unrelated or similar ones."""

    name: str
    candidates: list[str]
    references: list[str]


def unrelated_pairs(datasets: Sequence[SentencePairs], *, limit: int | None = None, seed: int = 12345) -> PairSample:
    """Return all distinct sentences as references, each with a random candidate that no dataset pairs it with."""
    texts = list(dict.fromkeys(text for pairs in datasets for text in (*pairs.references, *pairs.candidates)))
    index = {text: number for number, text in enumerate(texts)}
    excluded = [{number} for number in range(len(texts))]
    for first, second in _text_pairs(datasets):
        excluded[index[first]].add(index[second])
        excluded[index[second]].add(index[first])
    rng = np.random.default_rng(seed)
    order = [number for number in rng.permutation(len(texts)).tolist() if len(excluded[number]) < len(texts)]
    references = order[: MAX_UNRELATED if limit is None else min(limit, MAX_UNRELATED)]
    candidates = [_draw(rng, len(texts), excluded[number]) for number in references]
    return PairSample("unrelated", [texts[number] for number in candidates], [texts[number] for number in references])


def _text_pairs(datasets: Sequence[SentencePairs]) -> Iterator[tuple[str, str]]:
    return (pair for pairs in datasets for pair in zip(pairs.references, pairs.candidates, strict=True))


def _draw(rng: np.random.Generator, n: int, excluded: set[int]) -> int:
    """Return a random number below n that is not excluded."""
    drawn = int(rng.integers(n - len(excluded)))
    for number in sorted(excluded):
        drawn += drawn >= number
    return drawn


def similar_pairs(datasets: Sequence[SentencePairs], *, limit: int | None = None, seed: int = 12345) -> PairSample:
    """Return the distinct pairs with a gold score of at least 4, in random order, without equal sentences."""
    gold = np.concatenate([pairs.gold for pairs in datasets])
    scored = zip(_text_pairs(datasets), gold, strict=True)  # STS-B repeats pairs of STS12 to STS16
    distinct = list(dict.fromkeys(pair for pair, score in scored if score >= MIN_GOLD and pair[0] != pair[1]))
    chosen = [distinct[index] for index in np.random.default_rng(seed).permutation(len(distinct))[:limit]]
    return PairSample("alike", [candidate for _, candidate in chosen], [reference for reference, _ in chosen])


@dataclass(frozen=True, eq=False)
class LengthEvaluation(MetricEvaluation):
    """An evaluation of the dependence of scores on text length.

    Attributes:
        limit: Number of pairs of each sample, or None for all.
    """

    TASK: ClassVar[str] = "lengths"
    TITLE: ClassVar[str] = "Text length: Spearman's rho of scores with the number of tokens, and mean scores by length"
    FACTS: ClassVar[dict[str, str]] = {
        "unrelated": f"sentences of all datasets, each with a random other one; at most {MAX_UNRELATED:,} pairs",
        "alike": f"distinct pairs with a gold score of at least {MIN_GOLD:g}, without equal sentences",
        "direction": "P is computed over the candidate's tokens, R over the reference's",
        "length": "number of tokens of the encoder; spearman is with the reference's length",
        "means": "over pairs whose reference has this number of tokens",
        "intervals": "95%, percentile bootstrap over pairs",
    }
    TESTED: ClassVar[bool] = False

    limit: int | None = None

    def table(self, datasets: Sequence[SentencePairs], *, parts: PartFolder | None = None) -> ResultTable:
        """Return the rows of both samples; an empty sample is left out."""
        samples = [draw(datasets, limit=self.limit, seed=self.seed) for draw in (unrelated_pairs, similar_pairs)]
        index = distinct_indices([text for sample in samples for text in (*sample.references, *sample.candidates)])
        if not index:
            raise InputError("these datasets have no pairs to measure: choose others with --dataset")
        sets = self.encoder.encode(list(index), progress=self.progress)
        results = [self._stored(parts, sample.name, partial(self._sample, sample, sets, index)) for sample in samples]
        return ResultTable(self.TITLE, tuple(row for sample in results for row, _ in sample), None, self._facts())

    def _sample(self, sample: PairSample, sets: TokenSets, index: dict[str, int]) -> list[Result]:
        """Return the results of one sample, without pairs that have a text without tokens."""
        name = sample.name
        sides = sample.candidates, sample.references
        left, right = (np.array([index[text] for text in side], dtype=np.int64) for side in sides)
        known = (sets.counts[left] > 0) & (sets.counts[right] > 0)
        if not known.all():
            self.note(f"{name}: {(~known).sum():,} pairs left out, because a sentence has no known tokens")
        left, right = left[known], right[known]
        if not len(left):
            self.note(f"left out: {name}, because there are no such pairs")
            return []
        start = time.perf_counter()
        scores = self._score_sets(sets, left, right)
        candidates, references = sets.counts[left], sets.counts[right]
        values = np.stack([timed.values for timed in scores.values()])
        lengths = {"spearman": references, "spearman candidate": candidates}
        correlations = {
            metric: spearman_statistic(counts.astype(np.float64), values) for metric, counts in lengths.items()
        }
        results = self._results(name, scores, correlations, len(left), len(left))
        for shortest, longest in BUCKETS:
            inside = (references >= shortest) & (references <= (longest or np.inf))
            if inside.any():
                bucket, n = f"{name} {shortest}-{longest or ''}", int(inside.sum())
                results += self._results(bucket, scores, {"mean": mean_statistic(values[:, inside])}, n, n)
        self.note(f"{name}: {counted(len(references), 'pair')} in {time.perf_counter() - start:.1f} s")
        return results
