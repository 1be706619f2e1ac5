"""The server: load for minutes, and what clients do who are slow, broken, too many, or strangers."""

import http.client
import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from tests.server import load
from tests.server.conftest import ServerProcess

from reliability.check import Check, Finding, expect

__all__ = ["CHECKS"]

MANY = 1_000  # connections at once
GROWTH = 60.0  # MB, of memory after abuse beside that before it
KEY = "a-key-of-the-owner"
GOOD = {"query": "{red, blue} & {apple}"}


def _load(short: bool) -> Finding:
    report = load.run(20 if short else 600)
    expect(set(report.statuses) <= {200, 201, 422}, f"statuses {dict(report.statuses)}")
    expect(set(report.overload) <= {200, 503, 429}, f"statuses under overload {dict(report.overload)}")
    expect(report.growth() < GROWTH / 2, f"memory grew by {report.growth():.1f} MB")
    figures = {"memory": f"{report.memory[-1]:.0f} MB, {report.growth():+.1f} MB in the second half"}
    for kind, values in sorted(report.latencies.items()):
        figures[kind] = f"p99 {1e3 * sorted(values)[int(0.99 * (len(values) - 1))]:.0f} ms"
    refused = sum(count for status, count in report.overload.items() if status != 200)
    figures["refused when 120 came at once"] = str(refused)
    return Finding(f"{sum(report.statuses.values()):,} requests in {20 if short else 600} s", figures)


# What clients do


@contextmanager
def _connected(url: str) -> Iterator[socket.socket]:
    host, port = urlsplit(url).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as made:
        yield made


def _request(path: str, body: bytes, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {size}\r\n\r\n"
    )
    return head.encode() + body


def _cut(url: str, rng: random.Random) -> None:
    """Send a part of a request, and hang up."""
    whole = _request("/v1/find", json.dumps(GOOD).encode())
    with suppress(OSError), _connected(url) as made:
        made.sendall(whole[: rng.randint(0, len(whole))])
        if rng.random() < 0.5:  # no farewell
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def _slow(url: str, _: random.Random) -> None:
    """Send a byte now and then, for a while."""
    whole = _request("/v1/find", json.dumps(GOOD).encode())
    with suppress(OSError), _connected(url) as made:
        for byte in whole[:40]:
            made.send(bytes([byte]))
            time.sleep(0.02)


def _oversized(url: str, rng: random.Random) -> None:
    """Promise or send far more than is taken, and be told so."""
    size = rng.choice([10**8, 10**12])
    with _connected(url) as made:
        with suppress(OSError):
            made.sendall(_request("/v1/score", b"[" * 100_000, size))
        answer = b""
        with suppress(OSError):
            answer = made.recv(100)
        expect(not answer or b" 413 " in answer or b" 400 " in answer, f"a body of {size:,} bytes: {answer[:60]!r}")


def _garbage(url: str, rng: random.Random) -> None:
    """Send what is no HTTP at all."""
    with suppress(OSError), _connected(url) as made:
        made.sendall(rng.randbytes(rng.randint(1, 2_000)) + b"\r\n\r\n")
        answer = made.recv(100)
        expect(not answer or b" 400 " in answer, f"no HTTP: {answer[:60]!r}")


def _good(url: str, seen: Counter) -> None:
    with load.Client(url) as client:
        seen[client.send("POST", "/v1/find", GOOD)[0]] += 1


def _strangers(url: str, count: int) -> None:
    """Ask without the key, and with others: none gets in, and the owner does."""
    host = urlsplit(url).netloc
    keys = [None, "", KEY[:-1], KEY + "x", KEY.upper(), "\u00e9" * 5, "x" * 5_000]
    for at in range(count):
        key = keys[at % len(keys)]
        connection = http.client.HTTPConnection(host, timeout=60)
        headers = {"content-type": "application/json"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        connection.request(
            "POST", "/v1/find", json.dumps(GOOD), {name: one.encode("latin-1") for name, one in headers.items()}
        )
        expect(connection.getresponse().status in (401, 403, 431, 400), f"the key {str(key)[:20]!r} was let in")
        connection.close()
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request(
        "POST", "/v1/find", json.dumps(GOOD), {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
    )
    expect(connection.getresponse().status == 200, "the owner is not let in")
    connection.close()


def _many(url: str, count: int) -> int:
    """Open connections and hold them; ask on every tenth, and return how many of those were answered."""
    held = []
    try:
        for _ in range(count):
            with suppress(OSError):
                host, port = urlsplit(url).netloc.split(":")
                held.append(socket.create_connection((host, int(port)), timeout=10))
        for one in held[::10]:
            with suppress(OSError):
                one.sendall(b"GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        answered = 0
        for one in held[::10]:
            one.settimeout(15)
            with suppress(OSError):
                answered += one.recv(20).startswith(b"HTTP/1.1 ")
        expect(answered > 0, "with many connections open, nobody was answered")
        return answered
    finally:
        for one in held:
            one.close()


def _together(works: list[Callable[[], None]]) -> None:
    """Run all at once; what is found broken in a thread is found here."""
    broken: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            broken.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if broken:
        raise broken[0]


def _abuse(short: bool) -> Finding:
    rounds, seen = 4 if short else 60, Counter()
    with ServerProcess("--quiet") as server:
        for _ in range(20):
            _good(server.url, seen)
        before = load.memory_of(server.process.pid)
        answered = done = 0
        for at in range(rounds):
            rng = random.Random(at)
            kinds = [rng.choice([_cut, _slow, _oversized, _garbage]) for _ in range(24)]
            works = [
                lambda kind=kind, seed=at * 100 + n: kind(server.url, random.Random(seed))
                for n, kind in enumerate(kinds)
            ]
            _together([*works, *(lambda: _good(server.url, seen) for _ in range(4))])
            done += len(works)
            if at % 20 == 0:
                answered = _many(server.url, MANY)
                _wait_for(server.url)
        _good(server.url, seen)
        expect(set(seen) <= {200, 429, 503}, f"good requests beside bad ones: {dict(seen)}")
        expect(seen[200] >= 0.9 * sum(seen.values()), f"good requests beside bad ones: {dict(seen)}")
        grown = load.memory_of(server.process.pid) - before
        expect(grown < GROWTH, f"memory grew by {grown:.0f} MB")
        expect(server.process.poll() is None, "the server ended")
        server.stop()
        expect(server.process.returncode == 0, f"the server ended with {server.process.returncode}")
    return Finding(
        f"{done:,} bad clients, {sum(seen.values())} good ones among them, {MANY:,} connections at once",
        {
            "good answers": f"{seen[200]}",
            "of every tenth of so many, answered": f"{answered}",
            "memory": f"{grown:+.0f} MB",
        },
    )


def _wait_for(url: str) -> None:
    """Wait until the connections of the many are gone, but not for ever."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with suppress(OSError, http.client.HTTPException), load.Client(url) as client:
            if client.send("GET", "/v1/health", None)[0] == 200:
                return
        time.sleep(0.2)
    expect(False, "after many connections, the server answers no more")


def _keys(short: bool) -> Finding:
    count = 70 if short else 2_000
    with ServerProcess("--quiet", SOFTSET_API_KEY=KEY) as server:
        _strangers(server.url, count)
    return Finding(f"{count:,} requests without the key or with others", {"let in": "0"})


CHECKS = (
    Check(
        "server-load",
        "soak",
        "requests of all kinds at six tenths of what the machine can do, then far more at once",
        "no wrong status, no leak, the rest refused",
        _load,
    ),
    Check(
        "server-abuse",
        "soak",
        "slow clients, cut connections, oversized bodies, garbage, 1,000 connections at once",
        "no crash, no leak, honest statuses, good requests answered meanwhile",
        _abuse,
    ),
    Check("server-keys", "soak", "wrong keys, and none", "nobody gets in but the owner", _keys),
)
