"""How much given texts belong to a query: the other question, where `find` asks which items do."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from softset.io.text import printable
from softset.query.plan import Plan, Resolved
from softset.search.results import LeafMembership, explain_leaves, share_lines, shares_to_dicts

__all__ = ["ItemMembership", "MembershipResult", "compute_memberships"]


class ItemMembership(NamedTuple):
    """A text's membership in a query, None if it has no vector, and what stands for it if that is not itself."""

    id: str
    membership: float | None
    resolved_as: str | None = None
    leaves: tuple[LeafMembership, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what programs read."""
        shown: dict[str, Any] = {"id": self.id, "membership": self.membership}
        if self.resolved_as is not None:
            shown["resolved_as"] = self.resolved_as
        if self.leaves:
            shown["leaves"] = shares_to_dicts(self.leaves)
        return shown


@dataclass(frozen=True)
class MembershipResult:
    """The memberships of some texts in one query, in their order, with all that they depend on."""

    query: str
    logic: str
    signature: str
    items: tuple[ItemMembership, ...]
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[ItemMembership]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, at: int) -> ItemMembership:
        return self.items[at]

    def to_dict(self) -> dict[str, Any]:
        """Return what programs read."""
        return {
            "query": self.query,
            "logic": self.logic,
            "signature": self.signature,
            "memberships": [one.to_dict() for one in self.items],
            **({"notes": list(self.notes)} if self.notes else {}),
            **({"unknown": list(self.unknown)} if self.unknown else {}),
        }

    def to_json(self) -> str:
        """Return what programs read, on one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        """Return a table for a person."""
        return "\n".join(
            line
            for one in self.items
            for line in (f"{_shown(one.membership)}  {printable(one.id)}", *share_lines(one.leaves))
        )

    __repr__ = __str__


def _shown(membership: float | None) -> str:
    return "    -" if membership is None else f"{membership:.3f}"


def compute_memberships(
    plan: Plan, asked: Sequence[str], known: Mapping[str, Resolved], where: str, *, explain: bool
) -> MembershipResult:
    """Return how much texts belong to a query; one whose vector is zero belongs to nothing."""
    found = [(text, known[text]) for text in dict.fromkeys(asked) if text in known]
    rows = np.stack([one.vector for _, one in found]).astype(np.float64) if found else np.zeros((0, 1))
    scores = np.asarray(plan.score([np.asarray(one.membership(rows)) for one in plan.sets])) if found else np.zeros(0)
    scores = np.where(rows.any(axis=1), scores, 0.0)
    shares = explain_leaves(rows, plan) if explain and found else [()] * len(found)
    told = {
        text: ItemMembership(text, float(score), None if one.how == "exact match" else one.how, share)
        for (text, one), score, share in zip(found, scores.tolist(), shares, strict=True)
    }
    items = tuple(told.get(text, ItemMembership(text, None)) for text in asked)
    without = [one.id for one in items if one.membership is None]
    left_out = tuple(dict.fromkeys([*plan.unknown, *without]))
    return MembershipResult(plan.query, plan.logic.name, where, items, plan.notes, left_out)
