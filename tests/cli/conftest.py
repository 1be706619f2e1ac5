"""Fixtures of the command-line tests: a temporary home folder, and a function that runs softset."""

import os
import subprocess
from pathlib import Path

import pytest

from softset import cli


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run the command line here and return its exit code, standard output and standard error."""

    def runner(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(list(arguments))
        shown = capsys.readouterr()
        return ended.value.code, shown.out, shown.err

    return runner


def processor_seconds(command: list[str]) -> float:
    """Return the processor time of a command: the time on the clock depends on what else the machine does."""
    before = os.times()
    subprocess.run(command, capture_output=True, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system
