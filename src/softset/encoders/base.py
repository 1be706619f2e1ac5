"""What all encoders share: texts are checked, each distinct one is encoded once, streams are cut in blocks."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from softset.encoders.protocol import Progress
from softset.encoders.texts import check_texts, first_places, iterated
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError

__all__ = ["TextEncoder"]

BLOCK = 1024  # texts: enough to sort by length, and 30 MB of vectors for sentences of 20 tokens and 384 dimensions


class TextEncoder(ABC):
    """An encoder that knows its `signature` and `dimensions` and how to encode distinct, checked texts."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """What decides the vectors."""

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The length d of the vectors."""

    @abstractmethod
    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        """Return the token sets of distinct texts."""

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> TokenSets:
        """Return each text's token vectors, in the order of the texts; `progress(done, all)` is told on the way.

        >>> import softset
        >>> softset.load_encoder("words").encode(["a red book", "", "a red book"])
        TokenSets(3 texts, 6 tokens, 300 dimensions, 1 empty)
        """
        return self._encode_repeated(check_texts(texts), progress)

    def _encode_repeated(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        """Return the token sets of texts of which some may be there twice; each is encoded once."""
        place = first_places(texts)
        sets = self._encode(list(place), progress)
        return sets if len(place) == len(texts) else sets.take([place[text] for text in texts])

    def stream(self, texts: Iterable[str], *, block: int = BLOCK) -> Iterator[TokenSets]:
        """Encode texts that come one after the other: yields the token sets of each `block` of them.

        Memory holds one block. The vectors are those of `encode`, whatever the block.

        >>> import softset
        >>> lines = (f"line {n}" for n in range(5))
        >>> [len(sets) for sets in softset.load_encoder("words").stream(lines, block=2)]
        [2, 2, 1]
        """
        if block < 1:
            raise InputError(f"a block of {block} texts is too small: give at least 1")
        source, done = iterated(texts, "texts"), 0
        while some := check_texts(islice(source, block), done):
            yield self.encode(some)
            done += len(some)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> np.ndarray:
        """Return one pooled vector a text, (n, d): the mean over its tokens, or zero if it has none.

        >>> import softset
        >>> softset.load_encoder("words").embed(["a red book", ""]).shape
        (2, 300)
        """
        given = check_texts(texts)
        place = first_places(given)
        distinct = list(place)
        pooled = np.zeros((len(distinct), self.dimensions), dtype=np.float32)
        for start in range(0, len(distinct), BLOCK):
            some = distinct[start : start + BLOCK]
            pooled[start : start + BLOCK] = self._embed(some)
            if progress is not None:
                progress(min(start + BLOCK, len(distinct)), len(distinct))
        return pooled[[place[text] for text in given]]

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return the pooled vectors of a block of distinct texts."""
        return self._pool(self._encode(texts, None))

    def _pool(self, sets: TokenSets) -> np.ndarray:
        return sets.means()
