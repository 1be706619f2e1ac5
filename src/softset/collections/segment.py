"""Segments: immutable parts of a collection, each with the vectors, ids, texts and metadata of some items."""

import json
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from softset.collections.items import Item
from softset.errors import FileError, InputError, NotFiniteError, ShapeError
from softset.io.arrays import read_array
from softset.query.field_types import plain_value
from softset.vectors.storage import StoredVectors, open_vectors, write_vectors

__all__ = ["Embed", "Segment", "items_with_vectors", "pair_with_vectors", "write_segment"]

ITEMS_PER_BLOCK = 4096
Embed = Callable[[Sequence[str]], np.ndarray]
ItemVectors = Iterable[tuple[Item, np.ndarray]]


class Segment:
    """A segment in a folder; `deleted` holds the row numbers of its deleted items."""

    def __init__(self, folder: Path, deleted: Iterable[int] = ()) -> None:
        self.name = folder.name
        self.deleted = frozenset(deleted)
        self.stored: StoredVectors = open_vectors(folder)
        self.items_file = folder / "items.bin"
        try:
            self._offsets = read_array(folder / "lines.npy", mapped=False)
            # Mapped at once, because a writer may merge this segment into another one and delete its files.
            self._content = np.memmap(self.items_file, dtype=np.uint8, mode="r")
        except (OSError, ValueError) as error:
            raise FileError(f"{folder} is not a complete segment ({error}): index the items again") from error

    def __len__(self) -> int:
        return len(self.stored.words)

    def item(self, row: int) -> Item:
        """Return the item in a row."""
        try:
            line = bytes(self._content[int(self._offsets[row]) : int(self._offsets[row + 1])])
            return _decode(self.stored.words[row], line)
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
            problem = f"{self.items_file} was changed after it was written (item {row})"
            raise FileError(f"{problem}: index the items again") from error


def items_with_vectors(segments: Iterable[Segment]) -> Iterator[tuple[Item, np.ndarray]]:
    """Yield all items of segments that are not deleted, with their vectors."""
    for segment in segments:
        with segment.items_file.open("rb") as file:
            for row, (item_id, line) in enumerate(zip(segment.stored.words, file, strict=True)):
                if row not in segment.deleted:
                    yield _decode(item_id, line), segment.stored.vectors[row]


def _decode(item_id: str, line: bytes) -> Item:
    record = json.loads(line)
    text, metadata = record["text"], record["metadata"]
    if not isinstance(text, str) or not isinstance(metadata, dict):
        raise TypeError("an item needs a text and metadata")
    return Item(item_id, text, metadata)


def write_segment(folder: Path, pairs: ItemVectors, *, dimensions: int | None = None) -> str:
    """Write items and their vectors (d,) to a new folder inside `folder`, and return its name."""
    target = Path(tempfile.mkdtemp(dir=folder, prefix="segment-"))
    target.chmod(folder.stat().st_mode & 0o777)
    blocks = _write_blocks(target, pairs, dimensions)
    try:
        write_vectors(target, blocks, {"name": "items"})
    except BaseException:
        with suppress(OSError):  # a full disk, which the first error already reports
            blocks.close()
        shutil.rmtree(target, ignore_errors=True)
        raise
    return target.name


def _write_blocks(target: Path, pairs: ItemVectors, dimensions: int | None) -> Generator[tuple[list[str], np.ndarray]]:
    """Yield blocks of ids and vectors; write texts and metadata to the folder."""
    offsets, ids = [0], set[str]()
    with (target / "items.bin").open("wb") as file:
        for block in _blocks(pairs):
            for item, _ in block:
                if not item.id:
                    raise InputError("an item has an empty id: every item needs an id")
                if item.id in ids:
                    raise InputError(f"the id {item.id!r} occurs twice: every item needs its own id")
                ids.add(item.id)
                values = {"text": item.text, "metadata": plain_value(item.metadata)}
                record = json.dumps(values, ensure_ascii=False, default=str)
                offsets.append(offsets[-1] + file.write(record.encode() + b"\n"))
            yield [item.id for item, _ in block], _stack(block, dimensions)
    np.save(target / "lines.npy", np.array(offsets, dtype=np.int64), allow_pickle=False)


def _stack(block: list[tuple[Item, np.ndarray]], dimensions: int | None) -> np.ndarray:
    with np.errstate(over="ignore"):
        rows = np.stack([vector for _, vector in block]).astype(np.float32)
    if dimensions is not None and rows.shape[1] != dimensions:
        raise ShapeError(f"the vectors have {rows.shape[1]} dimensions, but the collection has {dimensions}")
    if not np.isfinite(rows).all():
        row = int(np.argwhere(~np.isfinite(rows))[0, 0])
        raise NotFiniteError(f"the vector of item {block[row][0].id!r} has a number that is not finite in float32")
    return rows


def _blocks(source: Iterable[Any]) -> Iterator[list[Any]]:
    iterator = iter(source)
    while block := list(islice(iterator, ITEMS_PER_BLOCK)):
        yield block


def pair_with_vectors(items: Iterable[Item], vectors: Any, embed: Embed | None) -> ItemVectors:
    """Pair items with vectors: given ones, as an array (n, d) or an iterator, or those that `embed` computes."""
    if isinstance(vectors, Iterator):
        return zip(items, vectors, strict=True)
    if vectors is not None:
        return _pair_with_array(items, np.asarray(vectors))
    if embed is None:
        raise InputError("the items need vectors: give vectors, or an encoder that computes them from the texts")
    return (pair for block in _blocks(items) for pair in zip(block, embed([item.text for item in block]), strict=True))


def _pair_with_array(items: Iterable[Item], vectors: np.ndarray) -> Iterator[tuple[Item, np.ndarray]]:
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or not vectors.shape[1]:
        shape = f"{vectors.dtype} {vectors.shape}"
        raise ShapeError(f"vectors of items must be numbers of shape (n, d), but {shape} was given")
    count = 0
    for count, item in enumerate(items, 1):
        if count > len(vectors):
            raise ShapeError(f"{len(vectors)} vectors were given for at least {count} items: give one vector for each")
        yield item, vectors[count - 1]
    if count != len(vectors):
        raise ShapeError(f"{len(vectors)} vectors were given for {count} items: give one vector for each")
