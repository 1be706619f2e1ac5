"""A server under load on this machine: how long answers take, that none is wrong, and that memory stays flat.

    python -m tests.server.load --seconds 600

First as many requests as eight clients can ask for are counted for a moment; then the same mix comes at six tenths of
that rate, however long each takes to answer, so that a slow answer does not thin out those after it. At the end far
more come at once than the server takes on: it must refuse the rest, and be as before.
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

from tests.server.conftest import Running

SHARE = 0.6  # of the rate that the machine reaches
CLIENTS = 8
PROBE = 3.0  # seconds in which that rate is measured
MOST = 400.0  # requests a second, whatever the machine could do
WORDS = (
    "red blue green apple peach banana dog cat wolf sea ship storm war bread wine garden king queen snow game".split()
)


@dataclass
class Report:
    """What was measured: seconds by kind of request, statuses, and the server's memory over time in MB."""

    rate: float
    seconds: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter = field(default_factory=Counter)
    memory: list[float] = field(default_factory=list)
    overload: Counter = field(default_factory=Counter)
    per_batch: float = 0.0

    def growth(self) -> float:
        """Return the memory of the last quarter above that of the second, in MB; the first is for loading."""
        quarter = max(len(self.memory) // 4, 1)
        return float(np.median(self.memory[-quarter:]) - np.median(self.memory[quarter : 2 * quarter]))

    def __str__(self) -> str:
        lines = [f"{self.rate:.0f} requests/s, {sum(self.statuses.values()):,} in all, statuses {dict(self.statuses)}"]
        for kind, values in sorted(self.seconds.items()):
            p50, p99 = np.percentile(values, [50, 99]) * 1000
            lines.append(f"{kind:12} {len(values):8,} requests   p50 {p50:7.1f} ms   p99 {p99:7.1f} ms")
        lines.append(f"memory {np.median(self.memory):.0f} MB, growth {self.growth():+.1f} MB")
        lines.append(f"requests in a batch of the model: {self.per_batch:.2f}")
        lines.append(f"overload: statuses {dict(self.overload)}")
        return "\n".join(lines)


def asked(rng: random.Random) -> Iterator[tuple[str, str, str, object]]:
    """Yield requests for ever: kind, method, path, body."""
    for number in count():
        some = rng.sample(WORDS, 5)
        query = f"{{{some[0]}, {some[1]}}} {rng.choice('&|-')} {{{some[2]}, {some[3]}}}"
        text, other = " ".join(rng.choices(WORDS, k=8)), " ".join(rng.choices(WORDS, k=12))
        kind = number % 10
        if kind < 5:
            logic = rng.choice(["logistic", "logistic", "lattice", "product"])
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
    """One connection that is kept, and opened again when the server closed it."""

    def __init__(self, url: str) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def ask(self, method: str, path: str, body: object) -> tuple[int, bytes]:
        content = None if body is None else json.dumps(body)
        for again in (True, False):
            try:
                self.connection.request(method, path, content, {"content-type": "application/json"})
                answer = self.connection.getresponse()
                return answer.status, answer.read()
            except (http.client.HTTPException, OSError):
                self.connection.close()
                if not again:
                    raise
        raise AssertionError


def together(threads: int, work: Callable[[int], None]) -> None:
    running = [threading.Thread(target=work, args=(at,)) for at in range(threads)]
    for one in running:
        one.start()
    for one in running:
        one.join()


def reached(url: str) -> float:
    """Return how many requests a second the clients get answered when each asks as soon as it can."""
    done, end = Counter(), time.monotonic() + PROBE

    def work(at: int) -> None:
        with Client(url) as client:
            for _, *one in asked(random.Random(at)):
                if time.monotonic() > end:
                    return
                assert client.ask(*one)[0] in (200, 201, 422)
                done[at] += 1

    together(CLIENTS, work)
    return sum(done.values()) / PROBE


def steady(url: str, pid: int, seconds: float, report: Report) -> None:
    """Ask at the report's rate; the time of a request counts from when it was due."""
    begun, lock = time.monotonic(), threading.Lock()
    due, wanted = count(), asked(random.Random(0))

    def work(_: int) -> None:
        with Client(url) as client:
            while True:
                with lock:
                    at, (kind, *one) = begun + next(due) / report.rate, next(wanted)
                if at > begun + seconds:
                    return
                time.sleep(max(at - time.monotonic(), 0))
                status, _ = client.ask(*one)
                with lock:
                    report.seconds.setdefault(kind, []).append(time.monotonic() - at)
                    report.statuses[status] += 1

    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.5):
            report.memory.append(memory_of(pid))

    watching = threading.Thread(target=watch)
    watching.start()
    together(4 * CLIENTS, work)
    over.set()
    watching.join()


def overloaded(url: str, report: Report) -> None:
    """Let far more come at once than the server takes on."""
    heavy = {"candidates": ["word " * 100] * 8, "references": ["other " * 100] * 8}

    def work(at: int) -> None:
        with Client(url) as client:
            status, content = client.ask("POST", "/v1/score", {**heavy, "candidates": [f"{at} word " * 60] * 8})
        report.overload[status] += 1
        assert status == 200 or "come again" in json.loads(content)["detail"]

    together(120, work)


def memory_of(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def run(seconds: float) -> Report:
    """Return what a server of its own does under load."""
    with Running("--quiet") as server, Client(server.url) as client:
        report = Report(min(SHARE * reached(server.url), MOST))
        steady(server.url, server.process.pid, seconds, report)
        told = dict(
            line.split()
            for line in client.ask("GET", "/metrics", None)[1].decode().splitlines()
            if "batch_r" in line and line[0] != "#"
        )
        report.per_batch = float(told["softset_batch_requests_sum"]) / float(told["softset_batch_requests_count"])
        overloaded(server.url, report)
        status, _ = client.ask("POST", "/v1/find", {"query": "red"})
        assert status == 200
        server.end()
        assert server.process.returncode == 0
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    sys.stdout.write(f"{run(parser.parse_args().seconds)}\n")
