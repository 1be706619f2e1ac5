"""Collections: the user's own items in a folder, which can be searched, and to which items can be added.

    manifest.json     the segments and their deleted rows, the encoder, the types of the fields
    segment-*/        vectors and ids in the format of `softset.vectors.storage`; texts and metadata as JSON lines
    background-*      the vectors and words that the scores of items are compared with

A change writes new files first and then replaces the manifest atomically. A process that opens the folder at any
moment therefore sees the collection before the change or after it. A new segment is merged with older segments that
are not much larger (size-tiered merging), so that their number stays small after many additions.

An item may have several vectors: that of its text, and those of its sentences or windows. A lexical index holds the
words of the texts. Both are parts of the segments.

The background (`softset.collections.background`) is written once: when the collection has 1,000 items with a vector.
Until then it consists of general English sentences, if there is an encoder. Items that are added or deleted later
do not change memberships.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np

from softset.collections.background import MIN_ITEMS
from softset.collections.chunks import Chunking
from softset.collections.embedder import Embedder, as_embedder, check_embedder, recorded_encoder
from softset.collections.embedding import embed_again, embed_items
from softset.collections.items import Item, ItemOptions, read_items
from softset.collections.manifest import CollectionManifest, read_manifest, remove_unused_files
from softset.collections.schema import SchemaTracker
from softset.collections.segment import Segment, embedded_items, write_segment
from softset.collections.segmented import SegmentedItems
from softset.collections.settings import DEFAULT_CHUNKS, DEFAULT_LANGUAGE, CreateOptions, IndexSettings, read_options
from softset.collections.stored_collection import StoredCollection
from softset.collections.writing import write_items, write_with_background
from softset.encoders.base import Encoder
from softset.encoders.loading import load_installed
from softset.errors import FileError, InputError, UnknownWordError
from softset.io.atomic import locked, new_folder
from softset.io.options import named_options
from softset.query.field_types import FieldType

__all__ = ["Collection", "open_collection"]

DEFAULT_ENCODER = "minilm"
MERGE_RATIO = 4  # an older segment is merged if it is at most this many times as large as the newer ones together


class Collection(StoredCollection):
    """Items with vectors in a folder: texts with ids and metadata, which queries and filters find.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/books.softset"
    >>> rows = [{"id": "moby", "text": "a whale hunt at sea", "year": 1851},
    ...         {"id": "emma", "text": "marriage in a village", "year": 1815}]
    >>> books = Collection.create(folder, rows, encoder="words")
    >>> books.find("ocean", filter="year > 1800", top=1)
    0.727  moby  a whale hunt at sea
    >>> books["emma"].metadata, len(books)
    ({'year': 1815}, 2)
    """

    @classmethod
    @named_options
    def create(
        cls,
        path: str | os.PathLike[str],
        items: Any,
        *,
        encoder: Any = None,
        vectors: Any = None,
        require_vectors: bool = False,
        **options: Unpack[CreateOptions],
    ) -> Self:
        """Create a collection in a new folder.

        Args:
            path: the folder, which must not exist.
            items: texts, dictionaries or Items in any iterable; a DataFrame; or the path of a CSV, TSV, JSON lines,
                JSON, Parquet or text file.
            encoder: the encoder of the texts and of queries: a name of `softset.load_encoder`, an encoder, a function
                from texts to vectors (n, d). By default "minilm"; if `vectors` are given, there is none, and queries
                consist of ids.
            vectors: the vectors (n, d) of the items; by default the encoder computes them from the texts.
            require_vectors: raise InputError if no item has a vector other than zero.
            options: `chunks`, `lexical`, `language`, `text_field`, `id_field`, `types` and more, see `CreateOptions`.

        >>> import tempfile
        >>> Collection.create(tempfile.mkdtemp() + "/c", ["red wine", "a calm sea"], encoder="words").get("2").text
        'a calm sea'
        """
        folder = Path(path)
        if folder.exists():
            raise InputError(f"{folder} exists already: choose another folder, add to it, or delete it first")
        embedder = as_embedder(DEFAULT_ENCODER if encoder is None and vectors is None else encoder)
        settings, item_options = read_options(options, embedder, has_vectors=vectors is not None)
        with new_folder(folder) as temporary:
            manifest = write_items(temporary, read_items(items, **item_options), vectors, embedder, settings)
            if require_vectors and not cls(temporary, manifest).norms.any():
                problem = "no item has a vector other than zero"
                raise InputError(f"{problem}: give other vectors, or name the column with the texts (--text-field)")
        return cls._open_current(folder, embedder)

    @named_options
    def replace(
        self, items: Any, *, encoder: Any = None, vectors: Any = None, **options: Unpack[CreateOptions]
    ) -> Self:
        """Replace all items, and return the collection itself; see `create` for the arguments.

        The folder stays, and the manifest changes in one step: after an interruption the collection has either all its
        old items or all the new ones.

        >>> import tempfile
        >>> books = Collection.create(tempfile.mkdtemp() + "/c", ["red wine", "a calm sea"], encoder="words")
        >>> [item.text for item in books.replace(["a garden"], encoder="words")]
        ['a garden']
        """
        embedder = as_embedder(DEFAULT_ENCODER if encoder is None and vectors is None else encoder)
        settings, item_options = read_options(options, embedder, has_vectors=vectors is not None)
        with locked(self.folder / "lock"):
            remove_unused_files(self.folder, read_manifest(self.folder))
            manifest = write_items(self.folder, read_items(items, **item_options), vectors, embedder, settings)
            remove_unused_files(self.folder, manifest)
        return self._reload(embedder)

    @named_options
    def upgrade(
        self, *, chunks: Chunking = DEFAULT_CHUNKS, lexical: bool = True, language: str = DEFAULT_LANGUAGE
    ) -> Self:
        """Index the texts of all items again with other settings, and return the collection itself.

        Collections of softset 0.6 have neither chunks nor a lexical index. The vectors of the items are kept, those of
        chunks are computed, and the background is made anew. `CreateOptions` describes the arguments.

        >>> import tempfile
        >>> books = Collection.create(tempfile.mkdtemp() + "/c", ["red wine"], encoder="words", lexical=False)
        >>> books.upgrade().stats().language
        'english'
        """
        chosen = {"chunks": chunks, "language": language if lexical else None}
        with self._changed() as current:
            settings = IndexSettings.parse({**asdict(current._manifest.settings), **chosen})
            embedder = current.embedder if chunks != "none" else Embedder()
            manifest = replace(current._manifest, settings=settings)
            if len(current):
                items = embed_again(embedded_items(current._items.segments), embedder, settings.chunks)
                name = write_segment(self.folder, items, language=settings.language)
                manifest = replace(manifest, segments={name: []}, background=None)
            written = SegmentedItems.open(self.folder, manifest.segments)
            remove_unused_files(
                self.folder, write_with_background(self.folder, manifest, written, current._encoder_or_none)
            )
        return self

    @classmethod
    @named_options
    def open(cls, path: str | os.PathLike[str], *, encoder: Any = None) -> Self:
        """Open a collection.

        Args:
            path: the folder.
            encoder: the encoder that made the vectors; another one is refused. By default the recorded one is loaded
                when a text has to be encoded, if it is bundled or imported.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp() + "/c"
        >>> _ = Collection.create(folder, ["red wine", "a calm sea"], encoder="words")
        >>> Collection.open(folder).find("ocean")[0].text
        'a calm sea'
        """
        folder = Path(path)
        collection = cls._open_current(folder, None)
        if encoder is None:
            return collection
        recorded, fingerprint = collection.encoder, collection._manifest.fingerprint
        if isinstance(encoder, str):
            embedder = Embedder(recorded, recorded_encoder(recorded, encoder))
        else:
            embedder = as_embedder(encoder)
        check_embedder(embedder, recorded, fingerprint, collection.dimensions, str(folder))
        collection._embedder = embedder
        return collection

    @classmethod
    def _open_current(cls, path: Path, embedder: Embedder | None) -> Self:
        """Open the segments of the manifest; if a writer replaced them meanwhile, read the manifest again."""
        while True:
            manifest = read_manifest(path)
            try:
                return cls(path, manifest, embedder)
            except (FileError, OSError) as error:
                if read_manifest(path) != manifest:
                    continue
                if isinstance(error, FileNotFoundError):
                    raise FileError(f"{path} lacks a file that its manifest names: index the items again") from error
                raise

    @named_options
    def add(self, items: Any, *, vectors: Any = None, **options: Unpack[ItemOptions]) -> Self:
        """Add items, and return the collection itself; an id that exists already is refused.

        >>> import tempfile
        >>> books = Collection.create(tempfile.mkdtemp() + "/c", ["red wine"], encoder="words")
        >>> len(books.add(["a calm sea", "a garden"])), books["3"].text
        (3, 'a garden')
        """
        return self._write(items, vectors, options, replace_existing=False)

    @named_options
    def upsert(self, items: Any, *, vectors: Any = None, **options: Unpack[ItemOptions]) -> Self:
        """Add items, and return the collection itself; items with the same ids are replaced.

        >>> import tempfile
        >>> books = Collection.create(tempfile.mkdtemp() + "/c", ["red wine", "a calm sea"], encoder="words")
        >>> [item.text for item in books.upsert([{"id": 2, "text": "a stormy sea"}])]
        ['red wine', 'a stormy sea']
        """
        return self._write(items, vectors, options, replace_existing=True)

    def _write(self, items: Any, vectors: Any, options: ItemOptions, *, replace_existing: bool) -> Self:
        with self._changed() as current:
            remove_unused_files(self.folder, current._manifest)
            replaced = current._items.deleted_rows()

            def check_ids(new: Iterable[Item]) -> Iterator[Item]:
                for item in new:
                    index = current.get_index(item.id)
                    if index is not None and not replace_existing:
                        message = f"the collection already has an item with the id {item.id!r}: delete it first"
                        raise InputError(f"{message}, or use upsert")
                    if index is not None:
                        segment, row = current._items.locate(index)
                        replaced[segment.name].add(row)
                    yield item

            tracker = SchemaTracker(current.fields)
            new = read_items(items, **options, known=current.fields, first=current.next_number())
            embedder = self.embedder if vectors is None else Embedder()
            settings = current._manifest.settings
            embedded = embed_items(check_ids(tracker.check(new)), vectors, embedder, settings.chunks)
            added = write_segment(self.folder, embedded, language=settings.language, dimensions=current.dimensions)
            current._commit(added, replaced, tracker.schema)
        return self

    @contextmanager
    def _changed(self) -> Iterator[Self]:
        """Lock the folder, yield its present state for a change, and read it again after the change."""
        with locked(self.folder / "lock"):
            yield type(self)(self.folder, read_manifest(self.folder), self._embedder)
        self._reload(self._embedder)

    def _reload(self, embedder: Embedder | None) -> Self:
        """Read the folder again; cached values of the previous items, such as norms, are dropped in the same step."""
        self.__dict__ = self._open_current(self.folder, embedder).__dict__
        return self

    def _commit(self, added: str, deleted: dict[str, set[int]], schema: dict[str, FieldType]) -> None:
        """Add a new segment to the manifest, merged with the older segments that are not much larger."""
        older = [Segment(self.folder / name, rows) for name, rows in deleted.items()]
        merged = [Segment(self.folder / added)]
        while older and len(older[-1]) - len(older[-1].deleted) <= MERGE_RATIO * sum(map(len, merged)):
            merged.insert(0, older.pop())
        if len(merged) > 1:
            added = write_segment(self.folder, embedded_items(merged), language=self._manifest.settings.language)
        segments = {segment.name: segment.deleted for segment in older} | {added: frozenset[int]()}
        self._replace_manifest(replace(self._manifest, segments=segments, schema=schema))

    def _replace_manifest(self, manifest: CollectionManifest) -> None:
        """Write the manifest of a change, with a background: of the items before the change, if they are enough."""
        items = self._items
        if np.count_nonzero(self.norms) < MIN_ITEMS:
            items = SegmentedItems.open(self.folder, manifest.segments)
        manifest = write_with_background(self.folder, manifest, items, self._encoder_or_none)
        remove_unused_files(self.folder, manifest)

    def delete(self, ids: str | Iterable[str]) -> Self:
        """Delete items, and return the collection itself; if one of the ids does not exist, nothing is deleted.

        >>> import tempfile
        >>> books = Collection.create(tempfile.mkdtemp() + "/c", ["red wine", "a calm sea"], encoder="words")
        >>> [item.id for item in books.delete("1")]
        ['2']
        """
        with self._changed() as current:
            deleted = current._items.deleted_rows()
            for item_id in dict.fromkeys(ids if isinstance(ids, Iterable) and not isinstance(ids, str) else [ids]):
                index = current.get_index(item_id)
                if index is None:
                    raise UnknownWordError(f"there is no item with the id {item_id!r}: nothing was deleted")
                segment, row = current._items.locate(index)
                deleted[segment.name].add(row)
            current._replace_manifest(replace(current._manifest, segments=deleted))
        return self

    def compact(self) -> Self:
        """Write all items to one segment, without the deleted ones, and return the collection itself.

        >>> import tempfile
        >>> books = Collection.create(tempfile.mkdtemp() + "/c", ["red wine", "a calm sea"], encoder="words")
        >>> books.delete("1").compact().stats().deleted
        0
        """
        with self._changed() as current:
            remove_unused_files(self.folder, current._manifest)
            stats = current.stats()
            if stats.items and (stats.deleted or stats.segments > 1):
                name = write_segment(
                    self.folder, embedded_items(current._items.segments), language=current._manifest.settings.language
                )
                current._replace_manifest(replace(current._manifest, segments={name: []}, schema=current.fields))
        return self

    def refresh_background(self) -> Self:
        """Measure memberships against a sample of the present items, and return the collection itself.

        Additions and deletions do not change the sample that was made when the collection had 1,000 items. Refresh it
        if later items have other topics; the memberships of all items change then.

        >>> import tempfile
        >>> names = [f"{colour} {number}" for number in range(500) for colour in ("red", "blue")]
        >>> books = Collection.create(tempfile.mkdtemp() + "/c", names, encoder="words")
        >>> books.add(["a calm sea", "a stormy sea"]).stats().background, books.refresh_background().stats().background
        (1000, 1002)
        """
        with self._changed() as current:
            current._replace_manifest(replace(current._manifest, background=None))
        return self


def open_collection(
    folder: str | os.PathLike[str], *, encoder: str | None = None, load: Callable[[str], Encoder] = load_installed
) -> Collection:
    """Open a collection and load the encoder that it names, which must have the same checksum.

    Args:
        folder: the folder of the collection.
        encoder: the name of the encoder. It is needed if the encoder is neither bundled nor imported, because a
            received collection must not choose what is loaded.
        load: the function that loads the encoder if `encoder` is None.
    """
    recorded = Collection.open(folder).encoder
    return Collection.open(folder, encoder=Embedder(recorded, recorded_encoder(recorded, encoder, load)))
