"""The command line: parsing and printing only. Each verb is a module that is imported when it is called."""

import codecs
import json
import signal
import sys
from importlib import import_module
from typing import Any

import click

from softset import __version__
from softset.cli.output import Terminated, VerbGroup, note
from softset.errors import SoftsetError
from softset.io.text import first_line

VERBS = (
    *("find", "membership", "score", "compare", "explain", "fit", "index", "add", "delete", "upgrade", "encode"),
    *("vectors", "models", "jobs", "serve", "eval", "demo"),
)
# Modules with several verbs; every other verb has a module of the same name.
MODULES = {
    "membership": "find",
    "index": "collections",
    "add": "collections",
    "delete": "collections",
    "upgrade": "collections",
}


class LazyGroup(VerbGroup):
    """A group that imports a command when it is called, so that `softset --version` is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """Return the verbs in the order of the help text."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002 (click's signature)
        """Return the command of a verb, or None for an unknown one."""
        if name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f"softset.cli.{MODULES.get(name, name)}"), name)
        return command


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="softset")
@click.option("--debug", is_flag=True, help="Show the Python traceback of an error; also accepted after the command.")
def softset(debug: bool) -> None:
    """Set algebra for embeddings.

    Build a set from a few examples, combine sets with AND, OR and NOT, search by membership, and compare texts.

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
    """Run the command line.

    Exit codes: 0; 2 with one sentence for bad input; 1 for an unexpected error; 130 and 143 after SIGINT and SIGTERM.
    """
    arguments, debug = _without_debug(sys.argv[1:] if arguments is None else arguments)
    arguments = arguments or ["--help"]
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # end silently when the reader of a pipe ends
    codecs.register_error("softset.escape", _escape)
    if getattr(sys.stdout, "errors", None) == "strict" and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="softset.escape")
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        outcome: Any = softset.main(arguments, prog_name="softset", standalone_mode=False)
        code = outcome if isinstance(outcome, int) else 0
    except click.Abort as error:
        note(f"interrupted; {error}" if error.args else "interrupted; output files are either complete or unchanged")
        code = 143 if isinstance(error.__cause__, Terminated) else 130
    except click.ClickException as error:
        command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "softset"
        note(f"{error.format_message().rstrip('.')} (see {command} --help)")
        code = 2
    except Exception as error:
        if debug:
            raise
        code = _report(error)
    finally:
        signal.signal(signal.SIGTERM, before)
    sys.exit(code)


def _terminate(*_: Any) -> None:
    """Handle SIGTERM: temporary files are removed as after SIGINT."""
    raise Terminated


def _escape(error: UnicodeError) -> tuple[str, int]:
    r"""Write characters that the terminal's encoding lacks as in JSON, such as \u2026."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _without_debug(arguments: list[str]) -> tuple[list[str], bool]:
    """Remove --debug from the arguments: it may come before or after the verb."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    others = [argument for argument in arguments[:end] if argument != "--debug"]
    return others + arguments[end:], "--debug" in arguments[:end]


def _report(error: Exception) -> int:
    """Print an error as one sentence and return the exit code."""
    if isinstance(error, OSError) and error.filename is not None:
        note(f"{error.filename}: {error.strerror}")
    elif isinstance(error, SoftsetError | OSError):
        note(str(error))
    else:
        note(f"unexpected {type(error).__name__}: {first_line(error)} (add --debug for the traceback)")
        return 1
    return 2
