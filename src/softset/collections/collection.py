"""Your own items, kept in a folder: built once, added to, deleted from, and searched like word vectors.

    manifest.json     which segments there are, what is deleted in each, which encoder made the vectors
    segment-*/        vectors and ids as `softset.vectors.storage` keeps them; text and metadata, a JSON line an item

Every change writes what is new beside what is there and then replaces the manifest at once: whoever opens the folder,
at whatever moment, sees the state before the change or after it. A new segment takes in those before it that are not
much larger, so that there are never many, however often something is added.
"""

import json
import os
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Self

import numpy as np

from softset.collections.id_collection import IdCollection, text_encoder
from softset.collections.items import Item
from softset.collections.segment import Embed, Segment, with_vectors, write_segment
from softset.encoders.base import Encoder
from softset.encoders.loading import load_encoder
from softset.errors import FileError, InputError, ShapeError, UnknownWordError
from softset.io.atomic import locked, new_folder, write_atomically
from softset.query.plan import Resolved

__all__ = ["Collection", "open_collection"]

VERSION = 1
MERGE_RATIO = 4  # an older segment is taken in by a newer one if it is at most so many times as large


class Collection(IdCollection):
    """Items with vectors, in a folder.

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
        """Return a new collection of items, with given (n, d) vectors, or those that `embed` makes of their texts.

        `encoder` is the name by which `embed` can be had again; with given vectors it reads the texts of queries.
        """
        path = Path(folder)
        if path.exists():
            raise InputError(f"{path} is there already: choose another place, add to it, or delete the folder first")
        wanted = None if vectors is None or embed is None else embed(["word"]).shape[1]
        with new_folder(path) as beside:
            segment = write_segment(beside, with_vectors(items, vectors, embed), dimensions=wanted)
            _write_manifest(beside, {"encoder": encoder, "segments": {segment: []}})
        return cls.open(path, embed=embed)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, embed: Embed | None = None) -> Self:
        """Open a collection; `embed` gives vectors to texts that are no ids."""
        path = Path(folder)
        opened = cls._settled(path, embed)
        if embed is not None and embed(["word"]).shape[1] != opened.dimensions:
            raise ShapeError(f"the encoder's vectors have other than the {opened.dimensions} dimensions of {path}")
        return opened

    @classmethod
    def _settled(cls, path: Path, embed: Embed | None) -> Self:
        """Open what the manifest names; if a writer has just put other segments in their place, look again."""
        while True:
            manifest = _read_manifest(path)
            try:
                return cls(path, manifest, embed)
            except (FileError, OSError) as error:
                if _read_manifest(path) != manifest:
                    continue
                if isinstance(error, FileNotFoundError):
                    raise FileError(f"{path} lacks a part that its manifest names: index the items again") from error
                raise

    def add(self, items: Iterable[Item], *, vectors: Any = None) -> Self:
        """Return the collection with more items; an id that is there already is refused."""
        with locked(self.folder / "lock"):
            current = type(self)(self.folder, _read_manifest(self.folder), self._embed)
            _remove_left_overs(self.folder, current._manifest)
            new = with_vectors((current._unused(item) for item in items), vectors, self._embed)
            name = write_segment(self.folder, new, dimensions=current.dimensions)
            current._commit(name)
        return self.open(self.folder, embed=self._embed)

    def _unused(self, item: Item) -> Item:
        if item.id in self:
            raise InputError(f"there is an item with the id {item.id!r} already: delete it first")
        return item

    def _commit(self, added: str) -> None:
        """Name a new segment in the manifest, after it has taken in those before it that are not much larger."""
        tail = [Segment(self.folder / added)]
        for older in reversed(self._segments):
            if len(older) - len(older.deleted) > MERGE_RATIO * sum(map(len, tail)):
                break
            tail.insert(0, older)
        kept = self._segments[: len(self._segments) + 1 - len(tail)]
        last = added
        if len(tail) > 1:
            last = write_segment(self.folder, chain.from_iterable(one.pairs() for one in tail))
        _write_manifest(self.folder, {**self._manifest, "segments": {**_deleted_in(kept), last: []}})
        _remove_left_overs(self.folder, _read_manifest(self.folder))

    def delete(self, ids: Iterable[str]) -> Self:
        """Return the collection without some items; if an id is not there, nothing is deleted."""
        with locked(self.folder / "lock"):
            current = type(self)(self.folder, _read_manifest(self.folder), self._embed)
            deleted = {one.name: set(one.deleted) for one in current._segments}
            for name in dict.fromkeys([ids] if isinstance(ids, str) else ids):
                place = current.place(name)
                segment, local = current._locate(place) if place is not None else (None, -1)
                if segment is None or local in deleted[segment.name]:
                    raise UnknownWordError(f"there is no item with the id {name!r}: nothing was deleted")
                deleted[segment.name].add(local)
            segments = {name: sorted(places) for name, places in deleted.items()}
            _write_manifest(self.folder, {**current._manifest, "segments": segments})
        return self.open(self.folder, embed=self._embed)

    # Looking

    @property
    def encoder(self) -> str:
        """The name of what made the vectors, or reads the texts of queries: "none" if nothing does."""
        return str(self._manifest["encoder"])

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return int(self._segments[0].stored.vectors.shape[1])

    @property
    def signature(self) -> str:
        """What results depend on."""
        name = f"{self.folder.name}@{self.checksum[:8]}"
        return f"collection:{name}|items:{self.size}|d:{self.dimensions}|encoder:{self.encoder}"

    @cached_property
    def checksum(self) -> str:
        """A SHA-256 over all vectors and deletions."""
        parts = [(one.stored.metadata["files"]["vectors.npy"]["sha256"], sorted(one.deleted)) for one in self._segments]
        return sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def size(self) -> int:
        """The number of items that are not deleted."""
        return len(self) - len(self.hidden)

    def __len__(self) -> int:
        return self._starts[-1]

    def __repr__(self) -> str:
        return f"Collection({str(self.folder)!r}, items={self.size}, dimensions={self.dimensions})"

    @cached_property
    def hidden(self) -> frozenset[int]:
        """The places that no search may return: those of deleted items."""
        pairs = zip(self._segments, self._starts, strict=False)
        return frozenset(first + place for segment, first in pairs for place in segment.deleted)

    @cached_property
    def norms(self) -> np.ndarray:
        """The lengths (n,) of all vectors."""
        return np.concatenate([one.stored.norms for one in self._segments])

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors (stop - start, d) of consecutive items."""
        parts = [
            segment.stored.vectors[max(start - first, 0) : max(stop - first, 0)]
            for segment, first in zip(self._segments, self._starts, strict=False)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def take(self, places: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors (k, d) of items at some places."""
        wanted = np.asarray(places, dtype=np.int64)
        taken = np.empty((len(wanted), self.dimensions), dtype=np.float32)
        for segment, first in zip(self._segments, self._starts, strict=False):
            here = (wanted >= first) & (wanted < first + len(segment))
            taken[here] = segment.stored.vectors[wanted[here] - first]
        return taken

    def place(self, name: str) -> int | None:
        """Return where the item with an id stands, or None."""
        for segment, first in zip(self._segments, self._starts, strict=False):
            found = segment.stored.words.get_index(name)
            if found is not None and found not in segment.deleted:
                return first + found
        return None

    def item(self, place: int) -> Item:
        """Return an item's id, text and metadata."""
        segment, local = self._locate(place)
        return segment.item(local)

    def _locate(self, place: int) -> tuple[Segment, int]:
        number = bisect_right(self._starts, place) - 1
        return self._segments[number], place - self._starts[number]

    def __contains__(self, text: object) -> bool:
        """Tell whether a text is an id."""
        return isinstance(text, str) and self.place(text) is not None

    def next_number(self) -> int:
        """Return the first number that is above all ids that are numbers."""
        ids = (name for segment in self._segments for name in segment.stored.words)
        return max((int(name) for name in ids if name.isascii() and name.isdigit() and len(name) < 19), default=0) + 1

    def resolve_ids(self, ids: Sequence[str]) -> dict[str, Resolved]:
        """Return what stands for those of some ids that items have."""
        places = {name: self.place(name) for name in ids}
        return {
            name: Resolved(np.asarray(self.rows(place, place + 1)[0]), "the item with this id", (place,))
            for name, place in places.items()
            if place is not None
        }


def open_collection(
    folder: str | os.PathLike[str], *, read_texts: bool = True, load: Callable[[str], Encoder] = load_encoder
) -> Collection:
    """Open a collection with the encoder that it names, which must be the very one that made it."""
    opened = Collection.open(folder)
    return Collection.open(folder, embed=text_encoder(opened.encoder, load)[0]) if read_texts else opened


def _deleted_in(segments: Iterable[Segment]) -> dict[str, list[int]]:
    return {one.name: sorted(one.deleted) for one in segments}


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    content = {**manifest, "softset": "Collection", "version": VERSION}
    write_atomically(folder / "manifest.json", json.dumps(content, ensure_ascii=False).encode())


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        good = manifest["softset"] == "Collection" and manifest["version"] == VERSION and bool(manifest["segments"])
        segments = {str(name): [int(at) for at in deleted] for name, deleted in manifest["segments"].items()}
        encoder = str(manifest["encoder"])
    except FileNotFoundError:
        raise FileError(f"{folder} is not a collection: it has no manifest.json; make one with softset index") from None
    except NotADirectoryError:
        raise FileError(f"{folder} is a file, not a collection: make one of it with softset index") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise FileError(f"{folder} is not a whole collection of softset ({error})") from error
    if not good or not all(name.startswith("segment-") and Path(name).name == name for name in segments):
        raise FileError(f"{folder} is not a collection of version {VERSION}: index the items again")
    return {"encoder": encoder, "segments": segments}


def _remove_left_overs(folder: Path, manifest: dict[str, Any]) -> None:
    """Delete segments that the manifest does not name: of writers that were killed, and those taken in by others."""
    for path in folder.glob("segment-*"):
        if path.name not in manifest["segments"]:
            shutil.rmtree(path, ignore_errors=True)
