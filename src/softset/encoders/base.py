"""The encoder interface, and the base class that implements it for encoders of distinct texts."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import length_hint
from typing import Protocol, runtime_checkable

import numpy as np

from softset.encoders.signature import parse_signature
from softset.encoders.texts import check_texts, distinct_indices, iter_items
from softset.encoders.tokensets import TokenSets, hash_texts
from softset.errors import InputError
from softset.io.text import html_table
from softset.runtime.progress import Progress as Progress
from softset.runtime.progress import ProgressOption, iter_blocks, report_progress, span
from softset.vectors.rows import repeat_groups

# Enough texts to sort by length; sentences of 20 tokens and 384 dimensions take 30 MB.
TEXTS_PER_BLOCK = 1024


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
    def encode(self, texts: Sequence[str], *, progress: ProgressOption = None) -> TokenSets:
        """Return the token vectors of each text, in the order of the texts."""

    @abstractmethod
    def embed(self, texts: Sequence[str], *, progress: ProgressOption = None) -> np.ndarray:
        """Return one pooled vector per text, (n, d); zero for an empty text."""


class TextEncoder(Encoder):
    """The base class of encoders.

    A subclass defines `signature`, `dimensions` and `_encode`. This class checks the texts, removes duplicates, splits
    streams into blocks and pools vectors.
    """

    @abstractmethod
    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        """Return the token sets of distinct texts, in new arrays: `encode` may change them."""

    def encode(self, texts: Sequence[str], *, progress: ProgressOption = None) -> TokenSets:
        """Return the token vectors of each text, in the order of the texts.

        Each distinct text is encoded once, and the vectors are held in memory once. With progress=True a progress bar
        is shown; a function is called during the work with the numbers of finished and of all distinct texts.

        >>> import softset
        >>> softset.load_encoder("words").encode(["a red book", "", "a red book"])
        TokenSets(3 texts, 6 tokens, 300 dimensions, 1 empty)
        """
        checked = check_texts(texts)
        index = distinct_indices(checked)
        with report_progress(progress, "texts") as report:
            sets = replace(self._encode(list(index), report), text_hashes=hash_texts(index))
        return sets if len(index) == len(checked) else _repeat(sets, np.array([index[text] for text in checked]))

    def stream(
        self, texts: Iterable[str], *, block: int = TEXTS_PER_BLOCK, progress: ProgressOption = None
    ) -> Iterator[TokenSets]:
        """Encode an iterable of texts and yield the token sets of `block` texts at a time.

        Memory holds one block. The vectors do not depend on the size of the block. `progress` is as in `encode`; the
        number of all texts is 0 if the iterable has no length.

        >>> import softset
        >>> lines = (f"line {n}" for n in range(5))
        >>> [len(sets) for sets in softset.load_encoder("words").stream(lines, block=2)]
        [2, 2, 1]
        """
        if block < 1:
            raise InputError(f"block is {block}, but it must be at least 1")
        source, done, total = iter_items(texts, "texts"), 0, length_hint(texts)
        with report_progress(progress, "texts") as report:
            while batch := check_texts(islice(source, block), done):
                yield self.encode(batch, progress=span(report, done, done + len(batch), total))
                done += len(batch)
                if report is not None:
                    report(done, total)

    def embed(self, texts: Sequence[str], *, progress: ProgressOption = None) -> np.ndarray:
        """Return one pooled vector per text, (n, d): the mean of its tokens, or zero for an empty text.

        >>> import softset
        >>> softset.load_encoder("words").embed(["a red book", ""]).shape
        (2, 300)
        """
        checked = check_texts(texts)
        index = distinct_indices(checked)
        distinct = list(index)
        pooled = np.zeros((len(distinct), self.dimensions), dtype=np.float32)
        with report_progress(progress, "texts") as report:
            for start, stop, step in iter_blocks(len(distinct), TEXTS_PER_BLOCK, report):
                pooled[start:stop] = self._embed(distinct[start:stop], step)
        return pooled if len(distinct) == len(checked) else pooled[[index[text] for text in checked]]

    def _embed(self, texts: Sequence[str], progress: Progress | None) -> np.ndarray:
        """Return the pooled vectors of a block of distinct texts."""
        return self._encode(texts, progress).means()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.signature})"

    def _repr_html_(self) -> str:
        facts = {**parse_signature(self.signature), "dimensions": str(self.dimensions)}
        return html_table(["", ""], facts.items(), caption=type(self).__name__)


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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.encoder!r})"


def _repeat(sets: TokenSets, order: np.ndarray) -> TokenSets:
    """Return the texts in an order with repeats; memory holds the vectors once."""
    others = replace(sets, vectors=np.empty((len(sets.vectors), 0), dtype=sets.vectors.dtype)).take(order)
    return replace(others, vectors=repeat_groups(sets.vectors, sets.offsets, order))
