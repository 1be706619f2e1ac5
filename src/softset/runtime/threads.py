"""Many small products run best on one thread each: handing 50 rows to a second one costs more than it saves.

Blocks of them go to as many threads as linear algebra may use (threadpoolctl's limit, or the library's own).
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from threading import Lock
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

from softset.errors import InputError

__all__ = ["in_threads", "limited_to", "on_one_thread", "own_threads", "side_by_side", "thread_count"]

Given = ParamSpec("Given")
Job = TypeVar("Job")
Result = TypeVar("Result")

MAX_THREADS = 1024  # more than the cores of any machine; a hundred thousand threads would use up the memory


class _OneThread:
    """One thread for linear algebra while the first who came is inside; who sets the limit takes it off again.

    The number of threads is the process's, and threadpoolctl lets only the thread that set it change it. Whoever comes
    while another is inside changes nothing: two that put back what they found could leave the process at one thread.
    """

    def __init__(self) -> None:
        self.free = Lock()

    @contextmanager
    def __call__(self) -> Iterator[int]:
        """Yield how many threads there were: those that the one inside may use itself."""
        if not self.free.acquire(blocking=False):
            yield 1
            return
        try:
            allowed = max([lib.num_threads for lib in _controller().select(user_api="blas").lib_controllers], default=1)
            with _controller().limit(limits=1, user_api="blas"):
                yield max(allowed, 1)
        finally:
            self.free.release()


ONE_THREAD = _OneThread()
WANTED: ContextVar[int | None] = ContextVar("threads that the caller wants", default=None)


@cache
def _controller() -> ThreadpoolController:
    """Return the libraries for linear algebra that are loaded; looking them up takes a millisecond."""
    return ThreadpoolController()


def limited_to(threads: int | None) -> AbstractContextManager[None]:
    """Let `in_threads` use so many threads in here, and linear algebra one; no limit unless a number is given.

    It goes through the same lock as all others: a second limit of the process's threads could outlive its first.

    >>> with limited_to(1):
    ...     list(in_threads(len, ["a", "bb"]))
    [1, 2]
    """
    return own_threads(threads is not None, threads)


@contextmanager
def own_threads(wanted: bool = True, threads: int | None = None) -> Iterator[None]:
    """Leave threads to `in_threads` in here, if that is wanted: so many, or as linear algebra had, which now has one.

    A library's threads wait for more work without sleeping for some time: between products on many threads and blocks
    in threads of our own, the former would take a core from the latter.

    >>> with own_threads():
    ...     list(in_threads(len, ["a", "bb"]))
    [1, 2]
    """
    if not wanted:
        yield
        return
    with ONE_THREAD() as found:
        token = WANTED.set(threads or WANTED.get() or found)
        try:
            yield
        finally:
            WANTED.reset(token)


def in_threads(function: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
    """Yield what a function makes of jobs, in their order; a few of them are done at once, each on one thread.

    >>> list(in_threads(len, ["a", "bb"]))
    [1, 2]
    """
    with ONE_THREAD() as found:
        yield from side_by_side(function, jobs, WANTED.get() or found)


def side_by_side(function: Callable[[Job], Result], jobs: Iterable[Job], threads: int) -> Iterator[Result]:
    """Yield what a function makes of jobs, in their order; so many of them are done at once.

    >>> list(side_by_side(len, ["a", "bb"], threads=2))
    [1, 2]
    """
    if threads == 1:
        yield from map(function, jobs)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for job in jobs:
                waiting.append(pool.submit(function, job))
                if len(waiting) > threads:  # so that memory holds no more of them
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()


def on_one_thread(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Let a function's linear algebra keep to one thread: on a busy machine that is many times as fast.

    >>> on_one_thread(sum)([1, 2])
    3
    """

    @wraps(function)
    def limited(*arguments: Given.args, **options: Given.kwargs) -> Result:
        with ONE_THREAD():
            return function(*arguments, **options)

    return limited


def thread_count(threads: int | None) -> int:
    """Return the given number of threads, or else OMP_NUM_THREADS, or the number of cores this process may use.

    >>> thread_count(3)
    3
    """
    if threads is not None:
        if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
            raise InputError(f"threads is {threads!r}, but a whole number from 1 to {MAX_THREADS} was wanted")
        return threads
    variable = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if variable.isascii() and variable.isdecimal() and int(variable) > 0:
        return min(int(variable), MAX_THREADS)
    # A container may own fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
