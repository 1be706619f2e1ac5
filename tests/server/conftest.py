"""What the tests of the server share: an application in this process, the command line beside it, a real server."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from softset import cli
from softset.server import Settings, create_app

BASE = "http://127.0.0.1"


@pytest.fixture(scope="session")
def home(tmp_path_factory) -> Iterator[Path]:
    """A cache of the server's own, so that what this machine's user imported does not matter."""
    before = os.environ.get("SOFTSET_CACHE")
    folder = tmp_path_factory.mktemp("cache")
    os.environ["SOFTSET_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["SOFTSET_CACHE"]
    else:
        os.environ["SOFTSET_CACHE"] = before


@contextmanager
def client_of(settings: Settings | None = None) -> Iterator[TestClient]:
    with TestClient(create_app(settings), base_url=BASE, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="session")
def client(home) -> Iterator[TestClient]:
    with client_of() as client:
        yield client


@pytest.fixture
def command(capsys):
    """Run the command line and return its exit code, what it printed (as an object if it is one), and its sentence."""

    def run(*arguments: str) -> tuple[int, object, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(list(arguments))
        shown = capsys.readouterr()
        printed = json.loads(shown.out) if shown.out.startswith(("{", "[")) else shown.out
        return ended.value.code, printed, shown.err.removeprefix("softset: ")

    return run


class Running:
    """A server in a process of its own."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "softset", "serve", "--port", "0", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        first = self.process.stderr.readline()
        found = re.search(r"(http://\S+?)/ is the page", first)
        assert found, first + self.process.stderr.read()
        self.url = found[1]

    def end(self, how: int = signal.SIGTERM) -> str:
        """Send a signal, and return what the server said until its end."""
        self.process.send_signal(how)
        return self.process.communicate(timeout=60)[1]

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="session")
def server(home) -> Iterator[Running]:
    with Running() as running:
        yield running
