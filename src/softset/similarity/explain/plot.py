"""An explanation as a PNG image: a heat map of links for each metric, with memberships beside the token names."""

import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from softset.errors import InputError
from softset.io.text import import_extra, printable
from softset.similarity.explain.data import Explanation, MetricView, check_tokens
from softset.similarity.explain.text import format_scores

MAX_TOKENS = 1000  # per text: a cell is then still a pixel
MAX_VIEWS = 6
MAX_LABELS = 60  # per axis: with more tokens, only every second, third, ... is labelled
MAX_NUMBERS = 12  # up to this many tokens per text, each cell shows its number
MAX_NAME = 14  # characters of a token
FONTS = ("DejaVu Sans", "Noto Sans CJK JP", "Hiragino Sans", "PingFang SC", "Yu Gothic", "Microsoft YaHei")


def as_png(explanation: Explanation) -> bytes:
    """Return a PNG image with a row for each candidate token and a column for each reference token.

    An empty text, a text of more than 1,000 tokens, or more than 6 metrics raise InputError.
    """
    check_tokens(explanation, MAX_TOKENS, "an image", least=1)
    if not 1 <= len(explanation.views) <= MAX_VIEWS:
        raise InputError(f"an image shows 1 to {MAX_VIEWS} metrics, but {len(explanation.views)} were given")
    require_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.font_manager import fontManager

    rows, columns, views = explanation.candidate.tokens, explanation.reference.tokens, explanation.views
    installed = fontManager.get_font_names()
    fonts = [name for name in FONTS if name in installed]
    width = 2.5 + min(max(0.5 * len(columns), 2.0), 9.0 if len(views) < 4 else 36 / len(views))
    size = (width * len(views), 2.5 + min(0.5 * len(rows), 9.0))
    figure = Figure(figsize=size, dpi=120, facecolor="white", layout="constrained")
    for axes, view in zip(figure.subplots(1, len(views), squeeze=False)[0], views, strict=True):
        _draw(figure, axes, view, (rows, columns), fonts)
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # such a character is drawn as a box
        figure.savefig(stream, format="png", metadata={"Software": None})  # the same input gives the same bytes
    return stream.getvalue()


def require_matplotlib() -> None:
    """Raise MissingExtraError if matplotlib is not installed."""
    import_extra("matplotlib", "images need matplotlib: pip install 'softset[plot]'")


def _draw(
    figure: Any, axes: Any, view: MetricView, tokens: tuple[Sequence[str], Sequence[str]], fonts: list[str]
) -> None:
    """Draw one metric: its links as colours, and the membership of each token in its label."""
    letters = {"fontfamily": fonts, "fontsize": 7, "parse_math": False}  # a dollar sign starts no formula
    links, cosine = view.candidate_links, view.links == "cosine"
    largest = 1.0 if cosine else float(np.abs(np.nan_to_num(links)).max()) or 1.0
    image = axes.imshow(links, cmap="RdBu", vmin=-largest, vmax=largest, aspect="auto", interpolation="antialiased")
    label = "cosine: the largest of a row is the membership" if cosine else "share: rows sum to 1"
    figure.colorbar(image, ax=axes, label=label)
    for axis, names, membership in zip(
        "yx", tokens, (view.candidate_membership, view.reference_membership), strict=True
    ):
        indices = range(0, len(names), -(-len(names) // MAX_LABELS))
        labels = [f"{_shortened(names[index], MAX_NAME)} {membership[index]:z.2f}" for index in indices]
        rotation = {"rotation": 90} if axis == "x" else {}
        getattr(axes, f"set_{axis}ticks")(indices, labels=labels, **letters, **rotation)
    if max(links.shape) <= MAX_NUMBERS:
        for (row, column), value in np.ndenumerate(links):
            ink = "white" if abs(value) > 0.65 * largest else "black"
            axes.text(column, row, f"{value:z.2f}", ha="center", va="center", color=ink, **letters)
    chance = f"\nunrelated text: {view.chance.score:z.3f}" if view.chance else ""
    scores = format_scores(view, view.precision, view.recall, view.score)
    axes.set_title(f"{_shortened(view.metric, 30)}\n{scores}{chance}", **{**letters, "fontsize": 9})


def _shortened(text: str, longest: int) -> str:
    shown = printable(text)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
