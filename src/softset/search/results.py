"""What a search answers: hits with their memberships, explained on request, for people and for programs."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import floor
from typing import Any

import numpy as np

from softset.io.text import printable
from softset.query.expression import positive_leaves
from softset.query.plan import Leaf, Plan

__all__ = [
    "Hit",
    "Item",
    "LeafMembership",
    "SearchResult",
    "explain_leaves",
    "share_lines",
    "shares_to_dicts",
]


@dataclass(frozen=True)
class Item:
    """An item: its id, and for items of a collection its text and metadata.

    >>> Item("1", "red book", {"year": 1999}).text
    'red book'
    """

    id: str
    text: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LeafMembership:
    """A hit's membership in one set of the query, and the examples it is nearest to."""

    leaf: str
    membership: float
    examples: tuple[tuple[str, float], ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """An item that was found; `percentile` is the share of all items searched that rank below it."""

    id: str
    membership: float
    percentile: float
    index: int
    leaves: tuple[LeafMembership, ...] = ()
    text: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)

    def to_dict(self, *, percentile: bool = False) -> dict[str, Any]:
        """Return the hit ready for JSON; its percentile only on request."""
        shown: dict[str, Any] = {"id": self.id, "membership": self.membership}
        if percentile:
            shown["percentile"] = self.percentile
        if self.text:
            shown["text"] = self.text
        if self.metadata:
            shown["metadata"] = self.metadata
        if self.leaves:
            shown["leaves"] = shares_to_dicts(self.leaves)
        return shown


def shares_to_dicts(shares: tuple[LeafMembership, ...]) -> list[dict[str, Any]]:
    """Return what programs read of each set's share.

    >>> shares_to_dicts((LeafMembership("{red}", 0.5, (("red", 0.5),)),))
    [{'leaf': '{red}', 'membership': 0.5, 'negated': False, 'examples': {'red': 0.5}}]
    """
    return [
        {"leaf": one.leaf, "membership": one.membership, "negated": one.negated, "examples": dict(one.examples)}
        for one in shares
    ]


@dataclass(frozen=True)
class SearchResult:
    """The hits of one query, best first, with all that they depend on."""

    query: str
    logic: str
    signature: str
    hits: tuple[Hit, ...]
    plan: Plan
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, at: int) -> Hit:
        return self.hits[at]

    def to_dict(self, *, percentile: bool = False) -> dict[str, Any]:
        """Return the result ready for JSON; percentiles only on request."""
        return {
            "query": self.query,
            "logic": self.logic,
            "signature": self.signature,
            "results": [hit.to_dict(percentile=percentile) for hit in self.hits],
            **({"resolved_as": resolved_as} if (resolved_as := self.plan.resolved_as) else {}),
            **({"notes": list(self.notes)} if self.notes else {}),
            **({"unknown": list(self.unknown)} if self.unknown else {}),
        }

    def to_json(self, *, percentile: bool = False) -> str:
        """Return `to_dict` as one JSON object on one line."""
        return json.dumps(self.to_dict(percentile=percentile), ensure_ascii=False, allow_nan=False)

    def to_text(self, *, percentile: bool = False) -> str:
        """Return a table with one line for each hit; percentiles only on request."""
        width = max((len(printable(hit.id)) for hit in self.hits), default=0)
        return "\n".join(line for hit in self.hits for line in _lines(hit, width, percentile=percentile))

    __str__ = __repr__ = to_text


def _lines(hit: Hit, width: int, *, percentile: bool) -> Iterator[str]:
    text = printable(" ".join(hit.text.split()))
    shown = text if len(text) <= 60 else text[:57] + "..."
    below = f"{floor(100 * hit.percentile) / 100:6.2f} %  " if percentile else ""  # 99.99 is not rounded up to 100
    yield f"{hit.membership:.3f}  {printable(hit.id):{width}}  {below}{shown}".rstrip()
    yield from share_lines(hit.leaves)


def share_lines(shares: Iterable[LeafMembership]) -> Iterator[str]:
    """Yield a line for a person for each set's share.

    >>> list(share_lines([LeafMembership("{red}", 0.5, (("red", 0.5),))]))
    ['         0.500 in {red}, by red 0.50']
    """
    for one in shares:
        carried = ", ".join(f"{text} {cosine:.2f}" for text, cosine in one.examples)
        yield f"         {'negated: ' if one.negated else ''}{one.membership:.3f} in {one.leaf}, by {carried}"


def explain_leaves(vectors: np.ndarray, plan: Plan, most: int = 3) -> list[tuple[LeafMembership, ...]]:
    """Return for each of some vectors (n, d) its membership in each set, and the examples with the largest cosine."""
    wanted = set(positive_leaves(plan.tree))
    by_leaf = [_shares(vectors, leaf, most, negated=leaf.tree not in wanted) for leaf in plan.leaves]
    return list(zip(*by_leaf, strict=True))


def _shares(vectors: np.ndarray, leaf: Leaf, most: int, *, negated: bool) -> list[LeafMembership]:
    rows = leaf.vectors
    lengths = np.linalg.norm(vectors, axis=1)[:, None] * np.linalg.norm(rows, axis=1)
    cosines = vectors @ rows.T / np.where(lengths > 0, lengths, 1)
    best = np.argsort(-cosines, axis=1, kind="stable")[:, :most]
    name, texts = str(leaf.tree), [one.text for one in leaf.examples]
    members = np.asarray(leaf.members.membership(vectors), dtype=np.float64).tolist() if len(vectors) else []
    nearest = np.take_along_axis(cosines, best, axis=1).round(6).astype(np.float64).tolist()
    return [
        LeafMembership(name, membership, tuple(zip([texts[at] for at in places], values, strict=True)), negated)
        for membership, places, values in zip(members, best.tolist(), nearest, strict=True)
    ]
