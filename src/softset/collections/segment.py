"""Segments: immutable parts of a collection, each with the vectors, ids, texts and metadata of some items.

Beside the files of `softset.vectors.storage`, a segment has:

    items.bin, lines.npy  texts and metadata as JSON lines, and where each line starts
    chunks.npy            (m, d) vectors of sentences or windows, if texts are split
    chunk-*.npy           their norms (m,), their positions (m, 2) in the texts, and where those of each item start
    lexical.safetensors   the lexical index of the texts
"""

import json
import shutil
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softset.collections.items import Item
from softset.errors import FileError, InputError, NotFiniteError, ShapeError
from softset.io.arrays import map_tensors, read_array, write_tensors
from softset.query.field_types import plain_value
from softset.query.lexical import LexicalIndex, LexicalIndexBuilder, analyzer
from softset.vectors.rows import row_norms
from softset.vectors.storage import StoredVectors, open_vectors, write_npy_header, write_vectors

__all__ = ["Chunks", "EmbeddedItem", "Segment", "blocks", "embedded_items", "write_segment"]

ITEMS_PER_BLOCK = 4096
CHUNK_FILES = ("chunks.npy", "chunk-norms.npy", "chunk-spans.npy", "chunk-starts.npy")
LEXICAL_FILE, LEXICAL_KIND = "lexical.safetensors", "LexicalIndex"


class Chunks(NamedTuple):
    """Vectors (m, d) of chunks, their norms (m,) and positions (m, 2) in the texts, and where each item's start."""

    vectors: np.ndarray
    norms: np.ndarray
    spans: np.ndarray
    starts: np.ndarray


class EmbeddedItem(NamedTuple):
    """An item with its vector (d,), and with the vectors (c, d) and positions (c, 2) of the chunks of its text."""

    item: Item
    vector: np.ndarray
    chunks: np.ndarray
    spans: np.ndarray


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
        self.chunks = self._open_chunks(folder) if (folder / "chunks.npy").exists() else None
        self.lexical = self._open_lexical(folder) if (folder / LEXICAL_FILE).exists() else None

    def _open_chunks(self, folder: Path) -> Chunks:
        chunks = Chunks(*(np.asarray(read_array(folder / name)) for name in CHUNK_FILES))
        m, d = len(chunks.vectors), self.stored.vectors.shape[1]
        shapes = ((m, d), (m,), (m, 2), (len(self) + 1,))
        if tuple(values.shape for values in chunks) != shapes or chunks.starts[-1] != m:
            raise FileError(f"the chunks of {folder} do not fit together: index the items again")
        return chunks

    def _open_lexical(self, folder: Path) -> LexicalIndex:
        tensors, _ = map_tensors(folder / LEXICAL_FILE, LEXICAL_KIND)
        try:
            index = LexicalIndex.from_arrays({name: tensor.values for name, tensor in tensors.items()})
        except (KeyError, ValueError) as error:
            raise FileError(f"{folder / LEXICAL_FILE} is not complete ({error}): index the items again") from error
        if len(index) != len(self):
            raise FileError(f"{folder / LEXICAL_FILE} has {len(index)} texts, not {len(self)}: index the items again")
        return index

    def chunks_of(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the vectors (c, d) of the chunks of an item, and their positions (c, 2) in its text."""
        if self.chunks is None:
            return np.zeros((0, self.stored.vectors.shape[1]), np.float32), np.zeros((0, 2), np.int32)
        part = slice(int(self.chunks.starts[row]), int(self.chunks.starts[row + 1]))
        return self.chunks.vectors[part], self.chunks.spans[part]

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


def embedded_items(segments: Iterable[Segment]) -> Iterator[EmbeddedItem]:
    """Yield all items of segments that are not deleted, with their vectors."""
    for segment in segments:
        with segment.items_file.open("rb") as file:
            for row, (item_id, line) in enumerate(zip(segment.stored.words, file, strict=True)):
                if row not in segment.deleted:
                    yield EmbeddedItem(_decode(item_id, line), segment.stored.vectors[row], *segment.chunks_of(row))


def _decode(item_id: str, line: bytes) -> Item:
    record = json.loads(line)
    text, metadata = record["text"], record["metadata"]
    if not isinstance(text, str) or not isinstance(metadata, dict):
        raise TypeError("an item needs a text and metadata")
    return Item(item_id, text, metadata)


def write_segment(
    folder: Path, items: Iterable[EmbeddedItem], *, language: str | None, dimensions: int | None = None
) -> str:
    """Write items to a new folder inside `folder`, with a lexical index if a language is given; return its name."""
    target = Path(tempfile.mkdtemp(dir=folder, prefix="segment-"))
    target.chmod(folder.stat().st_mode & 0o777)
    written = _write_blocks(target, items, language, dimensions)
    try:
        write_vectors(target, written, {"name": "items"})
    except BaseException:
        with suppress(OSError):  # a full disk, which the first error already reports
            written.close()
        shutil.rmtree(target, ignore_errors=True)
        raise
    return target.name


def _write_blocks(
    target: Path, items: Iterable[EmbeddedItem], language: str | None, dimensions: int | None
) -> Generator[tuple[list[str], np.ndarray]]:
    """Yield blocks of ids and vectors; write everything else to the folder."""
    offsets, ids, chunks = [0], set[str](), _ChunkWriter(target)
    builder, analyze = LexicalIndexBuilder(), None if language is None else analyzer(language)
    with (target / "items.bin").open("wb") as file:
        for block in blocks(items):
            for item, *_ in block:
                if not item.id:
                    raise InputError("an item has an empty id: every item needs an id")
                if item.id in ids:
                    raise InputError(f"the id {item.id!r} occurs twice: every item needs its own id")
                ids.add(item.id)
                values = {"text": item.text, "metadata": plain_value(item.metadata)}
                record = json.dumps(values, ensure_ascii=False, default=str)
                offsets.append(offsets[-1] + file.write(record.encode() + b"\n"))
                if analyze is not None:
                    builder.add(analyze(item.text))
            chunks.write(block)
            yield [embedded.item.id for embedded in block], _stack(block, dimensions)
    np.save(target / "lines.npy", np.array(offsets, dtype=np.int64), allow_pickle=False)
    chunks.finish()
    if analyze is not None:
        write_tensors(target / LEXICAL_FILE, LEXICAL_KIND, builder.build().to_arrays(), {})


class _ChunkWriter:
    """Writes the vectors of chunks block by block; a segment without any chunk has no such files."""

    def __init__(self, target: Path) -> None:
        self._target, self._dimensions = target, 0
        self._counts, self._norms, self._spans = list[int](), list[np.ndarray](), list[np.ndarray]()

    def write(self, block: Sequence[EmbeddedItem]) -> None:
        """Append the vectors of the chunks of items."""
        self._counts += [len(embedded.chunks) for embedded in block]
        parts = [embedded for embedded in block if len(embedded.chunks)]
        if not parts:
            return
        rows = np.concatenate([embedded.chunks for embedded in parts]).astype(np.float32)
        if not self._norms:
            self._dimensions = rows.shape[1]
            with (self._target / CHUNK_FILES[0]).open("wb") as file:
                write_npy_header(file, rows.dtype, 0, self._dimensions)
        with (self._target / CHUNK_FILES[0]).open("ab") as file:
            file.write(rows.tobytes())
        self._norms.append(row_norms(rows))
        self._spans += [embedded.spans for embedded in parts]

    def finish(self) -> None:
        """Write the arrays about the chunks."""
        if not self._norms:
            return
        norms, spans = np.concatenate(self._norms), np.concatenate(self._spans).astype(np.int32)
        with (self._target / CHUNK_FILES[0]).open("r+b") as file:
            write_npy_header(file, np.dtype(np.float32), len(norms), self._dimensions)
        for name, values in zip(CHUNK_FILES[1:], (norms, spans, np.cumsum([0, *self._counts])), strict=True):
            np.save(self._target / name, values, allow_pickle=False)


def _stack(block: list[EmbeddedItem], dimensions: int | None) -> np.ndarray:
    with np.errstate(over="ignore"):
        rows = np.stack([embedded.vector for embedded in block]).astype(np.float32)
    if dimensions is not None and rows.shape[1] != dimensions:
        raise ShapeError(f"the vectors have {rows.shape[1]} dimensions, but the collection has {dimensions}")
    if not np.isfinite(rows).all():
        row = int(np.argwhere(~np.isfinite(rows))[0, 0])
        raise NotFiniteError(f"the vector of item {block[row].item.id!r} has a number that is not finite in float32")
    return rows


def blocks(source: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the elements of an iterable in lists of `ITEMS_PER_BLOCK`."""
    iterator = iter(source)
    while block := list(islice(iterator, ITEMS_PER_BLOCK)):
        yield block
