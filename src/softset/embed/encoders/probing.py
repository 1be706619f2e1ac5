"""Whether a model keeps the promise that a text's vectors do not depend on its batch: asked of it, not believed."""

import numpy as np

from softset.embed.encoders.batching import padded
from softset.embed.encoders.contextual import Network
from softset.embed.encoders.tokeniser import Tokeniser
from softset.errors import FileError

__all__ = ["must_go_alone"]

TEXTS = ("a", "a red book about the old king and the young queen of the north")
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
    alone, both = _run(network, [short], tokeniser.pad), _run(network, [short, long], tokeniser.pad)
    change = np.abs(alone[0] - both[0, : len(short)]).max()
    return bool(change > NOISE * max(1.0, float(np.abs(alone).max())))


def _run(network: Network, sequences: list[np.ndarray], pad: int) -> np.ndarray:
    ids, mask = padded(sequences, pad)
    try:
        hidden = network(ids, mask)
    except Exception as error:  # whatever a library raises that runs a foreign model
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise FileError(f"the model {network.identity} cannot be run on {len(ids)} texts ({why[:300]})") from error
    wanted = (*ids.shape, network.dimensions)
    if hidden.shape != wanted:
        raise FileError(
            f"the model {network.identity} gives vectors of shape {hidden.shape}, but one for each token, {wanted}, "
            "was wanted: such a model has no token sets"
        )
    return hidden
