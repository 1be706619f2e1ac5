"""Word vectors on disk: a folder of flat arrays that opens in milliseconds, memory-mapped and never unpickled.

meta.json      what it is, and each file's size and SHA-256
vectors.npy    (n, d) float32, or int8 with scales.npy (n,)
norms.npy      (n,) lengths of the rows
whiten*.npy    what whitens them, if it was wanted (`whitening.py`)
words.bin      all words in one; offsets.npy says where each begins
hashes.npy     sorted hashes of the words; places.npy says which word each belongs to
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
from softset.vectors.growing import GrowingWords
from softset.vectors.index import WordIndex
from softset.vectors.lengths import row_lengths
from softset.vectors.whitening import FILES as WHITENING
from softset.vectors.whitening import Whitened, read_whitened, write_whitened

__all__ = ["BLOCK", "Stored", "open_store", "verify_store", "write_store"]

MANIFEST = Manifest("WordVectors", 1, "a folder of word vectors", "import it again with softset vectors import")
BLOCK = 16_384  # rows: 20 MB of 300 float32, which stays in a processor's cache long enough to be used twice
FEW = 4_096  # rows that are read back at once
KINDS = {"vectors.npy": "fi", "offsets.npy": "i", "hashes.npy": "u", "places.npy": "iu"}  # others are floats
FILES = ("vectors.npy", "norms.npy", "words.bin", "offsets.npy", "hashes.npy", "places.npy")


@dataclass(frozen=True)
class Stored:
    """The arrays of a folder as they lie there, and its facts."""

    words: WordIndex
    vectors: np.ndarray
    scales: np.ndarray | None
    norms: np.ndarray
    facts: Mapping[str, Any]
    whitened: Whitened | None = None


def write_store(
    folder: str | os.PathLike[str],
    blocks: Iterable[tuple[list[str], np.ndarray]],
    facts: Mapping[str, Any],
    *,
    scales: np.ndarray | None = None,
    whitened: bool = False,
) -> int:
    """Fill an empty folder from blocks of words and (b, d) rows, float32 or int8 with scales; return how many.

    Rows go to disk as they come; only the words stay in memory. `whitened` stores what whitens the vectors as well.
    """
    target = Path(folder)
    words = GrowingWords()
    norms = array("f")  # in one piece: small arrays that stay would keep the memory of blocks between them in use
    with (target / "vectors.npy").open("wb") as file:
        dtype, d = _write_rows(file, blocks, words, norms)
    lengths = np.frombuffer(norms, dtype=np.float32)
    index = WordIndex.grown(words)
    arrays = {
        "norms.npy": lengths if scales is None else lengths * scales,
        "offsets.npy": index.offsets,
        "hashes.npy": index.hashes,
        "places.npy": index.places,
    }
    if scales is not None:
        arrays["scales.npy"] = scales
    for name, one in arrays.items():
        np.save(target / name, one, allow_pickle=False)
    (target / "words.bin").write_bytes(index.text)
    if whitened:
        write_whitened(target, lambda: _read_back(target, scales), len(words), d)
    MANIFEST.write(target, {**facts, "words": len(words), "dimensions": d, "dtype": str(dtype)})
    return len(words)


def _write_rows(
    file: BinaryIO, blocks: Iterable[tuple[list[str], np.ndarray]], words: GrowingWords, norms: "array[float]"
) -> tuple[np.dtype[Any], int]:
    """Write a .npy file row block by row block; its header is written again when the number of rows is known."""
    dtype, d = np.dtype(np.float32), 0
    for some_words, rows in blocks:
        if not len(words):
            dtype, d = rows.dtype, rows.shape[1]
            _write_header(file, dtype, 0, d)
        file.write(np.ascontiguousarray(rows).tobytes())
        words.append(some_words)
        norms.frombytes(row_lengths(rows).tobytes())
    if not len(words):
        raise FileError("there is nothing with a vector in it: nothing was stored")
    file.seek(0)
    _write_header(file, dtype, len(words), d)
    return dtype, d


def _read_back(target: Path, scales: np.ndarray | None) -> Iterator[np.ndarray]:
    """Yield the rows of a folder in float32, block by block; read, for mapped pages would count as memory in use."""
    with (target / "vectors.npy").open("rb") as file:
        np.lib.format.read_magic(file)
        (n, d), _, dtype = np.lib.format.read_array_header_1_0(file)
        for at in range(0, n, FEW):
            some = np.fromfile(file, dtype, min(FEW, n - at) * d).reshape(-1, d)
            yield some if scales is None else some * scales[at : at + FEW, None]


def _write_header(file: BinaryIO, dtype: np.dtype[Any], n: int, d: int) -> None:
    # NumPy pads the header so that the number of rows can grow in place.
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n, d)}
    np.lib.format.write_array_header_1_0(file, header)


def open_store(folder: str | os.PathLike[str]) -> Stored:
    """Open a folder that `write_store` filled, by memory-mapping; sizes are checked, contents by `verify_store`."""
    path = Path(folder)
    facts = _read_meta(path)
    try:
        arrays = {name: read_array(path / name) for name in _array_names(facts)}
        arrays = {name: np.asarray(one) for name, one in arrays.items()}  # mapped all the same, but quicker to slice
        with (path / "words.bin").open("rb") as file:
            text: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileError:
        raise
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path} is not a whole folder of vectors ({error}): make it again") from error
    n, d = facts["words"], facts["dimensions"]
    shapes = {"vectors.npy": (n, d), "norms.npy": (n,), "offsets.npy": (n + 1,), "hashes.npy": (n,), "places.npy": (n,)}
    shapes |= {"whitening.npy": (d + 1, d), "whitened.npy": (n,)}
    for name, shape in shapes.items():
        if name in arrays and (arrays[name].shape != shape or arrays[name].dtype.kind not in KINDS.get(name, "f")):
            found = f"{arrays[name].dtype} {arrays[name].shape}"
            raise FileError(f"{path / name} has {found}, but shape {shape} was wanted: import it again")
    words = WordIndex(text, arrays["offsets.npy"], arrays["hashes.npy"], arrays["places.npy"])
    whitened = read_whitened(arrays, n)
    return Stored(words, arrays["vectors.npy"], arrays.get("scales.npy"), arrays["norms.npy"], facts, whitened)


def _array_names(facts: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name in FILES if name.endswith(".npy"))
    if facts.get("dtype") == "int8":
        yield "scales.npy"
    yield from (name for name in WHITENING if name in facts["files"])


def _read_meta(path: Path) -> dict[str, Any]:
    facts = MANIFEST.read(path)
    try:
        _ = int(facts["words"]), int(facts["dimensions"]), str(facts["dtype"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FileError(f"{path / 'meta.json'} lacks a fact ({error}): {MANIFEST.remedy}") from error
    return facts


def verify_store(folder: str | os.PathLike[str]) -> None:
    """Read every file of a folder and compare its SHA-256 with the one noted when it was written."""
    MANIFEST.verify(Path(folder))
