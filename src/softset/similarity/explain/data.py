"""The data of an explanation: two texts as tokens, and what each metric computes for every token."""

import json
import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from softset.errors import InputError
from softset.io.atomic import write_atomically
from softset.io.text import html_table

HTML_TOKENS = 50  # tokens of each text that a notebook shows


@dataclass(frozen=True, eq=False)
class ExplainedText:
    """One of the two texts: its tokens, and the (start, end) of each token in the text where that is known."""

    text: str | None
    tokens: tuple[str, ...]
    spans: tuple[tuple[int, int], ...] | None


class ChanceLevel(NamedTuple):
    """Precision, recall and score of unrelated text, and how these numbers were obtained."""

    precision: float
    recall: float
    score: float
    how: str


@dataclass(frozen=True, eq=False)
class MetricView:
    """The numbers of one metric for k candidate tokens and l reference tokens.

    Attributes:
        metric: The metric's name, which parses back to the metric.
        precision: Weighted mean of `candidate_membership`, rescaled if the scorer rescales.
        recall: Weighted mean of `reference_membership`, rescaled if the scorer rescales.
        score: The score of the pair.
        candidate_membership: (k,) membership of each candidate token in the reference.
        reference_membership: (l,) membership of each reference token in the candidate.
        candidate_weights: (k,) weight of each token in precision; the weights sum to 1.
        reference_weights: (l,) weight of each token in recall; the weights sum to 1.
        candidate_links: (k, l) contribution of each reference token to a candidate token's membership.
        reference_links: (l, k) contribution of each candidate token to a reference token's membership.
        links: The kind of contribution. "cosine": the cosine of the two tokens, and only the largest one counts.
            "share": the token's share of the projection; a row sums to 1, and a share may be negative.
        chance: The score of unrelated text, where it is known: in closed form for subspace, measured with the bundled
            encoder for the defaults of softset and bertscore.
        score_label: "F" if the score is F1, otherwise "score".
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
    chance: ChanceLevel | None = None
    score_label: str = "F"

    def counterparts(self, side: str, index: int, most: int = 3) -> list[tuple[int, float]]:
        """Return the tokens of the other text that contribute most to one token, as (index, link), strongest first."""
        row = (self.candidate_links if side == "candidate" else self.reference_links)[index]
        return [(int(other), float(row[other])) for other in np.argsort(-row, kind="stable")[:most]]

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as lists and floats."""
        chance = None if self.chance is None else self.chance._asdict()
        values = vars(self) | {"chance": chance}
        return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in values.items()}


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Two texts, the cosine of every pair of tokens, and the numbers of each metric.

    Attributes:
        candidate: The text whose tokens precision averages over.
        reference: The text whose tokens recall averages over.
        cosines: (k, l) cosine of each candidate token and each reference token.
        views: One view for each metric.
        signature: The signature of the scores of the first view.
    """

    candidate: ExplainedText
    reference: ExplainedText
    cosines: np.ndarray
    views: tuple[MetricView, ...]
    signature: str

    def __repr__(self) -> str:
        scores = ", ".join(f"{view.metric} {view.score:.3f}" for view in self.views)
        return f"Explanation({len(self.candidate.tokens)} and {len(self.reference.tokens)} tokens, {scores})"

    def _repr_html_(self) -> str:
        return "".join(self._view_table(view) for view in self.views)

    def _view_table(self, view: MetricView) -> str:
        """Return a short HTML table of one metric, for notebooks; `to_html` has all numbers."""
        sides = (
            ("candidate", self.candidate.tokens, self.reference.tokens, view.candidate_membership),
            ("reference", self.reference.tokens, self.candidate.tokens, view.reference_membership),
        )
        rows = []
        for side, tokens, others, memberships in sides:
            for index, token in enumerate(tokens[:HTML_TOKENS]):
                strongest = ", ".join(f"{others[other]} {link:.2f}" for other, link in view.counterparts(side, index))
                rows.append([side, token, f"{memberships[index]:.2f}", strongest])
        numbers = f"P {view.precision:.3f}, R {view.recall:.3f}, {view.score_label} {view.score:.3f}"
        header = ["text", "token", "membership", f"strongest {view.links}s"]
        return html_table(header, rows, caption=f"{view.metric}: {numbers}")

    def to_text(self, *, colour: bool = False, width: int = 100) -> str:
        """Return the explanation as text for a terminal of `width` columns."""
        from softset.similarity.explain.text import as_text

        return as_text(self, colour=colour, width=width)

    def to_html(self) -> str:
        """Return the explanation as a self-contained HTML page."""
        from softset.similarity.explain.html import as_html

        return as_html(self)

    def save_png(self, path: str | os.PathLike[str]) -> None:
        """Write the explanation as a PNG image, replacing the file atomically; needs the extra `plot`."""
        from softset.similarity.explain.plot import as_png

        write_atomically(path, as_png(self))

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as lists and floats, ready for JSON."""
        return {
            "signature": self.signature,
            "candidate": vars(self.candidate),
            "reference": vars(self.reference),
            "cosines": self.cosines.tolist(),
            "metrics": [view.to_dict() for view in self.views],
        }

    def to_json(self) -> str:
        """Return `to_dict` as one JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


def check_tokens(explanation: Explanation, most: int, output: str, least: int = 0) -> None:
    """Raise InputError if a text has more or fewer tokens than an output can show."""
    for name, text in (("candidate", explanation.candidate), ("reference", explanation.reference)):
        if not least <= len(text.tokens) <= most:
            raise InputError(
                f"{output} shows {least} to {most:,} tokens of a text, but the {name} has {len(text.tokens):,}: "
                "explain a part of the text, or use the JSON output"
            )
