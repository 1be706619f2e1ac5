"""Whether somebody still waits for what a thread is doing."""

from contextvars import ContextVar
from threading import Event

__all__ = ["ASKER_GONE", "AskerGoneError", "check_asker"]

ASKER_GONE: ContextVar[Event | None] = ContextVar("set when the asker has hung up, or was told that it takes too long")


class AskerGoneError(Exception):
    """Nobody waits any more for what was being done."""


def check_asker() -> None:
    """Give up if nobody waits any more: called between the pieces of long work."""
    gone = ASKER_GONE.get(None)
    if gone is not None and gone.is_set():
        raise AskerGoneError
