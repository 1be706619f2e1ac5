"""Your own items, kept in a folder: built once, added to, deleted from, and searched like word vectors.

    manifest.json     which segments there are, which items are deleted, which encoder made the vectors
    segment-*/        vectors and ids as `softset.embed.store` keeps them, and text and metadata, a JSON line an item

Every change writes what is new beside what is there and then replaces the manifest at once: whoever opens the folder,
at whatever moment, sees the state before the change or after it.
"""

import json
import os
import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Self

import numpy as np

from softset.embed.store import Stored, open_store, write_store
from softset.errors import FileError, InputError, NotFiniteError, ShapeError, UnknownWordError
from softset.files import locked, write_atomically
from softset.retrieval.finding import Searchable
from softset.retrieval.items import Item, check_new
from softset.retrieval.plan import Resolved

__all__ = ["Collection"]

VERSION = 1
BLOCK = 4096
Embed = Callable[[Sequence[str]], np.ndarray]


class Collection(Searchable):
    """Items with vectors, in a folder.

    >>> import tempfile, numpy as np
    >>> from softset.retrieval.items import Item
    >>> folder = tempfile.mkdtemp() + "/books.softset"
    >>> books = Collection.create(folder, [Item("a", "red book"), Item("b", "blue book")], vectors=np.eye(2))
    >>> books.find("a", with_examples=True, top=1)
    0.894  a   50.00 %  red book
    """

    def __init__(self, folder: Path, manifest: dict[str, Any], embed: Embed | None = None) -> None:
        self.folder = folder
        self._manifest = manifest
        self._embed = embed
        self._segments = [_Segment(folder / name) for name in manifest["segments"]]
        self._starts = [0, *accumulate(len(one) for one in self._segments)]

    # Making and changing

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        items: Iterable[Item],
        *,
        vectors: Any = None,
        embed: Embed | None = None,
        encoder: str = "none",
    ) -> Self:
        """Return a new collection of items, with given (n, d) vectors, or those that `embed` makes of their texts."""
        path = Path(folder)
        if path.exists():
            raise InputError(f"{path} is there already: choose another place, or add to it")
        beside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
        try:
            segment = _write_segment(beside, items, vectors, embed, taken=lambda _: False)
            _write_manifest(beside, {"encoder": encoder, "segments": [segment], "deleted": []})
            beside.chmod(0o755)
            beside.rename(path)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
        return cls.open(path, embed=embed)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, embed: Embed | None = None) -> Self:
        """Open a collection; `embed` gives vectors to texts that are no ids."""
        path = Path(folder)
        return cls(path, _read_manifest(path), embed)

    def add(self, items: Iterable[Item], *, vectors: Any = None) -> Self:
        """Return the collection with more items; an id that is there already is refused."""
        with locked(self.folder / "lock"):
            current = self.open(self.folder, embed=self._embed)
            segment = _write_segment(self.folder, items, vectors, self._embed, current._is_taken, current.dimensions)
            manifest = current._manifest
            _write_manifest(self.folder, {**manifest, "segments": [*manifest["segments"], segment]})
        return self.open(self.folder, embed=self._embed)

    def delete(self, ids: Iterable[str]) -> Self:
        """Return the collection without some items; an id that is not there is refused."""
        with locked(self.folder / "lock"):
            current = self.open(self.folder, embed=self._embed)
            places = set(current._manifest["deleted"])
            for one in ids:
                place = current.place(one)
                if place is None or place in places:
                    raise UnknownWordError(f"there is no item with the id {one!r}: nothing was deleted")
                places.add(place)
            _write_manifest(self.folder, {**current._manifest, "deleted": sorted(places)})
        return self.open(self.folder, embed=self._embed)

    def _is_taken(self, name: str) -> bool:
        place = self.place(name)
        return place is not None and place not in self._deleted

    # Looking

    @property
    def encoder(self) -> str:
        """The name of what made the vectors: "none" where they were given."""
        return str(self._manifest["encoder"])

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return int(self._segments[0].stored.vectors.shape[1])

    @property
    def signature(self) -> str:
        """What results depend on."""
        return f"collection:{self.folder.name}|items:{self.size}|d:{self.dimensions}|encoder:{self.encoder}"

    @property
    def size(self) -> int:
        """The number of items that are not deleted."""
        return len(self) - len(self._deleted)

    def __len__(self) -> int:
        return self._starts[-1]

    def __repr__(self) -> str:
        return f"Collection({str(self.folder)!r}, items={self.size}, dimensions={self.dimensions})"

    @cached_property
    def _deleted(self) -> frozenset[int]:
        return frozenset(self._manifest["deleted"])

    @cached_property
    def norms(self) -> np.ndarray:
        """The lengths (n,) of all vectors."""
        return np.concatenate([one.stored.norms for one in self._segments])

    @property
    def hidden(self) -> frozenset[int]:
        """The places that no search may return."""
        return self._deleted

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors (stop - start, d) of consecutive items."""
        parts = [
            segment.stored.vectors[max(start - first, 0) : max(stop - first, 0)]
            for segment, first in zip(self._segments, self._starts, strict=False)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def take(self, places: Sequence[int]) -> np.ndarray:
        """Return the vectors (k, d) of items at some places."""
        wanted = np.asarray(places, dtype=np.int64)
        taken = np.empty((len(wanted), self.dimensions), dtype=np.float32)
        for segment, first in zip(self._segments, self._starts, strict=False):
            here = (wanted >= first) & (wanted < first + len(segment))
            taken[here] = segment.stored.vectors[wanted[here] - first]
        return taken

    def place(self, name: str) -> int | None:
        """Return where the newest item with an id stands, or None."""
        for segment, first in reversed(list(zip(self._segments, self._starts, strict=False))):
            found = segment.stored.words.place(name)
            if found is not None:
                return first + found
        return None

    def item(self, place: int) -> tuple[str, dict[str, Any] | None]:
        """Return an item's id and what else is known of it: its text and metadata."""
        segment, local = self._locate(place)
        record = segment.record(local)
        return segment.stored.words[local], {"text": record["text"], **record["metadata"]}

    def _locate(self, place: int) -> tuple["_Segment", int]:
        number = bisect_right(self._starts, place) - 1
        return self._segments[number], place - self._starts[number]

    def resolve(self, text: str) -> Resolved:
        """Return the vector that stands for a text: of the item with this id, or from the encoder."""
        place = self.place(text)
        if place is not None and place not in self._deleted:
            return Resolved(np.asarray(self.rows(place, place + 1)[0]), "the item with this id", (place,))
        if self._embed is None:
            raise UnknownWordError(
                f"{text!r} is no id here, and this collection has no encoder that could read it as a text"
            )
        vector = self._embed([text])[0]
        if not vector.any():
            raise UnknownWordError(f"{text!r} is no id here, and the encoder {self.encoder} has no vector for it")
        return Resolved(vector, f"as a text, by {self.encoder}", ())


class _Segment:
    """A part of a collection that was written at once and never changes."""

    def __init__(self, folder: Path) -> None:
        self.stored: Stored = open_store(folder)
        self._lines = np.load(folder / "lines.npy", mmap_mode="r", allow_pickle=False)
        self._items = folder / "items.bin"

    def __len__(self) -> int:
        return len(self.stored.words)

    def record(self, at: int) -> dict[str, Any]:
        with self._items.open("rb") as file:
            file.seek(int(self._lines[at]))
            found: dict[str, Any] = json.loads(file.read(int(self._lines[at + 1] - self._lines[at])))
        return found


def _write_segment(
    folder: Path,
    items: Iterable[Item],
    vectors: Any,
    embed: Embed | None,
    taken: Callable[[str], bool],
    dimensions: int | None = None,
) -> str:
    """Write items and their vectors to a new folder within `folder`, and return its name."""
    if (vectors is None) == (embed is None):
        raise InputError("items need vectors, or an encoder that makes them of their texts: give one of the two")
    given = None if vectors is None else _checked_vectors(vectors)
    target = Path(tempfile.mkdtemp(dir=folder, prefix="segment-"))
    try:
        blocks = _blocks(target, items, given, embed, taken)
        write_store(target, _of_dimension(blocks, dimensions), {"name": "items"})
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return target.name


def _checked_vectors(vectors: Any) -> np.ndarray:
    array = np.asarray(vectors) if not isinstance(vectors, np.ndarray) else vectors
    if array.ndim != 2 or array.dtype.kind not in "fiu" or not array.shape[1]:
        raise ShapeError(f"vectors of items must be numbers of shape (n, d), but {array.dtype} {array.shape} was given")
    return array


def _blocks(
    target: Path, items: Iterable[Item], given: np.ndarray | None, embed: Embed | None, taken: Callable[[str], bool]
) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield ids and vectors block by block, and write texts and metadata beside them."""
    lines, seen, done = [0], set[str](), 0
    with (target / "items.bin").open("wb") as file:
        for block in _chunks(items):
            for item in block:
                check_new(item, seen)
                if taken(item.id):
                    raise InputError(f"there is an item with the id {item.id!r} already: delete it first")
                record = json.dumps({"text": item.text, "metadata": item.metadata}, ensure_ascii=False, default=str)
                lines.append(lines[-1] + file.write(record.encode("utf-8", "surrogatepass") + b"\n"))
            rows = _rows(block, given, embed, done)
            done += len(block)
            yield [item.id for item in block], rows
    if given is not None and done != len(given):
        raise ShapeError(f"{len(given)} vectors were given for {done} items: give one for each")
    np.save(target / "lines.npy", np.array(lines, dtype=np.int64), allow_pickle=False)


def _rows(block: Sequence[Item], given: np.ndarray | None, embed: Embed | None, done: int) -> np.ndarray:
    if given is not None:
        rows = np.asarray(given[done : done + len(block)], dtype=np.float32)
        if len(rows) != len(block):
            raise ShapeError(
                f"{len(given)} vectors were given for {done + len(block)} or more items: give one for each"
            )
    else:
        assert embed is not None  # noqa: S101 (`_write_segment` has looked)
        rows = np.asarray(embed([item.text for item in block]), dtype=np.float32)
    if not np.isfinite(rows).all():
        at = int(np.argwhere(~np.isfinite(rows))[0, 0])
        raise NotFiniteError(f"the vector of item {block[at].id!r} has a number that is not finite")
    return rows


def _of_dimension(
    blocks: Iterator[tuple[list[str], np.ndarray]], dimensions: int | None
) -> Iterator[tuple[list[str], np.ndarray]]:
    for ids, rows in blocks:
        if dimensions is not None and rows.shape[1] != dimensions:
            raise ShapeError(f"the vectors have {rows.shape[1]} dimensions, but the collection has {dimensions}")
        yield ids, rows


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    block: list[Item] = []
    for item in items:
        block.append(item)
        if len(block) == BLOCK:
            yield block
            block = []
    if block:
        yield block


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    content = {**manifest, "softset": "Collection", "version": VERSION}
    write_atomically(folder / "manifest.json", json.dumps(content, ensure_ascii=False).encode())


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        good = manifest["softset"] == "Collection" and manifest["version"] == VERSION and bool(manifest["segments"])
        manifest["segments"] = [Path(str(name)).name for name in manifest["segments"]]
        manifest["deleted"] = [int(place) for place in manifest["deleted"]]
    except FileNotFoundError:
        raise FileError(f"{folder} is not a collection: it has no manifest.json; make one with softset index") from None
    except (ValueError, KeyError, TypeError, NotADirectoryError) as error:
        raise FileError(f"{folder} is not a whole collection of softset ({error})") from error
    if not good:
        raise FileError(f"{folder} is not a collection of version {VERSION}: index the items again")
    return dict(manifest)
