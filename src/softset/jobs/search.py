"""Exact search over vectors in Parquet files on Ray: each task finds its best items, and these are merged.

Passes over all files first find the vectors of the examples, and a sample of items as the background. The last pass
scores every item.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np

from softset.collections.background import Sample, by_hash, make_background
from softset.collections.embedder import Embed
from softset.collections.id_collection import IdCollection
from softset.errors import FileError, InputError
from softset.jobs.embedding import vector_rows
from softset.jobs.inputs import BlockSpan, column_values, list_spans, read_blocks
from softset.jobs.run import INPUT_ERRORS, map_spans
from softset.query import background
from softset.query.background import Background
from softset.query.plan import Plan
from softset.query.resolution import Resolved
from softset.search.exact import Ranking, search
from softset.search.results import Item
from softset.search.source import VectorSource
from softset.vectors.rows import rescale_extreme_rows, row_norms

__all__ = ["ParquetCollection"]

VECTORS_PER_BLOCK = 65_536  # 100 MB with 384 dimensions
MAX_BLOCK_BYTES = 2**31  # vectors of up to 8,192 dimensions fit
COLUMNS = ("id", "vector")
NOT_LISTED = "files are searched by workers, block by block; build a collection from them"


class Matches(NamedTuple):
    """Items that a task has selected: indices among all items (n,), ids, vectors (n, d), and scores (n,)."""

    indices: np.ndarray
    ids: list[str]
    vectors: np.ndarray
    scores: np.ndarray


class VectorBlock(VectorSource):
    """The items of one block in the memory of a worker; `indices` are their indices among all items."""

    checksum = signature = ""

    def __init__(self, ids: Sequence[str], indices: np.ndarray, vectors: np.ndarray) -> None:
        self.ids, self.indices, self._vectors = ids, indices, vectors

    @property
    def dimensions(self) -> int:
        return int(self._vectors.shape[1])

    @cached_property
    def norms(self) -> np.ndarray:
        return row_norms(self._vectors)

    def __len__(self) -> int:
        return len(self._vectors)

    def rows(self, start: int, stop: int) -> np.ndarray:
        return self._vectors[start:stop]

    def take(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        return self._vectors[np.asarray(indices, dtype=np.int64)]

    def _select(self, positions: np.ndarray, scores: np.ndarray | None = None) -> Matches:
        """Return the items at positions in the block."""
        ids = [self.ids[position] for position in positions.tolist()]
        scores = np.zeros(len(positions)) if scores is None else scores
        return Matches(self.indices[positions], ids, self.take(positions), scores)

    # The passes over all blocks

    def with_ids(self, ids: frozenset[str]) -> list[Matches]:
        """Return the items that have one of the ids."""
        return [self._select(np.flatnonzero([name in ids for name in self.ids]))]

    def sample(self, size: int) -> list[Matches]:
        """Return the items with a vector other than zero whose ids have the smallest hashes."""
        positions = np.flatnonzero(self.norms)
        return [self._select(positions[by_hash(self.ids[position] for position in positions.tolist())[:size]])]

    def best(self, plans: Sequence[Plan], top: int, excluded: Sequence[frozenset[int]]) -> list[Matches]:
        """Return the best items of each plan."""
        local = [frozenset(np.flatnonzero(np.isin(self.indices, list(indices))).tolist()) for indices in excluded]
        return [self._select(ranking.indices, ranking.scores) for ranking in search(self, plans, top, excluded=local)]


_read_vectors = partial(read_blocks, block=VECTORS_PER_BLOCK, max_bytes=MAX_BLOCK_BYTES)


class _SearchWorker:
    """A Ray actor that reads spans and calls a method of each of their blocks, a pass, with its arguments."""

    def __init__(self, columns: Sequence[str], dimensions: int, method: str, *arguments: Any) -> None:
        self.columns, self.dimensions, self.run_pass = columns, dimensions, methodcaller(method, *arguments)

    def run(self, span: BlockSpan) -> list[list[Matches]] | str:
        """Return the matches in each block, or the message of the error that ended the span."""
        try:
            return [self.run_pass(block) for block in self._blocks(span)]
        except INPUT_ERRORS as error:
            return f"{span.name}: {error}"

    def _blocks(self, span: BlockSpan) -> Iterator[VectorBlock]:
        """Yield the items with a vector; vectors must be finite and have the right number of dimensions."""
        id_column, vector_column = self.columns
        for number, table in _read_vectors(span, self.columns):
            rows = np.flatnonzero(np.asarray(table.column(vector_column).is_valid()))
            if not len(rows):
                continue
            with_vector = table.take(rows) if len(rows) < len(table) else table
            vectors = vector_rows(with_vector.column(vector_column))
            if vectors.shape[1] != self.dimensions:
                counts = f"{vectors.shape[1]} numbers, but those of the first file {self.dimensions}"
                raise InputError(f"its vectors have {counts}")
            if not np.isfinite(vectors).all():
                raise InputError(f"a vector of row group {span.group} is not finite")
            ids = [str(name) for name in column_values(with_vector.column(id_column))]
            indices = rows + span.start + number * VECTORS_PER_BLOCK
            yield VectorBlock(ids, indices, rescale_extreme_rows(vectors))


class ParquetCollection(IdCollection):
    """Items with ids and vectors in Parquet files, searched by the actors of a Ray cluster.

    Args:
        ray: the module `ray`, connected to a cluster (see `cluster`).
        pattern: the files, such as "shards/*.parquet".
        columns: the names of the columns with ids and vectors.
        embed: function from texts to vectors (n, d), such as `softset.load_encoder(...).embed`; without it, examples
            must be ids.
        encoder: the name of the encoder, for the signature.
        workers: the number of actors.
    """

    checksum = ""

    def __init__(
        self,
        ray: Any,
        pattern: str,
        *,
        columns: Sequence[str] = COLUMNS,
        embed: Embed | None = None,
        encoder: str = "none",
        workers: int = 2,
    ) -> None:
        self._ray, self._workers, self._columns = ray, workers, columns
        self._embed, self._encoder = embed, encoder
        self._spans = list_spans(pattern, self._columns, block=VECTORS_PER_BLOCK)
        self._size, self._dimensions = _measure(self._spans, self._columns)
        self._hits: dict[int, tuple[str, np.ndarray]] = {}  # id and vector of the results of the last search

    @property
    def dimensions(self) -> int:
        """The number of dimensions d."""
        return self._dimensions

    def _text_encoder(self) -> Embed | None:
        return self._embed

    @property
    def encoder(self) -> str:
        """The name of the encoder."""
        return self._encoder

    @property
    def signature(self) -> str:
        """A description of everything that results depend on."""
        files = len({span.path for span in self._spans})
        return f"shards:{files}|items:{len(self)}|d:{self.dimensions}|encoder:{self._encoder}"

    def __len__(self) -> int:
        return self._size

    def _run(self, method: str, *arguments: Any) -> Iterator[list[Matches]]:
        """Call a method of all blocks and yield the matches of each."""
        settings = (self._columns, self.dimensions, method, *arguments)
        for result in map_spans(self._ray, _SearchWorker, self._spans, self._workers, *settings):
            if isinstance(result, str):
                raise FileError(result)
            yield from result

    @property
    def norms(self) -> np.ndarray:
        """Not available: raises InputError."""
        raise InputError(NOT_LISTED)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Raise InputError: the items are in the memory of the workers."""
        raise InputError(f"items {start} to {stop} cannot be listed: {NOT_LISTED}")

    @cached_property
    def background(self) -> Background:
        """The background that scores are compared with: the items whose ids have the smallest hashes."""
        ids, rows = list[str](), np.zeros((0, self.dimensions), dtype=np.float32)
        for [matches] in self._run("sample", background.SIZE):
            ids, rows = ids + matches.ids, np.concatenate([rows, matches.vectors])
            first = by_hash(ids)[: background.SIZE]
            ids, rows = [ids[index] for index in first.tolist()], rows[first]
        return make_background(len(rows), lambda: Sample(rows), self._embed)

    # Queries

    def resolve_ids(self, ids: Sequence[str]) -> dict[str, Resolved]:
        """Return the vectors of those ids that items have, by one pass."""
        resolved: dict[str, Resolved] = {}
        for [matches] in self._run("with_ids", frozenset(ids)):
            for name, index, row in zip(matches.ids, matches.indices.tolist(), matches.vectors, strict=True):
                resolved.setdefault(name, Resolved(row, "exact match", (index,)))
        return resolved

    def rank(
        self, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]], stop: int | None = None
    ) -> list[Ranking]:
        """Return the best items of each plan, merged from the best items of each block."""
        if stop is not None:
            raise InputError("restrict_vocab is for word vectors: name fewer files")
        self._hits = {}
        blocks = list(self._run("best", plans, top, excluded))
        return [self._merge(parts, top) for parts in zip(*blocks, strict=True)]

    def _merge(self, parts: Sequence[Matches], top: int) -> Ranking:
        """Return the best items of all blocks, and remember their ids and vectors."""
        indices, scores = (np.concatenate([getattr(part, name) for part in parts]) for name in ("indices", "scores"))
        ranking = Ranking.of(indices, scores, top)
        best = set(ranking.indices.tolist())
        for part in parts:
            rows = zip(part.indices.tolist(), part.ids, part.vectors, strict=True)
            self._hits |= {index: (name, vector) for index, name, vector in rows if index in best}
        return ranking

    def take(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors (k, d) of results of the last search."""
        if missing := [index for index in map(int, indices) if index not in self._hits]:
            raise InputError(f"item {missing[0]} is not a result of the last search: find again with explain=True")
        return np.stack([self._hits[int(index)][1] for index in indices])

    def item(self, index: int) -> Item:
        """Return a result of the last search."""
        return Item(self._hits[index][0])


def _measure(spans: Sequence[BlockSpan], columns: Sequence[str]) -> tuple[int, int]:
    """Return the number of items and of dimensions; the first vector decides the latter."""
    import pyarrow.parquet as pq

    last = spans[-1]
    with pq.ParquetFile(last.path) as file:
        size = last.start + file.metadata.row_group(last.group).num_rows
    blocks = (table for span in spans for _, table in _read_vectors(span, columns))
    vector_columns = (table.column(columns[1]) for table in blocks)
    vectors = next((column.drop_null() for column in vector_columns if column.null_count < len(column)), None)
    dimensions = 0 if vectors is None else int(vector_rows(vectors.slice(0, 1)).shape[1])
    if not dimensions:
        raise InputError(f"no row of {spans[0].path} and the other files has a vector")
    return size, dimensions
