"""Which sequences go through a model together: those of nearly one length, as many as a budget of tokens allows."""

from collections.abc import Iterator, Sequence

import numpy as np

__all__ = ["DEFAULT_BATCH_TOKENS", "batches", "finer_at_the_end", "pad_sequences", "shared"]

# Tokens a batch, padding included. MiniLM is fastest from 256 to 512 (python -m benchmarks --case encoder): below, the
# cost of a call shows; above, a layer's activations leave the processor's cache.
DEFAULT_BATCH_TOKENS = 512
# Batches that run side by side shall be many, so that no thread waits long for the last one, as long as each is worth
# a call: 64 tokens take 15 ms.
SHARES, LEAST_SHARE = 32, 64
LAST, PARTS = 4, 4  # so many batches are cut into so many parts


def batches(lengths: Sequence[int] | np.ndarray, budget: int, most: int | None = None) -> Iterator[np.ndarray]:
    """Yield the places of sequences in groups of at most `budget` tokens (and `most` sequences), shortest first.

    A group has at least one sequence, even where that alone is longer than the budget.

    >>> [group.tolist() for group in batches([5, 1, 9, 1], budget=6)]
    [[1, 3], [0], [2]]
    """
    order = np.argsort(lengths, kind="stable")
    start = 0
    for at in range(1, len(order) + 1):
        full = at < len(order) and (at + 1 - start) * int(lengths[order[at]]) > budget
        if at == len(order) or full or (most is not None and at - start >= most):
            yield order[start:at]
            start = at


def shared(tokens: int, budget: int) -> int:
    """Return a budget with which few tokens, too, are many batches, for networks that run them side by side.

    It does not depend on the number of threads: who is in a batch may decide the last digit of a vector.

    >>> [shared(tokens, budget=512) for tokens in (30, 10_000, 100_000)]
    [64, 313, 512]
    """
    return min(budget, max(LEAST_SHARE, -(-tokens // SHARES)))


def finer_at_the_end(groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the same groups with the last ones cut up, so that threads that run them side by side end together.

    >>> [len(group) for group in finer_at_the_end([np.arange(4)] * 5)]
    [4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """
    if len(groups) <= LAST:
        return list(groups)
    cut = [part for group in groups[-LAST:] for part in np.array_split(group, PARTS) if len(part)]
    return [*groups[:-LAST], *cut]


def pad_sequences(sequences: Sequence[np.ndarray], pad: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ids (b, L) with padding on the right, and the mask (b, L) that is 1 where a token is.

    >>> pad_sequences([np.array([7, 8]), np.array([9])], pad=0)[0].tolist()
    [[7, 8], [9, 0]]
    """
    longest = max(len(one) for one in sequences)
    ids = np.full((len(sequences), longest), pad, dtype=np.int64)
    mask = np.zeros((len(sequences), longest), dtype=np.int64)
    for row, one in enumerate(sequences):
        ids[row, : len(one)] = one
        mask[row, : len(one)] = 1
    return ids, mask
