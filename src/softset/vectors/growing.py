"""Words that come one block after another, flat in memory: a dictionary of Python strings would take five times more.

A word is found again by its 64-bit hash, in sorted runs of which each is at least twice as long as the next, and then
compared with the word asked for, so that a collision cannot go unnoticed.
"""

from array import array
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

__all__ = ["GrowingWords", "word_hash", "word_hashes"]


def word_hash(word: str) -> int:
    """Return the 64-bit number that a word is filed under."""
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")


def word_hashes(words: Sequence[str]) -> np.ndarray:
    """Return the hashes of words.

    >>> word_hashes(["red", "red"]).dtype.name
    'uint64'
    """
    return np.fromiter(map(word_hash, words), dtype=np.uint64, count=len(words))


class Run(NamedTuple):
    """Sorted hashes of some words, and the places of the words."""

    hashes: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, hashes: np.ndarray, places: np.ndarray) -> "Run":
        """Return hashes in any order as a run."""
        order = np.argsort(hashes, kind="stable")  # of two runs in one, the sort only merges them
        return cls(hashes[order], places[order].astype(np.uint32))

    def merged(self, later: "Run") -> "Run":
        """Return this run and one of later words as one."""
        return Run.of(np.concatenate([self.hashes, later.hashes]), np.concatenate([self.places, later.places]))


class GrowingWords:
    """Distinct words in the order in which they came.

    >>> words = GrowingWords()
    >>> words.extend(["red", "green"]), words.extend(["blue", "red"])
    (True, False)
    >>> len(words), words[1], words.place("green"), words.place("blue")
    (2, 'green', 1, None)
    """

    def __init__(self) -> None:
        self.text = bytearray()
        self.ends = array("q", [0])
        self._runs: list[Run] = []

    def extend(self, words: Sequence[str]) -> bool:
        """Add words, unless one of them is there already or comes twice: then none is added."""
        hashes = word_hashes(words)
        if len(set(words)) < len(words) or self._known(words, hashes):
            return False
        self._append(words, hashes)
        return True

    def append(self, words: Sequence[str]) -> None:
        """Add words that are known to be new.

        >>> words = GrowingWords()
        >>> words.append(["red"])
        >>> len(words)
        1
        """
        self._append(words, word_hashes(words))

    def _append(self, words: Sequence[str], hashes: np.ndarray) -> None:
        if not len(words):
            return
        first = len(self)
        for word in words:
            self.text += word.encode()
            self.ends.append(len(self.text))
        run = Run.of(hashes, np.arange(first, len(self)))
        while self._runs and len(self._runs[-1].hashes) <= 2 * len(run.hashes):
            run = self._runs.pop().merged(run)
        self._runs.append(run)

    def known(self, words: Sequence[str]) -> dict[str, int]:
        """Return those of some words that are there, and where they stand.

        >>> words = GrowingWords()
        >>> words.append(["red", "green"])
        >>> words.known(["blue", "green"])
        {'green': 1}
        """
        return self._known(words, word_hashes(words))

    def _known(self, words: Sequence[str], hashes: np.ndarray) -> dict[str, int]:
        perhaps = np.zeros(len(words), dtype=bool)
        for run in self._runs:
            perhaps |= run.hashes[run.hashes.searchsorted(hashes) % len(run.hashes)] == hashes
        looked_up = {words[at]: self.place(words[at]) for at in np.flatnonzero(perhaps).tolist()}
        return {word: place for word, place in looked_up.items() if place is not None}

    def place(self, word: str) -> int | None:
        """Return where a word stands, or None."""
        wanted = np.uint64(word_hash(word))
        for run in self._runs:
            first, last = (int(run.hashes.searchsorted(wanted, side=side)) for side in ("left", "right"))
            for place in run.places[first:last].tolist():
                if self[place] == word:
                    return int(place)
        return None

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, at: int) -> str:
        return self.text[self.ends[at] : self.ends[at + 1]].decode()

    def sorted(self) -> Run:
        """Return the hashes of all words, sorted, and the words' places.

        >>> words = GrowingWords()
        >>> words.append(["red", "green"])
        >>> sorted(words.sorted().places.tolist())
        [0, 1]
        """
        while len(self._runs) > 1:
            last = self._runs.pop()
            self._runs.append(self._runs.pop().merged(last))
        return self._runs[0] if self._runs else Run.of(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint32))
