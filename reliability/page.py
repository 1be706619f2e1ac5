"""The latest full results: stored in results.json and shown in docs/reliability.md."""

import datetime
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS, PAGE = Path(__file__).parent / "results.json", ROOT / "docs" / "reliability.md"
TABLE = re.compile(r"(<!-- figures -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def update(results: list[dict[str, Any]]) -> None:
    """Save results with the date and the machine, and update the page."""
    from benchmarks.measurement import describe_machine

    saved = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    origin = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": describe_machine().partition(", NumPy")[0],
    }
    saved |= {result["name"]: {**result, **origin} for result in results if result["ok"] is not None}
    RESULTS.write_text(json.dumps(saved, indent=1) + "\n", "utf-8")
    page = PAGE.read_text("utf-8")
    PAGE.write_text(TABLE.sub(lambda match: f"{match[1]}\n{table(saved)}\n\n{match[2]}", page), "utf-8")


def table(results: dict[str, Any]) -> str:
    """Return the results as a Markdown table."""
    rows = ["| check | what it does | goal | scope | result | date |", "|---|---|---|---|---|---|"]
    for result in results.values():
        if result["ok"]:
            figures = "; ".join(f"{name}: {value}" for name, value in result["figures"].items())
            scope, outcome = result["scope"], f"passed; {figures}"
        else:
            scope, outcome = "", f"**failed**: {result['failure']}"
        cells = (result["name"], result["description"], result["goal"], scope, outcome, result["date"])
        rows.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    machines = sorted({result["machine"] for result in results.values()})
    return "\n".join([*rows, "", *(f"Measured on: {machine}." for machine in machines)])
