"""Server: load, slow and broken clients, too many connections, and wrong API keys."""

import http.client
import json
import random
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit

from tests.server import load
from tests.server.conftest import ServerProcess

from reliability.check import CheckResult, check, expect

CONNECTIONS = 1_000
BAD_CLIENTS = 24  # at the same time
MAX_GROWTH = 60.0  # MB of memory
KEY = "key-of-the-operator"
VALID = {"query": "{red, blue} & {apple}"}


@check(
    "server-load",
    "soak",
    "a mix of requests at 60% of the throughput, then far more at once",
    goal="no wrong status, no memory leak, excess requests are refused",
)
def _load(short: bool) -> CheckResult:
    seconds = 20 if short else 600
    report = load.run(seconds)
    expect(set(report.statuses) <= {200, 201, 422}, f"statuses {dict(report.statuses)}")
    expect(set(report.overload) <= {200, 503}, f"statuses under overload {dict(report.overload)}")
    expect(report.growth() < MAX_GROWTH / 2, f"memory grew by {report.growth():.1f} MB")
    figures = {"memory": f"{report.memory[-1]:.0f} MB, {report.growth():+.1f} MB in the second half"}
    for kind, latencies in sorted(report.latencies.items()):
        figures[kind] = f"p99 {1e3 * sorted(latencies)[int(0.99 * (len(latencies) - 1))]:.0f} ms"
    figures["refused of 120 requests at once"] = str(report.overload[503])
    return CheckResult(f"{sum(report.statuses.values()):,} requests in {seconds} s", figures)


def _connect(url: str, timeout: float = 60) -> socket.socket:
    host, port = urlsplit(url).netloc.split(":")
    return socket.create_connection((host, int(port)), timeout=timeout)


def _request(path: str, body: bytes, size: int) -> bytes:
    headers = f"host: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {size}\r\n\r\n"
    return f"POST {path} HTTP/1.1\r\n{headers}".encode() + body


VALID_REQUEST = _request("/v1/find", json.dumps(VALID).encode(), len(json.dumps(VALID)))


def _send_part(url: str, rng: random.Random) -> None:
    """Send a part of a request and disconnect."""
    with suppress(OSError), _connect(url) as connection:
        connection.sendall(VALID_REQUEST[: rng.randint(0, len(VALID_REQUEST))])
        if rng.random() < 0.5:  # reset the connection instead of closing it
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def _send_slowly(url: str, _: random.Random) -> None:
    """Send one byte every 20 ms."""
    with suppress(OSError), _connect(url) as connection:
        for byte in VALID_REQUEST[:40]:
            connection.send(bytes([byte]))
            time.sleep(0.02)


def _send_too_much(url: str, rng: random.Random) -> None:
    """Announce a body far above the limit; the response must be an error."""
    size = rng.choice([10**8, 10**12])
    with _connect(url) as connection:
        with suppress(OSError):
            connection.sendall(_request("/v1/score", b"[" * 100_000, size))
        response = b""
        with suppress(OSError):
            response = connection.recv(100)
        expect(not response or b" 413 " in response or b" 400 " in response, f"{size:,} bytes: {response[:60]!r}")


def _send_garbage(url: str, rng: random.Random) -> None:
    """Send bytes that are not HTTP."""
    with suppress(OSError), _connect(url) as connection:
        connection.sendall(rng.randbytes(rng.randint(1, 2_000)) + b"\r\n\r\n")
        response = connection.recv(100)
        expect(not response or b" 400 " in response, f"garbage: {response[:60]!r}")


def _send_valid(url: str, statuses: Counter[int]) -> None:
    with load.Client(url) as client:
        statuses[client.send("POST", "/v1/find", VALID)[0]] += 1


def _status_with_key(url: str, key: str | None) -> int:
    headers = {} if key is None else {"authorization": f"Bearer {key}".encode("latin-1")}
    with load.Client(url) as client:
        return client.send("POST", "/v1/find", VALID, **headers)[0]


def _open_many_connections(url: str, count: int) -> int:
    """Open many connections, send a request on every tenth, and return the number of responses."""
    with ExitStack() as stack:
        connections = []
        for _ in range(count):
            with suppress(OSError):
                connections.append(stack.enter_context(_connect(url, timeout=15)))
        for connection in connections[::10]:
            with suppress(OSError):
                connection.sendall(b"GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        responses = 0
        for connection in connections[::10]:
            with suppress(OSError):
                responses += connection.recv(20).startswith(b"HTTP/1.1 ")
    expect(responses > 0, "no response with many open connections")
    return responses


@check(
    "bad-clients",
    "soak",
    "slow clients, cut connections, large bodies, garbage, 1,000 connections at once",
    goal="no crash, no memory leak, valid requests are answered meanwhile",
)
def _bad_clients(short: bool) -> CheckResult:
    rounds, statuses = 4 if short else 60, Counter()
    behaviours = [_send_part, _send_slowly, _send_too_much, _send_garbage]
    with ServerProcess("--quiet") as server:
        for _ in range(20):
            _send_valid(server.url, statuses)
        before = load.memory_of(server.process.pid)
        responses = 0
        for number in range(rounds):
            rng = random.Random(number)
            with ThreadPoolExecutor(BAD_CLIENTS + 4) as pool:
                jobs = [pool.submit(_send_valid, server.url, statuses) for _ in range(4)]
                seeds = (random.Random(number * 100 + client) for client in range(BAD_CLIENTS))
                jobs += [pool.submit(rng.choice(behaviours), server.url, seed) for seed in seeds]
            for job in jobs:
                job.result()
            if number % 20 == 0:
                responses = _open_many_connections(server.url, CONNECTIONS)
                _wait_until_healthy(server.url)
        _send_valid(server.url, statuses)
        expect(set(statuses) <= {200, 503}, f"statuses of valid requests: {dict(statuses)}")
        expect(statuses[200] >= 0.9 * statuses.total(), f"statuses of valid requests: {dict(statuses)}")
        growth = load.memory_of(server.process.pid) - before
        expect(growth < MAX_GROWTH, f"memory grew by {growth:.0f} MB")
        expect(server.process.poll() is None, "the server ended")
        server.stop()
        expect(server.process.returncode == 0, f"the server ended with exit code {server.process.returncode}")
    return CheckResult(
        f"{rounds * BAD_CLIENTS:,} bad clients, {statuses.total()} valid requests, {CONNECTIONS:,} connections at once",
        {
            "valid requests with status 200": f"{statuses[200]}",
            f"responses to {CONNECTIONS // 10} requests on many connections": f"{responses}",
            "memory": f"{growth:+.0f} MB",
        },
    )


def _wait_until_healthy(url: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with suppress(OSError, http.client.HTTPException), load.Client(url) as client:
            if client.send("GET", "/v1/health", None)[0] == 200:
                return
        time.sleep(0.2)
    expect(False, "the server does not respond after many connections")


@check("wrong-keys", "soak", "requests without a key or with a wrong one", goal="only the right key is accepted")
def _wrong_keys(short: bool) -> CheckResult:
    count = 70 if short else 2_000
    keys = [None, "", KEY[:-1], KEY + "x", KEY.upper(), "\u00e9" * 5, "x" * 5_000]
    with ServerProcess("--quiet", SOFTSET_API_KEY=KEY) as server:
        for number in range(count):
            key = keys[number % len(keys)]
            status = _status_with_key(server.url, key)
            expect(status in (401, 403, 431, 400), f"status {status} with the key {str(key)[:20]!r}")
        expect(_status_with_key(server.url, KEY) == 200, "the right key is refused")
    return CheckResult(f"{count:,} requests without a key or with a wrong one", {"accepted": "0"})
