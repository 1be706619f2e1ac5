"""Threads for blocks of small matrix products.

Small products run fastest on one thread: giving 50 rows to a second thread costs more than it saves. So BLAS is limited
to one thread, and blocks of products are distributed over as many threads as BLAS had.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from softset.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])
Job = TypeVar("Job")
Result = TypeVar("Result")

MAX_THREADS = 1024  # more than the cores of most machines; 100,000 threads would exhaust the memory


REQUESTED: ContextVar[int | None] = ContextVar("requested threads", default=None)
_BLAS_IS_FREE = Lock()


@contextmanager
def _one_blas_thread() -> Iterator[int]:
    """Limit BLAS to one thread; yield the number of threads that BLAS had, or 1 if another caller has limited it.

    The number of BLAS threads belongs to the process; with threadpoolctl only the thread that set it may restore it.
    So the first caller sets and restores it, and callers that enter meanwhile change nothing. If two callers restored
    the number from before their own call, the process could be left at one thread.
    """
    if not _BLAS_IS_FREE.acquire(blocking=False):
        yield 1
        return
    try:
        libraries = _blas_libraries(len(sys.modules))
        allowed = max([library.num_threads for library in libraries.lib_controllers], default=1)
        with libraries.limit(limits=1):
            yield max(allowed, 1)
    finally:
        _BLAS_IS_FREE.release()


@lru_cache(1)
def _blas_libraries(modules: int) -> ThreadpoolController:  # noqa: ARG001 (the key of the cache)
    """Return a controller of the loaded BLAS libraries; the search takes 1 ms, so only an import repeats it."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def own_threads(enabled: bool = True, threads: int | None = None) -> Iterator[None]:
    """Give the threads of BLAS to `in_threads` within this context, or a given number of threads.

    BLAS threads busy-wait for some time after their work. If multi-threaded products and `in_threads`
    alternate, the waiting threads take a core from the working ones.
    """
    if not enabled:
        yield
        return
    with _one_blas_thread() as available:
        token = REQUESTED.set(threads or REQUESTED.get() or available)
        try:
            yield
        finally:
            REQUESTED.reset(token)


def in_threads(function: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
    """Yield the results of a function for jobs, in their order; several jobs run in parallel, each on one thread."""
    with _one_blas_thread() as available:
        yield from parallel_map(function, jobs, REQUESTED.get() or available)


def parallel_map(function: Callable[[Job], Result], jobs: Iterable[Job], threads: int) -> Iterator[Result]:
    """Yield the results of a function for jobs, in their order, with a number of threads."""
    if threads == 1:
        yield from map(function, jobs)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for job in jobs:
                waiting.append(pool.submit(function, job))
                if len(waiting) > threads:  # bounds the memory
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def on_one_thread(function: Function) -> Function:
    """Limit BLAS to one thread within a function, which on a busy machine is many times as fast."""
    return _one_blas_thread()(function)


def thread_count(threads: int | None) -> int:
    """Return the given number of threads, OMP_NUM_THREADS, or the number of cores that this process may use."""
    if threads is not None:
        if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
            raise InputError(f"threads is {threads!r}, but a whole number from 1 to {MAX_THREADS} was expected")
        return threads
    variable = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if variable.isascii() and variable.isdecimal() and int(variable) > 0:
        return min(int(variable), MAX_THREADS)
    # A container may own fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
