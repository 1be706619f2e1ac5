"""Load test of a server on this machine: latency, wrong responses and memory growth.

    python -m tests.server.load --seconds 600

First, eight clients send requests as fast as they can for a few seconds, to measure the throughput. Then the same mix
of requests is sent at 60% of that rate. Each request has a fixed start time, and its latency counts from there, so that
a slow response does not reduce the load. At the end far more requests are sent at once than the server accepts: it must
refuse the rest and keep working.
"""

import argparse
import http.client
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from tests.server.conftest import ServerProcess

LOAD = 0.6  # of the measured throughput
CLIENTS = 8
PROBE_SECONDS = 3.0
MAX_RATE = 400.0  # requests per second
WORDS = (
    "red blue green apple peach banana dog cat wolf sea ship storm war bread wine garden king queen snow game".split()
)


@dataclass
class LoadReport:
    """Latencies in seconds by kind of request, statuses, and the memory of the server over time in MB."""

    rate: float
    latencies: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter = field(default_factory=Counter)
    memory: list[float] = field(default_factory=list)
    overload: Counter = field(default_factory=Counter)

    def growth(self) -> float:
        """Return the memory growth in MB from the second to the last quarter; models are loaded in the first."""
        quarter = max(len(self.memory) // 4, 1)
        return float(np.median(self.memory[-quarter:]) - np.median(self.memory[quarter : 2 * quarter]))

    def __str__(self) -> str:
        lines = [f"{self.rate:.0f} requests/s, {sum(self.statuses.values()):,} in all, statuses {dict(self.statuses)}"]
        for kind, latencies in sorted(self.latencies.items()):
            p50, p99 = np.percentile(latencies, [50, 99]) * 1000
            lines.append(f"{kind:12} {len(latencies):8,} requests   p50 {p50:7.1f} ms   p99 {p99:7.1f} ms")
        lines.append(f"memory {np.median(self.memory):.0f} MB, growth {self.growth():+.1f} MB")
        lines.append(f"overload: statuses {dict(self.overload)}")
        return "\n".join(lines)


def generate_requests(rng: random.Random) -> Iterator[tuple[str, str, str, object]]:
    """Yield an endless mix of requests: kind, method, path, body."""
    for number in count():
        words = rng.sample(WORDS, 5)
        query = f"{{{words[0]}, {words[1]}}} {rng.choice('&|-')} {{{words[2]}, {words[3]}}}"
        text, other = " ".join(rng.choices(WORDS, k=8)), " ".join(rng.choices(WORDS, k=12))
        kind = number % 10
        if kind < 5:
            logic = rng.choice(["logistic", "logistic", "lattice", "graded"])
            yield "find", "POST", "/v1/find", {"query": query, "logic": logic, "skip_unknown": True}
        elif kind < 8:
            yield "score", "POST", "/v1/score", {"candidates": [text], "references": [other]}
        elif kind < 9:
            yield "explain", "POST", "/v1/explain", {"candidate": text, "reference": other}
        elif number % 20 < 10:
            yield "page", "GET", "/", None
        else:
            yield "collection", "POST", "/v1/collections", {"texts": [text, other], "model": "words"}


class Client:
    """A persistent connection, which is opened again if the server closes it."""

    def __init__(self, url: str) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def send(self, method: str, path: str, body: object, **headers: bytes) -> tuple[int, bytes]:
        content = None if body is None else json.dumps(body)
        for retry in (True, False):
            try:
                self.connection.request(method, path, content, {"content-type": "application/json", **headers})
                response = self.connection.getresponse()
                return response.status, response.read()
            except (http.client.HTTPException, OSError):
                self.connection.close()
                if not retry:
                    raise
        raise AssertionError


def run_in_threads(n: int, work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure_throughput(url: str) -> float:
    """Return the requests per second of clients that send the next request after each response."""
    completed, deadline = Counter(), time.monotonic() + PROBE_SECONDS

    def work(number: int) -> None:
        with Client(url) as client:
            for _, *request in generate_requests(random.Random(number)):
                if time.monotonic() > deadline:
                    return
                assert client.send(*request)[0] in (200, 201, 422)
                completed[number] += 1

    run_in_threads(CLIENTS, work)
    return sum(completed.values()) / PROBE_SECONDS


def steady_load(url: str, pid: int, seconds: float, report: LoadReport) -> None:
    """Send requests at the rate of the report; a latency counts from the planned start of the request."""
    start, lock = time.monotonic(), threading.Lock()
    numbers, requests = count(), generate_requests(random.Random(0))

    def work(_: int) -> None:
        with Client(url) as client:
            while True:
                with lock:
                    planned, (kind, *request) = start + next(numbers) / report.rate, next(requests)
                if planned > start + seconds:
                    return
                time.sleep(max(planned - time.monotonic(), 0))
                status, _ = client.send(*request)
                with lock:
                    report.latencies.setdefault(kind, []).append(time.monotonic() - planned)
                    report.statuses[status] += 1

    finished = threading.Event()

    def watch_memory() -> None:
        while not finished.wait(0.5):
            report.memory.append(memory_of(pid))

    watcher = threading.Thread(target=watch_memory)
    watcher.start()
    run_in_threads(4 * CLIENTS, work)
    finished.set()
    watcher.join()


def overload(url: str, report: LoadReport) -> None:
    """Send far more requests at once than the server accepts."""
    references = ["other " * 100] * 8

    def work(number: int) -> None:
        body = {"candidates": [f"{number} word " * 60] * 8, "references": references}
        with Client(url) as client:
            status, content = client.send("POST", "/v1/score", body)
        report.overload[status] += 1
        assert status == 200 or "try again" in json.loads(content)["detail"]

    run_in_threads(120, work)


def memory_of(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def run(seconds: float) -> LoadReport:
    """Run the load test against a new server."""
    with ServerProcess("--quiet") as server, Client(server.url) as client:
        report = LoadReport(min(LOAD * measure_throughput(server.url), MAX_RATE))
        steady_load(server.url, server.process.pid, seconds, report)
        overload(server.url, report)
        status, _ = client.send("POST", "/v1/find", {"query": "red"})
        assert status == 200
        server.stop()
        assert server.process.returncode == 0
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    sys.stdout.write(f"{run(parser.parse_args().seconds)}\n")
