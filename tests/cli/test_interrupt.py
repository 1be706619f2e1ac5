"""Interrupted commands say what is finished and how to continue, and leave no temporary files."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import pytest


def interrupt(*_: object, **__: object) -> NoReturn:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_remove_temporary_files(tmp_path: Path, number: int, code: int) -> None:
    (tmp_path / "lines.txt").write_text("".join(f"line {n} about the sea\n" for n in range(200_000)))
    command = [sys.executable, "-m", "softset", "index", "lines.txt", "--out", "books", "--model", "words"]
    handler = signal.signal(number, signal.SIG_DFL)  # a shell lets commands in the background ignore SIGINT
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    signal.signal(number, handler)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".books.*/segment-*/items.bin")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, number)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (code, "")
    assert errors.strip().splitlines()[-1] == "softset: interrupted; output files are either complete or unchanged"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["lines.txt"]


def test_signal_handler_is_restored(run) -> None:
    before = signal.getsignal(signal.SIGTERM)
    run("vectors", "list")
    assert signal.getsignal(signal.SIGTERM) is before


def test_interrupted_store_says_how_many_items_it_has(run, home: Path, monkeypatch) -> None:
    pytest.importorskip("lancedb")
    (home / "lines.txt").write_text("".join(f"line {n} about the sea\n" for n in range(1_500)))
    command = ("index", "lines.txt", "--out", "lance://store#books", "--model", "words")
    with monkeypatch.context() as patched:
        from softset.stores import ingest

        add_block, blocks = ingest._add_block, []

        def add_one_block(*arguments):
            blocks.append(1)
            return add_block(*arguments) if len(blocks) == 1 else interrupt()

        patched.setattr(ingest, "_add_block", add_one_block)
        code, _, errors = run(*command)
    assert code == 130
    assert "interrupted; lance://store#books has 1,000 items; run the command again to add the others" in errors
    assert "500 items added, 1,000 were there already" in run(*command)[1]


def test_interrupted_score_says_how_many_rows_are_finished(run, home: Path, monkeypatch) -> None:
    (home / "c.txt").write_text("a red book\n" * 1_500)
    command = ("score", "-c", "c.txt", "-r", "c.txt", "--model", "words", "--out", "scores.tsv")
    with monkeypatch.context() as patched:
        from softset.cli.score import ScorePrinter

        print_rows = ScorePrinter.print_rows

        def print_one_block(self, rows, file):
            return print_rows(self, rows, file) if not self.count else interrupt()

        patched.setattr(ScorePrinter, "print_rows", print_one_block)
        assert (
            "interrupted; 1,024 of 1,500 rows are in scores.tsv.partial; add --resume to continue" in run(*command)[2]
        )
    assert run(*command, "--resume")[0] == 0 and len((home / "scores.tsv").read_text().splitlines()) == 1_500
    monkeypatch.setattr("softset.similarity.scorer.Scorer.stream", interrupt)
    assert "interrupted; nothing was written" in run(*command[:-2])[2]


def test_interrupted_job_says_how_many_parts_are_finished(run, home: Path, monkeypatch) -> None:
    pytest.importorskip("ray")
    from softset.jobs import embedding, scoring

    (home / "out").mkdir()
    for name in ("a", "b"):
        (home / "out" / f"part-{name}.parquet").touch()
    monkeypatch.setattr(scoring, "score_files", interrupt)
    monkeypatch.setattr(embedding, "embed_files", interrupt)
    for verb in ("score", "index"):
        code, _, errors = run("jobs", verb, "--input", "x.parquet", "--out", "out")
        assert code == 130
        assert "interrupted; out has 2 finished parts; run the command again to compute the others" in errors


@pytest.mark.parametrize("option", [(), ("--json",), ("--tsv",)])
def test_text_that_the_terminal_cannot_encode_is_escaped(tmp_path: Path, option: tuple[str, ...]) -> None:
    (tmp_path / "a.tsv").write_text("id\ttext\n\u4e2d\U0001f642\tthe red sea \u2026\nb\tblue\n")
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1", "SOFTSET_CACHE": str(tmp_path / "cache")}

    def run(*arguments: str) -> bytes:
        command = [sys.executable, "-m", "softset", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=60)
        assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr
        return done.stdout

    run("index", "a.tsv", "--out", "c", "--model", "words")
    assert rb"\u4e2d\ud83d\ude42" in run("find", "--collection", "c", "red", *option)
