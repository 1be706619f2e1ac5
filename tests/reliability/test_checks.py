"""The checks find what they are there to find: each is shown something broken."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from reliability.check import Broken, Check, Finding, Skip
from reliability.checks import CHECKS, audit, crashes, queries, readers
from reliability.checks.specimens import Specimen
from reliability.checks.writers import Writer

from reliability import page
from softset.errors import FileError, QueryError
from softset.query.expression import Example, Examples

ROOT = Path(__file__).parents[2]


def made(run) -> Check:
    return Check("one", "fuzz", "what is done", "what is wanted", run)


def test_every_outcome_is_told() -> None:
    def raises(error: Exception):
        def run(short: bool) -> Finding:
            raise error

        return run

    good = made(lambda short: Finding("3 things" if short else "9 things", {"odd": "none"})).record(short=True)
    assert (good["ok"], good["tried"], good["figures"]) == (True, "3 things", {"odd": "none"})
    assert made(raises(Broken("it broke"))).record(short=True)["broken"] == "it broke"
    skipped = made(raises(Skip("not here"))).record(short=True)
    assert (skipped["ok"], skipped["skipped"]) == (None, "not here")


def test_names_and_groups() -> None:
    assert {one.group for one in CHECKS.values()} == {"fuzz", "crash", "soak", "audit"}
    assert all(name == one.name for name, one in CHECKS.items())
    done = subprocess.run(
        [sys.executable, "-m", "reliability", "--only", "nothing"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2 and "name a group or one of queries-guided" in done.stderr


def test_the_page_has_what_is_kept() -> None:
    kept = json.loads((ROOT / "reliability" / "results.json").read_text("utf-8"))
    assert page.lines(kept) in (ROOT / "docs" / "reliability.md").read_text("utf-8")
    assert not any(one["short"] for one in kept.values()) and set(kept) <= set(CHECKS)
    broken = {"one": {**made(lambda _: Finding("")).record(False), "ok": False, "broken": "a | b"}}
    broken["one"] |= {"date": "2026-01-01", "machine": "a machine"}
    assert "**broken**: a \\| b" in page.lines(broken)


@pytest.mark.parametrize(
    ("parse", "what"),
    [
        (lambda _: [][0], "IndexError"),
        (lambda query: (_ for _ in ()).throw(QueryError("no", query, len(query) + 1)), "is outside"),
        (lambda query: Examples((Example(query + "x"),)), "which is another query"),
    ],
)
def test_a_parser_that_is_broken(monkeypatch: pytest.MonkeyPatch, parse, what: str) -> None:
    monkeypatch.setattr(queries, "parse", parse)
    with pytest.raises(Broken, match=what):
        queries.examine("{red, blue}")


def test_a_parser_that_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(queries.time, "thread_time", lambda: next(clock))
    with pytest.raises(Broken, match=r"1000 ms for '{red'"):
        queries.examine("{red")


def test_damage_is_done_and_what_breaks_on_it_is_told() -> None:
    content = b'{"bytes": 128, "words": 40}' * 10
    changed = {readers.damaged(content, random.Random(at)) for at in range(50)}
    assert len(changed) > 45
    assert not readers._read(Specimen("a", (), lambda: (_ for _ in ()).throw(FileError("one sentence"))), "a")
    for error in (KeyError("x"), FileError("two\nlines"), FileError("x" * 2_000), MemoryError()):
        with pytest.raises(Broken, match=r"^here: "):
            readers._read(Specimen("a", (), lambda error=error: (_ for _ in ()).throw(error)), "here")


def careless(path: Path) -> Writer:
    """A writer that writes in place, with a step between its halves."""

    def write() -> None:
        with path.open("w") as file:
            file.write("ne")
            file.flush()
            os.fsync(file.fileno())
            file.write("w")

    return Writer("careless", lambda: path.write_text("old") and None, write, path.read_text)


def test_a_writer_that_writes_in_place_is_found_out(tmp_path: Path) -> None:
    writer = careless(tmp_path / "a")
    assert crashes._steps(writer) == 1
    writer.reset()
    crashes._killed_at(writer, 1, after=True)
    assert writer.state() == "ne"
    with pytest.raises(Broken, match="careless, killed here: a third state, ne"):
        crashes._settled(writer, "here")


def test_a_socket_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = audit.WATCHED.replace("import softset\n", "import softset, socket\nkept = socket.socket()\n", 1)
    monkeypatch.setattr(audit, "WATCHED", opened)
    with pytest.raises(Broken, match=r"import; socket\.__new__"):
        audit._network(True)


def test_licences_are_known() -> None:
    assert "numpy" in audit.closure() and "pytest" not in audit.closure()
    assert "BSD" in audit.licence("numpy") and audit.licence("click") != "unknown"
