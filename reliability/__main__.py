"""Prove that softset does not break: `python -m reliability GROUP [--short]`, or some checks by `--only NAME`.

Each check runs in a process of its own. What is found is printed; the exit code is 1 if anything broke. `--write` keeps
the figures and renews docs/reliability.md.
"""

import argparse
import json
import subprocess
import sys
import time
from typing import Any

from reliability.checks import CHECKS
from reliability.page import ROOT, renew

GROUPS = ("fuzz", "crash", "soak", "audit")


def main() -> None:
    given = _arguments()
    if given.alone:
        print(json.dumps(CHECKS[given.alone].record(given.short)))
        return
    names = [one.name for one in CHECKS.values() if one.group in given.group or one.name in given.only]
    if not names:
        print(f"python -m reliability: name a group or one of {', '.join(CHECKS)}", file=sys.stderr)
        sys.exit(2)
    found = []
    for name in names:
        found.append(_run(name, short=given.short))
        if given.write:
            renew(found[-1:])
    sys.exit(1 if any(one["ok"] is False for one in found) else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m reliability", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("group", nargs="*", choices=[*GROUPS, []], help=f"groups of checks: {', '.join(GROUPS)}")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this check; may be repeated")
    parser.add_argument("--short", action="store_true", help="a small part of the work, for every change")
    parser.add_argument("--write", action="store_true", help="keep the figures, and renew docs/reliability.md")
    parser.add_argument("--alone", metavar="NAME", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write and given.short:
        parser.error("--write wants the full checks: leave out --short")
    return given


def _run(name: str, *, short: bool) -> dict[str, Any]:
    """Run a check in a process of its own, and tell what came out."""
    print(f"{name} ...", file=sys.stderr, flush=True)
    start = time.monotonic()
    command = [sys.executable, "-m", "reliability", "--alone", name, *(["--short"] if short else [])]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        found = CHECKS[name].told(short) | {"ok": False, "broken": f"it ended with the exit code {done.returncode}"}
    else:
        found = json.loads(lines[-1])
    found["seconds"] = time.monotonic() - start
    print(_told(found), flush=True)
    return found


def _told(found: dict[str, Any]) -> str:
    if found["skipped"]:
        return f"{found['name']:16} skipped: {found['skipped']}"
    if not found["ok"]:
        return f"{found['name']:16} BROKEN: {found['broken']}"
    figures = "; ".join(f"{name} {value}" for name, value in found["figures"].items())
    return f"{found['name']:16} {found['tried']}; {figures} ({found['seconds']:.0f} s)"


if __name__ == "__main__":
    main()
