"""`softset eval`: how good metrics and sets are, on data with human judgements."""

from importlib import import_module

import click

__all__ = ["eval"]

# One line a task: the module softset.cli.eval_TASK holds a command of the same name.
TASKS = ("sts", "sets", "wmt", "words")


class Tasks(click.Group):
    """A group that imports a task's module only when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """Return the tasks in the order of the help text."""
        return list(TASKS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002 (click's)
        """Return the task's command, or None so that click reports an unknown one."""
        if name not in TASKS:
            return None
        command: click.Command = getattr(import_module(f"softset.cli.eval_{name}"), name)
        return command


@click.command(cls=Tasks, short_help="Evaluate metrics and sets on human judgements.")
def eval() -> None:  # noqa: A001 (the verb's name)
    """Evaluate metrics and sets on data with human judgements.

    \b
    Examples:
      softset eval sts --data DIR --layer 4
      softset eval sets --data DIR --json
      softset eval wmt --data DIR --pair cs-en
    """
