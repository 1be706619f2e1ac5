"""Whether a model keeps the promise that a text's vectors do not depend on its batch: asked of it, not believed."""

import numpy as np

from softset.embed.encoders.network import Network, run
from softset.embed.encoders.tokeniser import Tokeniser

__all__ = ["WORKING", "must_go_alone"]

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
    change = np.abs(alone[0] - both[0, : len(short)]).max()
    return bool(change > NOISE * max(1.0, float(np.abs(alone).max())))
