"""How much given texts belong to a query: the other question, where `find` asks which items do."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from softset.retrieval.plan import Plan, Resolved
from softset.retrieval.results import LeafShare, explain, printable, share_lines, shares_to_dicts

__all__ = ["Belonging", "Memberships", "belonging"]


class Belonging(NamedTuple):
    """A text's membership in a query, and what stands for the text if it is not looked up as it is."""

    item: str
    membership: float
    stands_for: str | None = None
    leaves: tuple[LeafShare, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what programs read."""
        shown: dict[str, Any] = {"item": self.item, "membership": self.membership}
        if self.stands_for is not None:
            shown["stands_for"] = self.stands_for
        if self.leaves:
            shown["leaves"] = shares_to_dicts(self.leaves)
        return shown


@dataclass(frozen=True)
class Memberships:
    """The memberships of some texts in one query, in their order, with all that they depend on."""

    query: str
    logic: str
    signature: str
    items: tuple[Belonging, ...]
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Belonging]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, at: int) -> Belonging:
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
            for line in (f"{one.membership:.3f}  {printable(one.item)}", *share_lines(one.leaves))
        )

    __repr__ = __str__


def belonging(
    plan: Plan, found: list[tuple[str, Resolved]], where: str, unknown: list[str], *, explained: bool
) -> Memberships:
    """Return how much texts with their vectors belong to a query; what has no direction belongs to nothing."""
    rows = np.stack([one.vector for _, one in found]).astype(np.float64) if found else np.zeros((0, 1))
    scores = np.asarray(plan.score([np.asarray(one.membership(rows)) for one in plan.sets])) if found else np.zeros(0)
    scores = np.where(rows.any(axis=1), scores, 0.0)
    shares = explain(rows, plan) if explained and found else [()] * len(found)
    items = tuple(
        Belonging(text, float(score), None if one.how == "as it is" else one.how, share)
        for (text, one), score, share in zip(found, scores.tolist(), shares, strict=True)
    )
    left_out = tuple(dict.fromkeys([*plan.unknown, *unknown]))
    return Memberships(plan.query, plan.logic.name, where, items, plan.notes, left_out)
