"""The table of what was measured: aligned for a terminal, and in Markdown for benchmarks/README.md."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import shown

__all__ = ["aligned", "markdown", "remarks", "renew"]

HEADER = ("case", "ours", "peer", "", "ratio", "target", "ok")
NUMBERS = (1, 2, 4)  # columns
PLACE = re.compile(r"(<!-- results -->\n).*?(<!-- end of results -->)", re.DOTALL)


def aligned(found: Sequence[dict[str, Any]]) -> str:
    """Return the lines of the table, numbers to the right; a skipped case has its reason in place of them."""
    rows = [HEADER, *(_cells(one) for one in found)]
    first, *rest = (max(map(len, column)) for column in zip(*(row for row in rows if len(row) > 2), strict=True))
    first = max(first, *(len(row[0]) for row in rows))
    return "\n".join(_line(row, [first, *rest]) for row in rows)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    justified = (str.rjust if at in NUMBERS else str.ljust for at in range(len(row)))
    cells = (put(cell, width) for put, cell, width in zip(justified, row, widths[: len(row)], strict=True))
    return "  ".join(cells).rstrip()


def _cells(one: dict[str, Any]) -> tuple[str, ...]:
    if one["skipped"]:
        return one["case"], f"skipped: {one['skipped']}"
    values = [shown(one[key]) for key in ("ours", "peer")]
    sign = ">=" if one["better"] == "higher" else "<="
    return one["case"], *values, one["unit"], shown(one["ratio"]), f"{sign} {one['target']:.3g}", _verdict(one)


def _verdict(one: dict[str, Any]) -> str:
    return "yes" if one["ok"] else "NO"


def remarks(one: dict[str, Any]) -> list[str]:
    """Return what a case has to say beside its line."""
    if one["skipped"]:
        return []
    lines = [f"{one['about']}; against {one['against']}", f"ratio: {one['ratio_is']}; {one['target_text']}"]
    return [f"  {line}" for line in [*lines, *map(_check, one["also"]), *one["notes"]]]


def _check(also: dict[str, Any]) -> str:
    sign = ">=" if also["better"] == "higher" else "<="
    return f"{also['what']}: {also['value']:.3g} (to reach: {sign} {also['target']:.3g}{'' if also['ok'] else '; NO'})"


def markdown(found: Sequence[dict[str, Any]]) -> str:
    """Return the table, what each case is against, and its remarks, in Markdown."""
    lines = ["| case | ours | peer | ratio | to reach | reached |", "|---|---:|---:|---:|---|---|"]
    for one in found:
        if one["skipped"]:
            lines.append(f"| {one['case']} | | | | {one['target_text']} | skipped |")
            continue
        ours, peer = (f"{shown(one[key])} {one['unit']}" for key in ("ours", "peer"))
        cells = (one["case"], ours, peer, shown(one["ratio"]), one["target_text"], _verdict(one).lower())
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "What was measured, and how:", ""]
    for one in found:
        if one["skipped"]:
            lines.append(f"- **{one['case']}**: skipped: {one['skipped']}")
        else:
            about = f"{one['about']}, beside {one['against']}; the ratio is {one['ratio_is']}"
            lines.append(f"- **{one['case']}**: {'; '.join([about, *map(_check, one['also']), *one['notes']])}.")
    return "\n".join(lines) + "\n"


def renew(page: Path, found: Sequence[dict[str, Any]], described: str) -> None:
    """Write the table between the two comments of a page."""
    text = page.read_text(encoding="utf-8")
    made = f"\n{described}.\n\n{markdown(found)}\n"
    page.write_text(PLACE.sub(lambda place: place[1] + made + place[2], text), encoding="utf-8")
