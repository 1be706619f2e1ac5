"""Token sets that come part by part, put together while the parts are let go."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from softset.encoders.tokensets import TokenSets
from softset.errors import AmbientError
from softset.vectors.rows import RowBuffer

__all__ = ["gathered"]


def gathered(parts: Iterable[TokenSets]) -> TokenSets:
    """Return what `TokenSets.concatenate` does; of parts that a generator makes, memory holds one beside the result.

    >>> gathered(TokenSets.from_arrays([[[1.0, 2.0]]]) for _ in range(3))
    TokenSets(3 texts, 3 tokens, 2 dimensions)
    """
    vectors, aside, rest = RowBuffer(), RowBuffer(), []
    for part in parts:
        if vectors.rows.shape[1] not in (0, part.dimensions):
            was = vectors.rows.shape[1]
            raise AmbientError(f"token sets of {was} and {part.dimensions} dimensions cannot be joined")
        vectors.add(part.vectors)
        if part.special is not None:
            aside.add(part.special.vectors)
        rest.append(_without_vectors(part))
    sets = TokenSets.concatenate(rest)
    special = None if sets.special is None else replace(sets.special, vectors=aside.rows)
    return replace(sets, vectors=vectors.rows, special=special)


def _without_vectors(sets: TokenSets) -> TokenSets:
    """Return the small part of token sets: how many rows there are and what they stand for."""
    special = None if sets.special is None else _without_vectors(sets.special)
    return replace(sets, vectors=np.empty((len(sets.vectors), 0), dtype=sets.vectors.dtype), special=special)
