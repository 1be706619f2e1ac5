"""Progress bars, notes and text files of the command line."""

import sys

import pytest

from softset.cli.output import ProgressBar, note, warn_of_flags
from softset.runtime import progress as progress_module


def pretend_terminal(monkeypatch: pytest.MonkeyPatch, delay: float = 0.0) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress_module, "PROGRESS_DELAY", delay)


def test_progress_shows_count_and_total_on_a_terminal(capsys, monkeypatch) -> None:
    pretend_terminal(monkeypatch)
    with ProgressBar("texts") as progress:
        progress(12, 50)
        note("halfway")
        progress(50, 50)
    shown = capsys.readouterr()
    assert "50/50" in shown.err and "texts" in shown.err and "softset: halfway" in shown.err and shown.out == ""


def test_progress_is_silent_without_a_terminal_or_for_short_work(capsys, monkeypatch) -> None:
    pretend_terminal(monkeypatch, delay=60.0)
    with ProgressBar("texts") as progress:
        progress(1, 2)
    monkeypatch.setattr(progress_module, "PROGRESS_DELAY", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    with ProgressBar("texts") as progress:
        progress(1, 2)
    assert capsys.readouterr() == ("", "")


def test_bar_is_removed_before_an_error(capsys, monkeypatch) -> None:
    pretend_terminal(monkeypatch)

    def fail() -> None:
        with progress:
            progress(1, 2)
            raise ValueError

    progress = ProgressBar("texts")
    with pytest.raises(ValueError):
        fail()
    assert progress.bar is not None and not progress.bar.live.is_started


def test_each_raised_flag_is_one_sentence(capsys) -> None:
    warn_of_flags({"empty": 1, "truncated": 0, "unknown": 2000})
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("softset: 1 pair with an empty text") and lines[1].startswith(
        "softset: 2,000 tokens unknown"
    )
    assert len(lines) == 2
