"""What an engine answers; its errors, which are many, become one sentence."""

import re
from collections.abc import Callable
from typing import TypeVar

from softset.errors import InputError, SoftsetError

__all__ = ["asked"]

LONGEST = 300
SOURCE = re.compile(r",? ?\S*/src/\S+\.rs:[\d:]+")  # where in an engine's own source: of no use to its user
Answer = TypeVar("Answer")


def asked(engine: str, call: Callable[[], Answer], where: str = "") -> Answer:
    """Return what a call gives; what it raises is told by the engine's name and its first line.

    >>> asked("Milvus", lambda: 1 + 1)
    2
    """
    try:
        return call()
    except SoftsetError:
        raise
    except Exception as error:
        lines = str(getattr(error, "message", "") or error).strip().splitlines()
        told = SOURCE.sub("", lines[0])[:LONGEST] if lines else type(error).__name__
        mended = "; make room, and run it again: it goes on from there" if "No space left" in told else ""
        raise InputError(f"{engine} says{where}: {told}{mended}") from error
