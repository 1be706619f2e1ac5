"""Windows over long texts, and batches of sequences with similar lengths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

# Tokens in a batch, padding included. MiniLM is fastest from 256 to 512 (python -m benchmarks --case encoder): smaller
# batches spend time on calls, and the activations of larger ones exceed the processor's cache.
DEFAULT_BATCH_TOKENS = 512
# Parallel threads finish at about the same time if there are many batches; 64 tokens take 15 ms, so calls cost little.
MIN_BATCHES, MIN_BATCH_TOKENS = 32, 64
# Neighbouring windows share a quarter: every token has an eighth of a window of context, for a third more work.
OVERLAP = 4


@dataclass(frozen=True)
class Window:
    """Tokens [start, stop) of a text are encoded together; the vectors of tokens [begin, end) are used."""

    start: int
    stop: int
    begin: int
    end: int


def split_windows(n: int, size: int, *, causal: bool = False) -> Iterator[Window]:
    """Yield windows of at most `size` tokens over a text of n tokens.

    Two neighbours divide their overlap in the middle, so that each token comes from the window where it has more
    context. In a `causal` model, where a token sees only the tokens before it, the earlier window has more context for
    the whole overlap.
    """
    step = max(size - size // OVERLAP, 1)
    starts = [*range(0, max(n - size, 0), step), max(n - size, 0)]
    begin = 0
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        stop = min(start + size, n)
        end = stop if causal or following is None else (following + stop) // 2
        yield Window(start, stop, begin, end)
        begin = end


def group_by_length(lengths: Sequence[int] | np.ndarray, max_tokens: int) -> Iterator[np.ndarray]:
    """Yield the indices of sequences in batches of at most `max_tokens` padded tokens, shortest sequences first.

    A batch has at least one sequence, even if that sequence alone is longer than `max_tokens`.
    """
    order = np.argsort(lengths, kind="stable")
    start = 0
    for stop in range(1, len(order) + 1):
        if stop == len(order) or (stop + 1 - start) * int(lengths[order[stop]]) > max_tokens:
            yield order[start:stop]
            start = stop


def tokens_per_batch(tokens: int, max_tokens: int) -> int:
    """Return the tokens per batch that give at least 32 batches, within 64 and `max_tokens`."""
    return min(max_tokens, max(MIN_BATCH_TOKENS, -(-tokens // MIN_BATCHES)))


def pad_sequences(sequences: Sequence[np.ndarray], pad: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids (b, L), padded on the right, and the mask (b, L), which is 1 for tokens and 0 for padding."""
    length = max(len(sequence) for sequence in sequences)
    ids = np.full((len(sequences), length), pad, dtype=np.int64)
    mask = np.zeros((len(sequences), length), dtype=np.int64)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    return ids, mask
