"""The encoder interface, and the base class that implements it for encoders of distinct texts."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np

from softset.encoders.texts import check_texts, distinct_indices, iter_items
from softset.encoders.tokensets import TokenSets, hash_texts
from softset.errors import AmbientError, InputError
from softset.vectors.rows import RowBuffer, repeat_groups

# Enough texts to sort by length; sentences of 20 tokens and 384 dimensions take 30 MB.
TEXTS_PER_BLOCK = 1024

Progress = Callable[[int, int], None]  # receives the number of finished texts and the number of all texts


@runtime_checkable
class Encoder(Protocol):
    """The interface of an encoder: texts in, vectors out.

    Two encoders with the same signature return the same vectors for the same text, in any batch. Any object with these
    four members can be used as an encoder.

    >>> import softset
    >>> encoder = softset.load_encoder("words")
    >>> isinstance(encoder, Encoder)
    True
    """

    @property
    @abstractmethod
    def signature(self) -> str:
        """The model with its checksum, and every option that changes a vector, in one line."""

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """The dimension d of the vectors."""

    @abstractmethod
    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> TokenSets:
        """Return the token vectors of each text, in the order of the texts."""

    @abstractmethod
    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> np.ndarray:
        """Return one pooled vector per text, (n, d); zero for an empty text."""


class TextEncoder(Encoder):
    """The base class of encoders.

    A subclass defines `signature`, `dimensions` and `_encode`. This class checks the texts, removes duplicates, splits
    streams into blocks and pools vectors.
    """

    @abstractmethod
    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        """Return the token sets of distinct texts, in new arrays: `encode` may change them."""

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> TokenSets:
        """Return the token vectors of each text, in the order of the texts.

        Each distinct text is encoded once, and the vectors are held in memory once. `progress(done, total)` is called
        during the work with numbers of distinct texts.

        >>> import softset
        >>> softset.load_encoder("words").encode(["a red book", "", "a red book"])
        TokenSets(3 texts, 6 tokens, 300 dimensions, 1 empty)
        """
        checked = check_texts(texts)
        index = distinct_indices(checked)
        sets = replace(self._encode(list(index), progress), text_hashes=hash_texts(index))
        return sets if len(index) == len(checked) else _repeat(sets, np.array([index[text] for text in checked]))

    def stream(self, texts: Iterable[str], *, block: int = TEXTS_PER_BLOCK) -> Iterator[TokenSets]:
        """Encode an iterable of texts and yield the token sets of `block` texts at a time.

        Memory holds one block. The vectors do not depend on the size of the block.

        >>> import softset
        >>> lines = (f"line {n}" for n in range(5))
        >>> [len(sets) for sets in softset.load_encoder("words").stream(lines, block=2)]
        [2, 2, 1]
        """
        if block < 1:
            raise InputError(f"block is {block}, but it must be at least 1")
        source, done = iter_items(texts, "texts"), 0
        while batch := check_texts(islice(source, block), done):
            yield self.encode(batch)
            done += len(batch)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> np.ndarray:
        """Return one pooled vector per text, (n, d): the mean of its tokens, or zero for an empty text.

        >>> import softset
        >>> softset.load_encoder("words").embed(["a red book", ""]).shape
        (2, 300)
        """
        checked = check_texts(texts)
        index = distinct_indices(checked)
        distinct = list(index)
        pooled = np.zeros((len(distinct), self.dimensions), dtype=np.float32)
        for start in range(0, len(distinct), TEXTS_PER_BLOCK):
            stop = min(start + TEXTS_PER_BLOCK, len(distinct))
            pooled[start:stop] = self._embed(distinct[start:stop])
            if progress is not None:
                progress(stop, len(distinct))
        return pooled if len(distinct) == len(checked) else pooled[[index[text] for text in checked]]

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return the pooled vectors of a block of distinct texts."""
        return self._encode(texts, None).means()


class WrappedEncoder:
    """The base class of encoders that wrap another one, whose vectors they return."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    @property
    def signature(self) -> str:
        """The signature of the wrapped encoder."""
        return self.encoder.signature

    @property
    def dimensions(self) -> int:
        """The dimension d of the vectors."""
        return self.encoder.dimensions

    @property
    def second_moment(self) -> np.ndarray | None:
        """The second moment (d, d) of unit token vectors, or None if the wrapped encoder has none."""
        moment: np.ndarray | None = getattr(self.encoder, "second_moment", None)
        return moment


def concatenate_blocks(blocks: Iterable[TokenSets]) -> TokenSets:
    """Concatenate token sets that a generator yields; memory holds the vectors of the result and of one block."""
    vectors, others = RowBuffer(), []
    for block in blocks:
        if (d := vectors.rows.shape[1]) not in (0, block.dimensions):
            raise AmbientError(f"token sets with different dimensions ({d} and {block.dimensions}) cannot be joined")
        vectors.add(block.vectors)
        others.append(_without_vectors(block))
    return replace(TokenSets.concatenate(others), vectors=vectors.rows)


def _repeat(sets: TokenSets, order: np.ndarray) -> TokenSets:
    """Return the texts in an order with repeats; memory holds the vectors once."""
    others = _without_vectors(sets).take(order)
    return replace(others, vectors=repeat_groups(sets.vectors, sets.offsets, order))


def _without_vectors(sets: TokenSets) -> TokenSets:
    return replace(sets, vectors=np.empty((len(sets.vectors), 0), dtype=sets.vectors.dtype))
