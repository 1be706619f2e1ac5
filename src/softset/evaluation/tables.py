"""Comparisons as tables: for a terminal, and for a paper."""

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softset.evaluation.comparison import Comparison, Entry

__all__ = ["aligned", "as_latex", "as_text", "escaped"]

RIGHT = (False, True, False, False, True, True)  # which columns end at the same place
MARKS = "* where both p < 0.05, ** where both p < 0.01"
SPECIAL = {
    **{one: f"\\{one}" for one in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # after \midrule it would begin a width
    "]": "{]}",
}


def as_text(compared: "Comparison") -> str:
    """Return one block of aligned columns a metric, and what the marks mean.

    >>> from softset.evaluation.comparison import compare
    >>> print(as_text(compare({"a": {"f1": [0.0, 1.0]}, "b": {"f1": [0.0, 1.0]}})).splitlines()[3])
    b       0.5000  0.0000 to 1.0000  +0.0000          1.0000           1.0000
    """
    header = ["system", "mean", f"{_percent(compared)}% interval", "difference", "p bootstrap", "p randomisation"]
    table = [header]
    for metric in compared.metrics:
        table += [[_shown(system), *_cells(compared[system, metric])] for system in compared.systems]
    first, *lines = aligned(table, RIGHT)
    blocks = []
    for at, metric in enumerate(compared.metrics):
        start = at * len(compared.systems)
        blocks.append("\n".join([_shown(metric), first, *lines[start : start + len(compared.systems)]]))
    return "\n\n".join([*blocks, _legend(compared)])


def as_latex(compared: "Comparison") -> str:
    r"""Return a tabular with the rules of booktabs, and the signatures as comments.

    >>> from softset.evaluation.comparison import compare
    >>> print(as_latex(compare({"a": {"f1": [0.0, 1.0]}, "b": {"f1": [0.0, 1.0]}})).splitlines()[1])
    \begin{tabular}{llrrlrr}
    """
    header = ["Metric", "System", "Mean", rf"{_percent(compared)}\% interval", "Difference", "$p$ bootstrap"]
    lines = [r"\toprule", _row([*header, "$p$ randomisation"])]
    for metric in compared.metrics:
        lines.append(r"\midrule")
        for at, system in enumerate(compared.systems):
            mean, interval, difference, *p_values = _cells(compared[system, metric])
            number, _, marks = difference.partition(" ")
            raised = f"^{{{marks}}}" if marks else ""
            change = f"${number}{raised}$" if number else ""
            named = escaped(metric) if not at else ""
            lines.append(_row([named, escaped(system), mean, interval, change, *map(escaped, p_values)]))
    comments = [f"% {_shown(line)}" for line in (compared.signature, *compared.signatures.values())]
    legend = [f"% {line}" for line in _legend(compared).splitlines()]
    return "\n".join([*comments, r"\begin{tabular}{llrrlrr}", *lines, r"\bottomrule", r"\end{tabular}", *legend])


def escaped(name: str) -> str:
    r"""Return a name as LaTeX prints it literally.

    >>> print(escaped("50%_best & ~new^2"))
    50\%\_best \& \textasciitilde{}new\textasciicircum{}2
    """
    return "".join(SPECIAL.get(one, one) for one in _shown(name))


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells).strip() + r" \\"


def _cells(entry: "Entry") -> list[str]:
    """Return mean, interval, difference and p values as they are shown."""
    mean, low, high = (f"{number:.4f}" for number in entry.interval)
    shown = [mean, f"{low} to {high}"]
    if entry.difference is None or entry.p_bootstrap is None or entry.p_randomisation is None:
        return [*shown, "", "", ""]
    difference = f"{entry.difference:+.4f} {entry.marks}".rstrip()
    return [*shown, difference, _p(entry.p_bootstrap), _p(entry.p_randomisation)]


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.00005 else "<0.0001"


def _percent(compared: "Comparison") -> str:
    return f"{100 * compared.confidence:.6g}"


def _legend(compared: "Comparison") -> str:
    """Return what the marks mean and what made them."""
    count = (len(compared.systems) - 1) * len(compared.metrics)
    segments = f"{compared.segments:,} segment{'s' * (compared.segments != 1)}"
    seen = f"Differences to {_shown(compared.baseline)} over {segments}"
    tests = f"Paired bootstrap of {compared.samples:,} samples, approximate randomisation of {compared.swaps:,} swaps"
    several = f"; p is of each of the {count} differences alone" if count > 1 else ""
    return f"{seen}; {MARKS}.\n{tests}, seed {compared.seed}{several}."


def aligned(table: Sequence[Sequence[str]], right: Sequence[bool] | None = None) -> list[str]:
    """Return rows of cells as lines with their columns below each other; `right` says which end at the same place.

    Unless it is given, the first column begins and all others end at the same place.

    >>> aligned([["a", "bcd"], ["efg", "h"]])
    ['a    bcd', 'efg    h']
    """
    ends = [False, *[True] * (len(table[0]) - 1)] if right is None else right
    widths = [max(map(_width, column)) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        cells = []
        for cell, width, ends_alike in zip(row, widths, ends, strict=True):
            space = " " * (width - _width(cell))
            cells.append(space + cell if ends_alike else cell + space)
        lines.append("  ".join(cells).rstrip())
    return lines


def _width(text: str) -> int:
    """Return how many places a terminal gives a text: two to wide characters, none to marks over others."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else not unicodedata.combining(one) for one in text)


def _shown(name: str) -> str:
    """Return a name without what would move the cursor."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in name)
