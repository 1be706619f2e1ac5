"""The command line: parsing and printing only. Each verb is a file of its own, loaded when it is called."""

import sys
from importlib import import_module
from typing import Any

import click

from softset import __version__
from softset.errors import SoftsetError

__all__ = ["main"]

# One line a verb: the module softset.cli.VERB holds a command of the same name.
VERBS = ("demo",)


class Verbs(click.Group):
    """A group that imports a verb's module only when it is needed, so that `--version` stays instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """Return the verbs in the order of the help text."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        """Return the verb's command, or None so that click reports an unknown one."""
        if name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f"softset.cli.{name}"), name)
        return command


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="softset")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def softset(debug: bool) -> None:
    """Set algebra for embeddings.

    Build a set from a few examples, combine sets with AND, OR and NOT, and ask how much anything belongs.

    \b
    Examples:
      softset demo
      softset --version
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: exit code 0, or 2 and one sentence for an error of the user's."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        outcome: Any = softset.main(given, prog_name="softset", standalone_mode=False)
        code = outcome if isinstance(outcome, int) else 0
    except Exception as error:  # noqa: BLE001 (the outermost frame: everything ends here in words)
        code = _report(error, debug="--debug" in given)
    sys.exit(code)


def _report(error: Exception, *, debug: bool) -> int:
    """Print an error for a person and return the exit code that programs read."""
    if debug and not isinstance(error, click.Abort):
        raise error
    if isinstance(error, click.Abort):
        return 130
    if isinstance(error, BrokenPipeError):
        sys.stderr.close()  # the reader left: nobody wants the interpreter's complaint about it
        return 0
    if isinstance(error, click.ClickException):
        error.show()
        return 2
    if isinstance(error, SoftsetError | OSError):
        click.echo(f"softset: {_sentence(error)}", err=True)
        return 2
    click.echo(f"softset: unexpected {type(error).__name__}: {error} (add --debug for the traceback)", err=True)
    return 1


def _sentence(error: SoftsetError | OSError) -> str:
    """Return the error in words; the system's own errors name the file first."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
