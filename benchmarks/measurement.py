"""Measurement of time and memory: alternating tasks, matrix products, separate processes."""

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
    "REPETITIONS",
    "MatrixProduct",
    "ProcessResult",
    "Task",
    "core_count",
    "describe_machine",
    "format_number",
    "median_seconds",
    "repeated",
    "run_process",
    "thread_count",
]

Task = Callable[[], object]
PAUSE_SECONDS = 0.1
REPETITIONS = 8

# The command is started by a small process: on Linux, the peak memory of a child starts at that of its parent.
LAUNCHER = """
import json, os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
output = child.stdout.read().decode()
_, status, usage = os.wait4(child.pid, 0)
seconds = time.perf_counter() - start
peak = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
code = os.waitstatus_to_exitcode(status)
print(json.dumps({"seconds": seconds, "peak_memory": peak, "code": code, "output": output}))
"""


def median_seconds(
    tasks: Mapping[str, Task], repeats: int, warmup: int = 1, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Return the median seconds of each task.

    The tasks alternate, so that other load on the machine affects all of them. The pause lets the OpenBLAS threads of
    the previous task go to sleep; they would occupy a core otherwise.
    """
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(warmup + repeats):
        for name, task in tasks.items():
            time.sleep(PAUSE_SECONDS)
            start = clock()
            task()
            seconds = clock() - start
            if turn >= warmup:
                times[name].append(seconds)
    return {name: statistics.median(values) for name, values in times.items()}


def repeated(task: Task, count: int = REPETITIONS) -> Task:
    """Return a task that runs a short task several times; the first run after a pause is slower."""
    return lambda: [task() for _ in range(count)]


class MatrixProduct:
    """A product of two different float32 matrices, (m, k) by (k, n); a product of a matrix with itself is cheaper."""

    def __init__(self, m: int = 2048, k: int = 2048, n: int = 2048) -> None:
        random = np.random.default_rng(0)
        self.A, self.B = (random.normal(size=shape).astype(np.float32) for shape in ((m, k), (n, k)))
        self.C = np.empty((m, n), dtype=np.float32)
        self.operations = 2 * m * k * n

    def __call__(self) -> None:
        np.matmul(self.A, self.B.T, out=self.C)


@dataclass(frozen=True)
class ProcessResult:
    """The seconds, the peak memory in MB and the standard output of a process."""

    seconds: float
    peak_memory: float
    output: str


def run_process(command: Sequence[str], env: Mapping[str, str] | None = None) -> ProcessResult:
    """Run a command with additional environment variables, and measure it."""
    launcher = [sys.executable, "-S", "-E", "-c", LAUNCHER, *command]
    process = subprocess.run(launcher, stdout=subprocess.PIPE, env={**os.environ, **(env or {})}, check=True)
    result = json.loads(process.stdout)
    if result["code"]:
        raise RuntimeError(f"exit code {result['code']} of {' '.join(command)[:200]}")
    return ProcessResult(result["seconds"], result["peak_memory"], result["output"])


def thread_count() -> int:
    """Return the number of threads for softset and all baselines, which `python -m benchmarks` sets."""
    return int(os.environ.get("OMP_NUM_THREADS", "0")) or core_count()


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe_machine() -> str:
    """Return one line about the machine and the libraries that determine its speed."""
    blas = {f"{pool['internal_api']} {pool['version']}" for pool in threadpool_info() if pool["user_api"] == "blas"}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return ", ".join(
        [
            f"{_processor()} with {core_count()} cores",
            f"{memory:.0f} GB of memory",
            f"{platform.system()} {platform.machine()}",
            f"Python {platform.python_version()}",
            f"NumPy {np.__version__} ({', '.join(sorted(blas)) or 'BLAS unknown'})",
            f"softset {softset.__version__} {'with' if find_spec('numba') else 'without'} numba",
            f"{thread_count()} threads",
            f"load {os.getloadavg()[0]:.1f} at the start",
        ]
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return name or platform.processor() or "unknown processor"


def format_number(value: float) -> str:
    """Return a number with about three digits."""
    size = abs(value)
    return f"{value:,.{0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3}f}"
