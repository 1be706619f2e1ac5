"""Token weights.

=====  =====================================================================================================
none   all tokens have the same weight
l2 l1  the length of the vector that the encoder gave
idf    inverse document frequency, fitted on a corpus
rare   1 / sqrt(u' S u), with the unit vector u and the encoder's second moment S: high for unusual directions
=====  =====================================================================================================
"""

from typing import Literal

import numpy as np

from softset.errors import InputError
from softset.similarity.metrics.pairs import Pairs

Weights = Literal["none", "l2", "l1", "idf", "rare"]
WEIGHTS = ("none", "l2", "l1", "idf", "rare")
MAX_LENGTH = 1e300  # so that sums of lengths do not overflow
MIN_COMMONNESS = 1e-12  # smallest u' S u: bounds the weight of directions that no token has


def token_weights(pairs: Pairs, kind: Weights) -> np.ndarray:
    """Return the weight of each row (rows,) in float64; l2 and l1 are norms of the vectors that the encoder gave."""
    match kind:
        case "none":
            return np.ones(len(pairs.norms))
        case "l2" | "l1":
            return _norms(pairs, kind)
        case "rare":
            return _rarity(pairs)
        case "idf":
            return pairs.required_idf().weights(pairs.required_tokens())


def _norms(pairs: Pairs, kind: Literal["l2", "l1"]) -> np.ndarray:
    if pairs.original_norms is not None:
        return np.asarray(pairs.original_norms[:, 0 if kind == "l2" else 1])
    lengths = np.asarray(np.minimum(pairs.lengths, MAX_LENGTH))
    if kind == "l2":
        return lengths
    return np.asarray(np.abs(pairs.vectors).sum(axis=1, dtype=np.float64) * lengths / pairs.norms)


def _rarity(pairs: Pairs) -> np.ndarray:
    if pairs.moment is None:
        raise InputError(
            "weights=rare needs the second moment of the encoder's tokens, which is known for the bundled models only: "
            "use other weights"
        )
    rows = pairs.vectors
    commonness = np.vecdot(rows @ pairs.moment.astype(rows.dtype), rows) / pairs.norms**2
    return np.asarray(1 / np.sqrt(np.maximum(commonness, MIN_COMMONNESS)))
