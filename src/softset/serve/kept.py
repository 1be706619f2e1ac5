"""Things that take long to make: made when they are first asked for, once, and kept while they are used."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["Kept"]

Thing = TypeVar("Thing")


class _Place(Generic[Thing]):
    """Where one thing is, or will be."""

    def __init__(self) -> None:
        self.made = Lock()
        self.things: list[Thing] = []


class Kept(Generic[Thing]):
    """The last things that were used, at most so many.

    Who asks for a thing that is being made waits for it, and for nothing else. If making it fails, the next one tries
    again.

    >>> kept = Kept(2)
    >>> [kept.get(name, lambda: name.upper()) for name in "abcb"], len(kept)
    (['A', 'B', 'C', 'B'], 2)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: OrderedDict[Hashable, _Place[Thing]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        """Return the thing of a key, made if it is not there."""
        with self._lock:
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
            while len(self._places) > self._most:
                self._places.popitem(last=False)
        with place.made:
            if not place.things:
                place.things.append(make())
            return place.things[0]

    def __len__(self) -> int:
        return sum(bool(place.things) for place in list(self._places.values()))
