"""The reading part of a collection: items, vectors, fields, filters and tables. `Collection` adds the writing."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softset.collections import tables
from softset.collections.background import make_background
from softset.collections.chunks import Chunking
from softset.collections.embedder import Embed, Embedder, recorded_encoder
from softset.collections.embedding import embed_given
from softset.collections.id_collection import IdCollection
from softset.collections.items import Item
from softset.collections.manifest import CollectionManifest
from softset.collections.schema import infer_schema, with_dates
from softset.collections.segment import CHUNK_FILES, LEXICAL_FILE
from softset.collections.segmented import SegmentedItems
from softset.errors import InputError, SoftsetError, UnknownWordError
from softset.io.text import html_table
from softset.query.background import Background
from softset.query.centroid import LexicalSet
from softset.query.field_types import FieldType
from softset.query.filters import check_filter, select
from softset.query.lexical import LexicalIndex, analyzer
from softset.query.resolution import Resolved
from softset.search.given_items import GivenItems
from softset.search.source import Projector

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["CollectionStats", "StoredCollection"]

NOT_STORED_NOTE = (
    "this collection of an earlier version has no stored background: memberships are measured against the present "
    "items until refresh_background() or the next change of the collection stores them"
)
MAX_SUGGESTED = 100_000  # a similar id is suggested only in collections of at most this size


@dataclass(frozen=True)
class CollectionStats:
    """The size of a collection.

    Attributes:
        items: the number of items.
        without_vector: the number of items whose vector is zero; no search finds them.
        dimensions: the number of dimensions of the vectors.
        encoder: the name of the encoder, or "none".
        fields: the types of the metadata fields.
        segments: the number of segments.
        deleted: the number of deleted items that `Collection.compact` removes from the files.
        background: the number of vectors in the stored background; 0 if there is none.
        bytes: the size of all files.
        chunks: how texts are split: "sentence", "window", "token" or "none".
        vectors: the number of vectors of items and chunks.
        language: the language of the lexical index, or None if there is none.
    """

    items: int
    without_vector: int
    dimensions: int
    encoder: str
    fields: dict[str, FieldType]
    segments: int
    deleted: int
    background: int
    bytes: int
    chunks: Chunking
    vectors: int
    language: str | None


class StoredCollection(IdCollection):
    """The items of a collection, which can be read and searched."""

    def __init__(self, folder: Path, manifest: CollectionManifest, embedder: Embedder | None = None) -> None:
        self.folder = folder
        self._manifest = manifest
        self._embedder = embedder  # None: the recorded one is loaded at the first use
        self._items = SegmentedItems.open(folder, manifest.segments)
        self._columns: dict[str, list[Any]] = {}
        file = manifest.background
        self._background_arrays = None if file is None else file.map(folder, self.dimensions)

    @property
    def embedder(self) -> Embedder:
        """The encoder of the items with the prompts of the collection, loaded at the first use."""
        if self._embedder is None:
            self._embedder = Embedder(self.encoder, recorded_encoder(self.encoder))
        settings = self._manifest.settings
        return self._embedder.with_prompts(settings.query_prompt, settings.document_prompt)

    def _text_encoder(self) -> Embed | None:
        embedder = self.embedder
        return embedder.embed_documents if embedder.document_prompt else embedder.embed

    def _query_encoder(self) -> Embed | None:
        embedder = self.embedder
        return embedder.embed_queries if embedder.query_prompt else embedder.embed

    def _encoder_or_none(self) -> Embed | None:
        """Return the encoder of the items, or None if it cannot be loaded."""
        try:
            return self._text_encoder()
        except SoftsetError:
            return None

    # Properties

    @property
    def encoder(self) -> str:
        """The name of the encoder of the items and of the texts in queries, or "none"."""
        return self._manifest.encoder

    @property
    def dimensions(self) -> int:
        """The number of dimensions d."""
        return self._items.dimensions

    @property
    def signature(self) -> str:
        """A description of everything that results depend on."""
        name, file = f"{self.folder.name}@{self.checksum[:8]}", self._manifest.background
        background = "" if file is None else f"|background:{file.source}@{file.sha256[:8]}"
        index = f"encoder:{self.encoder}{self._manifest.settings.describe()}"
        return f"collection:{name}|items:{len(self)}|d:{self.dimensions}|{index}{background}"

    @cached_property
    def checksum(self) -> str:
        """A SHA-256 over all vectors, words and deletions."""
        parts = ((segment.stored.metadata["files"], segment.deleted) for segment in self._items.segments)
        names = ("vectors.npy", *CHUNK_FILES[:1], LEXICAL_FILE)
        content = [
            ([files[name]["sha256"] for name in names if name in files], sorted(deleted)) for files, deleted in parts
        ]
        return sha256(json.dumps(content).encode()).hexdigest()

    @cached_property
    def fields(self) -> dict[str, FieldType]:
        """The types of the metadata fields, by name; see `softset.query.field_types`."""
        schema = self._manifest.schema
        return infer_schema(self._items) if schema is None else dict(schema)

    def stats(self) -> CollectionStats:
        """Return the size of the collection.

        >>> import softset, tempfile
        >>> books = softset.Collection.create(tempfile.mkdtemp() + "/c", ["red wine", "a calm sea"], encoder="words")
        >>> stats = books.stats()
        >>> stats.items, stats.dimensions, stats.segments
        (2, 300, 1)
        """
        deleted = sum(len(segment.deleted) for segment in self._items.segments)
        size = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
        blank = int((self.norms == 0).sum())
        background = 0 if self._background_arrays is None else len(self._background_arrays["rows"])
        counts = (len(self._items.segments), deleted, background, size)
        vectors, settings = len(self) + int(self._items.chunk_counts().sum()), self._manifest.settings
        index = (settings.chunks, vectors, settings.language)
        return CollectionStats(len(self), blank, self.dimensions, self.encoder, self.fields, *counts, *index)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        shown = f"items={len(self)}, model={self.encoder.partition('@')[0]!r}, fields={list(self.fields)}"
        return f"Collection({str(self.folder)!r}, {shown})"

    def _repr_html_(self) -> str:
        fields = ", ".join(f"{name} ({kind})" for name, kind in self.fields.items()) or "none"
        rows = [["items", f"{len(self):,}"], ["model", self.encoder], ["dimensions", str(self.dimensions)]]
        return html_table(["", ""], [*rows, ["fields", fields]], caption=str(self.folder))

    # Items

    def item(self, index: int) -> Item:
        """Return the item at an index."""
        return with_dates(self._items.item(index), self.fields)

    def __iter__(self) -> Iterator[Item]:
        return (self.item(index) for index in range(len(self)))

    def get_index(self, item_id: str) -> int | None:
        """Return the index of the item with an id, or None."""
        if not isinstance(item_id, str):
            raise InputError(f"an id is a text such as '7', but {item_id!r} was given")
        return self._items.get_index(item_id)

    def __contains__(self, item_id: object) -> bool:
        return isinstance(item_id, str) and self.get_index(item_id) is not None

    def get(self, item_id: str) -> Item | None:
        """Return the item with an id, or None.

        >>> import softset, tempfile
        >>> books = softset.Collection.create(tempfile.mkdtemp() + "/c", ["red wine", "a calm sea"], encoder="words")
        >>> books.get("2").text, books.get("3")
        ('a calm sea', None)
        """
        index = self.get_index(item_id)
        return None if index is None else self.item(index)

    def __getitem__(self, item_id: str) -> Item:
        item = self.get(item_id)
        if item is None:
            near = self.nearest_ids(item_id)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UnknownWordError(f"there is no item with the id {item_id!r}{hint}")
        return item

    def nearest_ids(self, item_id: str) -> list[str]:
        """Return ids with a similar spelling, for messages; large collections are not searched for them."""
        return get_close_matches(item_id, self._items.ids(), n=3) if len(self) <= MAX_SUGGESTED else []

    def next_number(self) -> int:
        """Return the first number above all ids that are numbers."""
        ids = self._items.ids()
        return max((int(text) for text in ids if text.isascii() and text.isdigit() and len(text) < 19), default=0) + 1

    # Searching

    @cached_property
    def norms(self) -> np.ndarray:
        """The norms (n,) of all vectors."""
        return self._items.norms()

    @cached_property
    def background(self) -> Background:
        """The background that scores are compared with: the stored one, or one of the present items."""
        if self._manifest.background is not None and self._background_arrays is not None:
            return self._manifest.background.load(self._background_arrays)
        count, language = int(np.count_nonzero(self.norms)), self._manifest.settings.language
        encoder = self._encoder_or_none()
        return make_background(count, lambda: self._items.sample(language), encoder, NOT_STORED_NOTE, language)

    def terms(self, text: str) -> list[str] | None:
        """Return the terms of a text, or None if there is no lexical index."""
        language = self._manifest.settings.language
        return None if language is None else analyzer(language)(text)

    def lexical_scores(self, lexical: LexicalSet) -> np.ndarray:
        """Return the BM25 scores (n,) of the items for the words of a set."""
        return self._items.lexical_scores(lexical)

    @cached_property
    def vectors_per_item(self) -> float:
        """The mean number of vectors of an item."""
        return 1 + float(self._items.chunk_counts().mean()) if self._items.has_chunks else 1.0

    def all_vectors(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the vectors (n + m, d) of items and their chunks, and the owners (m,) of the latter."""
        return self._items.all_vectors(indices)

    def projector(self, directions: np.ndarray) -> Projector:
        """Return a function from `start, stop` to the coordinates of these items along k directions (k, d)."""
        return self._items.projector(directions, self.norms)

    def passages(self, indices: np.ndarray, directions: Sequence[np.ndarray]) -> list[list[str]]:
        """Return, for each item, the chunk of its text that is nearest to each direction; "" if there is none."""
        return self._items.passages(indices, directions)

    def given_items(self, resolved: Sequence[Resolved]) -> GivenItems:
        """Return texts that were resolved as items: with chunks and words, as if they were added to the collection."""
        indices = [index for row in resolved for index in row.indices[:1]]
        of_items = dict(zip(indices, self._items.chunks_of(indices), strict=True))
        vectors, owners = embed_given(resolved, of_items, self.embedder, self._manifest.settings.chunks)
        has_words = self._manifest.settings.language is not None
        lexical = LexicalIndex.of([self.terms(row.text) or [] for row in resolved]) if has_words else None
        return GivenItems(vectors, owners, lexical)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors (stop - start, d) of consecutive items."""
        return self._items.rows(start, stop)

    def take(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors (k, d) of the items at the given indices."""
        return self._items.take(indices)

    def resolve_ids(self, ids: Sequence[str]) -> dict[str, Resolved]:
        """Return the vectors of those ids that exist."""
        pairs = [(item_id, index) for item_id in ids if (index := self.get_index(item_id)) is not None]
        rows = self.take([index for _, index in pairs])
        columns = zip(pairs, rows, strict=True)
        return {
            item_id: Resolved(row, "the item with this id", (index,), self._items.item(index).text)
            for (item_id, index), row in columns
        }

    def matches(self, condition: str) -> np.ndarray:
        """Return a boolean array (n,): which items match a filter such as 'year > 1900'.

        >>> import softset, tempfile
        >>> rows = [{"text": "red wine", "year": 1851}, {"text": "a calm sea", "year": 1999}]
        >>> books = softset.Collection.create(tempfile.mkdtemp() + "/c", rows, encoder="words")
        >>> books.matches("year > 1900").tolist()
        [False, True]
        """
        tree = check_filter(condition, {"id": "text", "text": "text", **self.fields})
        return select(tree, self._column)

    def _column(self, name: str) -> list[Any]:
        """Return the values of a field of all items; they are cached for further filters."""
        if name not in self._columns:
            if name in self.fields:
                self._columns[name] = [item.metadata.get(name) for item in self]
            else:
                self._columns[name] = [getattr(item, name) for item in self]
        return self._columns[name]

    # Tables

    def to_arrow(self) -> "pa.Table":
        """Return a pyarrow table with the columns id, text and the fields."""
        return tables.to_arrow(self, self.fields)

    def to_pandas(self) -> "pd.DataFrame":
        """Return a pandas DataFrame with the columns id, text and the fields.

        >>> import softset, tempfile
        >>> rows = [{"text": "red wine", "year": 1851}, {"text": "a calm sea", "year": 1999}]
        >>> softset.Collection.create(tempfile.mkdtemp() + "/c", rows, encoder="words").to_pandas()
          id        text  year
        0  1    red wine  1851
        1  2  a calm sea  1999
        """
        frame: pd.DataFrame = tables.to_pandas(self, self.fields)
        return frame

    def to_polars(self) -> "pl.DataFrame":
        """Return a polars DataFrame with the columns id, text and the fields."""
        frame: pl.DataFrame = tables.to_polars(self, self.fields)
        return frame

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write ids, texts and fields to a .csv, .tsv, .jsonl, .json or .parquet file, which `create` reads again."""
        tables.export_items(self, self.fields, Path(path))
