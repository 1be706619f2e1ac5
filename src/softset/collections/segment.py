"""A part of a collection that is written at once and never changes: vectors and ids, texts and metadata."""

import json
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from softset.collections.items import Item
from softset.errors import FileError, InputError, NotFiniteError, ShapeError
from softset.io.arrays import read_array
from softset.vectors.storage import StoredVectors, open_vectors, write_vectors

__all__ = ["Embed", "Segment", "with_vectors", "write_segment"]

BLOCK = 4096
Embed = Callable[[Sequence[str]], np.ndarray]
Pairs = Iterable[tuple[Item, np.ndarray]]


class Segment:
    """A segment that lies in a folder; `deleted` are places in it that count no more."""

    def __init__(self, folder: Path, deleted: Iterable[int] = ()) -> None:
        self.name = folder.name
        self.deleted = frozenset(deleted)
        self.stored: StoredVectors = open_vectors(folder)
        try:
            self._lines = read_array(folder / "lines.npy", mapped=False)
            # Mapped while it is there: a writer may take this segment into another one, and delete it.
            self._content = np.memmap(folder / "items.bin", dtype=np.uint8, mode="r")
        except (OSError, ValueError) as error:
            raise FileError(f"{folder} is not a whole part of a collection ({error}): index the items again") from error
        self._items = folder / "items.bin"

    def __len__(self) -> int:
        return len(self.stored.words)

    def item(self, at: int) -> Item:
        """Return the item at a place."""
        try:
            return _item(self.stored.words[at], bytes(self._content[int(self._lines[at]) : int(self._lines[at + 1])]))
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
            told = f"{self._items} was changed since it was written (item {at})"
            raise FileError(f"{told}: index the items again") from error

    def pairs(self) -> Iterator[tuple[Item, np.ndarray]]:
        """Return all items that are not deleted, with their vectors."""
        with self._items.open("rb") as file:
            for at, (name, line) in enumerate(zip(self.stored.words, file, strict=True)):
                if at not in self.deleted:
                    yield _item(name, line), self.stored.vectors[at]


def _item(name: str, line: bytes) -> Item:
    record = json.loads(line)
    text, metadata = record["text"], record["metadata"]
    if not isinstance(text, str) or not isinstance(metadata, dict):
        raise TypeError("an item has a text and metadata")
    return Item(name, text, metadata)


def write_segment(folder: Path, pairs: Pairs, *, dimensions: int | None = None) -> str:
    """Write items and their vectors (d,) to a new folder within `folder`, and return its name."""
    target = Path(tempfile.mkdtemp(dir=folder, prefix="segment-"))
    target.chmod(folder.stat().st_mode & 0o777)
    blocks = _blocks(target, pairs, dimensions)
    try:
        write_vectors(target, blocks, {"name": "items"})
    except BaseException:
        with suppress(OSError):  # of a full disk, which has been told already
            blocks.close()
        shutil.rmtree(target, ignore_errors=True)
        raise
    return target.name


def _blocks(target: Path, pairs: Pairs, dimensions: int | None) -> Generator[tuple[list[str], np.ndarray]]:
    """Yield ids and rows block by block, and write texts and metadata beside them."""
    lines, seen = [0], set[str]()
    with (target / "items.bin").open("wb") as file:
        for block in _chunks(pairs):
            for item, _ in block:
                _check_id(item, seen)
                record = json.dumps({"text": item.text, "metadata": item.metadata}, ensure_ascii=False, default=str)
                lines.append(lines[-1] + file.write(record.encode() + b"\n"))
            yield [item.id for item, _ in block], _rows(block, dimensions)
    np.save(target / "lines.npy", np.array(lines, dtype=np.int64), allow_pickle=False)


def _check_id(item: Item, seen: set[str]) -> None:
    if not item.id:
        raise InputError("an item has an empty id: every item needs one")
    if item.id in seen:
        raise InputError(f"the id {item.id!r} is there twice: every item needs its own")
    seen.add(item.id)


def _rows(block: list[tuple[Item, np.ndarray]], dimensions: int | None) -> np.ndarray:
    with np.errstate(over="ignore"):
        rows = np.stack([vector for _, vector in block]).astype(np.float32)
    if dimensions is not None and rows.shape[1] != dimensions:
        raise ShapeError(f"the vectors have {rows.shape[1]} dimensions, but the collection has {dimensions}")
    if not np.isfinite(rows).all():
        at = int(np.argwhere(~np.isfinite(rows))[0, 0])
        raise NotFiniteError(f"the vector of item {block[at][0].id!r} has a number that is not finite in float32")
    return rows


def _chunks(pairs: Pairs) -> Iterator[list[tuple[Item, np.ndarray]]]:
    block: list[tuple[Item, np.ndarray]] = []
    for pair in pairs:
        block.append(pair)
        if len(block) == BLOCK:
            yield block
            block = []
    if block:
        yield block


def with_vectors(items: Iterable[Item], vectors: Any, embed: Embed | None) -> Iterator[tuple[Item, np.ndarray]]:
    """Pair items with given (n, d) vectors, rows that come one after the other, or those `embed` makes of texts."""
    if isinstance(vectors, Iterator):
        return zip(items, vectors, strict=True)
    if vectors is not None:
        return _given(items, vectors if isinstance(vectors, np.ndarray) else np.asarray(vectors))
    if embed is None:
        raise InputError("items need vectors, or an encoder that makes them of their texts: give one of the two")
    return _embedded(items, embed)


def _given(items: Iterable[Item], vectors: np.ndarray) -> Iterator[tuple[Item, np.ndarray]]:
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or not vectors.shape[1]:
        given = f"{vectors.dtype} {vectors.shape}"
        raise ShapeError(f"vectors of items must be numbers of shape (n, d), but {given} was given")
    done = 0
    for done, item in enumerate(items, 1):
        if done > len(vectors):
            raise ShapeError(f"{len(vectors)} vectors were given for {done} or more items: give one for each")
        yield item, vectors[done - 1]
    if done != len(vectors):
        raise ShapeError(f"{len(vectors)} vectors were given for {done} items: give one for each")


def _embedded(items: Iterable[Item], embed: Embed) -> Iterator[tuple[Item, np.ndarray]]:
    block: list[Item] = []
    for item in items:
        block.append(item)
        if len(block) == BLOCK:
            yield from zip(block, embed([one.text for one in block]), strict=True)
            block = []
    if block:
        yield from zip(block, embed([one.text for one in block]), strict=True)
