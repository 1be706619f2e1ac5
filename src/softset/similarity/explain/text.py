"""An explanation as terminal text: the scores, then for each text a table of its tokens and their counterparts."""

import math
import unicodedata
from collections.abc import Sequence
from io import StringIO
from typing import Literal, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from softset.io.text import printable
from softset.similarity.explain.data import ExplainedText, Explanation, MetricView

# Styles from membership 0 to 1. Text and background are both set, so that their contrast is at least 4.5:1 in any
# theme; grey to blue is also visible to readers who cannot tell red from green.
STYLES = ("", *(f"color(16) on color({shade})" for shade in (252, 153, 117, 75, 33)), "color(231) on color(27)")
MIN_WIDTH = 40
TOKEN_WIDTH = 16
VIEW_WIDTH = 40  # columns that one metric needs in a table


class Direction(NamedTuple):
    """The tokens of one text and their membership in the other text."""

    name: str
    text: ExplainedText
    other: ExplainedText
    membership: np.ndarray
    weights: np.ndarray
    links: np.ndarray


def as_text(explanation: Explanation, *, colour: bool, width: int) -> str:
    """Return the explanation as lines of at most `width` columns (at least 40)."""
    lines, width = StringIO(), max(width, MIN_WIDTH)
    system: Literal["256"] | None = "256" if colour else None
    console = Console(
        file=lines, width=width, force_terminal=colour, force_jupyter=False, color_system=system, no_color=False
    )
    for view in explanation.views:
        scores = format_scores(view, view.precision, view.recall, view.score)
        console.print(Text(f"{printable(view.metric)}  {scores}  {chance_note(view)}".rstrip()))
    abreast = max((width - TOKEN_WIDTH) // VIEW_WIDTH, 1)
    for side, title in enumerate(
        ("Candidate tokens: membership in the reference", "Reference tokens: membership in the candidate")
    ):
        for start in range(0, len(explanation.views), abreast):
            console.print(Text(f"\n{title}", "bold"))
            console.print(_table(explanation, explanation.views[start : start + abreast], side))
    return "\n".join(line.rstrip(" ") for line in lines.getvalue().splitlines())


def directions(explanation: Explanation, view: MetricView) -> tuple[Direction, Direction]:
    """Return both directions of a view: candidate tokens in the reference, and reference tokens in the candidate."""
    first, second = explanation.candidate, explanation.reference
    return (
        Direction("candidate", first, second, view.candidate_membership, view.candidate_weights, view.candidate_links),
        Direction("reference", second, first, view.reference_membership, view.reference_weights, view.reference_links),
    )


def chance_note(view: MetricView) -> str:
    """Return the scores of unrelated text in parentheses, or an empty string if they are not known."""
    if view.chance is None:
        return ""
    return f"(unrelated text: {format_scores(view, *view.chance[:3])})"


def format_scores(view: MetricView, precision: float, recall: float, score: float) -> str:
    """Return three numbers of a metric with their names."""
    return f"P {precision:z.3f}  R {recall:z.3f}  {view.score_label} {score:z.3f}"


def _table(explanation: Explanation, views: Sequence[MetricView], side: int) -> Table:
    """Return a table with a row for each token of a side, and three columns for each metric."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("token", no_wrap=True, max_width=TOKEN_WIDTH)
    for view in views:
        table.add_column(Text(printable(view.metric)), justify="right", no_wrap=True, max_width=TOKEN_WIDTH)
        table.add_column("weight", justify="right", no_wrap=True)
        table.add_column(f"strongest {view.links}s")
    seen = [(view, directions(explanation, view)[side]) for view in views]
    for index, token in enumerate(seen[0][1].text.tokens):
        cells = [_isolated(token)]
        for view, direction in seen:
            membership = float(direction.membership[index])
            cells += [
                Text(f"{membership:z.2f}", _style(membership)),
                Text(f"{direction.weights[index]:z.3f}"),
                _strongest(view, direction, index),
            ]
        table.add_row(*cells)
    return table


def _strongest(view: MetricView, direction: Direction, index: int) -> Text:
    """Return the strongest counterparts of a token, each with its link."""
    counterparts = view.counterparts(direction.name, index)
    return Text(", ").join(
        _isolated(direction.other.tokens[other]).append(f" {link:z.2f}") for other, link in counterparts
    )


def _isolated(token: str) -> Text:
    """Return a token as text; a right-to-left token is isolated, so that the rest of the line keeps its order."""
    shown = printable(token)
    right_to_left = any(unicodedata.bidirectional(char) in {"R", "AL", "AN"} for char in shown)
    return Text(f"\u2068{shown}\u2069" if right_to_left else shown)


def _style(membership: float) -> str:
    share = 0.0 if math.isnan(membership) else min(max(membership, 0.0), 1.0)
    return STYLES[min(int(share * len(STYLES)), len(STYLES) - 1)]
