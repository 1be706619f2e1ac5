"""Fixtures for tests of the server: an application in this process, the command line, and a server process."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from softset import cli
from softset.server import Settings, create_app

BASE = "http://127.0.0.1"


@pytest.fixture(scope="session")
def home(tmp_path_factory) -> Iterator[Path]:
    """An empty cache folder, so that models and vectors imported on this machine do not matter."""
    before = os.environ.get("SOFTSET_CACHE")
    folder = tmp_path_factory.mktemp("cache")
    os.environ["SOFTSET_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["SOFTSET_CACHE"]
    else:
        os.environ["SOFTSET_CACHE"] = before


@contextmanager
def client_for(settings: Settings | None = None) -> Iterator[TestClient]:
    with TestClient(create_app(settings), base_url=BASE, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="session")
def client(home) -> Iterator[TestClient]:
    with client_for() as client:
        yield client


@pytest.fixture
def command(capsys):
    """Run the command line; return its exit code, its output (parsed if it is JSON) and its error message."""

    def run(*arguments: str) -> tuple[int, object, str]:
        with pytest.raises(SystemExit) as exit_info:
            cli.main(list(arguments))
        captured = capsys.readouterr()
        output = json.loads(captured.out) if captured.out.startswith(("{", "[")) else captured.out
        return exit_info.value.code, output, captured.err.removeprefix("softset: ")

    return run


class ServerProcess:
    """A server in its own process."""

    def __init__(self, *arguments: str, port: int = 0, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "softset", "serve", "--port", str(port), *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        first_line = self.process.stderr.readline()
        match = re.search(r"page at (http://\S+?)/,", first_line)
        if match is None:
            with suppress(subprocess.TimeoutExpired):
                first_line += self.process.communicate(timeout=5)[1]
            self.__exit__()  # or a later test fails because of an open pipe
            pytest.fail(first_line)
        self.url = match[1]

    def stop(self, number: int = signal.SIGTERM) -> str:
        """Send a signal, and return what the server writes until it ends."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=60)[1]

    def __enter__(self) -> "ServerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()  # unless it has ended
        self.process.communicate()


@pytest.fixture(scope="session")
def server(home) -> Iterator[ServerProcess]:
    with ServerProcess() as process:
        yield process
