"""Cache of things that are slow to load."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["LoadOnceCache"]

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
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._loading: dict[Hashable, Future[Value]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, load: Callable[[], Value]) -> Value:
        """Return the value of a key; call `load` if it is not cached."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            loading = self._loading.get(key)
            if loading is None:
                self._loading[key] = Future()
        return self._load(key, load) if loading is None else loading.result()

    def _load(self, key: Hashable, load: Callable[[], Value]) -> Value:
        try:
            value = load()
        except BaseException as error:
            with self._lock:
                self._loading.pop(key).set_exception(error)
            raise
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._size:
                self._values.popitem(last=False)
            self._loading.pop(key).set_result(value)
        return value

    def __len__(self) -> int:
        return len(self._values)
