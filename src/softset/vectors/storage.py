"""Word vectors on disk: a folder of flat arrays that is memory-mapped, so it opens in milliseconds.

meta.json      the manifest: kind, version, and the size and SHA-256 of each file
vectors.npy    (n, d) float32, or int8 with scales.npy (n,)
norms.npy      (n,) norms of the rows
whitening.npy  (d + 1, d) the mean and the matrix of the whitening, if there are enough vectors
whitened.npy   (n,) norms of the rows after whitening
words.bin      all words, concatenated; offsets.npy (n + 1,) holds the position of each
hashes.npy     sorted hashes of the words; places.npy holds the row of each hash
"""

import mmap
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from softset.errors import FileError
from softset.io.arrays import read_array
from softset.io.manifest import Manifest
from softset.vectors.preprocessing import WHITENING_POWER, Preprocessing, Whitening, can_be_whitened, fit_whitening
from softset.vectors.rows import rescale_extreme_rows, row_norms
from softset.vectors.word_index import WordIndex

MANIFEST = Manifest("WordVectors", 1, "a folder of word vectors", "import it again with softset vectors import")
WHITENING_FILE, NORMS_FILE = "whitening.npy", "whitened.npy"
ROWS_READ_BACK = 4_096  # rows read at a time, to fit the whitening
KINDS = {"vectors.npy": "fi", "offsets.npy": "i", "hashes.npy": "u", "places.npy": "iu"}  # allowed types; others: "f"


@dataclass(frozen=True)
class StoredVectors:
    """The memory-mapped arrays of a folder and the content of its manifest."""

    words: WordIndex
    vectors: np.ndarray
    scales: np.ndarray | None
    norms: np.ndarray
    metadata: Mapping[str, Any]
    whitening: Whitening | None = None


def write_vectors(
    folder: str | os.PathLike[str],
    blocks: Iterable[tuple[list[str], np.ndarray]],
    metadata: Mapping[str, Any],
    *,
    scales: np.ndarray | None = None,
    whiten: bool = False,
) -> int:
    """Fill an empty folder with words and vectors, and return the number of words.

    Rows are written to disk as they arrive; only the words are held in memory. Each block has distinct words and their
    rows (b, d) in float32, or in int8 with `scales` (n,). With `whiten`, the default whitening is fitted and stored.
    """
    target = Path(folder)
    words: list[str] = []
    norms = array("f")  # one buffer: many small arrays would fragment the memory of freed blocks
    with (target / "vectors.npy").open("wb") as file:
        dtype, d = _write_rows(file, blocks, words, norms)
    index = WordIndex.of(words)
    arrays = {
        "norms.npy": np.frombuffer(norms, dtype=np.float32) * (1 if scales is None else scales),
        "offsets.npy": index.offsets,
        "hashes.npy": index.hashes,
        "places.npy": index.rows,
    }
    if scales is not None:
        arrays["scales.npy"] = scales
    if whiten and can_be_whitened(len(words), d):
        fitted, arrays[NORMS_FILE] = fit_whitening(lambda: _read_back(target, scales), d)
        arrays[WHITENING_FILE] = np.concatenate([fitted.mean[None], fitted.matrix])
    for name, values in arrays.items():
        np.save(target / name, values, allow_pickle=False)
    (target / "words.bin").write_bytes(index.text)
    MANIFEST.write(target, {**metadata, "words": len(words), "dimensions": d, "dtype": str(dtype)})
    return len(words)


def _write_rows(
    file: BinaryIO, blocks: Iterable[tuple[list[str], np.ndarray]], words: list[str], norms: "array[float]"
) -> tuple[np.dtype[Any], int]:
    """Write a .npy file block by block; the header is rewritten once the number of rows is known."""
    dtype, d = np.dtype(np.float32), 0
    for block_words, rows in blocks:
        if not words:
            dtype, d = rows.dtype, rows.shape[1]
            write_npy_header(file, dtype, 0, d)
        if rows.dtype.kind == "f":
            rows = rescale_extreme_rows(rows)
        file.write(np.ascontiguousarray(rows).tobytes())
        norms.frombytes(row_norms(rows).tobytes())
        words.extend(block_words)
    if not words:
        raise FileError("the input has no vectors: nothing was stored")
    file.seek(0)
    write_npy_header(file, dtype, len(words), d)
    return dtype, d


def write_npy_header(file: BinaryIO, dtype: np.dtype[Any], n: int, d: int) -> None:
    """Write the header of an .npy file with a matrix (n, d) at the start of a file, or replace it there."""
    # NumPy pads the header, so that the number of rows can be replaced by a larger one in place.
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n, d)}
    np.lib.format.write_array_header_1_0(file, header)


def _read_back(folder: Path, scales: np.ndarray | None) -> Iterator[np.ndarray]:
    """Yield the written rows in float32, block by block; not mapped, because mapped pages count as used memory."""
    with (folder / "vectors.npy").open("rb") as file:
        np.lib.format.read_magic(file)
        (n, d), _, dtype = np.lib.format.read_array_header_1_0(file)
        for start in range(0, n, ROWS_READ_BACK):
            rows = np.fromfile(file, dtype, min(ROWS_READ_BACK, n - start) * d).reshape(-1, d)
            yield rows if scales is None else rows * scales[start : start + ROWS_READ_BACK, None]


def open_vectors(folder: str | os.PathLike[str]) -> StoredVectors:
    """Open a folder that `write_vectors` filled, memory-mapped; file sizes and array shapes are checked."""
    path = Path(folder)
    metadata = MANIFEST.read(path)
    try:
        shapes = _shapes(metadata)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FileError(f"{path / 'meta.json'} lacks an entry ({error}): {MANIFEST.remedy}") from error
    try:
        arrays = {name: np.asarray(read_array(path / name)) for name in shapes}  # np.memmap objects are slow to slice
        with (path / "words.bin").open("rb") as file:
            text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileError:
        raise
    except (FileNotFoundError, ValueError) as error:
        raise FileError(f"{path} is not a complete folder of vectors ({error}): {MANIFEST.remedy}") from error
    for name, values in arrays.items():
        if values.shape != shapes[name] or values.dtype.kind not in KINDS.get(name, "f"):
            actual = f"{values.dtype} of shape {values.shape}"
            raise FileError(f"{path / name} holds {actual}, but shape {shapes[name]} was expected: {MANIFEST.remedy}")
    words = WordIndex(text, arrays["offsets.npy"], arrays["hashes.npy"], arrays["places.npy"])
    vectors, norms, scales = arrays["vectors.npy"], arrays["norms.npy"], arrays.get("scales.npy")
    whitening = None
    if WHITENING_FILE in arrays:
        mean, matrix = arrays[WHITENING_FILE][0], arrays[WHITENING_FILE][1:]
        fitted = Preprocessing(f"whiten({WHITENING_POWER:g})@{len(words)}", mean, matrix, unit=True)
        whitening = Whitening(fitted, arrays[NORMS_FILE])
    return StoredVectors(words, vectors, scales, norms, metadata, whitening)


def _shapes(metadata: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of a folder."""
    n, d = int(metadata["words"]), int(metadata["dimensions"])
    shapes = {"vectors.npy": (n, d), "norms.npy": (n,), "offsets.npy": (n + 1,), "hashes.npy": (n,), "places.npy": (n,)}
    if metadata["dtype"] == "int8":
        shapes["scales.npy"] = (n,)
    if WHITENING_FILE in metadata["files"]:
        shapes |= {WHITENING_FILE: (d + 1, d), NORMS_FILE: (n,)}
    return shapes
