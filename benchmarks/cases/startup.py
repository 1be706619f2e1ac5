"""Startup time of the command line."""

import statistics
import sys

from benchmarks.case import Case, Measurement, Target
from benchmarks.measurement import run_process

__all__ = ["CASES"]


def _run(quick: bool) -> Measurement:
    commands = {
        "softset": [sys.executable, "-m", "softset", "find", "{red, blue, green}"],
        "numpy": [sys.executable, "-c", "import numpy"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(4 if quick else 16):
        for name, command in commands.items():
            seconds = run_process(command).seconds
            if turn:
                times[name].append(seconds)
    ours, baseline = (statistics.median(times[name]) for name in commands)
    return Measurement(
        ours, baseline, "s", ours - baseline, ("a new process each time, files in the operating system's cache",)
    )


CASES = (
    Case(
        "startup",
        "`softset find` on the bundled vectors, in a new process",
        'python -c "import numpy"',
        "softset seconds - baseline seconds",
        Target("at most 0.6 s more", 0.6, "lower"),
        _run,
    ),
)
