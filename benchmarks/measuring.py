"""Measuring: times of tasks in turns, the machine's own rate of products, and the time and memory of processes."""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

import softset

__all__ = [
    "IN_A_ROW",
    "Process",
    "Sgemm",
    "Task",
    "alternating",
    "cores",
    "in_a_row",
    "machine",
    "process",
    "shown",
    "threads",
]

Task = Callable[[], object]
PAUSE = 0.1  # seconds
IN_A_ROW = 8

# A process of its own starts the command: a child's peak memory begins with that of whoever started it (Linux), so
# that the starter has to be small.
LAUNCH = """
import json, os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
said = child.stdout.read().decode()
_, status, used = os.wait4(child.pid, 0)
seconds = time.perf_counter() - start
peak = used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
print(json.dumps({"seconds": seconds, "peak": peak, "code": os.waitstatus_to_exitcode(status), "said": said}))
"""


def alternating(
    tasks: Mapping[str, Task], repeats: int, warm: int = 1, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Return the median seconds of each task. They run in turns, so that a busy moment of the machine meets all.

    The pause before each is for the threads of the one before: OpenBLAS's wait for more work without sleeping, which
    would take a core from whoever comes next.
    """
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(warm + repeats):
        for name, task in tasks.items():
            time.sleep(PAUSE)
            start = clock()
            task()
            seconds = clock() - start
            if turn >= warm:
                times[name].append(seconds)
    return {name: statistics.median(some) for name, some in times.items()}


def in_a_row(task: Task, times: int = IN_A_ROW) -> Task:
    """Return a task that runs another several times, for one of milliseconds: the first after a pause takes longer."""
    return lambda: [task() for _ in range(times)]


class Sgemm:
    """A product of two different float32 matrices, (m, k) by (k, n): one with itself would be cheaper."""

    def __init__(self, m: int = 2048, k: int = 2048, n: int = 2048) -> None:
        random = np.random.default_rng(0)
        self.A, self.B = (random.normal(size=shape).astype(np.float32) for shape in ((m, k), (n, k)))
        self.C = np.empty((m, n), dtype=np.float32)
        self.operations = 2 * m * k * n

    def __call__(self) -> None:
        np.matmul(self.A, self.B.T, out=self.C)


@dataclass(frozen=True)
class Process:
    """What a process took: seconds, its peak memory in MB, and what it printed."""

    seconds: float
    peak: float
    said: str


def process(command: Sequence[str], env: Mapping[str, str] | None = None) -> Process:
    """Run a command to its end, with more variables than our own; what it says on standard error is shown."""
    launcher = [sys.executable, "-S", "-E", "-c", LAUNCH, *command]
    done = subprocess.run(launcher, stdout=subprocess.PIPE, env={**os.environ, **(env or {})}, check=True)
    found = json.loads(done.stdout)
    if found["code"]:
        raise RuntimeError(f"exit code {found['code']} of {' '.join(command)[:200]}")
    return Process(found["seconds"], found["peak"], found["said"])


def threads() -> int:
    """Return how many threads ours and the peers may use: what `python -m benchmarks` has set for all of them."""
    return int(os.environ.get("OMP_NUM_THREADS", "0")) or cores()


def cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> str:
    """Return one line that describes the machine and the libraries that decide its speed."""
    blas = {f"{one['internal_api']} {one['version']}" for one in threadpool_info() if one["user_api"] == "blas"}
    return ", ".join(
        [
            f"{_processor()} with {cores()} cores",
            f"{_memory()} of memory",
            f"{platform.system()} {platform.machine()}",
            f"Python {platform.python_version()}",
            f"NumPy {np.__version__} ({', '.join(sorted(blas)) or 'BLAS unknown'})",
            f"softset {softset.__version__} {'with' if find_spec('numba') else 'without'} numba",
            f"{threads()} threads for all",
            f"load {os.getloadavg()[0]:.1f} before",
        ]
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or "an unknown processor"


def _memory() -> str:
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{size / 2**30:.0f} GB"


def shown(value: float) -> str:
    """Return a number with about three digits."""
    size = abs(value)
    return f"{value:,.{0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3}f}"
