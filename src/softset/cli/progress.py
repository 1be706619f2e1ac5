"""How far a long job is, on standard error."""

import time

import click

__all__ = ["Progress"]


class Progress:
    """A line on standard error that counts words, texts or other units, at most ten times a second."""

    def __init__(self, unit: str = "words") -> None:
        self.unit, self.last = unit, 0.0

    def __call__(self, done: int, total: int | None = None) -> None:
        """Show how many are done, and of how many where that is known."""
        now = time.monotonic()
        if now - self.last > 0.1:
            self.last = now
            click.echo(
                f"\r{done:,} {self.unit}" if not total else f"\r{done:,} {self.unit} of {total:,}", err=True, nl=False
            )

    def done(self) -> None:
        """Clear the line."""
        click.echo("\r" + " " * 40 + "\r", err=True, nl=False)
