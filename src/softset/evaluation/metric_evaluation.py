"""Evaluations that compare metrics on datasets: the methods, their scores, estimates per dataset, and averages.

A method is a metric, one of its three numbers, and optional chance rescaling.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np

from softset.encoders.base import Encoder, Progress
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.evaluation.significance import Estimate, Statistic, average_estimates, check_draws, estimates
from softset.evaluation.tables import ResultRow, ResultTable
from softset.similarity.idf import Idf
from softset.similarity.metrics import DEFAULT, METRICS, PRF, Metric
from softset.similarity.metrics import metric as parse_metric
from softset.similarity.metrics.pairs import Pairs, pair_blocks
from softset.similarity.metrics.transport import Wmd, Wrd, require_transport
from softset.similarity.rescaling import chance_levels, check_rescale, pair_levels, rescale_scores

BASELINE = "bertscore"
TRANSPORT = ("wmd", "wrd")  # exact transport takes longer than all other methods together
ALL = (
    *("cls", "average", *TRANSPORT, "dynamax"),
    *("bertscore", "bertscore P", "bertscore R", "subspace", "subspace P", "subspace R"),
    *("bertscore(weights=l2)", "bertscore(weights=l2) P", "bertscore(weights=l2) R"),
    *("subspace(weights=l2)", "subspace(weights=l2) P", "subspace(weights=l2) R"),
    *("softset", "softset P", "softset R", "softset(weights=none)"),
    *("subspace(weights=l1)", "bertscore(weights=rare)", "subspace(weights=rare)"),
    *("bertscore(weights=idf)", "subspace(weights=idf)", "softset(weights=idf)"),
    *("subspace(aperture=2)", "subspace(aperture=4)", "subspace(aperture=8)"),
    *("subspace+chance", "subspace(weights=l2)+chance", "johnson", "johnson(weights=l2)"),
    *("symbolic", "symbolic(weights=idf)", "johnson-symbolic", "jaccard", "tfidf", "grassmann"),
)
PARTS = {"P": "precision", "R": "recall", "F": "score"}
LEXICAL = ("symbolic", "johnson-symbolic", "jaccard")
SEPARATOR = re.compile(r",(?![^(]*\))")  # a comma outside the parameters of a metric


@dataclass(frozen=True)
class ScoringMethod:
    """A metric, whether its scores are rescaled by chance, and which of its three numbers is used.

    >>> method = ScoringMethod.parse("subspace(weights = l2)+chance P")
    >>> method
    ScoringMethod(metric=subspace(weights=l2), chance=True, part='P')
    >>> method.name
    'subspace(weights=l2)+chance P'
    """

    metric: Metric
    chance: bool = False
    part: str = "F"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the method with a name: a metric, optionally followed by +chance and by P or R."""
        name, _, part = text.strip().rpartition(" ")
        if part not in PARTS or not name:
            name, part = text.strip(), "F"
        chance = name.endswith("+chance")
        method = cls(parse_metric(name.removesuffix("+chance").rstrip()), chance, part)
        check_rescale("chance" if chance else None, method.metric)  # raises InputError without a closed form
        return method

    @property
    def computation(self) -> str:
        """The name without the part: F, P and R are computed together."""
        return f"{self.metric}{'+chance' * self.chance}"

    @property
    def name(self) -> str:
        """The name that `parse` reads back."""
        return self.computation if self.part == "F" else f"{self.computation} {self.part}"

    @property
    def field(self) -> str:
        """The name of the number in the result of a metric."""
        return PARTS[self.part]


def choose_methods(names: Sequence[str], *, note: Callable[[str], None]) -> list[ScoringMethod]:
    """Return the methods with these names or comma-separated lists of names; "all" means all of `ALL`."""
    chosen: list[str] = []
    for name in (part.strip() for text in names for part in SEPARATOR.split(text)):
        if name == "all":
            chosen += [known for known in ALL if known not in TRANSPORT]
            note(f"left out: {' and '.join(TRANSPORT)}, which are slow (--metric wmd adds one)")
        elif name:
            chosen.append(name)
    if not chosen:
        raise InputError(f"no metric was named: use all, or some of {', '.join(METRICS)}")
    methods = list(dict.fromkeys(map(ScoringMethod.parse, chosen)))
    if any(isinstance(method.metric, Wmd | Wrd) for method in methods):
        require_transport()
    return methods


def usable_methods(
    methods: Iterable[ScoringMethod], probe: TokenSets, moment: np.ndarray | None, note: Callable[[str], None]
) -> list[ScoringMethod]:
    """Return the methods that an encoder supports, given the token sets of any text; report the others to `note`."""
    usable: list[ScoringMethod] = []
    notes: dict[str, None] = {}  # each once, in order
    for method in methods:
        missing = _missing(method, probe, moment)
        if missing is not None:
            notes[f"left out: {method.name}, because {missing}"] = None
            continue
        usable.append(method)
        if method.metric.resolve(has_moment=moment is not None) != method.metric:
            notes[f"{method.metric} weights all tokens equally, because the model's second moment is unknown"] = None
    for text in notes:
        note(text)
    if not usable:
        raise InputError("none of the metrics can be used with this model: choose others with --metric")
    return usable


def _missing(method: ScoringMethod, probe: TokenSets, moment: np.ndarray | None) -> str | None:
    """Return what a method needs and the encoder does not give, or None."""
    name = method.metric.NAME
    if name == "cls" and (probe.special is None or not len(probe.special.vectors)):
        return "the model gives no [CLS] vector"
    if (method.metric.needs_idf or name in LEXICAL) and probe.tokens is None:
        return "the tokens have no text"
    if moment is None and (method.chance or method.metric.resolve(has_moment=False).needs_moment):
        return "the model's second moment is unknown"
    return None


AVERAGE = "Avg"

Result = tuple[ResultRow, Estimate]


def score_blocks(
    methods: Sequence[ScoringMethod], blocks: Iterable[tuple[slice, Pairs]], n: int, moment: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Return the scores of n pairs by every method; chance rescaling uses the second moment."""
    computations = {method.computation: method for method in methods}
    numbers = {name: np.zeros((3, n)) for name in computations}
    for block, pairs in blocks:
        for name, method in computations.items():
            numbers[name][:, block] = _score(method, pairs, moment)
    return {method.name: getattr(PRF(*numbers[method.computation]), method.field) for method in methods}


def _score(method: ScoringMethod, pairs: Pairs, moment: np.ndarray | None) -> PRF:
    numbers = method.metric.resolve(has_moment=pairs.moment is not None).compute(pairs)
    levels = chance_levels(method.metric, pairs, moment).of_sets if method.chance else None
    if levels is None:
        return numbers
    empty = pairs.empty[0::2] | pairs.empty[1::2]
    return rescale_scores(numbers, pair_levels(levels[0::2], levels[1::2]), empty)


@dataclass(frozen=True, eq=False)
class MetricEvaluation:
    """An encoder, the methods to compare, and the settings of the bootstrap.

    Attributes:
        encoder: Encodes the texts.
        methods: The methods to compare; those that the encoder does not support are left out.
        samples: Bootstrap draws.
        seed: Seed of all random numbers.
        note: Receives a sentence for each method left out and for each finished dataset.
        progress: Receives the number of finished texts and of all texts.
        facts: Facts about the data, such as their checksums.
    """

    TASK: ClassVar[str] = ""
    TITLE: ClassVar[str] = ""
    FACTS: ClassVar[dict[str, str]] = {}
    UNIT: ClassVar[str] = "sentences"  # what `progress` counts

    encoder: Encoder
    methods: Sequence[ScoringMethod]
    samples: int = 1000
    seed: int = 12345
    note: Callable[[str], None] = lambda _: None
    progress: Progress | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_draws(self.samples, self.seed)
        methods = usable_methods(self.methods, self.encoder.encode(["a"]), self._moment, self.note)
        object.__setattr__(self, "methods", methods)

    def _facts(self) -> dict[str, Any]:
        """Return the settings that determine the results, for the table."""
        others = ("encoder", "methods", "note", "progress", "chrf", "facts")
        options = {option.name: getattr(self, option.name) for option in fields(self) if option.name not in others}
        return {"encoder": self.encoder.signature, **options, **self.FACTS, **self.facts}

    @property
    def _moment(self) -> np.ndarray | None:
        moment: np.ndarray | None = getattr(self.encoder, "second_moment", None)
        return moment

    def table(self, datasets: Sequence[Any]) -> ResultTable:
        """Return the rows of all datasets of the task, and their average if there is more than one."""
        results = [self._dataset(dataset) for dataset in datasets]
        rows = [row for dataset in results for row, _ in dataset]
        averages = self._averages(results) if len(results) > 1 else []
        baseline = BASELINE if any(row.method == BASELINE for row in rows) else None
        return ResultTable(self.TITLE, (*rows, *averages), baseline, self._facts())

    def _dataset(self, dataset: Any) -> list[Result]:
        """Return the results of one dataset."""
        raise NotImplementedError

    def _score_sets(self, sets: TokenSets, left: np.ndarray, right: np.ndarray) -> dict[str, np.ndarray]:
        """Return the scores of the sets at two lists of indices (n,); idf weights are fitted on all sets."""
        idf = Idf.count([sets]) if any(method.metric.needs_idf for method in self.methods) else None
        blocks = pair_blocks(sets, sets, left, right, idf, self._moment)
        return score_blocks(self.methods, blocks, len(left), self._moment)

    def _results(
        self, dataset: str, scores: dict[str, np.ndarray], statistics: dict[str, Statistic], segments: int, n: int
    ) -> list[Result]:
        """Return the rows of one dataset: the statistics of all methods over `segments` that are resampled."""
        names, results = list(scores), list[Result]()
        index = names.index(BASELINE) if BASELINE in names else None
        options: dict[str, Any] = {"baseline": index, "samples": self.samples, "seed": self.seed, "stream": dataset}
        for metric, statistic in statistics.items():
            for name, result in zip(names, estimates(statistic, segments, **options), strict=True):
                results.append((self._row(dataset, name, metric, result, n), result))
        return results

    def _row(self, dataset: str, method: str, metric: str, result: Estimate, n: int) -> ResultRow:
        value, low, high, p, *_ = result
        is_default = method == DEFAULT
        return ResultRow(self.TASK, dataset, method, metric, value, n, low, high, p, is_default)

    def _averages(self, results: Sequence[Sequence[Result]]) -> list[ResultRow]:
        """Return the mean over datasets of each metric and method that all datasets have."""
        datasets = [{(row.metric, row.method): (row, result) for row, result in dataset} for dataset in results]
        averages = []
        for metric, method in datasets[0]:
            if not all((metric, method) in dataset for dataset in datasets):
                continue
            rows, own = zip(*(dataset[metric, method] for dataset in datasets), strict=True)
            baseline = [dataset[metric, BASELINE][1] for dataset in datasets if (metric, BASELINE) in dataset]
            mean = average_estimates(own, baseline if baseline and method != BASELINE else None, self.samples)
            averages.append(self._row(AVERAGE, method, metric, mean, sum(row.n for row in rows)))
        return averages
