"""Arrays with a separate file of words: .npy and .safetensors, both memory-mapped."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from softset.errors import FileError
from softset.io.arrays import Tensor, map_tensors, read_array
from softset.io.compressed import open_stream
from softset.vectors.formats.checks import Block, RowChecker, VectorStream, rows_per_block

MAX_SAFETENSORS_HEADER = 100_000_000  # the limit of the safetensors library
WORD_SUFFIXES = (".txt", ".words", ".vocab")


def read_npy(path: Path, words: str | os.PathLike[str] | None, *, skip_bad: bool) -> VectorStream:
    """Read an (n, d) array and the file of its n words."""
    array = read_array(path)
    return _with_words("npy", path, Tensor(str(array.dtype), array), words, skip_bad=skip_bad)


def read_safetensors(path: Path, words: str | os.PathLike[str] | None, *, skip_bad: bool) -> VectorStream:
    """Read the only tensor of shape (n, d) and the file of its n words."""
    tables = {name: tensor for name, tensor in map_tensors(path)[0].items() if tensor.values.ndim == 2}
    if len(tables) != 1:
        names = ", ".join(map(repr, sorted(tables)[:5])) or "none"
        raise FileError(f"{path} must have exactly one tensor with two axes, but it has {names}")
    return _with_words("safetensors", path, tables.popitem()[1], words, skip_bad=skip_bad)


def is_safetensors(head: bytes) -> bool:
    """Return whether a file begins with the length of a JSON header and its first brace."""
    return head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") <= MAX_SAFETENSORS_HEADER


def _with_words(
    kind: str, path: Path, table: Tensor, words: str | os.PathLike[str] | None, *, skip_bad: bool
) -> VectorStream:
    shape = table.values.shape
    if len(shape) != 2 or not shape[0]:
        raise FileError(f"{path} holds an array of shape {shape}, but shape (words, dimensions) was expected")
    if table.values.dtype.kind not in "fiu":
        raise FileError(f"{path} holds {table.type} values, but real numbers such as float32 were expected")
    words = _find_words_file(path) if words is None else words
    checker = RowChecker(str(path), skip_bad=skip_bad, words_name=os.fspath(words))
    return checker.stream(kind, shape[1], shape[0], _blocks(path, table, words, checker))


def _find_words_file(path: Path) -> Path:
    for suffix in WORD_SUFFIXES:
        if path.with_suffix(suffix).is_file():
            return path.with_suffix(suffix)
    raise FileError(
        f"{path} holds vectors without words: give the file of its words, one per line, with words (--words FILE), or "
        f"save it as {path.with_suffix(WORD_SUFFIXES[0]).name} in the same folder"
    )


def _blocks(path: Path, table: Tensor, words: str | os.PathLike[str], checker: RowChecker) -> Iterator[Block]:
    rows, dimensions = table.values.shape
    size, count = rows_per_block(dimensions), 0
    with open_stream(words) as stream:
        lines = (line.removesuffix(b"\r") for _, line in stream.lines())
        while count < rows and (block_words := list(islice(lines, min(size, rows - count)))):
            start, count = count, count + len(block_words)
            yield checker.check(range(start + 1, count + 1), block_words, table.take(slice(start, count)))
        count += sum(1 for _ in lines)
    if count != rows:
        raise FileError(f"{words} has {count:,} words, but {path} has {rows:,} rows; each row needs one word")
