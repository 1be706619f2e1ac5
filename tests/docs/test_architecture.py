"""docs/architecture.md lists every package, and the calls of one score and one query in the order they happen."""

import re
import shlex
import sys
import threading
from pathlib import Path
from types import FrameType

import pytest

from softset.cli import main

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TITLES = ("One score", "One query")
PACKAGES = ("similarity/", "query/", "search/")  # the page names all their modules that take part in a call


def section(title: str) -> str:
    """Return the text of one section of the page."""
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def calls_of(command: str) -> list[str]:
    """Run a softset command twice and return the functions of the second run in the order of their first call.

    The first run imports the modules, whose top-level code is not part of the path.
    """
    calls: dict[str, None] = {}

    def record(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("softset."):
            calls.setdefault(f"{module.removeprefix('softset.')}.{frame.f_code.co_qualname}")

    for profile in (None, record):
        threading.setprofile(profile)
        sys.setprofile(profile)
        try:
            with pytest.raises(SystemExit) as end:
                main(shlex.split(command))
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        assert end.value.code == 0
    return list(calls)


def file_of(call: str) -> str:
    """Return the file of a call such as search.exact.search, relative to the package."""
    parts = call.split(".")
    names = [Path(*parts[:length]) for length in range(len(parts), 0, -1)]
    files = [path for name in names for path in (name.with_suffix(".py"), name / "__init__.py")]
    return next(path.as_posix() for path in files if (ROOT / "src/softset" / path).is_file())


@pytest.mark.parametrize("title", TITLES)
def test_page_lists_the_calls_in_order(title: str) -> None:
    text = section(title)
    (command,) = re.findall(r"^    softset (.*)$", text, re.MULTILINE)
    hops = re.findall(r"^\d+\. `([\w.]+)`", text, re.MULTILINE)
    calls = calls_of(command)
    assert [hop for hop in hops if hop not in calls] == []
    assert hops == sorted(hops, key=calls.index)
    named = {*map(file_of, hops), *re.findall(r"`([a-z_0-9/]+\.py)`", text)}
    named |= {f"{package}{name}" for package in ("similarity/",) for name in named}  # metrics/registry.py
    files = {file_of(call) for call in calls}
    assert sorted(file for file in files if file.startswith(PACKAGES) and file not in named) == []


def test_page_has_a_row_for_every_package() -> None:
    packages = {path.parent.name for path in (ROOT / "src/softset").glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+)/` \|", PAGE, re.MULTILINE)) == packages


def test_page_names_files_that_exist() -> None:
    files = re.findall(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+\.py)`", PAGE)
    missing = [
        file
        for file in files
        if not any((ROOT / "src/softset" / folder / file).is_file() for folder in ("", "similarity"))
    ]
    assert missing == []
