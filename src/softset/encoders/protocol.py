"""What an encoder is to everybody else."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from softset.encoders.tokensets import TokenSets

__all__ = ["Encoder", "Progress"]

Progress = Callable[[int, int], None]  # how many texts are done, of how many


@runtime_checkable
class Encoder(Protocol):
    """Texts to vectors; two encoders with one signature give the same vectors for the same text, in any batch.

    Anything with these four can stand where an encoder is wanted:

    >>> import softset
    >>> encoder = softset.load_encoder("words")
    >>> isinstance(encoder, Encoder)
    True
    """

    @property
    def signature(self) -> str:
        """What decides the vectors: the model with its checksum, and every option that changes a number."""
        ...

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        ...

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> TokenSets:
        """Return each text's token vectors, in the order of the texts."""
        ...

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> np.ndarray:
        """Return one pooled vector a text, (n, d); zero for an empty text."""
        ...
