"""Input files and terminal output that several verbs share: columns of texts, progress, notes and warnings."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import click

from softset.errors import InputError
from softset.io.lines import TextFile
from softset.io.text import counted, printable

if TYPE_CHECKING:
    from rich.progress import Progress

PROGRESS_DELAY = 2.0  # seconds: shorter work shows no progress bar
FLAGS = {
    "empty": ("pair", "with an empty side: two empty texts score 1, an empty text and another one 0"),
    "truncated": ("token", "truncated: --overflow window scores whole texts"),
    "unknown": ("token", "unknown to the model and ignored: texts that differ only in them get the same score"),
    "saturated": (
        "pair",
        "with so many tokens that unrelated tokens score high too: see saturation in docs/metrics.md",
    ),
}


def note(sentence: str) -> None:
    """Print a sentence to standard error."""
    click.echo(f"softset: {sentence}", err=True)


class Terminated(KeyboardInterrupt):
    """SIGTERM: the command ends as after SIGINT, with another exit code."""


@contextmanager
def on_interrupt(sentence: Callable[[], str]) -> Iterator[None]:
    """Let an interruption report what is finished and how to continue."""
    try:
        yield
    except KeyboardInterrupt as error:
        click.echo(err=True)  # after ^C
        raise click.Abort(sentence()) from error


def warn_of_flags(counts: Mapping[str, float], flags: Mapping[str, tuple[str, str]] = FLAGS) -> None:
    """Print a warning for each flag that was raised, by default for the flags of scores."""
    for name, (noun, sentence) in flags.items():
        if counts.get(name):
            note(f"{counted(int(counts[name]), noun)} {sentence}")


def print_facts(facts: Mapping[str, Any], *, verified: bool, as_json: bool) -> None:
    """Print the facts of a model or of word vectors."""
    if as_json:
        click.echo(json.dumps({**facts, "verified": verified}, ensure_ascii=False))
        return
    for key, value in facts.items():
        click.echo(f"{key:12} {'not known' if value is None else printable(str(value))}")
    if verified:
        click.echo("verified     every file matches its SHA-256")


class ProgressBar:
    """A progress bar with the time left on standard error; shown on a terminal after two seconds.

    Calling it with the numbers done and in total updates it, so it serves as the `progress` argument of the library.
    """

    def __init__(self, unit: str) -> None:
        self.unit, self.start = unit, time.monotonic()
        self.bar: Progress | None = None
        self.terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: int, total: int | None = None) -> None:
        """Show how much is done."""
        if self.bar is None and self.terminal and time.monotonic() - self.start >= PROGRESS_DELAY:
            self._start()
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=done, total=total)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns: Any = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)  # notes are printed above it
        self.bar.add_task(self.unit, total=None)
        self.bar.start()

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()


def read_columns(paths: tuple[str, ...]) -> list[TextFile]:
    """Return text files that all have the same number of lines, at least one."""
    if paths.count("-") > 1:
        raise InputError("standard input can be read only once: use files for the others")
    files = [TextFile(path) for path in paths]
    for file in files:
        if not len(file):
            raise InputError(f"{file.name} is empty: one text per line is expected")
    if len({len(file) for file in files}) > 1:
        counts = ", ".join(f"{file.name} has {len(file):,}" for file in files)
        raise InputError(f"the files differ in their number of lines: {counts}")
    return files
