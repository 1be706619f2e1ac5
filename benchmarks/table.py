"""The result table, aligned for a terminal and in Markdown for benchmarks/README.md."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measurement import format_number

__all__ = ["details", "markdown_table", "text_table", "update_page"]

Record = dict[str, Any]
HEADER = ("case", "softset", "baseline", "unit", "ratio", "target", "reached")
NUMBER_COLUMNS = (1, 2, 4)
RESULTS = re.compile(r"(<!-- results -->\n).*?(<!-- end of results -->)", re.DOTALL)


def text_table(records: Sequence[Record]) -> str:
    """Return the aligned table; a skipped case shows the reason."""
    rows = [HEADER, *(_cells(record) for record in records)]
    widths = [max(map(len, column)) for column in zip(*(row for row in rows if len(row) > 2), strict=True)]
    widths[0] = max(len(row[0]) for row in rows)
    return "\n".join(_aligned(row, widths) for row in rows)


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    cells = zip(row, widths[: len(row)], strict=True)
    return "  ".join(
        cell.rjust(width) if column in NUMBER_COLUMNS else cell.ljust(width)
        for column, (cell, width) in enumerate(cells)
    ).rstrip()


def _cells(record: Record) -> tuple[str, ...]:
    if record["skipped"]:
        return record["case"], f"skipped: {record['skipped']}"
    numbers = [format_number(record[key]) for key in ("softset", "baseline")]
    ratio, target = format_number(record["ratio"]), _bound(record["better"], record["target"])
    return record["case"], *numbers, record["unit"], ratio, target, _yes_or_no(record["reached"])


def _bound(better: str, bound: float) -> str:
    return f"{'>=' if better == 'higher' else '<='} {bound:.3g}"


def _yes_or_no(reached: bool) -> str:
    return "yes" if reached else "NO"


def details(record: Record) -> list[str]:
    """Return the description, the further checks and the notes of a case."""
    if record["skipped"]:
        return []
    lines = [
        f"{record['description']}; compared with {record['compared_with']}",
        f"ratio: {record['ratio_meaning']}; target: {record['target_text']}",
        *map(_check, record["checks"]),
        *record["notes"],
    ]
    return [f"  {line}" for line in lines]


def _check(check: Record) -> str:
    result = "" if check["passed"] else "; NO"
    return f"{check['text']}: {check['value']:.3g} (target: {_bound(check['better'], check['bound'])}{result})"


def markdown_table(records: Sequence[Record]) -> str:
    """Return the table and a list with the details of each case, in Markdown."""
    lines = ["| case | softset | baseline | ratio | target | reached |", "|---|---:|---:|---:|---|---|"]
    notes = ["", "What was measured:", ""]
    for record in records:
        name = record["case"]
        if record["skipped"]:
            lines.append(f"| {name} | | | | {record['target_text']} | skipped |")
            notes.append(f"- **{name}**: skipped: {record['skipped']}")
            continue
        ours, baseline = (f"{format_number(record[key])} {record['unit']}" for key in ("softset", "baseline"))
        cells = (name, ours, baseline, format_number(record["ratio"]), record["target_text"])
        lines.append(f"| {' | '.join(cells)} | {_yes_or_no(record['reached']).lower()} |")
        about = f"{record['description']}, compared with {record['compared_with']}; ratio: {record['ratio_meaning']}"
        notes.append(f"- **{name}**: {'; '.join([about, *map(_check, record['checks']), *record['notes']])}.")
    return "\n".join([*lines, *notes]) + "\n"


def update_page(page: Path, records: Sequence[Record], machine: str) -> None:
    """Replace the results between the two comments of a page."""
    results = f"\n{machine}.\n\n{markdown_table(records)}\n"
    text = page.read_text(encoding="utf-8")
    page.write_text(RESULTS.sub(lambda match: match[1] + results + match[2], text), encoding="utf-8")
