"""What an evaluation compares: metrics by name, their precision and recall alone, and scores counted from chance."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.similarity.chance import rescaling
from softset.similarity.metrics import DEFAULT, METRICS, Metric, metric
from softset.similarity.metrics.transport import Wmd, Wrd, require_transport

__all__ = ["ALL", "BASELINE", "DEFAULT", "TRANSPORT", "Method", "chosen_methods", "usable_methods"]

BASELINE = "bertscore"
TRANSPORT = ("wmd", "wrd")  # exact transport takes longer than all the others together
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
COMMA = re.compile(r",(?![^(]*\))")  # not the one between a metric's parameters


@dataclass(frozen=True)
class Method:
    """A metric, whether its scores are counted from chance, and which of its three numbers is meant.

    >>> Method.named("subspace(weights = l2)+chance P")
    Method(metric=subspace(weights=l2), chance=True, part='P')
    >>> Method.named("subspace(weights = l2)+chance P").name
    'subspace(weights=l2)+chance P'
    """

    metric: Metric
    chance: bool = False
    part: str = "F"

    @classmethod
    def named(cls, text: str) -> Self:
        """Return the method of a name: a metric's, with +chance and P or R behind it where they are meant."""
        rest, _, part = text.strip().rpartition(" ")
        if part not in PARTS or not rest:
            rest, part = text.strip(), "F"
        chance = rest.endswith("+chance")
        found = cls(metric(rest.removesuffix("+chance").rstrip()), chance, part)
        rescaling("chance" if chance else None, found.metric)  # refuses what has no closed form
        return found

    @property
    def scored(self) -> str:
        """What has to be computed: the same for F, P and R."""
        return f"{self.metric}{'+chance' * self.chance}"

    @property
    def name(self) -> str:
        """The name that parses back."""
        return self.scored if self.part == "F" else f"{self.scored} {self.part}"

    @property
    def field(self) -> str:
        """The number of a metric's three that is meant."""
        return PARTS[self.part]


def chosen_methods(wanted: Sequence[str], *, transport: bool, note: Callable[[str], None]) -> list[Method]:
    """Return the methods of names, or lists of them with commas; "all" are those of the paper and ours.

    >>> [one.name for one in chosen_methods(["average, subspace", "subspace P"], transport=False, note=print)]
    ['average', 'subspace', 'subspace P']
    >>> len(chosen_methods(["all"], transport=False, note=print)) == len(ALL) - 2
    left out: wmd and wrd, which take long (--transport adds them)
    True
    """
    names: list[str] = []
    for one in (part.strip() for given in wanted for part in COMMA.split(given)):
        if one == "all":
            names += [name for name in ALL if transport or name not in TRANSPORT]
            if not transport:
                note(f"left out: {' and '.join(TRANSPORT)}, which take long (--transport adds them)")
        elif one:
            names.append(one)
    if not names:
        raise InputError(f"no metric was named: use all, or some of {', '.join(METRICS)}")
    methods = list(dict.fromkeys(Method.named(name) for name in names))
    if any(isinstance(method.metric, Wmd | Wrd) for method in methods):
        require_transport()
    return methods


def usable_methods(
    methods: Iterable[Method], probe: TokenSets, moment: np.ndarray | None, note: Callable[[str], None]
) -> list[Method]:
    """Return the methods that an encoder can serve, given the token sets of any text; tell which it cannot, and why.

    >>> sets = TokenSets.from_arrays([[[1.0, 2.0]]])
    >>> methods = [Method.named(name) for name in ("cls", "average", "jaccard", "subspace+chance")]
    >>> [one.name for one in usable_methods(methods, sets, None, print)]
    left out: cls, for which the model keeps no first mark aside
    left out: jaccard, for which the tokens have no text
    left out: subspace+chance, for which the model's chance level is not known
    ['average']
    """
    found: list[Method] = []
    weightless: set[Metric] = set()
    for method in methods:
        lacking = _lacking(method, probe, moment)
        if lacking is None:
            found.append(method)
            if method.metric.served(moment=moment is not None) != method.metric and method.metric not in weightless:
                weightless.add(method.metric)
                note(f"{method.metric} counts all tokens the same: the model's second moment is not known")
        else:
            note(f"left out: {method.name}, for which {lacking}")
    if not found:
        raise InputError("none of the metrics can be used with this model: choose others with --metrics")
    return found


def _lacking(method: Method, probe: TokenSets, moment: np.ndarray | None) -> str | None:
    symbols = method.metric.needs_idf or method.metric.NAME in ("symbolic", "johnson-symbolic", "jaccard")
    if method.metric.NAME == "cls" and (probe.special is None or not len(probe.special.vectors)):
        return "the model keeps no first mark aside"
    if symbols and probe.tokens is None:
        return "the tokens have no text"
    if moment is None and method.metric.served(moment=False).needs_moment:
        return "the model's second moment is not known"
    if method.chance and moment is None:
        return "the model's chance level is not known"
    return None
