"""TokenSets on disk: a folder of .npy files or one .safetensors file, memory-mapped and never unpickled.

Each distinct token is stored once (`vocabulary` in UTF-8 with its `ends`), and `codes` holds the number of each token.
The arrays of special tokens have the prefix `special_`.
"""

import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from softset.encoders.tokensets import FLOAT_TYPES, ROW_FIELDS, TEXT_FIELDS, TokenSets, string_array
from softset.errors import FileError
from softset.io.arrays import map_tensors, read_array, write_tensors
from softset.io.atomic import new_folder
from softset.io.manifest import Manifest

KIND = "TokenSets"
MANIFEST = Manifest(KIND, 1, "a folder of token sets", "encode the texts again and save them")


def save_sets(path: str | os.PathLike[str], sets: TokenSets) -> None:
    """Write token sets to a new folder, or to a file if the name ends in .safetensors."""
    facts = {"signature": sets.signature}
    if Path(path).suffix == ".safetensors":
        write_tensors(path, KIND, arrays_from_sets(sets), facts)
        return
    with new_folder(path) as folder:
        for name, array in arrays_from_sets(sets).items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
        MANIFEST.write(folder, facts)


def open_sets(path: str | os.PathLike[str]) -> TokenSets:
    """Open token sets that `save_sets` wrote, memory-mapped; inconsistent arrays raise FileError."""
    if Path(path).is_dir():
        facts: Mapping[str, Any] = MANIFEST.read(Path(path))
        arrays = {Path(name).stem: read_array(Path(path) / Path(name).name) for name in facts["files"]}
    else:
        tensors, facts = map_tensors(path, KIND)
        arrays = {name: tensor.values for name, tensor in tensors.items()}
    try:
        return sets_from_arrays(arrays, str(facts.get("signature", "own")))
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise FileError(f"{path} holds inconsistent arrays ({error}): {MANIFEST.remedy}") from error


def arrays_from_sets(sets: TokenSets, prefix: str = "") -> dict[str, np.ndarray]:
    """Return the arrays that represent token sets in a file."""
    stored = [name for name in (*ROW_FIELDS, *TEXT_FIELDS, "offsets") if name != "tokens"]
    arrays = {name: array for name in stored if (array := getattr(sets, name)) is not None}
    if sets.tokens is not None:
        arrays |= _encode_tokens(sets.tokens)
    prefixed = {prefix + name: array for name, array in arrays.items()}
    return prefixed | (arrays_from_sets(sets.special, "special_") if sets.special is not None else {})


def _encode_tokens(tokens: np.ndarray) -> dict[str, np.ndarray]:
    codes = {token: code for code, token in enumerate(dict.fromkeys(tokens))}
    encoded = [token.encode() for token in codes]
    return {
        "codes": np.fromiter((codes[token] for token in tokens), dtype=np.int32, count=len(tokens)),
        "vocabulary": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "ends": np.cumsum([len(token) for token in encoded], dtype=np.int64),
    }


def sets_from_arrays(arrays: Mapping[str, np.ndarray], signature: str, prefix: str = "") -> TokenSets:
    """Return the token sets of the arrays that `arrays_from_sets` returned; inconsistent arrays raise ValueError."""
    vectors, offsets = arrays[prefix + "vectors"], np.asarray(arrays[prefix + "offsets"])
    _check(vectors.ndim == 2 and vectors.dtype in FLOAT_TYPES and vectors.shape[1] > 0, "vectors")
    _check(offsets.ndim == 1 and offsets.dtype == np.int64 and len(offsets) > 0, "offsets")
    _check(offsets[0] == 0 and offsets[-1] == len(vectors) and bool((np.diff(offsets) >= 0).all()), "offsets")
    n, total = len(offsets) - 1, len(vectors)
    truncated, unknown = (np.asarray(arrays[prefix + name]) for name in ("truncated", "unknown"))
    for name, array in (("truncated", truncated), ("unknown", unknown)):
        _check(array.shape == (n,) and array.dtype == np.int64 and bool((array >= 0).all()), name)
    names = ("spans", "lengths", "text_hashes", "codes")
    spans, lengths, hashes, codes = (arrays.get(prefix + name) for name in names)
    _check(spans is None or (spans.shape == (total, 2) and spans.dtype.kind == "i"), "spans")
    _check(lengths is None or (lengths.shape == (total, 2) and lengths.dtype == np.float64), "lengths")
    _check(hashes is None or (hashes.shape == (n,) and hashes.dtype == np.int64), "text_hashes")
    tokens = None
    if codes is not None:
        _check(codes.shape == (total,) and codes.dtype == np.int32, "codes")
        tokens = _decode_tokens(codes, arrays[prefix + "vocabulary"], arrays[prefix + "ends"])
    special = sets_from_arrays(arrays, signature, "special_") if not prefix and "special_vectors" in arrays else None
    _check(special is None or (len(special) == n and special.dimensions == vectors.shape[1]), "special tokens")
    return TokenSets(vectors, offsets, tokens, spans, special, truncated, unknown, signature, lengths, hashes)


def _decode_tokens(codes: np.ndarray, vocabulary: np.ndarray, ends: np.ndarray) -> np.ndarray:
    text, bounds = vocabulary.tobytes(), [0, *ends.tolist()]
    _check(bounds[-1] == len(text) and all(a <= b for a, b in itertools.pairwise(bounds)), "tokens")
    _check(len(codes) == 0 or bool(codes.min() >= 0 and codes.max() < len(ends)), "codes")
    distinct = string_array([text[a:b].decode() for a, b in itertools.pairwise(bounds)])
    return np.asarray(distinct[codes])


def _check(condition: bool, name: str) -> None:
    if not condition:
        raise ValueError(f"the {name} have the wrong type, shape or values")
