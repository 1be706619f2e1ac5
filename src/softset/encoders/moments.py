"""The second moment of an encoder: how its token vectors are spread over the directions of space.

S = mean of v v^T over unit token vectors v, so its trace is 1. The expected squared membership of an unrelated token in
a subspace with projector P is then tr(P S), without any baseline file.
"""

import os
from collections.abc import Iterable, Mapping

import numpy as np

from softset.encoders.tokensets import TokenSets
from softset.errors import FileError, InputError
from softset.io.arrays import read_tensors, write_tensors

__all__ = ["read_moment", "second_moment", "write_moments"]

KIND = "SecondMoments"


def second_moment(blocks: Iterable[TokenSets]) -> np.ndarray:
    """Return S (d, d) in float64 over all tokens of some token sets; vectors of zero length do not count.

    >>> second_moment([TokenSets.from_arrays([[[2.0, 0.0], [0.0, 5.0]]])]).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    total, count = None, 0
    for sets in blocks:
        V = np.asarray(sets.vectors, dtype=np.float64)
        lengths = np.linalg.norm(V, axis=1)
        U = V[lengths > 0] / lengths[lengths > 0, None]
        total = U.T @ U if total is None else total + U.T @ U
        count += len(U)
    if total is None or not count:
        raise InputError("a second moment needs at least one token with a vector that is not zero")
    moment: np.ndarray = total / count
    return moment


def write_moments(path: str | os.PathLike[str], moments: Mapping[str, np.ndarray]) -> None:
    """Write symmetric matrices by name; one half of each is enough."""
    halves = {name: S[np.triu_indices(len(S))].astype(np.float32) for name, S in moments.items()}
    write_tensors(path, KIND, halves, {})


def read_moment(path: str | os.PathLike[str], name: str) -> np.ndarray | None:
    """Return one matrix (d, d) in float64, or None where the file has none of that name."""
    half = read_tensors(path, KIND)[0].get(name)
    if half is None:
        return None
    d = round((np.sqrt(8 * half.size + 1) - 1) / 2)
    if half.ndim != 1 or d * (d + 1) // 2 != half.size:
        raise FileError(
            f"{path} holds {half.size} numbers for {name}, which is no half of a square matrix: make it anew"
        )
    S = np.zeros((d, d))
    S[np.triu_indices(d)] = half
    return S + np.triu(S, 1).T
