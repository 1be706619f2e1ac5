"""Arrays with their words beside them: .npy and .safetensors files, and gensim's vectors in memory."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from softset.errors import FileError, InputError
from softset.vectors.formats.opening import open_stream
from softset.vectors.formats.recognise import pickle_error
from softset.vectors.formats.source import Block, RowCheck, Source, block_rows, check_dimensions, streamed
from softset.vectors.formats.stream import Stream
from softset.vectors.formats.tensors import Tensor, map_tensors, mapped

__all__ = ["from_gensim", "read_npy", "read_safetensors"]

WORD_SUFFIXES = (".txt", ".words", ".vocab")


class MemoryCheck(RowCheck):
    """The same checks for what is no file."""

    error = InputError
    advice = ""


def read_npy(path: Path, words: str | os.PathLike[str] | None, *, skip_bad: bool) -> Source:
    """Read an (n, d) array and the file of its n words."""
    with path.open("rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = read(file)
        except OSError:
            raise
        except Exception as error:  # numpy reads the header as a Python literal, and lets out whatever that raises
            raise FileError(f"{path} is not a whole .npy file: its header cannot be read; save it again") from error
        offset = file.tell()
    if dtype.hasobject:
        raise pickle_error(str(path))
    _check_table(str(path), shape, dtype.kind, str(dtype))
    wanted, found = offset + shape[0] * shape[1] * dtype.itemsize, path.stat().st_size
    if wanted != found:
        raise FileError(f"{path} has {found:,} bytes, but its header promises {wanted:,}; save it again")
    values = mapped(path, dtype, offset, shape, "F" if fortran else "C")
    return _with_words("npy", path, Tensor(str(dtype), values), words, skip_bad=skip_bad)


def read_safetensors(path: Path, words: str | os.PathLike[str] | None, *, skip_bad: bool) -> Source:
    """Read the one tensor of shape (n, d) and the file of its n words."""
    tables = {name: tensor for name, tensor in map_tensors(path).items() if tensor.values.ndim == 2}
    if len(tables) != 1:
        found = ", ".join(map(repr, sorted(tables)[:5])) or "none"
        raise FileError(f"{path} must have one tensor with two axes, the rows of its words, but it has {found}")
    (table,) = tables.values()
    _check_table(str(path), table.values.shape, table.values.dtype.kind, table.type)
    return _with_words("safetensors", path, table, words, skip_bad=skip_bad)


def from_gensim(keyed_vectors: Any) -> Source:
    """Return the words and (n, d) vectors of a gensim KeyedVectors object.

    >>> from types import SimpleNamespace
    >>> source = from_gensim(SimpleNamespace(index_to_key=["red", "blue"], vectors=np.eye(2)))
    >>> [words for words, rows in source.blocks]
    [['red', 'blue']]
    """
    try:
        words, vectors = list(keyed_vectors.index_to_key), np.asarray(keyed_vectors.vectors)
    except AttributeError:
        raise InputError(
            f"{type(keyed_vectors).__name__} has no index_to_key and vectors, as gensim's KeyedVectors has; "
            "of a trained model, pass its .wv"
        ) from None
    if vectors.ndim != 2 or len(words) != len(vectors) or not vectors.size or vectors.dtype.kind not in "fiu":
        raise InputError(
            f"{len(words)} words need real vectors of shape ({len(words)}, d), but {vectors.dtype} of shape "
            f"{vectors.shape} was given"
        )
    check = MemoryCheck("the KeyedVectors object", skip_bad=False)
    encoded = iter([str(word).encode(errors="surrogatepass") for word in words])
    blocks = _blocks("gensim", Tensor(str(vectors.dtype), vectors), "", encoded, check)
    return streamed("gensim", vectors.shape[1], len(words), blocks, check)


def _check_table(name: str, shape: tuple[int, ...], kind: str, dtype: str) -> None:
    if len(shape) != 2 or not shape[0]:
        raise FileError(f"{name} has an array of shape {shape}, but (words, dimensions) was wanted")
    if kind not in "fiu":
        raise FileError(f"{name} has numbers of type {dtype}, but real numbers such as float32 were wanted")
    check_dimensions(name, shape[1])


def _with_words(
    kind: str, path: Path, table: Tensor, words: str | os.PathLike[str] | None, *, skip_bad: bool
) -> Source:
    stream = open_stream(_words_beside(path) if words is None else words)
    check = RowCheck(str(path), skip_bad=skip_bad, words_name=stream.name)
    lines = (line.removesuffix(b"\r") for _, line in stream.lines())
    rows, dimensions = table.values.shape
    blocks = _closing(stream, _blocks(str(path), table, stream.name, lines, check))
    return streamed(kind, dimensions, rows, blocks, check)


def _words_beside(path: Path) -> Path:
    for suffix in WORD_SUFFIXES:
        if path.with_suffix(suffix).is_file():
            return path.with_suffix(suffix)
    raise FileError(
        f"{path} holds vectors without words: name the file of its words, one a line, with words (--words FILE), or "
        f"put it beside as {path.with_suffix(WORD_SUFFIXES[0]).name}"
    )


def _closing(stream: Stream, blocks: Iterator[Block]) -> Iterator[Block]:
    with stream:
        yield from blocks


def _blocks(name: str, table: Tensor, words_name: str, words: Iterator[bytes], check: RowCheck) -> Iterator[Block]:
    rows, dimensions = table.values.shape
    size = block_rows(dimensions)
    found = 0
    for start in range(0, rows, size):
        some = list(islice(words, min(size, rows - start)))
        found += len(some)
        yield check.passed(range(start + 1, found + 1), some, table.take(slice(start, found)))
        if found < min(start + size, rows):
            break
    found += sum(1 for _ in words)
    if found != rows:
        raise FileError(f"{words_name} has {found:,} words, but {name} has {rows:,} rows; each row needs one word")
