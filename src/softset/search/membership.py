"""The memberships of given texts in a query, whether the texts are among the searched items or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softset.io.text import printable
from softset.query.plan import EXACT_MATCH, Plan, Resolved
from softset.search.results import LeafMembership, QueryResult, explain_leaves, leaf_lines, to_json

__all__ = ["ItemMembership", "MembershipResult", "compute_memberships"]


@dataclass(frozen=True)
class ItemMembership:
    """The membership of one text; None if it has no vector. `resolved_as` says how it was found if not exactly.

    >>> ItemMembership("red", 0.5).to_dict()
    {'id': 'red', 'membership': 0.5}
    """

    id: str
    membership: float | None
    resolved_as: str | None = None
    leaves: tuple[LeafMembership, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the membership as plain values for JSON; empty fields are left out."""
        optional = {"resolved_as": self.resolved_as, "leaves": [leaf.to_dict() for leaf in self.leaves]}
        required = {"id": self.id, "membership": self.membership}
        return {**required, **{name: value for name, value in optional.items() if value}}


@dataclass(frozen=True, repr=False)
class MembershipResult(QueryResult[ItemMembership]):
    """The memberships of texts in one query, in the order of the texts."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON; empty notes are left out."""
        return self._to_dict({"memberships": [item.to_dict() for item in self]})

    def to_json(self) -> str:
        """Return the result as one line of JSON."""
        return to_json(self.to_dict())

    def __str__(self) -> str:
        """Return the memberships as a table."""
        lines = []
        for item in self:
            membership = "    -" if item.membership is None else f"{item.membership:.3f}"
            lines += [f"{membership}  {printable(item.id)}", *leaf_lines(item.leaves)]
        return "\n".join(lines)

    __repr__ = __str__


def compute_memberships(
    plan: Plan, texts: Sequence[str], vectors: Mapping[str, Resolved], signature: str, *, explain: bool
) -> MembershipResult:
    """Return the memberships of texts, given the vectors of those that have one; a zero vector has membership 0."""
    known = [text for text in dict.fromkeys(texts) if text in vectors]
    by_text: dict[str, ItemMembership] = {}
    if known:
        rows = np.stack([vectors[text].vector for text in known]).astype(np.float64)
        scores = np.asarray(plan.score([np.asarray(leaf.membership(rows)) for leaf in plan.sets]))
        scores = np.where(rows.any(axis=1), scores, 0.0)
        leaves = explain_leaves(rows, plan) if explain else [()] * len(known)
        for text, score, text_leaves in zip(known, scores.tolist(), leaves, strict=True):
            resolved_as = vectors[text].resolved_as
            shown = None if resolved_as == EXACT_MATCH else resolved_as
            by_text[text] = ItemMembership(text, score, shown, text_leaves)
    items = tuple(by_text.get(text, ItemMembership(text, None)) for text in texts)
    unknown = tuple(dict.fromkeys([*plan.unknown, *(text for text in texts if text not in vectors)]))
    return MembershipResult(plan.query, plan.logic.name, signature, items, plan.notes, unknown)
