"""What a text's vectors depend on - its batch, what comes after a token - asked of a model, not believed."""

import numpy as np

from softset.encoders.network import Network, run
from softset.encoders.tokenizer import Tokeniser

__all__ = ["WORKING", "is_causal", "must_go_alone"]

TEXTS = ("a", "a red book about the old king and the young queen of the north")
WORKING = "models that work are text encoders (BERT), the encoders of T5 and BART, and decoders (GPT-2, Llama)"
NOISE = 1e-4  # of the largest number: rounding is a hundredth of it, a model that ignores the mask a thousand times it


def must_go_alone(tokeniser: Tokeniser, network: Network) -> bool:
    """Say whether a short text's vectors change beside a longer one; a model that answers in another shape is refused.

    Some networks do not look at the mask (FNet), convolve over padding (ConvBERT), or round by the range of a batch
    (dynamic quantisation).
    """
    before, after = ([number for number, _ in marks] for marks in (tokeniser.prefix, tokeniser.suffix))
    short, long = (np.array([*before, *one.ids, *after], dtype=np.int64) for one in tokeniser(TEXTS))
    if not len(short) or len(long) <= len(short):
        return False
    alone, both = (run(network, some, tokeniser.pad, WORKING) for some in ([short], [short, long]))
    return not _same(alone[0], both[0, : len(short)])


def is_causal(tokeniser: Tokeniser, network: Network) -> bool:
    """Say whether the vectors of a text's beginning stay what they are when all that comes after it is another."""
    (long,) = tokeniser(TEXTS[1:])
    whole = np.array([*(number for number, _ in tokeniser.prefix), *long.ids], dtype=np.int64)[: network.longest]
    half = len(whole) // 2
    if not half or network.layer == 0:  # what goes into the first layer sees nothing, before or after
        return False
    # Both have one length, so that a decoder in 16 bits, which round with every shape, gives the very same numbers.
    other = np.concatenate([whole[:half], np.where(whole[half:] == tokeniser.pad, whole[0], tokeniser.pad)])
    one, another = (run(network, [some], tokeniser.pad)[0, :half] for some in (whole, other))
    return _same(one, another)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() <= NOISE * max(1.0, float(np.abs(a).max())))
