"""docs/architecture.md lists every package and the calls of one score and one query in the order they happen."""

import re
import sys
import threading
from pathlib import Path
from types import FrameType

import pytest
from click.testing import CliRunner

from softset.cli import main

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
HOP = re.compile(r"^\d+\. `([\w.]+)`", re.MULTILINE)
COMMAND = re.compile(r"^    softset (.*)$", re.MULTILINE)


def section(title: str) -> str:
    """Return the text of one section of the page."""
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def calls_of(arguments: list[str]) -> list[str]:
    """Run a softset command and return the functions of the package in the order of their first call."""
    calls: dict[str, None] = {}

    def record(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("softset."):
            calls.setdefault(f"{module.removeprefix('softset.')}.{frame.f_code.co_qualname}")

    threading.setprofile(record)
    sys.setprofile(record)
    try:
        result = CliRunner().invoke(main, arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    assert result.exit_code == 0, result.output
    return list(calls)


@pytest.mark.parametrize("title", ["One score", "One query"])
def test_listed_calls_happen_in_this_order(title: str) -> None:
    import shlex

    text = section(title)
    (command,) = COMMAND.findall(text)
    hops = HOP.findall(text)
    assert len(hops) >= 5
    calls = calls_of(shlex.split(command))
    assert [hop for hop in hops if hop not in calls] == []
    positions = [calls.index(hop) for hop in hops]
    assert positions == sorted(positions)


@pytest.mark.parametrize("title", ["One score", "One query"])
def test_every_module_of_the_path_is_listed(title: str) -> None:
    """A module that takes part in the call but not in the page would let the page drift."""
    import shlex

    text = section(title)
    (command,) = COMMAND.findall(text)
    modules = {call.split(".<")[0] for call in calls_of(shlex.split(command))}
    files = {match for match in re.findall(r"`([a-z_0-9/]+\.py)`", text)} | {hop_file(hop) for hop in HOP.findall(text)}
    called = {hop_file(module) for module in modules}
    assert sorted(called - files) == []


def hop_file(call: str) -> str:
    """Return the file of a call such as `search.exact.search`."""
    parts = call.split(".")
    for length in range(len(parts), 0, -1):
        path = Path(*parts[:length])
        if (ROOT / "src/softset" / path.with_suffix(".py")).is_file():
            return path.with_suffix(".py").as_posix()
        if (ROOT / "src/softset" / path / "__init__.py").is_file():
            return (path / "__init__.py").as_posix()
    raise AssertionError(call)


def test_every_package_has_a_row() -> None:
    packages = {path.parent.name for path in (ROOT / "src/softset").glob("*/__init__.py")}
    rows = set(re.findall(r"^\| `(\w+)/` \|", PAGE, re.MULTILINE))
    assert rows == packages
