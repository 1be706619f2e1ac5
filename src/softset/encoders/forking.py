"""A fork after torch has used threads: the child has none of them, and would wait for them for ever."""

import os

from softset.errors import InputError

__all__ = ["refuse_after_fork"]

_threaded_in: int | None = None  # the process in which torch used threads first


def refuse_after_fork(threads: int) -> None:
    """Note that torch is about to use so many threads; refuse where a parent of this process did so before a fork.

    One thread is the caller's own, and works in every process.
    """
    global _threaded_in  # as the threads, too, are those of the whole process
    if threads == 1:
        return
    if _threaded_in not in (None, os.getpid()):
        raise InputError(
            "this process was forked from one where torch had used threads, and would wait for them for ever: start "
            "processes with multiprocessing.get_context('spawn'), or give load_encoder threads=1"
        )
    _threaded_in = os.getpid()
