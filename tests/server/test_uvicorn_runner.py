"""A server process: startup, shutdown, kills, bad clients, and no outgoing connections."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from softset.server.temporary_collections import PREFIX
from tests.server.conftest import ServerProcess

FIND = {"query": "{red, blue} & fruit", "top": 2}


def send(url: str, path: str, content: object = None, timeout: float = 60) -> tuple[int, dict]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout)
    try:
        body = None if content is None else json.dumps(content)
        connection.request("GET" if content is None else "POST", path, body, {"content-type": "application/json"})
        response = connection.getresponse()
        data = response.read()
        return response.status, json.loads(data) if "json" in response.headers["content-type"] else {}
    finally:
        connection.close()


def test_running_requests_are_finished_at_shutdown(home) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with ServerProcess() as process, ThreadPoolExecutor(1) as pool:
            send(process.url, "/v1/score", {"candidates": ["warm"], "references": ["up"]})
            texts = [f"sentence {n} has a few more words than that" for n in range(500)]
            body = {"candidates": texts, "references": texts[::-1]}
            response = pool.submit(send, process.url, "/v1/score", body)
            while not send(process.url, "/v1/health")[1]["requests_in_progress"]:
                time.sleep(0.01)
            output = process.stop(number)
            status, result = response.result(60)
            assert process.process.returncode == 0, output
            assert status == 200 and result["pairs"] == 500
            with pytest.raises(OSError):
                send(process.url, "/v1/health")


def test_the_server_restarts_after_a_kill(home) -> None:
    folders = set(Path(tempfile.gettempdir()).glob(f"{PREFIX}*"))
    with ServerProcess() as process:
        port = urlsplit(process.url).port
        send(process.url, "/v1/collections", {"texts": ["a storm"], "model": "words"})
        created = set(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")) - folders
        assert created
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(b"POST /v1/find HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n{")
        process.stop(signal.SIGKILL)
        with pytest.raises((OSError, http.client.HTTPException)):
            send(process.url, "/v1/find", FIND)
        connection.close()
    with ServerProcess(port=port) as restarted:
        assert send(restarted.url, "/v1/find", FIND)[0] == 200
        assert not any(path.exists() for path in created)


def test_incomplete_requests_do_not_harm_others(server: ServerProcess) -> None:
    port = urlsplit(server.url).port
    head = b"POST /v1/score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    body = json.dumps({"candidates": ["word " * 50] * 20, "references": ["other " * 50] * 20}).encode()
    for sent in (
        head + b"content-length: %d\r\n\r\n" % len(body) + body,  # a complete request, but the client disconnects
        head + b"content-length: 1000\r\n\r\n{",
        head + b"transfer-encoding: chunked\r\n\r\n5\r\n{",
        b"GET / HTT",
        b"\x00\xff" * 100,
        b"",
    ):
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.sendall(sent)
    status, result = send(server.url, "/v1/find", FIND)
    assert status == 200 and result["results"]
    deadline = time.monotonic() + 30
    while send(server.url, "/v1/health")[1]["requests_in_progress"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_idle_connections_are_closed(home, monkeypatch) -> None:
    with ServerProcess() as process:
        port = urlsplit(process.url).port
        silent = []
        try:
            for number in range(300):
                connection = socket.create_connection(("127.0.0.1", port), timeout=30)
                connection.sendall(b"" if number % 2 else b"POST /v1/find HTTP/1.1\r\nhost: ")
                silent.append(connection)
            start = time.monotonic()
            assert send(process.url, "/v1/find", FIND)[0] == 200
            assert time.monotonic() - start < 5
            for connection in silent:
                while connection.recv(1000):
                    pass
            assert 5 < time.monotonic() - start < 30
        finally:
            for connection in silent:
                connection.close()
        assert send(process.url, "/v1/health")[0] == 200


def test_a_large_invalid_body_is_refused_quickly(server: ServerProcess) -> None:
    body = {"candidates": ["a"], "references": [1] * 90_000, "metrics": list(range(1000))}
    start = time.monotonic()
    assert send(server.url, "/v1/score", body)[0] == 422
    assert time.monotonic() - start < 2


def test_shutdown_does_not_wait_for_endless_work(home) -> None:
    with ServerProcess("--timeout", "1") as process:
        texts = [f"{number} " + "word " * 3_000 for number in range(8)]
        body = {"candidates": texts, "references": ["other"] * 8, "metric": "average"}
        assert send(process.url, "/v1/score", body)[0] == 504
        start = time.monotonic()
        process.stop()
        assert process.process.returncode == 0 and time.monotonic() - start < 15


def test_short_text_is_not_delayed_by_long_ones(server: ServerProcess) -> None:
    send(server.url, "/v1/score", {"candidates": ["warm"], "references": ["up"]})
    long = {"candidates": ["word " * 200] * 30, "references": ["other " * 200] * 30}
    with ThreadPoolExecutor(2) as pool:
        working = [pool.submit(send, server.url, "/v1/score", long) for _ in range(2)]
        time.sleep(0.3)
        start = time.monotonic()
        assert send(server.url, "/v1/score", {"candidates": ["a"], "references": ["b"]})[0] == 200
        waited = time.monotonic() - start
        statuses = [future.result(60)[0] for future in working]
        assert statuses == [200, 200] and waited < (time.monotonic() - start) / 2


def test_a_used_port_gets_a_one_line_error(server: ServerProcess) -> None:
    port = str(urlsplit(server.url).port)
    refused = subprocess.run(
        [sys.executable, "-m", "softset", "serve", "--port", port], capture_output=True, text=True, timeout=60
    )
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and "choose another --port" in refused.stderr


def test_a_missing_model_can_be_restored(home, tmp_path: Path) -> None:
    from softset.encoders.models import model_folder

    folder = tmp_path / "model"
    copied = ["cp", "-r", str(model_folder("minilm")), str(folder)]
    subprocess.run(copied, check=True)
    with ServerProcess("--model", f"mine={folder}", "--model", "words") as process:
        folder.rename(tmp_path / "gone")
        body = {"candidates": ["a"], "references": ["b"], "model": "mine"}
        status, problem = send(process.url, "/v1/score", body)
        assert status == 500 and str(tmp_path) not in problem["detail"]
        assert send(process.url, "/v1/score", {**body, "model": "words"})[0] == 200
        (tmp_path / "gone").rename(folder)
        assert send(process.url, "/v1/score", body)[0] == 200
        assert str(folder) in process.stop()  # the log says why


WATCHED = """
import sys
from pathlib import Path

def watch(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname"):
        with open({log!r}, "a") as file:
            file.write(f"{{event}} {{arguments[1:] if event == 'socket.connect' else arguments}}\\n")

sys.addaudithook(watch)
from softset.cli import main
main(["serve", "--port", {port!r}])
"""


def _remote(pid: int) -> set[str]:
    """Return the addresses that a process's sockets talk to, as the system sees them, whichever library made them."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(str(descriptor.readlink()))
        except OSError:
            continue
    addresses = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if f"socket:[{fields[9]}]" in inodes:
                addresses.add(fields[2].partition(":")[0])
    return addresses


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="needs Linux's /proc")
def test_there_are_no_outgoing_connections(home, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    (tmp_path / "watched.py").write_text(WATCHED.format(log=str(log), port=port))
    otel = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "FASTAPI_OTEL_AUTO_CONFIGURE": "true"}
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "watched.py")], stderr=subprocess.DEVNULL, env={**os.environ, **otel}
    )
    try:
        url, addresses = f"http://127.0.0.1:{port}", set()
        deadline = time.monotonic() + 60
        while True:
            try:
                send(url, "/v1/health")
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        for path, body in (
            ("/", None),
            ("/metrics", None),
            ("/v1/models", None),
            ("/v1/find", FIND),
            ("/v1/find", {"query": "{red"}),
            ("/v1/score", {"candidates": ["a"], "references": ["b"]}),
            ("/v1/score", {"candidates": ["a"], "references": ["b"], "model": "roberta-large"}),
            ("/v1/explain", {"candidate": "a", "reference": "b", "model": "words"}),
            ("/v1/collections", {"texts": ["a storm"]}),
        ):
            send(url, path, body)
            addresses |= _remote(process.pid)
        loopback_or_none = {"00000000", "0100007F", "0" * 32, "0000000000000000FFFF00000100007F"}
        assert addresses <= loopback_or_none
    finally:
        process.terminate()
        process.wait(30)
    calls = log.read_text().splitlines() if log.exists() else []
    assert [call for call in calls if "getaddrinfo ('127.0.0.1'" not in call] == []  # the address of the server itself
