"""What several verbs share: groups of commands, columns of texts, progress, notes and warnings."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import click

from softset.errors import InputError
from softset.io.lines import TextFile
from softset.io.text import counted, printable
from softset.runtime.progress import ProgressBar as ProgressBar

FLAGS = {
    "empty": ("pair", "with an empty text: two empty texts score 1, an empty and a non-empty text score 0"),
    "truncated": ("token", "truncated: --overflow window scores whole texts"),
    "unknown": ("token", "unknown to the model and ignored: texts that differ only in them get the same score"),
    "saturated": (
        "pair",
        "with so many tokens that unrelated tokens score high too: see saturation in docs/metrics.md",
    ),
}


class VerbGroup(click.Group):
    """A group that suggests the most similar command for an unknown one, and names its commands if none is given."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command that the arguments name."""
        names = self.list_commands(ctx)
        near = get_close_matches(args[0], names, n=1)
        if near and args[0] not in names and not args[0].startswith("-"):
            raise click.UsageError(f"No such command {args[0]!r}; did you mean {near[0]!r}?", ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; a group below the main one needs a command."""
        if not args and ctx.parent is not None:
            raise click.UsageError(f"name a command: {', '.join(self.list_commands(ctx))}", ctx)
        return super().parse_args(ctx, args)


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
