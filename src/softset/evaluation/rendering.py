"""Tables of results as text, Markdown and LaTeX: a line a method, a column a dataset and metric."""

from collections.abc import Sequence

from softset.evaluation.results import Row, Table
from softset.evaluation.tables import aligned, escaped

__all__ = ["as_latex", "as_markdown", "as_text", "shown"]

PERCENT = ("R@", "leak", "A outside B", "difference")


def as_text(table: Table) -> str:
    """Return aligned columns for a terminal, and what the marks mean.

    >>> print(as_text(Table("STS", (Row("sts", "STS12", "average", "spearman", 0.5, 100),))))
    STS
    method   STS12
    average   .500
    """
    lines = aligned(_cells(table))
    return "\n".join([table.title, *lines, *_notes(table)])


def as_markdown(table: Table) -> str:
    """Return a table for a page, with what made it below.

    >>> print(as_markdown(Table("STS", (Row("sts", "STS12", "average", "spearman", 0.5, 100),))).splitlines()[2])
    | method | STS12 |
    """
    header, *body = _cells(table)
    lines = [f"# {table.title}", "", _bars(header), _bars(["---", *["---:"] * (len(header) - 1)])]
    lines += [_bars([one.replace("|", "\\|") for one in row]) for row in body]
    facts = [f"- {name}: {value}" for name, value in table.facts.items() if not isinstance(value, dict | None)]
    return "\n".join([*lines, "", *(f"{one}  " for one in _notes(table)), "", *facts]) + "\n"


def as_latex(table: Table) -> str:
    r"""Return a tabular with the rules of booktabs; marks of significance are raised.

    >>> print(as_latex(Table("STS", (Row("sts", "STS12", "average", "spearman", 0.5, 100),))).splitlines()[1])
    \toprule
    """
    header, *body = _cells(table)
    lines = [_row(map(escaped, header)), r"\midrule"]
    for name, *cells in body:
        lines.append(_row([escaped(name), *(_raised(cell) for cell in cells)]))
    comments = [f"% {one}" for one in _notes(table)]
    columns = "l" + "r" * (len(header) - 1)
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}", *comments]
    )


def _bars(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(cells: "Sequence[str] | map[str]") -> str:
    return " & ".join(cells) + r" \\"


def _raised(cell: str) -> str:
    number = cell.rstrip("*")
    marks = cell[len(number) :]
    return f"{number}$^{{{marks}}}$" if marks else number


def _cells(table: Table) -> list[list[str]]:
    """Return a header and one line a method; the metric is named only where there are several."""
    columns = table.columns
    several = len({metric for _, metric in columns} - {"seconds"}) > 1
    header = ["method"]
    for dataset, metric in columns:
        header.append(metric if metric == "seconds" else f"{dataset} {metric}" if several else dataset)
    lines = [header]
    for method in table.methods:
        found = [table.row(method, *column) for column in columns]
        name = f"{method} (default)" if any(one and one.default for one in found) else method
        lines.append([name, *("" if one is None else shown(one) for one in found)])
    return lines


def shown(row: Row) -> str:
    """Return a number as people write it: .526, 35.7 for recalls in percent, 246 for a rank; and its marks.

    >>> shown(Row("sets", "Set", "crisp", "R@100", 0.357, 100, p=0.001))
    '35.7**'
    >>> shown(Row("sts", "STS12", "average", "spearman", -0.1, 9))
    '-.100'
    """
    if row.metric == "median":
        number = f"{row.value:,.0f}"
    elif row.metric.startswith(PERCENT):
        number = f"{100 * row.value:.1f}"
    elif row.metric.endswith("/s") or row.metric == "seconds":
        number = f"{row.value:,.1f}"
    else:
        number = f"{row.value:.3f}".replace("0.", ".", 1) if abs(row.value) < 1 else f"{row.value:.3f}"
    marks = "" if row.p is None else "**" if row.p < 0.01 else "*" if row.p < 0.05 else ""
    return number + marks


def _notes(table: Table) -> list[str]:
    """Return what the marks mean, where there are some."""
    if table.baseline is None or all(row.p is None for row in table.rows):
        return []
    return [f"* and **: p < .05 and p < .01 in a paired test against {table.baseline}, each difference alone."]
