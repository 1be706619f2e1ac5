"""Token sets on disk: a folder of flat arrays or one safetensors file, both mapped and never unpickled.

The tokens' text is kept once a distinct token (`vocabulary`, UTF-8, with `ends`), and `codes` says which one each is.
Arrays of the special tokens bear the prefix `special_`.
"""

import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from softset.encoders.tokensets import FLOATS, TokenSets, strings
from softset.errors import FileError
from softset.io.arrays import read_array, tensor_metadata, write_tensors
from softset.io.atomic import new_folder
from softset.io.manifest import Manifest
from softset.vectors.formats.arrays import map_tensors

__all__ = ["arrays_of", "open_sets", "save_sets", "sets_of"]

KIND = "TokenSets"
MANIFEST = Manifest(KIND, 1, "a folder of token sets", "encode the texts again and save them")


def save_sets(path: str | os.PathLike[str], sets: TokenSets) -> None:
    """Write token sets to a new folder, or to a file if the name ends in .safetensors."""
    facts = {"signature": sets.signature}
    if Path(path).suffix == ".safetensors":
        write_tensors(path, KIND, arrays_of(sets), facts)
        return
    with new_folder(path) as beside:
        for name, array in arrays_of(sets).items():
            np.save(beside / f"{name}.npy", array, allow_pickle=False)
        MANIFEST.write(beside, facts)


def open_sets(path: str | os.PathLike[str]) -> TokenSets:
    """Open what `save_sets` wrote, mapped; what does not fit together is refused."""
    if Path(path).is_dir():
        facts: Mapping[str, Any] = MANIFEST.read(Path(path))
        arrays = {Path(name).stem: read_array(Path(path) / Path(name).name) for name in facts["files"]}
    else:
        facts = tensor_metadata(path, KIND)
        arrays = {name: tensor.values for name, tensor in map_tensors(Path(path)).items()}
    try:
        return sets_of(arrays, str(facts.get("signature", "own")))
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise FileError(f"{path} holds arrays that do not fit together ({error}): {MANIFEST.remedy}") from error


def arrays_of(sets: TokenSets, prefix: str = "") -> dict[str, np.ndarray]:
    """Return the arrays that hold all of some token sets."""
    arrays = {
        "vectors": sets.vectors,
        "offsets": sets.offsets,
        "truncated": sets.truncated,
        "unknown": sets.unknown,
    }
    if sets.spans is not None:
        arrays["spans"] = sets.spans
    if sets.lengths is not None:
        arrays["lengths"] = sets.lengths
    if sets.tokens is not None:
        arrays |= _encoded(sets.tokens)
    named = {prefix + name: array for name, array in arrays.items()}
    return named | (arrays_of(sets.special, "special_") if sets.special is not None else {})


def _encoded(tokens: np.ndarray) -> dict[str, np.ndarray]:
    distinct = {token: code for code, token in enumerate(dict.fromkeys(tokens))}
    spelled = [token.encode() for token in distinct]
    return {
        "codes": np.fromiter((distinct[token] for token in tokens), dtype=np.int32, count=len(tokens)),
        "vocabulary": np.frombuffer(b"".join(spelled), dtype=np.uint8),
        "ends": np.cumsum([len(one) for one in spelled], dtype=np.int64),
    }


def sets_of(arrays: Mapping[str, np.ndarray], signature: str, prefix: str = "") -> TokenSets:
    """Return the token sets that `arrays_of` took apart; a ValueError says what does not fit."""

    def part(name: str) -> np.ndarray | None:
        return arrays.get(prefix + name)

    vectors, offsets = arrays[prefix + "vectors"], np.asarray(arrays[prefix + "offsets"])
    _check(vectors.ndim == 2 and vectors.dtype in FLOATS and vectors.shape[1] > 0, "vectors")
    _check(offsets.ndim == 1 and offsets.dtype == np.int64 and len(offsets) > 0, "offsets")
    _check(offsets[0] == 0 and offsets[-1] == len(vectors) and bool((np.diff(offsets) >= 0).all()), "offsets")
    n, total = len(offsets) - 1, len(vectors)
    counts = {name: np.asarray(arrays[prefix + name]) for name in ("truncated", "unknown")}
    for name, array in counts.items():
        _check(array.shape == (n,) and array.dtype == np.int64 and bool((array >= 0).all()), name)
    spans, codes = part("spans"), part("codes")
    if spans is not None:
        _check(spans.shape == (total, 2) and spans.dtype.kind == "i", "spans")
    lengths = part("lengths")
    if lengths is not None:
        _check(lengths.shape == (total, 2) and lengths.dtype == np.float64, "lengths")
    tokens = None
    if codes is not None:
        _check(codes.shape == (total,) and codes.dtype == np.int32, "codes")
        tokens = _decoded(codes, arrays[prefix + "vocabulary"], arrays[prefix + "ends"])
    special = sets_of(arrays, signature, "special_") if not prefix and "special_vectors" in arrays else None
    _check(special is None or (len(special) == n and special.dimensions == vectors.shape[1]), "special tokens")
    return TokenSets(vectors, offsets, tokens, spans, special, **counts, signature=signature, lengths=lengths)


def _check(good: bool, what: str) -> None:
    if not good:
        raise ValueError(f"the {what} are not as they should be")


def _decoded(codes: np.ndarray, vocabulary: np.ndarray, ends: np.ndarray) -> np.ndarray:
    text, bounds = vocabulary.tobytes(), [0, *ends.tolist()]
    _check(bounds[-1] == len(text) and all(a <= b for a, b in itertools.pairwise(bounds)), "tokens")
    _check(len(codes) == 0 or bool(codes.min() >= 0 and codes.max() < len(ends)), "codes")
    spelled = strings([text[a:b].decode() for a, b in itertools.pairwise(bounds)])
    tokens: np.ndarray = spelled[codes]
    return tokens
