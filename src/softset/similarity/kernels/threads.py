"""Many small products run best on one thread each: handing 50 rows to a second one costs more than it saves."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from threading import Lock
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["on_one_thread"]

Given = ParamSpec("Given")
Result = TypeVar("Result")


class _OneThread:
    """One thread for linear algebra while the first who came is inside; who sets the limit takes it off again.

    The number of threads is the process's, and threadpoolctl lets only the thread that set it change it. Whoever comes
    while another is inside changes nothing: two that put back what they found could leave the process at one thread.
    """

    def __init__(self) -> None:
        self.free = Lock()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        if not self.free.acquire(blocking=False):
            yield
            return
        try:
            with _controller().limit(limits=1, user_api="blas"):
                yield
        finally:
            self.free.release()


ONE_THREAD = _OneThread()


@cache
def _controller() -> ThreadpoolController:
    """Return the libraries for linear algebra that are loaded; looking them up takes a millisecond."""
    return ThreadpoolController()


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
