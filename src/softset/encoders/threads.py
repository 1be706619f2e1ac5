"""How many threads: what the user says, or what the process may use."""

import os

from softset.errors import InputError

__all__ = ["thread_count"]

MOST = 1024  # more than any machine has cores; a hundred thousand would take its memory


def thread_count(given: int | None) -> int:
    """Return a number of threads: the one given, that of OMP_NUM_THREADS, or the cores this process may run on.

    >>> thread_count(3)
    3
    """
    if given is not None:
        if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MOST:
            raise InputError(f"threads is {given!r}, but a whole number from 1 to {MOST} was wanted")
        return given
    wish = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if wish.isascii() and wish.isdecimal() and int(wish) > 0:
        return min(int(wish), MOST)
    # A container may own fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
