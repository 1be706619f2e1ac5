"""Groups of commands that are imported one by one, when they are called."""

from importlib import import_module
from typing import Any

import click

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """A group whose command is the object of that name in a module of that name, so that `--version` stays instant."""

    def __init__(self, *given: Any, module: str = "", names: tuple[str, ...] = (), **options: Any) -> None:
        super().__init__(*given, **options)
        self.module, self.names = module, names

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """Return the names in the order of the help text."""
        return list(self.names)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002 (click's)
        """Return one command, or None so that click reports an unknown one."""
        if name not in self.names:
            return None
        command: click.Command = getattr(import_module(self.module.format(name)), name)
        return command
