"""Many small products run best on one thread each: handing 50 rows to a second one costs more than it saves."""

from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["on_one_thread"]

Given = ParamSpec("Given")
Result = TypeVar("Result")


class _OneThread:
    """One thread as long as anybody wants it: the first to come sets the limit, the last to leave takes it off.

    The number of threads is the process's, so that two who set it and put back what they found could leave it at one.
    """

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0
        self.limit: Any = None

    def __enter__(self) -> None:
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.limit = _controller().limit(limits=1, user_api="blas")
                self.limit.__enter__()

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                self.limit.__exit__(*error)


ONE_THREAD = _OneThread()


@cache
def _controller() -> ThreadpoolController:
    """Return the libraries for linear algebra that are loaded; looking them up takes a millisecond."""
    return ThreadpoolController()


def on_one_thread(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Let a function's linear algebra keep to one thread; on a busy machine that was 20 times as fast.

    >>> on_one_thread(sum)([1, 2])
    3
    """

    @wraps(function)
    def limited(*arguments: Given.args, **options: Given.kwargs) -> Result:
        with ONE_THREAD:
            return function(*arguments, **options)

    return limited
