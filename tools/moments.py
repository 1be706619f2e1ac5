"""Measure and write the second moments of an encoder's token vectors; `softset.encoders.models` reads them."""

import os
from collections.abc import Iterable, Mapping

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.encoders.models import MOMENTS_KIND
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.io.arrays import write_tensors


def second_moment(blocks: Iterable[TokenSets]) -> np.ndarray:
    """Compute S (d, d) in float64 from all tokens of the token sets; zero vectors are ignored."""
    total, count = None, 0
    for sets in blocks:
        V = np.asarray(sets.vectors)
        U = unit_rows(V[V.any(axis=1)])
        total = U.T @ U if total is None else total + U.T @ U
        count += len(U)
    if total is None or not count:
        raise InputError("a second moment needs at least one token with a vector that is not zero")
    moment: np.ndarray = total / count
    return moment


def write_moments(path: str | os.PathLike[str], moments: Mapping[str, np.ndarray]) -> None:
    """Write symmetric matrices by name; the file holds the upper triangles."""
    triangles = {name: S[np.triu_indices(len(S))].astype(np.float32) for name, S in moments.items()}
    write_tensors(path, MOMENTS_KIND, triangles, {})
