"""What a token counts: equally, by the length of its vector, or by its rarity."""

from typing import Literal

import numpy as np

from softset.errors import InputError
from softset.similarity.pairs import HUGE, Pairs

__all__ = ["WEIGHTS", "Weights", "weigh"]

Weights = Literal["none", "l2", "l1", "idf"]
WEIGHTS = ("none", "l2", "l1", "idf")


def weigh(pairs: Pairs, kind: Weights) -> np.ndarray:
    """Return each row's weight (rows,) in float64; l2 and l1 are norms of the vector as the encoder made it.

    >>> from softset.embed.tokensets import TokenSets
    >>> sets = TokenSets.from_arrays([[[3.0, 4.0], [1.0, 0.0]]])
    >>> weigh(Pairs.of(sets, sets), "l1").tolist()
    [7.0, 1.0, 7.0, 1.0]
    """
    if kind == "none":
        return np.ones(len(pairs.norms))
    if kind in ("l2", "l1") and pairs.lengths is not None:
        lengths: np.ndarray = pairs.lengths[:, 0 if kind == "l2" else 1]
        return lengths
    if kind == "l2":
        return pairs.norms
    if kind == "l1":
        scale = 1e-30 if pairs.norms.max(initial=0) > HUGE else 1.0  # a common factor changes no share
        sums: np.ndarray = np.abs(pairs.vectors * np.array(scale, pairs.vectors.dtype)).sum(axis=1, dtype=np.float64)
        return sums
    if pairs.idf is None:
        raise InputError("weights=idf needs idf weights: give idf=softset.Idf.fit(texts), or score with references")
    return pairs.idf.weights(pairs.named())
