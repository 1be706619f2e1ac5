"""Things that take long to make: made when they are first asked for, once, and kept while they are used."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["Kept"]

Thing = TypeVar("Thing")


class Kept(Generic[Thing]):
    """The last things that were used, at most so many.

    Who asks for a thing that is being made waits for it, and for nothing else. If making it fails, it takes nobody's
    place, and the next one tries again.

    >>> kept = Kept(2)
    >>> [kept.get(name, lambda: name.upper()) for name in "abcb"], len(kept)
    (['A', 'B', 'C', 'B'], 2)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._things: OrderedDict[Hashable, Thing] = OrderedDict()
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        """Return the thing of a key, made if it is not there."""
        with self._lock:
            if key in self._things:
                self._things.move_to_end(key)
                return self._things[key]
            making = self._making.setdefault(key, Lock())
        with making:
            with self._lock:
                if key in self._things:  # somebody else made it meanwhile
                    return self._things[key]
            thing = make()
            with self._lock:
                self._things[key] = thing
                self._making.pop(key, None)
                while len(self._things) > self._most:
                    self._things.popitem(last=False)
            return thing

    def __len__(self) -> int:
        return len(self._things)
