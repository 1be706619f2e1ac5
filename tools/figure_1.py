"""Draw the paper's figure 1 from two tables of results/: `python tools/figure_1.py`, which writes results/figure-1.png.

It compares sets of vectors with subspaces, on text similarity and on set retrieval.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from softset.evaluation.tables import ResultRow, ResultTable

RESULTS = Path(__file__).parent.parent / "results"
BLUE, GREY = "#1b6ca8", "#9aa0a6"
ERROR_BARS = {"error_kw": {"elinewidth": 0.7, "capsize": 1.2, "capthick": 0.7, "ecolor": "black"}}


def errors(rows: Sequence[ResultRow]) -> np.ndarray:
    """Return how far each interval reaches below and above its value, (2, n); NaN without an interval."""
    values = np.array([row.value for row in rows])
    low, high = np.array([(row.low, row.high) for row in rows], dtype=np.float64).T
    # The percentiles of a skewed bootstrap may leave the value just outside the interval.
    return np.maximum([values - low, high - values], 0.0)


def draw_pairs(axes: Any, table: ResultTable, metric: str, methods: tuple[str, str], title: str) -> None:
    """Draw two bars for every dataset that has a value of both methods."""
    names = [name for name, column_metric in table.columns if column_metric == metric]
    datasets = [name for name in names if all(table.row(method, name, metric) for method in methods)]
    for shift, method, colour in ((-0.2, methods[0], GREY), (0.2, methods[1], BLUE)):
        rows = [row for name in datasets if (row := table.row(method, name, metric)) is not None]
        positions = np.arange(len(datasets)) + shift
        axes.bar(positions, [row.value for row in rows], 0.38, color=colour, yerr=errors(rows), **ERROR_BARS)
        for x, row in zip(positions, rows, strict=True):
            top = (x, max(row.value, row.high or 0.0))
            text = table.cell(method, row.dataset, metric)
            axes.annotate(text, top, (0, 2), textcoords="offset points", ha="center", fontsize=5.5)
    axes.set_xticks(range(len(datasets)), labels=datasets, fontsize=7, parse_math=False)
    axes.legend(methods, fontsize=6, frameon=False, loc="upper left", ncols=2)
    axes.set_ylim(top=1.18 * axes.get_ylim()[1])  # room for the legend
    axes.set_title(title, fontsize=8)
    simplify(axes)


def simplify(axes: Any) -> None:
    axes.tick_params(length=2, color=GREY, labelsize=6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def main() -> None:
    figure = Figure(figsize=(10.4, 3.2), dpi=150, facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    sts = ResultTable.load(RESULTS / "sts-minilm-layer-4" / "sts.json")
    draw_pairs(left, sts, "spearman", ("bertscore", "subspace"), "Text similarity: Spearman's rho")
    sets, methods = (
        ResultTable.load(RESULTS / "sets-glove-840b" / "sets.json"),
        ("none/near/product", "none/crisp/lattice(alpha=0.5)"),
    )
    draw_pairs(right, sets, "R@100", methods, "Set retrieval: recall at 100")
    figure.savefig(RESULTS / "figure-1.png", metadata={"Software": None})  # equal data give an equal file


if __name__ == "__main__":
    main()
