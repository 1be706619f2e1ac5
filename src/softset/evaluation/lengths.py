"""How scores move with the length of texts: of sentences that have nothing to do with each other, and of alike ones.

A larger set has room for more: anything belongs to it by chance, the more so the larger it is. Scores that are counted
from chance should not follow the number of tokens where nothing is shared.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from softset.encoders.texts import distinct_indices
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.evaluation.correlation import Ranking, spearman
from softset.evaluation.correlation_draws import bounds, drawn_counts, drawn_spearman
from softset.evaluation.methods import DEFAULT, Method
from softset.evaluation.resampling import check_draws
from softset.evaluation.results import Row, Table, load_rows
from softset.evaluation.run import Run
from softset.evaluation.scoring import Scored, score_blocks
from softset.evaluation.sts_data import SentencePairs
from softset.io.checkpoint import PartFolder
from softset.similarity.idf import Idf
from softset.similarity.pairs import blocks

__all__ = ["METRICS", "Kind", "LengthsRun", "alike", "unrelated"]

Numbers = npt.NDArray[np.float64]

METRICS = (
    *("softset", "softset P", "softset R"),
    *("subspace", "subspace P", "subspace R", "subspace+chance", "subspace+chance P", "subspace+chance R"),
    *("bertscore", "bertscore P", "bertscore R", "average"),
)
MOST = 20_000  # unrelated pairs: a correlation of so many is known to within 0.014
GOLD = 4.0  # of 5, where sentences mean the same but for details; SICK's scale begins at 1, but has the same end
BUCKETS = ((1, 8), (9, 16), (17, 32), (33, None))  # tokens of the reference, both ends included
TITLE = "Length of texts: Spearman's rho of scores with the number of tokens, and mean scores by the reference's"
FACTS = {
    "unrelated": f"sentences of all datasets, each with another one that no dataset pairs it with; at most {MOST:,}",
    "alike": f"distinct pairs of the datasets with a gold score of at least {GOLD:g}, without those of equal sentences",
    "direction": "P is over the candidate's tokens, R over the reference's",
    "length": "the tokens that the encoder makes of a sentence; spearman is with the reference's",
    "means": "over pairs whose reference has so many tokens",
    "intervals": "95 in 100, percentiles of draws of pairs",
}


class Kind(NamedTuple):
    """Pairs of sentences that have something in common, such as that they are unrelated.

    >>> len(Kind("alike", ["A red book."], ["The book is red."]).candidates)
    1
    """

    name: str
    candidates: list[str]
    references: list[str]


def unrelated(datasets: Sequence[SentencePairs], *, limit: int | None = None, seed: int = 12345) -> Kind:
    """Return distinct sentences in random order as references, each with a random candidate that it is not paired with.

    >>> pairs = SentencePairs("STS-B", np.array([5.0]), ["a book"], ["books"], [""])
    >>> other = SentencePairs("STS12", np.array([5.0]), ["a pen"], ["pens"], [""])
    >>> kind = unrelated([pairs, other])
    >>> {"books", "a book"} in [{*both} for both in zip(kind.candidates, kind.references)]
    False
    """
    texts = list(distinct_indices([text for one in datasets for text in (*one.references, *one.candidates)]))
    place = distinct_indices(texts)
    barred = [{at} for at in range(len(texts))]
    for first, second in _given(datasets):
        barred[place[first]].add(place[second])
        barred[place[second]].add(place[first])
    rng = np.random.default_rng(seed)
    order = [at for at in rng.permutation(len(texts)).tolist() if len(barred[at]) < len(texts)]
    chosen = order[: MOST if limit is None else min(limit, MOST)]
    drawn = [_drawn(rng, len(texts), barred[at]) for at in chosen]
    return Kind("unrelated", [texts[at] for at in drawn], [texts[at] for at in chosen])


def _given(datasets: Sequence[SentencePairs]) -> Iterator[tuple[str, str]]:
    return (pair for one in datasets for pair in zip(one.references, one.candidates, strict=True))


def _drawn(rng: np.random.Generator, n: int, barred: set[int]) -> int:
    """Return one of the numbers below n that are not barred, each as likely as the others."""
    found = int(rng.integers(n - len(barred)))
    for one in sorted(barred):
        found += found >= one
    return found


def alike(datasets: Sequence[SentencePairs], *, limit: int | None = None, seed: int = 12345) -> Kind:
    """Return the distinct pairs that people found to mean the same, or nearly, in random order.

    A sentence with itself is left out, since any metric gives it 1 at any length.

    >>> pairs = SentencePairs("STS-B", np.array([4.0, 3.9]), ["a book", "a pen"], ["books", "a king"], ["", ""])
    >>> alike([pairs])
    Kind(name='alike', candidates=['books'], references=['a book'])
    """
    gold = np.concatenate([one.gold for one in datasets])
    # STS-B has pairs of STS12 to STS16: each counts once.
    pairs = dict.fromkeys(pair for pair, score in zip(_given(datasets), gold, strict=True) if score >= GOLD)
    found = [(reference, candidate) for reference, candidate in pairs if reference != candidate]
    chosen = [found[at] for at in np.random.default_rng(seed).permutation(len(found))[:limit]]
    return Kind("alike", [candidate for _, candidate in chosen], [reference for reference, _ in chosen])


@dataclass(frozen=True, eq=False)
class LengthsRun(Run):
    """A run over kinds of pairs.

    Attributes:
        limit: pairs of each kind, or all.

    >>> import softset
    >>> texts = ["a red book", "a pen", "the king of the green field", "his mother"]
    >>> pairs = SentencePairs("STS-B", np.array([5.0, 1.0]), texts[:2], texts[2:], ["", ""])
    >>> run = LengthsRun(softset.load_encoder("words"), [Method.named("subspace R")], samples=9)
    >>> [(row.dataset, row.metric, row.n) for row in run.table([pairs]).rows][-2:]
    [('alike', 'spearman candidate', 1), ('alike 1-8', 'mean', 1)]
    """

    FACTS: ClassVar[dict[str, str]] = FACTS

    limit: int | None = None

    def facts(self) -> dict[str, Any]:
        """Return what makes the numbers, beside the data.

        >>> import softset
        >>> LengthsRun(softset.load_encoder("words"), [], limit=9).facts()["limit"]
        9
        """
        return {**super().facts(), "limit": self.limit}

    def table(
        self, datasets: Sequence[SentencePairs], *, parts: PartFolder | None = None, facts: dict[str, Any] | None = None
    ) -> Table:
        """Return the rows of both kinds of pairs; a kind without pairs is left out, and told."""
        check_draws(self.samples, self.seed)
        methods, moment = self.usable()
        kinds = [draw(datasets, limit=self.limit, seed=self.seed) for draw in (unrelated, alike)]
        sentences = _Sentences(kinds, self)
        rows = []
        for kind in kinds:
            rows += load_rows(parts, kind.name, partial(self._kind, kind, sentences, methods, moment))
        if not rows:
            raise InputError("these datasets have no pairs to measure: name others with --datasets")
        return Table(TITLE, tuple(rows), None, {**self.facts(), **(facts or {})})

    def _kind(
        self, kind: Kind, sentences: "_Sentences", methods: Sequence[Method], moment: np.ndarray | None
    ) -> list[Row]:
        left, right = sentences.places(kind)
        if not len(left):
            self.note(f"left out: {kind.name}, of which there are no pairs")
            return []
        begun = time.perf_counter()
        idf = sentences.idf if any(one.metric.needs_idf for one in methods) else None
        scored = score_blocks(
            methods, blocks(sentences.sets, sentences.sets, left, right, idf, moment), len(left), moment
        )
        done = time.perf_counter()
        counts = sentences.sets.counts.astype(np.float64)
        rows = [*self._correlations(kind.name, scored, counts[right], counts[left])]
        rows += self._means(kind.name, scored, counts[right])
        times = f"scored in {done - begun:.1f} s, resampled in {time.perf_counter() - done:.1f} s"
        self.note(f"{kind.name}: {len(left):,} pairs, {times}")
        return rows

    def _correlations(self, name: str, scored: Scored, references: Numbers, candidates: Numbers) -> Iterator[Row]:
        """Yield Spearman's rho of each method's scores with the lengths (n,) of either side."""
        rankings = [Ranking.of(one) for one in scored.values.values()]
        n = len(references)
        for metric, lengths in (("spearman", references), ("spearman candidate", candidates)):
            order = Ranking.of(lengths)
            drawn = [drawn_spearman(one, order, rankings) for _, one in drawn_counts(n, self.samples, self.seed, name)]
            for (method, values), some in zip(scored.values.items(), np.concatenate(drawn, axis=1), strict=True):
                seconds = round(scored.seconds[method], 4)
                yield _row(name, method, metric, spearman(lengths, values), some, n, seconds)

    def _means(self, name: str, scored: Scored, lengths: Numbers) -> Iterator[Row]:
        """Yield the mean score of each method where the reference's length (n,) is in a bucket that has pairs."""
        for least, most in BUCKETS:
            here = (lengths >= least) & (lengths <= (most or np.inf))
            if not here.any():
                continue
            dataset = f"{name} {least}-{most or ''}"
            numbers = np.stack([one[here] for one in scored.values.values()])
            n = numbers.shape[1]
            drawn = [numbers @ one / n for _, one in drawn_counts(n, self.samples, self.seed, dataset)]
            for method, values, some in zip(scored.values, numbers, np.concatenate(drawn, axis=1), strict=True):
                yield _row(dataset, method, "mean", float(values.mean()), some, n)


class _Sentences:
    """The distinct sentences of all kinds, encoded once, when they are first needed."""

    def __init__(self, kinds: Sequence[Kind], run: LengthsRun) -> None:
        self._run = run
        self._place = distinct_indices([text for one in kinds for text in (*one.references, *one.candidates)])

    @cached_property
    def sets(self) -> TokenSets:
        """The tokens of each."""
        begun = time.perf_counter()
        sets = self._run.encoder.encode(list(self._place), progress=self._run.progress)
        self._run.note(f"{len(sets):,} sentences, encoded in {time.perf_counter() - begun:.1f} s")
        return sets

    @cached_property
    def idf(self) -> Idf:
        """What each token counts, by how many sentences have it."""
        return Idf.counted([self.sets])

    def places(self, kind: Kind) -> tuple[np.ndarray, np.ndarray]:
        """Return where each candidate and each reference is; a pair with a sentence of no tokens is left out."""
        left, right = (np.array([self._place[one] for one in side], dtype=np.int64) for side in kind[1:])
        if not len(left):
            return left, right
        filled = (self.sets.counts[left] > 0) & (self.sets.counts[right] > 0)
        if not filled.all():
            self._run.note(f"{kind.name}: {(~filled).sum():,} pairs left out, with a sentence of no known tokens")
        return left[filled], right[filled]


def _row(
    dataset: str, method: str, metric: str, value: float, drawn: Numbers, n: int, seconds: float | None = None
) -> Row:
    low, high = bounds(drawn)
    return Row(
        task="lengths",
        dataset=dataset,
        method=method,
        metric=metric,
        value=value,
        n=n,
        low=low,
        high=high,
        seconds=seconds,
        default=method == DEFAULT,
    )
