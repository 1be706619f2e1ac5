"""Methods that an evaluation compares: a metric, one of its three numbers, and optional chance rescaling."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.similarity.metrics import METRICS, Metric, metric
from softset.similarity.metrics.transport import Wmd, Wrd, require_transport
from softset.similarity.rescaling import check_rescale

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
        method = cls(metric(name.removesuffix("+chance").rstrip()), chance, part)
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
