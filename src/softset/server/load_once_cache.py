"""Cache of things that are slow to load."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class LoadOnceCache(Generic[Value]):
    """Least-recently-used cache that loads each value once.

    Threads that ask for a value while it is being loaded wait for that load; other values are not delayed. If the load
    fails, all waiting threads get the error, and the next call tries again.

    >>> cache = LoadOnceCache(2)
    >>> [cache.get(name, lambda: name.upper()) for name in "abcb"], len(cache)
    (['A', 'B', 'C', 'B'], 2)
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._futures: OrderedDict[Hashable, Future[Value]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, load: Callable[[], Value]) -> Value:
        """Return the value of a key; call `load` if it is not cached."""
        with self._lock:
            is_new = key not in self._futures
            future = self._futures.setdefault(key, Future())
            self._futures.move_to_end(key)
        if is_new:
            try:
                future.set_result(load())
            except BaseException as error:
                with self._lock:
                    self._futures.pop(key, None)
                future.set_exception(error)
                raise
            with self._lock:  # after the load: a load that fails removes nothing
                while len(self._futures) > self._size:
                    self._futures.popitem(last=False)
        return future.result()

    def __len__(self) -> int:
        return len(self._futures)
