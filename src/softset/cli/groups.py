"""Groups of commands: suggestions for a misspelled command."""

from difflib import get_close_matches
from typing import Any

import click


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
