"""Collections: the user's own items in a folder, which is created once, extended, reduced and searched.

    manifest.json     the names of the segments, the deleted rows of each, the name of the encoder
    segment-*/        vectors and ids in the format of `softset.vectors.storage`; texts and metadata as JSON lines

A change writes new files first and then replaces the manifest atomically. A process that opens the folder at any
moment therefore sees the collection before the change or after it. A new segment is merged with older segments that
are not much larger (size-tiered merging), so that their number stays small after many additions.
"""

import json
import os
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Self

import numpy as np

from softset.collections.id_collection import IdCollection, recorded_encoder
from softset.collections.items import Item
from softset.collections.segment import Embed, Segment, pair_with_vectors, write_segment
from softset.encoders.base import Encoder
from softset.encoders.loading import load_installed
from softset.errors import FileError, InputError, ShapeError, UnknownWordError
from softset.io.atomic import locked, new_folder, write_atomically
from softset.io.json_files import read_json
from softset.query.plan import Resolved

__all__ = ["Collection", "open_collection"]

VERSION = 1
MERGE_RATIO = 4  # an older segment is merged if it is at most so many times as large as the newer ones together


class Collection(IdCollection):
    """Items with vectors in a folder.

    >>> import tempfile, numpy as np
    >>> from softset.collections.items import Item
    >>> folder = tempfile.mkdtemp() + "/books.softset"
    >>> books = Collection.create(folder, [Item("a", "red book"), Item("b", "blue book")], vectors=np.eye(2))
    >>> books.find("a", include_examples=True, top=1)
    1.000  a  red book
    """

    def __init__(self, folder: Path, manifest: dict[str, Any], embed: Embed | None = None) -> None:
        self.folder = folder
        self._manifest = manifest
        self._embed = embed
        self._segments = [Segment(folder / name, deleted) for name, deleted in manifest["segments"].items()]
        self._starts = [0, *accumulate(len(segment) for segment in self._segments)]

    # Creating and changing

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        items: Iterable[Item],
        *,
        vectors: Any = None,
        embed: Embed | None = None,
        encoder: str = "none",
        require_vectors: bool = False,
    ) -> Self:
        """Create a collection in a new folder.

        Args:
            folder: the folder, which must not exist.
            items: the items, each with its own id.
            vectors: the vectors (n, d) of the items; by default `embed` computes them from the texts.
            embed: a function from texts to vectors (n, d); it also reads the texts of queries.
            encoder: the name of the encoder behind `embed`, with which `open_collection` loads it again.
            require_vectors: raise InputError if no item has a vector other than zero.
        """
        path = Path(folder)
        if path.exists():
            raise InputError(f"{path} exists already: choose another folder, add to it, or delete it first")
        with new_folder(path) as temporary:
            manifest = _write_items(temporary, items, vectors, embed, encoder)
            if require_vectors and not cls(temporary, manifest).norms.any():
                problem = "no item has a vector other than zero"
                raise InputError(f"{problem}: give other vectors, or name the column with the texts (--text-field)")
        return cls.open(path, embed=embed)

    def replace(
        self, items: Iterable[Item], *, vectors: Any = None, embed: Embed | None = None, encoder: str = "none"
    ) -> Self:
        """Replace all items, and return the collection itself; see `create` for the arguments.

        The folder stays, and the manifest changes in one step: after an interruption the collection has either all its
        old items or all the new ones.
        """
        with locked(self.folder / "lock"):
            _remove_unused_segments(self.folder, _read_manifest(self.folder))
            _remove_unused_segments(self.folder, _write_items(self.folder, items, vectors, embed, encoder))
        return self._reload(embed)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, embed: Embed | None = None) -> Self:
        """Open a collection; `embed` computes the vectors of texts that are not ids."""
        path = Path(folder)
        collection = cls._open_current(path, embed)
        if embed is not None and embed(["word"]).shape[1] != collection.dimensions:
            raise ShapeError(f"the encoder's vectors do not have the {collection.dimensions} dimensions of {path}")
        return collection

    @classmethod
    def _open_current(cls, path: Path, embed: Embed | None) -> Self:
        """Open the segments of the manifest; if a writer replaced them meanwhile, read the manifest again."""
        while True:
            manifest = _read_manifest(path)
            try:
                return cls(path, manifest, embed)
            except (FileError, OSError) as error:
                if _read_manifest(path) != manifest:
                    continue
                if isinstance(error, FileNotFoundError):
                    raise FileError(f"{path} lacks a segment that its manifest names: index the items again") from error
                raise

    def add(self, items: Iterable[Item], *, vectors: Any = None) -> Self:
        """Add items, and return the collection itself; an id that exists already is refused."""
        with locked(self.folder / "lock"):
            current = self._current()
            _remove_unused_segments(self.folder, current._manifest)
            pairs = pair_with_vectors((current._check_new(item) for item in items), vectors, self._embed)
            current._commit(write_segment(self.folder, pairs, dimensions=current.dimensions))
        return self._reload(self._embed)

    def _current(self) -> Self:
        return type(self)(self.folder, _read_manifest(self.folder), self._embed)

    def _reload(self, embed: Embed | None) -> Self:
        """Read the folder again; cached values of the previous items, such as norms, are dropped in the same step."""
        self.__dict__ = self.open(self.folder, embed=embed).__dict__
        return self

    def _check_new(self, item: Item) -> Item:
        if item.id in self:
            raise InputError(f"the collection already has an item with the id {item.id!r}: delete it first")
        return item

    def _commit(self, added: str) -> None:
        """Add a new segment to the manifest, merged with the older segments that are not much larger."""
        merged = [Segment(self.folder / added)]
        for older in reversed(self._segments):
            if len(older) - len(older.deleted) > MERGE_RATIO * sum(map(len, merged)):
                break
            merged.insert(0, older)
        unchanged = self._segments[: len(self._segments) + 1 - len(merged)]
        if len(merged) > 1:
            added = write_segment(self.folder, chain.from_iterable(part.items_with_vectors() for part in merged))
        segments = {segment.name: sorted(segment.deleted) for segment in unchanged} | {added: []}
        manifest = {**self._manifest, "segments": segments}
        _write_manifest(self.folder, manifest)
        _remove_unused_segments(self.folder, manifest)

    def delete(self, ids: Iterable[str]) -> Self:
        """Delete items, and return the collection itself; if one of the ids does not exist, nothing is deleted."""
        with locked(self.folder / "lock"):
            current = self._current()
            deleted = {segment.name: set(segment.deleted) for segment in current._segments}
            for item_id in dict.fromkeys([ids] if isinstance(ids, str) else ids):
                index = current.get_index(item_id)
                if index is None:
                    raise UnknownWordError(f"there is no item with the id {item_id!r}: nothing was deleted")
                segment, row = current._locate(index)
                deleted[segment.name].add(row)
            segments = {name: sorted(rows) for name, rows in deleted.items()}
            _write_manifest(self.folder, {**current._manifest, "segments": segments})
        return self._reload(self._embed)

    # Properties

    @property
    def encoder(self) -> str:
        """The name of the encoder of the items and of the texts in queries, or "none"."""
        return str(self._manifest["encoder"])

    @property
    def dimensions(self) -> int:
        """The number of dimensions d."""
        return int(self._segments[0].stored.vectors.shape[1])

    @property
    def signature(self) -> str:
        """A description of everything that results depend on."""
        name = f"{self.folder.name}@{self.checksum[:8]}"
        return f"collection:{name}|items:{self.size}|d:{self.dimensions}|encoder:{self.encoder}"

    @cached_property
    def checksum(self) -> str:
        """A SHA-256 over all vectors and deletions."""
        parts = ((segment.stored.metadata["files"], segment.deleted) for segment in self._segments)
        content = [(files["vectors.npy"]["sha256"], sorted(deleted)) for files, deleted in parts]
        return sha256(json.dumps(content).encode()).hexdigest()

    @property
    def size(self) -> int:
        """The number of items that are not deleted."""
        return len(self) - len(self.hidden)

    def __len__(self) -> int:
        return self._starts[-1]

    def __repr__(self) -> str:
        return f"Collection({str(self.folder)!r}, items={self.size}, dimensions={self.dimensions})"

    # Items and vectors

    def _segments_with_starts(self) -> Iterator[tuple[Segment, int]]:
        return zip(self._segments, self._starts, strict=False)

    @cached_property
    def hidden(self) -> frozenset[int]:
        """The indices of deleted items, which no search may return."""
        return frozenset(start + row for segment, start in self._segments_with_starts() for row in segment.deleted)

    @cached_property
    def norms(self) -> np.ndarray:
        """The norms (n,) of all vectors."""
        return np.concatenate([segment.stored.norms for segment in self._segments])

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors (stop - start, d) of consecutive items."""
        parts = [
            segment.stored.vectors[max(start - first, 0) : max(stop - first, 0)]
            for segment, first in self._segments_with_starts()
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def take(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors (k, d) of the items at the given indices."""
        indices = np.asarray(indices, dtype=np.int64)
        rows = np.empty((len(indices), self.dimensions), dtype=np.float32)
        for segment, start in self._segments_with_starts():
            inside = (indices >= start) & (indices < start + len(segment))
            rows[inside] = segment.stored.vectors[indices[inside] - start]
        return rows

    def get_index(self, item_id: str) -> int | None:
        """Return the index of the item with an id, or None."""
        for segment, start in self._segments_with_starts():
            row = segment.stored.words.get_index(item_id)
            if row is not None and row not in segment.deleted:
                return start + row
        return None

    def __contains__(self, item_id: object) -> bool:
        return isinstance(item_id, str) and self.get_index(item_id) is not None

    def item(self, index: int) -> Item:
        """Return the item at an index."""
        segment, row = self._locate(index)
        return segment.item(row)

    def _locate(self, index: int) -> tuple[Segment, int]:
        number = bisect_right(self._starts, index) - 1
        return self._segments[number], index - self._starts[number]

    def next_number(self) -> int:
        """Return the first number above all ids that are numbers."""
        ids = (item_id for segment in self._segments for item_id in segment.stored.words)
        return max((int(text) for text in ids if text.isascii() and text.isdigit() and len(text) < 19), default=0) + 1

    def resolve_ids(self, ids: Sequence[str]) -> dict[str, Resolved]:
        """Return the vectors of those ids that exist."""
        pairs = [(item_id, index) for item_id in ids if (index := self.get_index(item_id)) is not None]
        rows = self.take([index for _, index in pairs])
        columns = zip(pairs, rows, strict=True)
        return {item_id: Resolved(row, "the item with this id", (index,)) for (item_id, index), row in columns}


def open_collection(
    folder: str | os.PathLike[str], *, encoder: str | None = None, load: Callable[[str], Encoder] = load_installed
) -> Collection:
    """Open a collection together with the encoder that it names, which must have the same checksum.

    Args:
        folder: the folder of the collection.
        encoder: the name of the encoder. It is needed if the encoder is neither bundled nor imported, because a
            collection of another person must not choose what is loaded.
        load: the function that loads the encoder if `encoder` is None.
    """
    return Collection.open(folder, embed=recorded_encoder(Collection.open(folder).encoder, encoder, load))


def _write_items(
    folder: Path, items: Iterable[Item], vectors: Any, embed: Embed | None, encoder: str
) -> dict[str, Any]:
    """Write items as the only segment of a collection; return the manifest."""
    dimensions = None if vectors is None or embed is None else embed(["word"]).shape[1]
    name = write_segment(folder, pair_with_vectors(items, vectors, embed), dimensions=dimensions)
    manifest = {"encoder": encoder, "segments": {name: []}}
    _write_manifest(folder, manifest)
    return manifest


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    content = {**manifest, "softset": "Collection", "version": VERSION}
    write_atomically(folder / "manifest.json", json.dumps(content, ensure_ascii=False).encode())


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = read_json(folder / "manifest.json", "Collection", remedy="index the items again")
        segments = {str(name): [int(row) for row in deleted] for name, deleted in manifest["segments"].items()}
        encoder, version = str(manifest["encoder"]), manifest["version"]
    except FileNotFoundError:
        raise FileError(f"{folder} is not a collection: it has no manifest.json; make one with softset index") from None
    except NotADirectoryError:
        raise FileError(f"{folder} is a file, not a collection: make a collection from it with softset index") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise FileError(f"{folder} is not a complete collection ({error}): index the items again") from error
    names_are_valid = all(name.startswith("segment-") and Path(name).name == name for name in segments)
    if version != VERSION or not segments or not names_are_valid:
        raise FileError(f"{folder} is not a collection of version {VERSION}: index the items again")
    return {"encoder": encoder, "segments": segments}


def _remove_unused_segments(folder: Path, manifest: dict[str, Any]) -> None:
    """Delete segments that the manifest does not name: merged ones, and those of writers that were killed."""
    for path in folder.glob("segment-*"):
        if path.name not in manifest["segments"]:
            shutil.rmtree(path, ignore_errors=True)
