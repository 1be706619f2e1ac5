"""`softset eval`: evaluate metrics and sets on data with human judgements."""

import click

from softset.cli import LazyGroup

# The module softset.cli.eval_TASK holds a command of the same name.
TASKS = ("sts", "sets", "wmt", "lengths", "words", "figure")


@click.command(
    cls=LazyGroup,
    module="softset.cli.eval_{}",
    names=TASKS,
    short_help="Evaluate metrics and sets on human judgements.",
)
def eval() -> None:  # noqa: A001 (the verb's name)
    """Evaluate metrics and sets on data with human judgements.

    \b
    Examples:
      softset eval sts --data DIR
      softset eval sets --data DIR --json
      softset eval wmt --data DIR --pair cs-en
    """
