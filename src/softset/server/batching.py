"""Requests that encode at the same time go through the model together.

Nobody waits for company: whoever comes while the model is busy finds, when it is free, that others have come too, and
the first of them takes all their texts along. A text has the same vectors in any batch, so nobody can tell.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np

from softset.encoders.base import Encoder, Progress
from softset.encoders.tokensets import TokenSets
from softset.server.asker import check_asker
from softset.server.settings import Limits

__all__ = ["BatchedEncoder", "Batches"]

PIECE = 256  # texts that go through a model at once
PIECE_TOKENS = 2_048  # and tokens of one caller's texts: half a second's work
Encoded = TypeVar("Encoded", TokenSets, np.ndarray)


class _Call(Generic[Encoded]):
    """The texts of one caller, and what became of them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self.done = False
        self.encoded: Encoded | None = None
        self.error: Exception | None = None

    def result(self) -> Encoded:
        if self.error is not None:
            raise self.error
        assert self.encoded is not None  # noqa: S101 (it is done)
        return self.encoded


class Batches(Generic[Encoded]):
    """A function of texts that takes those of several threads at once.

    >>> double = Batches(lambda texts: np.array([2.0 * len(text) for text in texts]), most=8)
    >>> double(["a", "bcd"]).tolist()
    [2.0, 6.0]
    """

    def __init__(
        self, function: Callable[[list[str]], Encoded], most: int, tell: Callable[[int, int], None] | None = None
    ) -> None:
        self._function: Callable[[list[str]], Encoded] = function
        self._most, self._tell = most, tell
        self._waiting: deque[_Call[Encoded]] = deque()
        self._queue, self._model = Lock(), Lock()

    def __call__(self, texts: Sequence[str]) -> Encoded:
        """Return what the function makes of some texts, perhaps beside those of others."""
        call = _Call[Encoded](texts)
        with self._queue:
            self._waiting.append(call)
        while not call.done:
            with self._model:
                if not call.done:  # nobody took it along while the model was busy
                    self._together(self._taken())
        return call.result()

    def _taken(self) -> list[_Call[Encoded]]:
        """Return the callers that waited longest, as many as go together."""
        with self._queue:
            taken, size = [self._waiting.popleft()], 0
            size = len(taken[0].texts)
            while self._waiting and size + len(self._waiting[0].texts) <= self._most:
                taken.append(self._waiting.popleft())
                size += len(taken[-1].texts)
        return taken

    def _together(self, calls: list[_Call[Encoded]]) -> None:
        """Encode the texts of some callers; if that fails, each alone, so that an error meets its own caller."""
        texts = [text for call in calls for text in call.texts]
        if self._tell is not None:
            self._tell(len(calls), len(texts))
        try:
            encoded = self._function(texts)
        except Exception as error:  # noqa: BLE001 (whatever it is, its caller gets it)
            if len(calls) > 1:
                for call in calls:
                    self._together([call])
                return
            calls[0].error, calls[0].done = error, True
            return
        start = 0
        for call in calls:
            call.encoded = encoded if len(calls) == 1 else encoded[start : start + len(call.texts)]
            start += len(call.texts)
            call.done = True


class BatchedEncoder:
    """An encoder for many threads.

    What one caller brings goes in pieces of a few thousand tokens, with others in between: a short text does not wait
    for a long one, and of a caller who has left the rest is not encoded.

    >>> import softset
    >>> encoder = BatchedEncoder(softset.load_encoder("words"), Limits())
    >>> encoder.encode(["a red book"])
    TokenSets(1 text, 3 tokens, 300 dimensions)
    """

    def __init__(self, encoder: Encoder, limits: Limits, tell: Callable[[int, int], None] | None = None) -> None:
        self.encoder, self._limits = encoder, limits
        self._encode: Batches[TokenSets] = Batches(lambda texts: encoder.encode(texts), PIECE, tell)
        self._embed: Batches[np.ndarray] = Batches(lambda texts: encoder.embed(texts), PIECE, tell)

    @property
    def signature(self) -> str:
        """What decides the vectors."""
        return self.encoder.signature

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return self.encoder.dimensions

    @cached_property
    def second_moment(self) -> Any:
        """The second moment (d, d) of unit token vectors, where it is known; read once."""
        return getattr(self.encoder, "second_moment", None)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has, as far as that can be known before it is encoded.

        >>> import softset
        >>> BatchedEncoder(softset.load_encoder("words"), Limits()).count_tokens(["a red book", ""])
        [3, 0]
        """
        count = getattr(self.encoder, "count_tokens", None)
        return [len(text.split()) for text in texts] if count is None else count(texts)

    def checked_counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has, unless one of them, or all together, have too many."""
        counts = self.count_tokens(texts)
        self._limits.check("tokens of a text", "text_tokens", max(counts, default=0))
        self._limits.check("tokens", "tokens", sum(counts))
        return counts

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> TokenSets:
        """Return each text's token vectors, in the order of the texts."""
        del progress  # which is nobody's own
        parts = [self._encode(piece) for piece in self._pieces(texts)]
        return parts[0] if len(parts) == 1 else TokenSets.concatenate(parts)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> np.ndarray:
        """Return one pooled vector a text, (n, d)."""
        del progress
        parts = [self._embed(piece) for piece in self._pieces(texts)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _pieces(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield texts in pieces, while somebody waits for them; too many or too long ones are refused first."""
        counts = self.checked_counts(texts)
        start, size = 0, 0
        for at, count in enumerate(counts):
            if size + count > PIECE_TOKENS and at > start:
                yield texts[start:at]
                check_asker()
                start, size = at, 0
            size += count
        yield texts[start:]
