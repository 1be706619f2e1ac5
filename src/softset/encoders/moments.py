"""The second moment of an encoder's token vectors.

S is the mean of v v^T over unit token vectors v, so its trace is 1. The expected squared membership of an unrelated
token in a subspace with projector P is tr(P S); no baseline file is needed.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.encoders.tokensets import TokenSets
from softset.errors import FileError, InputError
from softset.io.arrays import read_tensors, write_tensors

KIND = "SecondMoments"


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
    write_tensors(path, KIND, triangles, {})


def read_moment(path: Path | None, name: str) -> np.ndarray | None:
    """Return one matrix (d, d) in float64, or None if there is no file or no matrix of that name."""
    triangle = None if path is None else read_tensors(path, KIND)[0].get(name)
    if triangle is None:
        return None
    d = round((np.sqrt(8 * triangle.size + 1) - 1) / 2)
    if triangle.ndim != 1 or d * (d + 1) // 2 != triangle.size:
        raise FileError(f"{path} has {triangle.size} numbers for {name}, not a triangular matrix: create it again")
    S = np.zeros((d, d))
    S[np.triu_indices(d)] = triangle
    return S + np.triu(S, 1).T
