"""The cold start of the command line."""

import statistics
import sys

from benchmarks.case import Case, Outcome, Target
from benchmarks.measuring import process

__all__ = ["CASES"]


def _run(quick: bool) -> Outcome:
    commands = {
        "ours": [sys.executable, "-m", "softset", "find", "{red, blue, green}"],
        "numpy": [sys.executable, "-c", "import numpy"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(4 if quick else 16):
        for name, command in commands.items():
            spent = process(command).seconds
            if turn:
                times[name].append(spent)
    ours, peer = (statistics.median(times[name]) for name in commands)
    return Outcome(ours, peer, "s", ours - peer, ("a new process each time, files in the system's cache",))


CASES = (
    Case(
        "start",
        "cold start of `softset find` on the bundled vectors",
        'python -c "import numpy"',
        "our seconds - peer's seconds",
        Target("within 0.6 s of it", 0.6, "lower"),
        _run,
    ),
)
