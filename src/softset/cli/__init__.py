"""The command line: parsing and printing only. Each verb is a file of its own, loaded when it is called."""

import signal
import sys
from typing import Any

import click

from softset import __version__
from softset.cli.lazy import LazyGroup
from softset.errors import SoftsetError

__all__ = ["main"]

# One line a verb: the module softset.cli.VERB holds a command of the same name.
VERBS = (
    "find",
    "membership",
    "score",
    "compare",
    "explain",
    "fit",
    "index",
    "add",
    "delete",
    "encode",
    "vectors",
    "models",
    "scale",
    "serve",
    "eval",
    "demo",
)


@click.command(
    cls=LazyGroup,
    module="softset.cli.{}",
    names=VERBS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="softset")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def softset(debug: bool) -> None:
    """Set algebra for embeddings.

    Build a set from a few examples, combine sets with AND, OR and NOT, ask what belongs, and compare texts.

    \b
    Examples:
      softset find '{red, blue, green} & {apple, peach, banana}'
      softset membership '{red, blue, green} & {apple, peach}' orange dog
      softset score -c system.txt -r reference.txt
      softset compare -r reference.txt baseline.txt system.txt
      softset explain 'royalty' 'the king and the queen'
      softset index books.tsv --out books.softset
      softset encode sentences.txt --out sentences.sets
      softset vectors import glove.txt --name mine
      softset models import path/to/model --name mine
      softset serve
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: exit code 0, or 2 and one sentence for an error of the user's."""
    given, debug = _without_debug(sys.argv[1:] if arguments is None else arguments)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # when the reader of a pipe leaves, so do we, without a word
    try:
        outcome: Any = softset.main(given, prog_name="softset", standalone_mode=False)
        code = outcome if isinstance(outcome, int) else 0
    except click.Abort:
        click.echo("softset: interrupted; nothing is half written", err=True)
        code = 130
    except click.ClickException as error:
        click.echo(f"softset: {_usage_sentence(error)}", err=True)
        code = 2
    except Exception as error:
        if debug:
            raise
        code = _report(error)
    sys.exit(code)


def _without_debug(given: list[str]) -> tuple[list[str], bool]:
    """Take --debug out of the arguments: it may stand before a verb or after it."""
    end = given.index("--") if "--" in given else len(given)
    return [one for one in given[:end] if one != "--debug"] + given[end:], "--debug" in given[:end]


def _report(error: Exception) -> int:
    """Print an error for a person and return the exit code that programs read."""
    if isinstance(error, SoftsetError | OSError):
        click.echo(f"softset: {_sentence(error)}", err=True)
        return 2
    click.echo(f"softset: unexpected {type(error).__name__}: {error} (add --debug for the traceback)", err=True)
    return 1


def _usage_sentence(error: click.ClickException) -> str:
    where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "softset"
    return f"{error.format_message().rstrip('.')} (see {where} --help)"


def _sentence(error: SoftsetError | OSError) -> str:
    """Return the error in words; the system's own errors name the file first."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
