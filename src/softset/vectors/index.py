"""Words in a fixed order, found by name without reading them all: four flat arrays that may be memory-mapped.

A dictionary of 341,479 words takes 100 ms to fill each time a file is opened. Sorted 64-bit hashes need no filling: a
look-up is a binary search, and the word found is compared with the word asked for, so that a collision cannot go
unnoticed.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Self, overload

import numpy as np

from softset.errors import FileError
from softset.vectors.growing import GrowingWords, word_hash

__all__ = ["WordIndex"]

Integers = np.ndarray[Any, np.dtype[np.integer[Any]]]


class WordIndex(Sequence[str]):
    """A sequence of distinct words with `place(word)`, over a text of all words in one and where each begins.

    >>> words = WordIndex.of(["red", "green", "blue"])
    >>> words[1], words.place("blue"), words.place("pink"), len(words)
    ('green', 2, None, 3)
    """

    __slots__ = ("hashes", "limit", "offsets", "places", "text")

    def __init__(
        self, text: Any, offsets: Integers, hashes: Integers, places: Integers, limit: int | None = None
    ) -> None:
        self.text = text
        # Plain views: every look into a mapped array would make an object of its own kind.
        self.offsets, self.places = np.asarray(offsets), np.asarray(places)
        self.hashes = np.asarray(hashes, dtype=hashes.dtype.newbyteorder("="))  # a view of others cannot be looked into
        self.limit = len(offsets) - 1 if limit is None else min(limit, len(offsets) - 1)

    @classmethod
    def of(cls, words: Iterable[str]) -> Self:
        """Return the index of some distinct words."""
        grown = GrowingWords()
        grown.append(list(words))
        return cls.grown(grown)

    @classmethod
    def grown(cls, words: GrowingWords) -> Self:
        """Return the index of words that have all come; it looks at the same memory."""
        hashes, places = words.sorted()
        return cls(words.text, np.frombuffer(words.ends, dtype=np.int64), hashes, places)

    def restricted(self, n: int) -> Self:
        """Return the first n words."""
        return type(self)(self.text, self.offsets, self.hashes, self.places, min(n, self.limit))

    def __len__(self) -> int:
        return self.limit

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self._word(i) for i in range(*at.indices(self.limit))]
        if not -self.limit <= at < self.limit:
            raise IndexError(f"word {at} was asked for, but there are {self.limit}")
        return self._word(at % self.limit)

    def take(self, places: Sequence[int] | np.ndarray) -> list[str]:
        """Return the words at some places.

        >>> WordIndex.of(["red", "green", "blue"]).take([2, 0])
        ['blue', 'red']
        """
        at = np.asarray(places, dtype=np.int64)
        text = self.text
        bounds = zip(self.offsets[at].tolist(), self.offsets[at + 1].tolist(), strict=True)
        try:
            return [text[start:stop].decode() for start, stop in bounds]
        except UnicodeDecodeError as error:
            raise _was_changed() from error

    def _word(self, at: int) -> str:
        return _decoded(bytes(self.text[int(self.offsets[at]) : int(self.offsets[at + 1])]))

    def __iter__(self) -> Iterator[str]:
        content, ends = bytes(self.text[: int(self.offsets[self.limit])]), self.offsets[: self.limit + 1].tolist()
        return (_decoded(content[a:b]) for a, b in pairwise(ends))

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.place(word) is not None

    def place(self, word: str) -> int | None:
        """Return where a word stands, or None."""
        try:
            wanted = word_hash(word)
        except UnicodeEncodeError:  # a lone surrogate is in no file
            return None
        hashes = self.hashes.data  # a view whose numbers are Python's: NumPy's take five times as long to look at
        at = bisect_left(hashes, wanted)
        while at < len(hashes) and hashes[at] == wanted:
            place = int(self.places[at])
            if 0 <= place < self.limit and self._word(place) == word:
                return place
            at += 1
        return None


def _decoded(word: bytes) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError as error:
        raise _was_changed() from error


def _was_changed() -> FileError:
    return FileError("a stored word is no UTF-8: its file was changed since it was written; make it again")
