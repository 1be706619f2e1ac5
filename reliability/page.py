"""The last full figures: kept in results.json, and shown in docs/reliability.md."""

import datetime
import json
import re
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "lines", "renew"]

ROOT = Path(__file__).parent.parent
KEPT, PAGE = Path(__file__).parent / "results.json", ROOT / "docs" / "reliability.md"
PLACE = re.compile(r"(<!-- figures -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def renew(found: list[dict[str, Any]]) -> None:
    """Keep what was found, with the day and the machine, and write the table again."""
    from benchmarks.measurement import describe_machine

    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.is_file() else {}
    today, where = datetime.datetime.now(datetime.UTC).date().isoformat(), describe_machine().partition(", NumPy")[0]
    kept |= {one["name"]: {**one, "date": today, "machine": where} for one in found if one["ok"] is not None}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    page = PAGE.read_text("utf-8")
    PAGE.write_text(PLACE.sub(lambda place: f"{place[1]}\n{lines(kept)}\n\n{place[2]}", page), "utf-8")


def lines(kept: dict[str, Any]) -> str:
    """Return the table in Markdown."""
    rows = ["| check | what is done | to reach | tried | found | date |", "|---|---|---|---|---|---|"]
    for one in kept.values():
        if one["ok"]:
            figures = "; ".join(f"{name} {value}" for name, value in one["figures"].items())
            tried, outcome = one["tried"], f"holds: {figures}"
        else:
            tried, outcome = "", f"**broken**: {one['broken']}"
        cells = (one["name"], one["about"], one["wanted"], tried, outcome, one["date"])
        rows.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    machines = sorted({one["machine"] for one in kept.values()})
    return "\n".join([*rows, "", *(f"Measured on: {machine}." for machine in machines)])
