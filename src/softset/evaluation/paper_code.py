"""What the paper's code compared: batches in the order of the file, whose marks and padding count as tokens.

A network gives a vector at every place of a padded batch. That code takes all of them into the sets, so that a pair's
score depends on which other sentences are in its batch, and on how many. It is here to show how much that moves the
numbers; nothing else in softset does it.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from softset.encoders.base import Encoder
from softset.encoders.pipeline import ContextualEncoder
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.evaluation.sts_data import SentencePairs
from softset.similarity.pairs import Pairs

__all__ = ["label", "padded_blocks", "padded_sets"]


def label(batch: int) -> str:
    """Return what stands before the names of methods.

    >>> label(32)
    'paper-code(batch=32)/'
    """
    return f"paper-code(batch={batch})/"


def padded_sets(encoder: Encoder, texts: Sequence[str]) -> TokenSets:
    """Return the sets of one batch: every text has as many rows as the longest, with marks and padding.

    >>> import softset
    >>> padded_sets(softset.load_encoder("minilm"), ["a red book", "a"]).counts.tolist()
    [5, 5]
    """
    network = getattr(encoder, "encoder", encoder)  # a cache keeps no padding: what it wraps is asked
    if not isinstance(network, ContextualEncoder):
        raise InputError("--paper-code needs a model whose texts are padded, and word vectors are not: use minilm")
    states = network.padded_states(texts)
    n, L, d = states.shape
    nothing = np.zeros(n, dtype=np.int64)
    rows = states.reshape(n * L, d)
    return TokenSets(rows, np.arange(n + 1) * L, None, None, None, nothing, nothing, f"padded|{encoder.signature}")


def padded_blocks(encoder: Encoder, pairs: SentencePairs, batch: int) -> Iterator[tuple[slice, Pairs]]:
    """Yield pairs batch by batch; each side of a batch is padded to its own longest sentence."""
    for start in range(0, len(pairs), batch):
        here = slice(start, min(start + batch, len(pairs)))
        A, B = (padded_sets(encoder, side[here]) for side in (pairs.candidates, pairs.references))
        yield here, Pairs.of(A, B)
