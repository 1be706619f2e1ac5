"""Tables of the documentation that come from results/: written anew by `python -m tests.docs.tables FILE...`.

A comment before a table says what it is made of, with strokes between its parts, and semicolons in them:

<!-- table: FOLDER/FILE | methods | datasets | metrics -->              a line a method, a column a dataset and metric
<!-- across: FOLDER/FILE = name; ... | methods | dataset | metric -->   a line a file, a column a method
"""

import re
import sys
from functools import cache
from pathlib import Path

from softset.evaluation.tables import ResultTable

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"(<!-- (table|across): (.*?) -->\n)((?:\|.*\n)*)")
CELL = re.compile(r"<!-- cell: (.*?) -->")
NUMBER = re.compile(
    r"(?<![\w.])-?(?:\d{1,3}\.\d|\.\d{3})(?!\w|\.\d)"
)  # as `format_value` writes recalls and correlations


@cache
def results(name: str) -> ResultTable:
    """Return a table of results/."""
    return ResultTable.load(ROOT / "results" / f"{name}.json")


def renewed(text: str) -> str:
    """Return a page with every table as the results have it today."""
    return BLOCK.sub(lambda found: found[1] + made(found[2], found[3]), text)


def made(kind: str, given: str) -> str:
    """Return the lines of one table."""
    parts = [[one.strip() for one in part.split(";")] for part in given.split("|")]
    rows = _of_one(*parts) if kind == "table" else _across(*parts)
    header, *body = [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join([header, "|---|" + "---:|" * (len(rows[0]) - 1), *body]) + "\n"


def _of_one(files: list[str], methods: list[str], datasets: list[str], metrics: list[str]) -> list[list[str]]:
    (file,) = files
    columns = [(dataset, metric) for dataset in datasets for metric in metrics]
    header = [dataset if len(metrics) == 1 else f"{dataset} {metric}" for dataset, metric in columns]
    return [["", *header], *([f"`{one}`", *(_cell(file, one, *column) for column in columns)] for one in methods)]


def _across(files: list[str], methods: list[str], datasets: list[str], metrics: list[str]) -> list[list[str]]:
    (dataset,), (metric,) = datasets, metrics
    named = [[part.strip() for part in one.split("=")] for one in files]
    lines = [[label, *(_cell(file, one, dataset, metric) for one in methods)] for file, label in named]
    return [["", *(f"`{one}`" for one in methods)], *lines]


def _cell(file: str, method: str, dataset: str, metric: str) -> str:
    return results(file).cell(method, dataset, metric)


def strange_numbers(text: str) -> list[str]:
    """Return the numbers of a page's prose that are in none of its tables; tables and code themselves are left out.

    A number that no table of the page shows can be named by a comment, <!-- cell: FOLDER/FILE | method | dataset |
    metric -->.
    """
    cells = [[part.strip() for part in found.split("|")] for found in CELL.findall(text)]
    known = {one.rstrip("▲▼") for line in re.findall(r"^\|.*$", text, re.MULTILINE) for one in NUMBER.findall(line)}
    known |= {_cell(*cell).rstrip("▲▼") for cell in cells}
    prose = re.sub(r"```.*?```|`[^`]*`|^\|[^\n]*$|<!--.*?-->|\]\([^)]*\)", "", text, flags=re.DOTALL | re.MULTILINE)
    return [number for number in NUMBER.findall(prose) if number not in known]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
