"""Results as pictures: bars with intervals for any table, curves for ranks, and the paper's figure 1."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softset.errors import InputError
from softset.evaluation.rendering import shown
from softset.evaluation.results import Row, Table
from softset.io.atomic import write_atomically
from softset.similarity.explain.plot import require_matplotlib

__all__ = ["check_plot", "save_figure_1", "save_plot", "save_ranks"]

KINDS = (".png", ".svg", ".pdf")
DOTS = 150  # to an inch
ACROSS = 5  # panels in a row
MOST_BARS = 5000
LONGEST = 60  # letters of a method's name
BLUE, GREY, DIM = "#1b6ca8", "#9aa0a6", "#555555"
WHISKERS = {"error_kw": {"elinewidth": 0.7, "capsize": 1.2, "capthick": 0.7, "ecolor": "black"}}


def check_plot(path: Path) -> None:
    """Refuse, before any work is done, a picture that cannot be written.

    >>> check_plot(Path("bars.gif"))
    Traceback (most recent call last):
    softset.errors.InputError: a picture is written as .png, .svg or .pdf, but bars.gif was given
    """
    if path.suffix.lower() not in KINDS:
        raise InputError(f"a picture is written as {', '.join(KINDS[:-1])} or {KINDS[-1]}, but {path} was given")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path} is in no folder that exists: make it first")
    require_matplotlib()


def save_plot(table: Table, path: Path) -> None:
    """Draw a panel a dataset and metric, in it a bar a method with its interval, and a line at the baseline.

    >>> save_plot(Table("empty", ()), Path("bars.png"))
    Traceback (most recent call last):
    softset.errors.InputError: there is nothing to draw: the table has no rows
    """
    if not table.rows:
        raise InputError("there is nothing to draw: the table has no rows")
    if len(table.rows) > MOST_BARS:
        raise InputError(f"a picture shows at most {MOST_BARS:,} bars, but the table has {len(table.rows):,} rows")
    check_plot(path)
    columns, methods = table.columns, table.methods
    names = [_clipped(one) for one in methods]
    wide = min(len(columns), ACROSS)
    deep = -(-len(columns) // ACROSS)
    beside = 0.075 * max(map(len, names)) + 0.3
    figure = _figure(beside + 1.9 * wide, deep * (0.17 * len(methods) + 0.75) + 0.4)
    grid = figure.subplots(deep, wide, squeeze=False, sharey=True)
    for at, axes in enumerate(grid.flat):
        if at < len(columns):
            _bars(axes, table, columns[at], methods, names)
        else:
            axes.set_visible(False)
    figure.suptitle(_clipped(table.title, 120), fontsize=9, parse_math=False)
    _write(figure, path)


def _bars(axes: Any, table: Table, column: tuple[str, str], methods: Sequence[str], names: Sequence[str]) -> None:
    """Draw one panel: methods from the top down."""
    found = [(at, row) for at, one in enumerate(methods) if (row := table.row(one, *column)) is not None]
    places, values = [at for at, _ in found], [row.value for _, row in found]
    colours = [BLUE if row.default else GREY for _, row in found]
    axes.barh(places, values, height=0.72, color=colours, xerr=_reaches([row for _, row in found]), **WHISKERS)
    base = table.row(table.baseline, *column) if table.baseline is not None else None
    if base is not None:
        axes.axvline(base.value, color=DIM, linewidth=0.7, linestyle=":")
    axes.set_yticks(range(len(methods)), labels=names, fontsize=6, parse_math=False)
    axes.set_ylim(len(methods) - 0.4, -0.6)
    dataset, metric = column
    axes.set_title(_clipped(f"{dataset} {metric}"), fontsize=7, parse_math=False)
    _plain(axes)


def _reaches(rows: Sequence[Row]) -> np.ndarray | None:
    """Return how far each interval goes below and above its number, (2, n), where there are intervals."""
    if all(one.low is None and one.high is None for one in rows):
        return None
    ends = [(one.value if one.low is None else one.low, one.value if one.high is None else one.high) for one in rows]
    # The percentiles of a skewed bootstrap may leave the number itself just outside.
    below = [max(one.value - low, 0.0) for one, (low, _) in zip(rows, ends, strict=True)]
    above = [max(high - one.value, 0.0) for one, (_, high) in zip(rows, ends, strict=True)]
    return np.array([below, above])


def save_ranks(ranks: Mapping[str, npt.ArrayLike], path: Path) -> None:
    """Draw, for each method's ranks of what should be found (from 1), which share is found among the first k.

    >>> save_ranks({}, Path("ranks.png"))
    Traceback (most recent call last):
    softset.errors.InputError: there is nothing to draw: no method has ranks
    """
    curves = {name: np.sort(np.asarray(given, dtype=np.float64).ravel()) for name, given in ranks.items()}
    if not curves or not all(len(one) for one in curves.values()):
        raise InputError("there is nothing to draw: no method has ranks")
    for name, one in curves.items():
        if not np.isfinite(one).all() or one[0] < 1:
            raise InputError(f"the ranks of {name} hold {one[~(one >= 1)][:1]}: finite numbers from 1 up were wanted")
    check_plot(path)
    figure = _figure(6.4, 4.2)
    axes = figure.subplots()
    styles = ("-", "--", "-.", ":")
    for at, (name, one) in enumerate(curves.items()):
        share = np.arange(1, len(one) + 1) / len(one)
        axes.step(one, 100 * share, where="post", linewidth=1.2, linestyle=styles[at // 10 % 4], label=_clipped(name))
    axes.set_xscale("log")
    axes.set_ylim(0, 100)
    axes.set_xlabel("rank", fontsize=8)
    axes.set_ylabel("found up to this rank, in percent", fontsize=8)
    legend = axes.legend(fontsize=6, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    _plain(axes)
    _write(figure, path)


def save_figure_1(
    sts: Table,
    sets: Table,
    path: Path,
    *,
    of_texts: tuple[str, str] = ("bertscore", "subspace"),
    of_words: tuple[str, str] = ("none/near/product", "none/crisp/lattice(alpha=0.5)"),
) -> None:
    """Draw the paper's figure 1 from a table of STS and one of set retrieval: sets of vectors beside subspaces.

    Args:
        sts: what `softset eval sts` kept; the mean over its datasets is drawn, and each of them.
        sets: what `softset eval sets` kept; recall among the first 100 is drawn.
        path: a .png, .svg or .pdf file.
        of_texts: two methods of the first table: sets of vectors, and subspaces.
        of_words: two methods of the second.
    """
    check_plot(path)
    figure = _figure(10.4, 3.2)
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    _paired(left, sts, "spearman", of_texts, "Similarity of texts: Spearman's rho")
    _paired(right, sets, "R@100", of_words, "Retrieval of sets: recall among the first 100")
    _write(figure, path)


def _paired(axes: Any, table: Table, metric: str, methods: tuple[str, str], title: str) -> None:
    """Draw two bars for every dataset that both methods have a number of."""
    datasets = [name for name, one in table.columns if one == metric and all(table.row(m, name, one) for m in methods)]
    if not datasets:
        table.value(methods[0], "any dataset", metric)  # says what is missing
    places = np.arange(len(datasets))
    for shift, method, colour in ((-0.2, methods[0], GREY), (0.2, methods[1], BLUE)):
        rows = [row for name in datasets if (row := table.row(method, name, metric)) is not None]
        axes.bar(places + shift, [row.value for row in rows], 0.38, color=colour, yerr=_reaches(rows), **WHISKERS)
        for place, row in zip(places + shift, rows, strict=True):
            end = max(row.value, row.high or 0.0)
            axes.annotate(shown(row), (place, end), (0, 2), textcoords="offset points", ha="center", fontsize=5.5)
    axes.set_xticks(places, labels=datasets, fontsize=7, parse_math=False)
    axes.legend([_clipped(one) for one in methods], fontsize=6, frameon=False, loc="upper left", ncols=2)
    axes.set_ylim(top=1.18 * axes.get_ylim()[1])  # room for the legend
    axes.set_title(title, fontsize=8)
    _plain(axes)


# What all pictures share


def _figure(wide: float, high: float) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(wide, high), dpi=DOTS, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)  # this picture's own canvas: none of pyplot's state is made or met
    return figure


def _plain(axes: Any) -> None:
    axes.tick_params(length=2, color=GREY, labelsize=6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _clipped(name: str, longest: int = LONGEST) -> str:
    """Return a name that fits, without what a font cannot draw."""
    told = "".join(one if one.isprintable() else "?" for one in name)
    return told if len(told) <= longest else told[: longest - 1] + "…"


def _write(figure: Any, path: Path) -> None:
    """Write a figure so that the same numbers make the same file."""
    from matplotlib import rc_context

    kind = path.suffix.lower()[1:]
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    stream = io.BytesIO()
    with rc_context({"svg.hashsalt": "softset"}):
        figure.savefig(stream, format=kind, dpi=DOTS, metadata=metadata)
    write_atomically(path, stream.getvalue())
