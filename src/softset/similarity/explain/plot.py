"""An explanation as a picture: for each metric a heat map of links, with the memberships at its margins."""

import io
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from softset.errors import InputError, MissingExtraError
from softset.io.atomic import write_atomically
from softset.similarity.explain.data import Explanation, View
from softset.similarity.explain.text import clip, columns, visible

__all__ = ["MOST_TOKENS", "MOST_VIEWS", "as_png", "require_matplotlib", "save_png"]

MOST_TOKENS = 1000  # a side: a cell of two metrics is then still a pixel
MOST_VIEWS = 6  # side by side
NAMED = 60  # a side: of more tokens only every second, third, ... has its name
NUMBERED = 12  # a side: up to here each cell has its number
LONGEST, TITLE = 14, 30  # letters of a token's name, and of a metric's
DOTS = 120  # to an inch
WIDEST, TALLEST = 36.0, 9.0  # inches for the cells of all metrics; with the margins 5,600 by 1,500 dots
BLUE, RED, GREY, DIM = "#1b6ca8", "#c8553d", "#8a8a8a", "#555555"

# The first comes with matplotlib; the others have letters it lacks, and those that are not installed are passed over.
FONTS = ("DejaVu Sans", "Noto Sans CJK JP", "Hiragino Sans", "PingFang SC", "Yu Gothic", "Microsoft YaHei")


class Room(NamedTuple):
    """Inches: of the cells of one metric, of the names beside and below them, and of bars, scale and titles."""

    wide: float
    high: float
    beside: float
    below: float
    bars: float = 0.6
    number: float = 0.4
    scale: float = 0.9
    title: float = 0.55
    rule: float = 0.3


def save_png(explanation: Explanation, path: str | os.PathLike[str]) -> None:
    """Draw the explanation into a file, which is then whole or as it was; see `as_png`.

    >>> from softset.similarity.explain import Explanation, Side
    >>> nothing = Side("", (), ())
    >>> save_png(Explanation(nothing, nothing, np.empty((0, 0)), (), ""), "nothing.png")
    Traceback (most recent call last):
    softset.errors.InputError: a picture needs tokens on both sides, but the candidate has none
    """
    write_atomically(path, as_png(explanation))


def as_png(explanation: Explanation) -> bytes:
    """Return the picture as the bytes of a PNG: a row for each candidate token, a column for each reference token.

    Of more than 60 tokens a side only some are named; more than 1,000, or more than 6 metrics, are refused.

    >>> from importlib.util import find_spec
    >>> from softset.similarity.explain import Explanation, Side, View
    >>> C, ones, halves = np.array([[0.6, 0.8]]), np.ones(1), np.full(2, 0.5)
    >>> view = View("bertscore", 0.8, 0.7, 0.75, C.max(1), C.max(0), ones, halves, C, C.T, "cosine")
    >>> royalty, couple = Side("royalty", ("royalty",), None), Side("king queen", ("king", "queen"), None)
    >>> explanation = Explanation(royalty, couple, C, (view,), "")
    >>> find_spec("matplotlib") is None or as_png(explanation)[1:4] == b"PNG"
    True
    """
    _check(explanation)
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fonts = _fonts()
    rows = _names(explanation.candidate.tokens, fonts)
    head = _names(explanation.reference.tokens, fonts)
    views = explanation.views
    room = _room(rows, head, len(views))
    each = room.wide + room.bars + room.number + room.scale
    size = (room.beside + each * len(views), room.title + room.bars + room.number + room.high + room.below + room.rule)
    figure = Figure(figsize=size, dpi=DOTS, facecolor="white")
    FigureCanvasAgg(figure)  # this picture's own canvas: none of pyplot's state is made or met
    for at, view in enumerate(views):
        _draw(Panel(figure, size, room, room.beside + at * each, fonts), view, rows if not at else None, head)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=DOTS, metadata={"Software": None})  # the same picture is the same file
    return stream.getvalue()


def require_matplotlib() -> None:
    """Tell, before any work is done, that matplotlib is missing.

    >>> from importlib.util import find_spec
    >>> find_spec("matplotlib") is None or require_matplotlib() is None
    True
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("pictures need matplotlib: pip install 'softset[plot]'") from None


def _check(explanation: Explanation) -> None:
    for name, side in (("candidate", explanation.candidate), ("reference", explanation.reference)):
        if not side.tokens:
            raise InputError(f"a picture needs tokens on both sides, but the {name} has none")
        if len(side.tokens) > MOST_TOKENS:
            raise InputError(
                f"a picture shows at most {MOST_TOKENS:,} tokens a side, but the {name} has {len(side.tokens):,}: "
                "explain a part of the text, or read all of it as JSON"
            )
    if not 1 <= len(explanation.views) <= MOST_VIEWS:
        raise InputError(f"a picture shows 1 to {MOST_VIEWS} metrics, but {len(explanation.views)} were given")


def _room(rows: Sequence[str], head: Sequence[str], views: int) -> Room:
    """Return how large things are: cells shrink as tokens grow in number, so that the picture does not."""
    wide = max(len(head) * _cell(len(head), WIDEST / 4 if views < 4 else WIDEST / views), 2.2)  # 2.2 is the title's
    high = max(len(rows) * _cell(len(rows), TALLEST), 0.5)
    beside, below = (0.075 * max(map(columns, names)) + 0.25 for names in (rows, head))
    return Room(wide, high, beside, below)


def _cell(count: int, most: float) -> float:
    return 0.5 if count <= NUMBERED else min(0.26, most / count)


def _fonts() -> dict[str, set[int]]:
    """Return the fonts that are here, each with the code points of its letters."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

    here = set(fontManager.get_font_names())
    files = {name: findfont(FontProperties(family=[name])) for name in FONTS if name in here}
    return {name: set(get_font(file).get_charmap()) for name, file in files.items()}


def _names(texts: Sequence[str], fonts: dict[str, set[int]], longest: int = LONGEST) -> list[str]:
    """Return texts as names of rows or columns; what no font can draw is shown by its code point."""
    drawn = set[int]().union(*fonts.values())
    shown = ("".join(c if ord(c) in drawn else c.encode("unicode_escape").decode() for c in visible(t)) for t in texts)
    return [clip(one, longest) for one in shown]


class Panel(NamedTuple):
    """Where one metric is drawn: the figure and its size, the room there is, where it begins, and with what letters."""

    figure: Any
    size: tuple[float, float]
    room: Room
    left: float
    fonts: dict[str, set[int]]

    def axes(self, left: float, bottom: float, wide: float, high: float) -> Any:
        """Return axes at a place in inches, counted from the corner of the cells."""
        across, up = self.size
        x, y = self.left + left, self.room.rule + self.room.below + bottom
        return self.figure.add_axes((x / across, y / up, wide / across, high / up))

    def letters(self, size: float) -> dict[str, Any]:
        """Return how text is set: as it stands, for a dollar sign in a token is no formula."""
        return {"fontfamily": list(self.fonts), "fontsize": size, "parse_math": False, "usetex": False}


def _draw(panel: Panel, view: View, rows: Sequence[str] | None, head: Sequence[str]) -> None:
    """Draw one metric: its cells, the scale, both margins, its scores and its rule."""
    room, small = panel.room, panel.letters(7)
    cells = panel.axes(0, 0, room.wide, room.high)
    image = _cells(cells, view, panel)
    _ticks(cells, "x", head, {**small, "rotation": 90})
    _ticks(cells, "y", rows or (), small)
    scale = panel.figure.colorbar(image, cax=panel.axes(room.wide + room.bars + room.number + 0.1, 0, 0.1, room.high))
    low, high = image.get_clim()
    scale.set_ticks([low, 0, high], labels=[f"{one:.2g}" for one in (low, 0, high)], **small)
    _margin(panel.axes(room.wide + 0.06, 0, room.bars, room.high), view.candidate_membership, small, upright=False)
    _margin(panel.axes(0, room.high + 0.06, room.wide, room.bars), view.reference_membership, small, upright=True)
    top = room.high + room.bars + room.number
    name = _names([view.metric], panel.fonts, TITLE)[0]
    scores = f"P {view.precision:z.3f}  R {view.recall:z.3f}  F {view.score:z.3f}"
    rule = "cosine: the framed one of a row counts" if view.links == "cosine" else "share: a row sums to 1, all counts"
    for text, x, y, letters in (
        (f"{name}\n{scores}", 0, top + 0.05, panel.letters(9)),
        ("membership", room.wide + 0.06, room.high + 0.06, {**small, "color": DIM}),
        (rule, 0, -room.below - 0.1, {**small, "color": DIM}),
    ):
        cells.annotate(text, (x / room.wide, y / room.high), xycoords="axes fraction", **letters)


def _cells(axes: Any, view: View, panel: Panel) -> Any:
    """Draw the links as colours around 0, as numbers if there are few, and frame those that count alone."""
    from matplotlib.colors import LinearSegmentedColormap

    links = view.candidate_links
    cosine = view.links == "cosine"
    most = 1.0 if cosine else float(np.abs(np.nan_to_num(links)).max()) or 1.0
    colours = LinearSegmentedColormap.from_list("links", [RED, "white", BLUE])
    image = axes.imshow(links, cmap=colours, vmin=-most, vmax=most, aspect="auto", interpolation="antialiased")
    if max(links.shape) <= NUMBERED:
        for (row, column), value in np.ndenumerate(links):
            ink = "white" if abs(value) > 0.65 * most else "black"
            axes.text(column, row, f"{value:z.2f}", ha="center", va="center", color=ink, **panel.letters(7))
    if cosine:
        rows, best = np.arange(len(links)), np.argmax(links, axis=1)
        thin = 1.6 if len(links) <= NAMED else 0.5
        _boxes(axes, best - 0.5, rows - 0.5, 1, 1, facecolors="none", edgecolors="black", linewidths=thin)
    return image


def _boxes(axes: Any, left: Any, bottom: Any, wide: Any, high: Any, **style: Any) -> None:
    """Draw rectangles as one thing: a thousand of them one by one take a second."""
    from matplotlib.collections import PolyCollection

    left, bottom, wide, high = np.broadcast_arrays(left, bottom, wide, high)
    right, top = left + wide, bottom + high
    x, y = np.stack([left, right, right, left], axis=1), np.stack([bottom, bottom, top, top], axis=1)
    corners: Any = np.stack([x, y], axis=2)
    axes.add_collection(PolyCollection(corners, **style), autolim=False)


def _ticks(axes: Any, axis: str, names: Sequence[str], letters: dict[str, Any]) -> None:
    """Name the rows or columns, or every n-th of them if they are many."""
    step = -(-len(names) // NAMED) or 1
    places = list(range(0, len(names), step))
    getattr(axes, f"set_{axis}ticks")(places, labels=[names[at] for at in places], **letters)
    axes.tick_params(length=2, color=GREY)


def _margin(axes: Any, membership: np.ndarray, letters: dict[str, Any], *, upright: bool) -> None:
    """Draw memberships as bars from 0 to 1, with their numbers if they are few."""
    values = np.clip(np.nan_to_num(membership), 0, 1)
    starts = np.arange(len(values)) - 0.4
    boxes = (starts, 0, 0.8, values) if upright else (0, starts, values, 0.8)
    _boxes(axes, *boxes, facecolors=BLUE, edgecolors="none")
    ends = (-0.5, len(values) - 0.5)
    axes.set(xlim=ends if upright else (0, 1), ylim=(0, 1) if upright else ends[::-1], xticks=[], yticks=[])
    for side in ("top", "right", "left" if upright else "bottom"):
        axes.spines[side].set_visible(False)
    if len(values) <= NUMBERED:
        for at, value in enumerate(membership.tolist()):
            end = float(values[at]) + 0.06
            where = (at, end) if upright else (end, at)
            horizontal, vertical = ("center", "bottom") if upright else ("left", "center")
            axes.text(*where, f"{value:z.2f}", ha=horizontal, va=vertical, **letters)
