"""Plots of results: bars with intervals for any table, cumulative curves of ranks, and the paper's figure 1."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softset.errors import InputError
from softset.evaluation.tables import ResultRow, ResultTable
from softset.io.atomic import write_atomically
from softset.io.text import printable
from softset.similarity.explain.plot import require_matplotlib

FORMATS = (".png", ".svg", ".pdf")
DPI = 150
PANELS_PER_ROW = 5
BLUE, GREY, DARK_GREY = "#1b6ca8", "#9aa0a6", "#555555"
ERROR_BARS = {"error_kw": {"elinewidth": 0.7, "capsize": 1.2, "capthick": 0.7, "ecolor": "black"}}


def check_plot(path: Path) -> None:
    """Raise an error, before the work is done, if a plot cannot be written to a path."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path} is not a .png, .svg or .pdf file: a plot is written in one of these formats")
    if not path.absolute().parent.is_dir():
        raise InputError(f"the folder of {path} does not exist: create it first")
    require_matplotlib()


def save_plot(table: ResultTable, path: Path) -> None:
    """Draw a panel per dataset and metric, with a bar per method, its interval, and a line at the baseline."""
    if not table.rows:
        raise InputError("the table has no rows to draw")
    check_plot(path)
    columns, labels = table.columns, [_shorten(method) for method in table.methods]
    across, down = min(len(columns), PANELS_PER_ROW), -(-len(columns) // PANELS_PER_ROW)
    label_width = 0.075 * max(map(len, labels)) + 0.3
    figure = _figure(label_width + 1.9 * across, down * (0.17 * len(labels) + 0.75) + 0.4)
    panels = figure.subplots(down, across, squeeze=False, sharey=True).flat
    for axes, column in zip(panels, columns, strict=False):
        _draw_panel(axes, table, column, labels)
    for axes in list(panels)[len(columns) :]:
        axes.set_visible(False)
    figure.suptitle(_shorten(table.title, 120), fontsize=9, parse_math=False)
    _write(figure, path)


def _draw_panel(axes: Any, table: ResultTable, column: tuple[str, str], labels: Sequence[str]) -> None:
    """Draw one panel, with the methods from top to bottom."""
    rows = [row for method in table.methods if (row := table.row(method, *column)) is not None]
    positions = [table.methods.index(row.method) for row in rows]
    colours = [BLUE if row.default else GREY for row in rows]
    values = [row.value for row in rows]
    axes.barh(positions, values, height=0.72, color=colours, xerr=_errors(rows), **ERROR_BARS)
    baseline = table.row(table.baseline, *column) if table.baseline is not None else None
    if baseline is not None:
        axes.axvline(baseline.value, color=DARK_GREY, linewidth=0.7, linestyle=":")
    axes.set_yticks(range(len(labels)), labels=labels, fontsize=6, parse_math=False)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_title(_shorten(" ".join(column)), fontsize=7, parse_math=False)
    _simplify(axes)


def _errors(rows: Sequence[ResultRow]) -> np.ndarray:
    """Return how far each interval reaches below and above its value, (2, n); NaN without an interval."""
    values = np.array([row.value for row in rows])
    low, high = np.array([(row.low, row.high) for row in rows], dtype=np.float64).T
    # The percentiles of a skewed bootstrap may leave the value just outside the interval.
    return np.maximum([values - low, high - values], 0.0)


def save_ranks(ranks: Mapping[str, npt.ArrayLike], path: Path) -> None:
    """Draw, for each method's ranks of the targets (from 1), the share of targets found up to each rank."""
    curves = {name: np.sort(np.asarray(values, dtype=np.float64).ravel()) for name, values in ranks.items()}
    if not curves or not all(map(len, curves.values())):
        raise InputError("there are no ranks to draw")
    check_plot(path)
    figure = _figure(6.4, 4.2)
    axes = figure.subplots()
    styles = ("-", "--", "-.", ":")
    for index, (name, values) in enumerate(curves.items()):
        share = 100 * np.arange(1, len(values) + 1) / len(values)
        style = {"linewidth": 1.2, "linestyle": styles[index // 10 % 4], "label": _shorten(name)}
        axes.step(values, share, where="post", **style)
    axes.set_xscale("log")
    axes.set_ylim(0, 100)
    axes.set_xlabel("rank", fontsize=8)
    axes.set_ylabel("targets found up to this rank, in percent", fontsize=8)
    for text in axes.legend(fontsize=6, frameon=False).get_texts():
        text.set_parse_math(False)
    _simplify(axes)
    _write(figure, path)


def save_figure_1(sts: ResultTable, sets: ResultTable, path: Path) -> None:
    """Draw the paper's figure 1: sets of vectors beside subspaces, on similarity and on set retrieval.

    Args:
        sts: The table of `softset eval sts`.
        sets: The table of `softset eval sets`.
        path: A .png, .svg or .pdf file.
    """
    check_plot(path)
    figure = _figure(10.4, 3.2)
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    _draw_pairs(left, sts, "spearman", ("bertscore", "subspace"), "Text similarity: Spearman's rho")
    subspaces = "none/crisp/lattice(alpha=0.5)"
    _draw_pairs(right, sets, "R@100", ("none/near/product", subspaces), "Set retrieval: recall at 100")
    _write(figure, path)


def _draw_pairs(axes: Any, table: ResultTable, metric: str, methods: tuple[str, str], title: str) -> None:
    """Draw two bars for every dataset that has a value of both methods."""
    names = [name for name, column_metric in table.columns if column_metric == metric]
    datasets = [name for name in names if all(table.row(method, name, metric) for method in methods)]
    if not datasets:
        table.value(methods[0], "any dataset", metric)  # raises an error that names the missing row
    for shift, method, colour in ((-0.2, methods[0], GREY), (0.2, methods[1], BLUE)):
        rows = [row for name in datasets if (row := table.row(method, name, metric)) is not None]
        positions = np.arange(len(datasets)) + shift
        axes.bar(positions, [row.value for row in rows], 0.38, color=colour, yerr=_errors(rows), **ERROR_BARS)
        for x, row in zip(positions, rows, strict=True):
            top = (x, max(row.value, row.high or 0.0))
            text = table.cell(method, row.dataset, metric)
            axes.annotate(text, top, (0, 2), textcoords="offset points", ha="center", fontsize=5.5)
    axes.set_xticks(range(len(datasets)), labels=datasets, fontsize=7, parse_math=False)
    axes.legend([_shorten(name) for name in methods], fontsize=6, frameon=False, loc="upper left", ncols=2)
    axes.set_ylim(top=1.18 * axes.get_ylim()[1])  # room for the legend
    axes.set_title(title, fontsize=8)
    _simplify(axes)


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=DPI, facecolor="white", layout="constrained")


def _simplify(axes: Any) -> None:
    axes.tick_params(length=2, color=GREY, labelsize=6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _shorten(name: str, longest: int = 60) -> str:
    text = printable(name)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _write(figure: Any, path: Path) -> None:
    """Write a figure so that equal data give equal files."""
    from matplotlib import rc_context

    kind = path.suffix.lower()[1:]
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    stream = io.BytesIO()
    with rc_context({"svg.hashsalt": "softset"}):
        figure.savefig(stream, format=kind, dpi=DPI, metadata=metadata)
    write_atomically(path, stream.getvalue())
