"""Cache of things that are slow to load."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextvars import Context
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
        self._entries: OrderedDict[Hashable, tuple[Hashable, Future[Value]]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, load: Callable[[], Value], *, version: Hashable = None) -> Value:
        """Return the value of a key; call `load` if it is not cached. A new version replaces the previous one."""
        with self._lock:
            entry = self._entries.get(key)
            is_new = entry is None or entry[0] != version
            if entry is None or is_new:
                entry = self._entries[key] = version, Future()
            self._entries.move_to_end(key)
        future = entry[1]
        if is_new:
            try:
                future.set_result(Context().run(load))  # other requests need it, even if this client disconnects
            except BaseException as error:
                with self._lock:
                    if self._entries.get(key) is entry:
                        del self._entries[key]
                future.set_exception(error)
                raise
            with self._lock:  # after the load: a load that fails removes nothing
                while len(self._entries) > self._size:
                    self._entries.popitem(last=False)
        return future.result()

    def __len__(self) -> int:
        return len(self._entries)
