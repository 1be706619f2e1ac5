"""What a token counts: equally, by the length of its vector, or by its rarity.

=====  ===============================================================================================================
none   all tokens count the same
l2 l1  the length of the vector as the encoder made it
idf    how few texts have the token: a corpus tells
rare   1 / sqrt(u' S u), with u the unit vector and S the encoder's second moment: how far it points from what all do
=====  ===============================================================================================================
"""

from typing import Literal

import numpy as np

from softset.errors import InputError
from softset.similarity.pairs import HUGE, Pairs

__all__ = ["WEIGHTS", "Weights", "weigh"]

Weights = Literal["none", "l2", "l1", "idf", "rare"]
WEIGHTS = ("none", "l2", "l1", "idf", "rare")
LEAST = 1e-12  # of u' S u: a direction that no token ever had is not infinitely rare


def weigh(pairs: Pairs, kind: Weights) -> np.ndarray:
    """Return each row's weight (rows,) in float64; l2 and l1 are norms of the vector as the encoder made it.

    >>> from softset.encoders.tokensets import TokenSets
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
    if kind == "rare":
        return _rarity(pairs)
    if pairs.idf is None:
        raise InputError("weights=idf needs idf weights: give idf=softset.Idf.fit(texts), or score with references")
    return pairs.idf.weights(pairs.named())


def _rarity(pairs: Pairs) -> np.ndarray:
    if pairs.moment is None:
        raise InputError(
            "weights=rare needs the second moment of the encoder's tokens, which is known for the bundled models only: "
            "use other weights"
        )
    rows, squares = (pairs.vectors, pairs.norms**2) if pairs.plain else (pairs.units, np.ones(len(pairs.norms)))
    usual = np.vecdot(rows @ pairs.moment.astype(rows.dtype), rows) / squares
    rarity: np.ndarray = 1 / np.sqrt(np.maximum(usual, LEAST))
    return rarity
