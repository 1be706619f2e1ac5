"""What two texts share, token by token, as plain data; the other files of this folder show it."""

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from softset.similarity.explain.level import Level

__all__ = ["Explanation", "Side", "View"]


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two texts: k tokens, and where each lies in the text if that is known."""

    text: str | None
    tokens: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] | None


@dataclass(frozen=True, eq=False)
class View:
    """What one metric sees in k candidate and l reference tokens.

    Attributes:
        metric: the metric, as it parses back.
        precision: the weighted mean of `candidate_membership`, rescaled if that was asked for.
        recall: that of `reference_membership`.
        score: the score of the pair.
        candidate_membership: (k,) how much each candidate token belongs to the reference.
        reference_membership: (l,) how much each reference token belongs to the candidate.
        candidate_weights: (k,) each token's share in precision; they sum to 1.
        reference_weights: (l,) each token's share in recall.
        candidate_links: (k, l) what each reference token gives to a candidate token's membership.
        reference_links: (l, k) what each candidate token gives to a reference token's membership.
        links: what a link is: "cosine", the cosine of the two tokens, of which the largest counts; or "share", the
            token's part in the projection: shares of one row sum to 1, and one may be negative.
        chance: what unrelated texts score, where that is known: in closed form for subspace, and as it was measured
            with the bundled encoder for the defaults of softset and bertscore.
    """

    metric: str
    precision: float
    recall: float
    score: float
    candidate_membership: np.ndarray
    reference_membership: np.ndarray
    candidate_weights: np.ndarray
    reference_weights: np.ndarray
    candidate_links: np.ndarray
    reference_links: np.ndarray
    links: str
    chance: Level | None = None

    def counterparts(self, side: str, at: int, most: int = 3) -> list[tuple[int, float]]:
        """Return the other text's tokens that count most for one token of a side, as (place, link), strongest first."""
        row = (self.candidate_links if side == "candidate" else self.reference_links)[at]
        order = np.argsort(-row, kind="stable")[:most]
        return [(int(one), float(row[one])) for one in order]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Two texts, the cosine of every two tokens, and what each metric makes of them.

    Attributes:
        candidate: the text whose tokens precision is over.
        reference: the text whose tokens recall is over.
        cosines: (k, l) the cosine of each candidate token and each reference token.
        views: one for each metric.
        signature: what made the scores of the first view.
    """

    candidate: Side
    reference: Side
    cosines: np.ndarray
    views: tuple[View, ...]
    signature: str

    def __repr__(self) -> str:
        told = ", ".join(f"{one.metric} {one.score:.3f}" for one in self.views)
        return f"Explanation({len(self.candidate.tokens)} and {len(self.reference.tokens)} tokens, {told})"

    def to_text(self, *, colour: bool = False, width: int = 100) -> str:
        """Return it for a terminal."""
        from softset.similarity.explain.text import as_text

        return as_text(self, colour=colour, width=width)

    def to_html(self) -> str:
        """Return it as a page of its own."""
        from softset.similarity.explain.html import as_html

        return as_html(self)

    def save_png(self, path: str | os.PathLike[str]) -> None:
        """Write it as a picture; needs the extra plot."""
        from softset.similarity.explain.plot import save_png

        save_png(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as lists and numbers, ready for JSON."""
        return {
            "signature": self.signature,
            "candidate": _side(self.candidate),
            "reference": _side(self.reference),
            "cosines": self.cosines.tolist(),
            "metrics": [_view(one) for one in self.views],
        }

    def to_json(self) -> str:
        """Return all of it as one JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


def _side(side: Side) -> dict[str, Any]:
    spans = None if side.spans is None else [list(one) for one in side.spans]
    return {"text": side.text, "tokens": list(side.tokens), "spans": spans}


def _view(view: View) -> dict[str, Any]:
    shown = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(view).items()}
    return {**shown, "chance": None if view.chance is None else view.chance._asdict()}
