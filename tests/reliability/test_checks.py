"""Each reliability check detects the failure that it looks for."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from reliability.check import Check, CheckFailed, CheckResult, CheckSkipped
from reliability.checks import CHECKS, audit, damaged_files, queries, writes
from reliability.checks.sample_files import SampleFile
from reliability.checks.writers import Writer

from reliability import page
from softset.errors import FileError, QueryError
from softset.query.expression import Example, Examples

ROOT = Path(__file__).parents[2]


def make_check(run) -> Check:
    return Check("name", "fuzz", "description", "goal", run)


def raising(error: Exception):
    def run(*_: object) -> None:
        raise error

    return run


def test_passed_failed_and_skipped_checks_are_recorded() -> None:
    check = make_check(lambda short: CheckResult("3 cases" if short else "9 cases", {"errors": "none"}))
    passed = check.execute(short=True)
    assert (passed["ok"], passed["scope"], passed["figures"]) == (True, "3 cases", {"errors": "none"})
    assert make_check(raising(CheckFailed("a reason"))).execute(short=True)["failure"] == "a reason"
    skipped = make_check(raising(CheckSkipped("not installed"))).execute(short=True)
    assert (skipped["ok"], skipped["skipped"]) == (None, "not installed")


def test_names_and_groups_of_checks() -> None:
    assert {check.group for check in CHECKS.values()} == {"fuzz", "crash", "soak", "audit"}
    assert all(name == check.name for name, check in CHECKS.items())
    process = subprocess.run(
        [sys.executable, "-m", "reliability", "--only", "nothing"], cwd=ROOT, capture_output=True, text=True
    )
    assert process.returncode == 2 and "give a group or one of network" in process.stderr


def test_the_page_shows_the_saved_results() -> None:
    saved = json.loads((ROOT / "reliability" / "results.json").read_text("utf-8"))
    assert page.table(saved) in (ROOT / "docs" / "reliability.md").read_text("utf-8")
    assert not any(result["short"] for result in saved.values()) and set(saved) <= set(CHECKS)
    failed = {**make_check(raising(CheckFailed("a | b"))).execute(False), "date": "2026-01-01", "machine": "a machine"}
    assert "**failed**: a \\| b" in page.table({"name": failed})


@pytest.mark.parametrize(
    ("parse", "message"),
    [
        (raising(IndexError("x")), "IndexError"),
        (lambda query: raising(QueryError("no", query, len(query) + 1))(), "is outside"),
        (lambda query: Examples((Example(query + "x"),)), "which is another query"),
    ],
)
def test_a_broken_parser_is_detected(monkeypatch: pytest.MonkeyPatch, parse, message: str) -> None:
    monkeypatch.setattr(queries, "parse", parse)
    with pytest.raises(CheckFailed, match=message):
        queries.check_query("{red, blue}")


def test_a_slow_parser_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(queries.time, "thread_time", lambda: next(clock))
    with pytest.raises(CheckFailed, match=r"1000 ms for '{red'"):
        queries.check_query("{red")


def test_damage_changes_files() -> None:
    content = b'{"bytes": 128, "words": 40}' * 10
    assert len({damaged_files.damage(content, random.Random(seed)) for seed in range(50)}) > 45


def test_a_broken_reader_is_detected() -> None:
    assert not damaged_files._read(SampleFile("a", (), raising(FileError("one line"))), "a")
    for error in (KeyError("x"), FileError("two\nlines"), FileError("x" * 2_000), MemoryError()):
        with pytest.raises(CheckFailed, match=r"^label: "):
            damaged_files._read(SampleFile("a", (), raising(error)), "label")


def test_a_writer_that_is_not_atomic_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def write() -> None:
        with path.open("w") as file:
            file.write("ne")
            file.flush()
            os.fsync(file.fileno())
            file.write("w")

    writer = Writer("in place", lambda: path.write_text("old") and None, write, path.read_text)
    assert writes._measure(writer)[0] == 1
    writer.reset()
    writes._kill_at(writer, 1, after=True)
    assert writer.state() == "ne"
    with pytest.raises(CheckFailed, match="in place, now: the state is ne"):
        writes._check_recovery(writer, "now")


def test_a_socket_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    with_socket = audit.WATCHED.replace("import softset\n", "import softset, socket\nopened = socket.socket()\n", 1)
    monkeypatch.setattr(audit, "WATCHED", with_socket)
    with pytest.raises(CheckFailed, match=r"import; socket\.__new__"):
        audit._network(True)


def test_licences_of_dependencies() -> None:
    assert "numpy" in audit.closure() and "pytest" not in audit.closure()
    assert "BSD" in audit.licence("numpy") and audit.licence("click") != "unknown"
