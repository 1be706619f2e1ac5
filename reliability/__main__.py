"""Run reliability checks: `python -m reliability GROUP [--short]`, or single checks with `--only NAME`.

Each check runs in its own process. The exit code is 1 if a check fails. `--write` saves the results and updates
docs/reliability.md.
"""

import argparse
import json
import subprocess
import sys
import time
from typing import Any

from reliability.checks import CHECKS
from reliability.page import ROOT, update

GROUPS = ("fuzz", "crash", "soak", "audit")


def main() -> None:
    options = _parse_arguments()
    if options.child:
        print(json.dumps(CHECKS[options.child].execute(options.short)))
        return
    names = [check.name for check in CHECKS.values() if check.group in options.group or check.name in options.only]
    if not names:
        print(f"python -m reliability: give a group or one of {', '.join(CHECKS)}", file=sys.stderr)
        sys.exit(2)
    results = []
    for name in names:
        results.append(_run(name, short=options.short))
        if options.write:
            update(results[-1:])
    sys.exit(1 if any(result["ok"] is False for result in results) else 0)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m reliability", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("group", nargs="*", choices=[*GROUPS, []], help=f"groups of checks: {', '.join(GROUPS)}")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="name of a check; may be repeated")
    parser.add_argument("--short", action="store_true", help="run a small part of each check")
    parser.add_argument("--write", action="store_true", help="save the results and update docs/reliability.md")
    parser.add_argument("--child", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write and options.short:
        parser.error("--write needs the full checks: leave out --short")
    return options


def _run(name: str, *, short: bool) -> dict[str, Any]:
    """Run a check in a child process and print its result."""
    print(f"{name} ...", file=sys.stderr, flush=True)
    start = time.monotonic()
    command = [sys.executable, "-m", "reliability", "--child", name, *(["--short"] if short else [])]
    process = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    lines = process.stdout.splitlines()
    if process.returncode or not lines:
        result = CHECKS[name].describe(short) | {"ok": False, "failure": f"exit code {process.returncode}"}
    else:
        result = json.loads(lines[-1])
    result["seconds"] = time.monotonic() - start
    print(_format(result), flush=True)
    return result


def _format(result: dict[str, Any]) -> str:
    if result["skipped"]:
        return f"{result['name']:16} skipped: {result['skipped']}"
    if not result["ok"]:
        return f"{result['name']:16} FAILED: {result['failure']}"
    figures = "; ".join(f"{name}: {value}" for name, value in result["figures"].items())
    return f"{result['name']:16} {result['scope']}; {figures} ({result['seconds']:.0f} s)"


if __name__ == "__main__":
    main()
