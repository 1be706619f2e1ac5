"""Tables of results: rows of numbers with intervals, saved as JSON and printed as text, Markdown or LaTeX."""

import io
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from softset import __version__
from softset.errors import FileError, InputError
from softset.io.atomic import write_atomically
from softset.io.json_files import read_json
from softset.io.text import printable

PERCENT_METRICS = ("R@", "MAP", "leak", "A outside B", "difference")
LOWER_IS_BETTER = ("leak", "median")
BETTER, WORSE = "▲", "▼"
LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # a bracket after \midrule would begin an option
    "]": "{]}",
}


@dataclass(frozen=True)
class ResultRow:
    """One result of a method on a dataset.

    Attributes:
        task: Name of the task, such as sts.
        dataset: Name of the dataset.
        method: Name of the method.
        metric: What was measured, such as spearman or R@100.
        value: The result.
        n: Number of pairs, queries or judgements.
        low: Lower end of the confidence interval.
        high: Upper end of the confidence interval.
        p: p value of a paired test against the table's baseline.
        default: Whether the method is softset's default.
    """

    task: str
    dataset: str
    method: str
    metric: str
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    p: float | None = None
    default: bool = False


@dataclass(frozen=True)
class ResultTable:
    """Rows, the baseline they are tested against, and facts: signatures, checksums of the data, seed, date."""

    title: str
    rows: tuple[ResultRow, ...]
    baseline: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def methods(self) -> list[str]:
        """The methods, in the order of their first row."""
        return list(dict.fromkeys(row.method for row in self.rows))

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Each pair of a dataset and a metric, in the order of its first row."""
        return list(dict.fromkeys((row.dataset, row.metric) for row in self.rows))

    def row(self, method: str, dataset: str, metric: str) -> ResultRow | None:
        """Return the row of a method, dataset and metric, or None."""
        return self._by_key.get((method, dataset, metric))

    @cached_property
    def _by_key(self) -> dict[tuple[str, str, str], ResultRow]:
        return {(row.method, row.dataset, row.metric): row for row in reversed(self.rows)}

    def value(self, method: str, dataset: str, metric: str) -> float:
        """Return the value of a method, dataset and metric; raise InputError if there is none."""
        row = self.row(method, dataset, metric)
        if row is None:
            raise InputError(f"the table has no {metric} of {method} on {dataset}")
        return row.value

    def cell(self, method: str, dataset: str, metric: str) -> str:
        """Return a value as text, marked if it differs significantly from the baseline; "" if there is no row.

        ▲ and ▲▲ mean better than the baseline with p < .05 and p < .01; ▼ and ▼▼ mean worse.
        """
        row = self.row(method, dataset, metric)
        return "" if row is None else format_value(metric, row.value) + self._marks(row)

    def _marks(self, row: ResultRow) -> str:
        if row.p is None or row.p >= 0.05 or self.baseline is None:
            return ""
        title = row.method.rpartition(": ")[0]  # each collection of word vectors has its own baseline row
        baseline = self.row(f"{title}: {self.baseline}" if title else self.baseline, row.dataset, row.metric)
        if baseline is None or baseline.value == row.value:
            return ""
        better = (row.value > baseline.value) != (row.metric in LOWER_IS_BETTER)
        return (BETTER if better else WORSE) * (2 if row.p < 0.01 else 1)

    def to_json(self) -> str:
        """Return the rows as a JSON list."""
        return json.dumps([asdict(row) for row in self.rows], allow_nan=False)

    def to_text(self) -> str:
        """Return aligned columns for a terminal, with a legend of the marks."""
        return "\n".join([self.title, *text_table(self._cells()), *self._legend()])

    def to_markdown(self) -> str:
        """Return a Markdown page with the table and the facts behind it."""
        header, *body = self._cells()
        facts = [f"- {name}: {value}" for name, value in self.facts.items() if not isinstance(value, dict | None)]
        table = markdown_table(header, body)
        return "\n".join([f"# {self.title}", "", *table, "", *(f"{line}  " for line in self._legend()), "", *facts, ""])

    def to_latex(self) -> str:
        r"""Return a LaTeX tabular for the package booktabs, with significance marks as raised arrows."""
        header, *body = self._cells()
        names = list(map(latex_escape, header))
        rows = [[latex_escape(name), *map(_raise_marks, cells)] for name, *cells in body]
        columns = "l" + "r" * (len(header) - 1)
        return "\n".join([*latex_tabular(columns, [[names], rows]), *(f"% {line}" for line in self._legend())])

    def _cells(self) -> list[list[str]]:
        """Return a header and one line per method; the metric is named only if there are several."""
        several = len({metric for _, metric in self.columns}) > 1
        header = ["method", *(f"{dataset} {metric}" if several else dataset for dataset, metric in self.columns)]
        defaults = {row.method for row in self.rows if row.default}
        names = {method: f"{method} (default)" if method in defaults else method for method in self.methods}
        cells = {method: [self.cell(method, *column) for column in self.columns] for method in names}
        return [header, *([name, *cells[method]] for method, name in names.items())]

    def _legend(self) -> list[str]:
        if self.baseline is None or all(row.p is None for row in self.rows):
            return []
        same = " with the same vectors" if any(name.endswith(f": {self.baseline}") for name in self.methods) else ""
        marks = f"{BETTER} better, {WORSE} worse than {self.baseline}{same}"
        return [f"{marks} (paired test: one mark p < .05, two marks p < .01)."]

    def save(self, folder: str | os.PathLike[str], name: str) -> list[Path]:
        """Write NAME.json and NAME.md to a folder and return the two paths."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        facts = {"softset": __version__, "date": f"{datetime.now(UTC):%Y-%m-%d}", **self.facts}
        content = {"title": self.title, "baseline": self.baseline, "facts": facts}
        lines = ",\n".join(json.dumps(_stored(row), allow_nan=False) for row in self.rows)  # one per line, for diffs
        text = json.dumps(content, indent=1)[:-2] + f',\n "rows": [\n{lines}\n]\n}}\n'
        files = {target / f"{name}.json": text, target / f"{name}.md": replace(self, facts=facts).to_markdown()}
        for path, written in files.items():
            write_atomically(path, written.encode())
        return list(files)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "ResultTable":
        """Read a JSON file written by `save`."""
        content = read_json(path, remedy="create it again")
        try:
            stored = [row for row in content["rows"] if row["metric"] != "seconds"]  # in tables up to version 0.6
            rows = tuple(ResultRow(**{name: row[name] for name in row if name != "seconds"}) for row in stored)
            return cls(content["title"], rows, content["baseline"], content["facts"])
        except (ValueError, KeyError, TypeError) as error:
            raise FileError(f"{path} is not a table of results ({error}): create it again") from None


def _stored(row: ResultRow) -> dict[str, Any]:
    """Return the fields of a row that differ from their defaults, with 6 digits."""
    fields = {name: value for name, value in asdict(row).items() if value is not None and value is not False}
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in fields.items()}


def format_value(metric: str, value: float) -> str:
    """Return a value as papers print it: .526, 35.7 for recall in percent, 246 for a rank.

    >>> format_value("R@100", 0.357), format_value("spearman", -0.1)
    ('35.7', '-.100')
    """
    if metric == "median":
        return f"{value:,.0f}"
    if metric.startswith(PERCENT_METRICS):
        return f"{100 * value:.1f}"
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def text_table(rows: Sequence[Sequence[str]], right: Sequence[bool] | None = None) -> list[str]:
    """Return rows of cells as lines with aligned columns; all columns but the first are aligned right by default."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for is_right in right or [False, *[True] * (len(rows[0]) - 1)]:
        table.add_column(justify="right" if is_right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    stream = io.StringIO()
    Console(file=stream, width=100_000, color_system=None, force_jupyter=False).print(table)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table; all columns but the first are aligned right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)]]
    lines += [[printable(cell).replace("|", "\\|") for cell in cells] for cells in rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def latex_escape(text: str) -> str:
    r"""Return a text that LaTeX prints literally."""
    return "".join(LATEX.get(character, character) for character in printable(text))


def latex_tabular(columns: str, blocks: Iterable[Sequence[Sequence[str]]]) -> list[str]:
    r"""Return the lines of a LaTeX tabular for the package booktabs, with a rule between blocks of rows."""
    lines = [[" & ".join(cells).strip() + r" \\" for cells in block] for block in blocks]
    body = "\n\\midrule\n".join("\n".join(block) for block in lines).split("\n")
    return [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *body, r"\bottomrule", r"\end{tabular}"]


def _raise_marks(cell: str) -> str:
    number = cell.rstrip(BETTER + WORSE)
    arrows = "".join(r"\uparrow" if mark == BETTER else r"\downarrow" for mark in cell[len(number) :])
    return f"{number}$^{{{arrows}}}$" if arrows else number
