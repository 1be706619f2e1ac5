"""Tables in the documentation that show stored results. Run `python -m tests.docs.tables FILE...` to update them.

A comment before a table names its source. Parts are separated by `|`, entries by `;`:

<!-- table: FOLDER/FILE | methods | datasets | metrics -->              one row per method, one column per dataset
<!-- across: FOLDER/FILE = label; ... | methods | dataset | metric -->  one row per file, one column per method

In the first form, `method as label` and `metric as label` show the label instead of the name.
"""

import re
import sys
from functools import cache
from pathlib import Path

from softset.evaluation.tables import ResultTable

ROOT = Path(__file__).parent.parent.parent
TABLE = re.compile(r"(<!-- (table|across): (.*?) -->\n)((?:\|.*\n)*)")
CELL = re.compile(r"<!-- cell: (.*?) -->")
NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}\.\d|\.\d{3})(?!\w|\.\d)")  # such as 42.9 or .614
NOT_PROSE = re.compile(r"```.*?```|`[^`]*`|^\|[^\n]*$|<!--.*?-->|\]\([^)]*\)", re.DOTALL | re.MULTILINE)


@cache
def load_results(name: str) -> ResultTable:
    """Return a stored table."""
    return ResultTable.load(ROOT / "results" / f"{name}.json")


def update_tables(text: str) -> str:
    """Return a page with every table rebuilt from the stored results."""
    return TABLE.sub(lambda match: match[1] + build_table(match[2], match[3]), text)


def build_table(kind: str, source: str) -> str:
    """Return one table as Markdown."""
    parts = [[entry.strip() for entry in part.split(";")] for part in source.split("|")]
    rows = _one_file(*parts) if kind == "table" else _many_files(*parts)
    header, *body = [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join([header, "|---|" + "---:|" * (len(rows[0]) - 1), *body]) + "\n"


def _one_file(files: list[str], methods: list[str], datasets: list[str], metrics: list[str]) -> list[list[str]]:
    (file,) = files
    labels = {metric: label or metric for metric, _, label in (entry.partition(" as ") for entry in metrics)}
    columns = [(dataset, metric) for dataset in datasets for metric in labels]
    rows = [["", *(_column_label(dataset, labels[metric], datasets, metrics) for dataset, metric in columns)]]
    for entry in methods:
        method, _, label = entry.partition(" as ")
        rows.append([label or f"`{method}`", *(_cell(file, method, *column) for column in columns)])
    return rows


def _column_label(dataset: str, metric: str, datasets: list[str], metrics: list[str]) -> str:
    if len(metrics) == 1:
        return dataset
    return metric if len(datasets) == 1 else f"{dataset} {metric}"


def _many_files(files: list[str], methods: list[str], datasets: list[str], metrics: list[str]) -> list[list[str]]:
    (dataset,), (metric,) = datasets, metrics
    labelled = [[part.strip() for part in entry.split("=")] for entry in files]
    rows = [[label, *(_cell(file, method, dataset, metric) for method in methods)] for file, label in labelled]
    return [["", *(f"`{method}`" for method in methods)], *rows]


def _cell(file: str, method: str, dataset: str, metric: str) -> str:
    return load_results(file).cell(method, dataset, metric)


def unsupported_numbers(text: str) -> list[str]:
    """Return the numbers in a page's prose that none of its tables shows.

    A comment names the source of a number that is in no table: <!-- cell: FOLDER/FILE | method | dataset | metric -->.
    """
    cells = [[part.strip() for part in cell.split("|")] for cell in CELL.findall(text)]
    shown = {number for line in re.findall(r"^\|.*$", text, re.MULTILINE) for number in NUMBER.findall(line)}
    shown |= {_cell(*cell).rstrip("▲▼") for cell in cells}
    return [number for number in NUMBER.findall(NOT_PROSE.sub("", text)) if number not in shown]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(update_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
