"""Search over vectors in Parquet files, on Ray: each task finds its own best items, and the best of these are merged.

What a query needs to know of all items comes first, in passes of their own: the vectors of its examples, and a sample
that tells where sets end. Then one pass scores every item, exactly.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from softset.collections.id_collection import IdCollection
from softset.collections.segment import Embed
from softset.errors import FileError, InputError
from softset.jobs.embedding import rows_of
from softset.jobs.inputs import Span, read_blocks, spans_of, values_of
from softset.jobs.jobs import FAULTS, mapped
from softset.query.plan import Plan, Resolved
from softset.search.exact import Ranking, search
from softset.search.results import Item
from softset.search.source import MAX_UNSAMPLED, SAMPLE_SIZE, VectorSource
from softset.vectors.rows import row_norms

__all__ = ["Shards", "VectorColumns"]

BLOCK = 65_536  # vectors that are scored at once: 100 MB for 384 dimensions


class VectorColumns(NamedTuple):
    """Where ids and vectors are."""

    id: str = "id"
    vector: str = "vector"


class Found(NamedTuple):
    """Items that a task has found: their places among all, names, vectors (n, d), and scores where they have some."""

    places: np.ndarray
    names: list[str]
    vectors: np.ndarray
    scores: np.ndarray


class Block(VectorSource):
    """The items of one block, in a worker's memory."""

    checksum = signature = ""

    def __init__(self, names: Sequence[str], vectors: np.ndarray) -> None:
        self._names, self._vectors = names, vectors

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return int(self._vectors.shape[1])

    @cached_property
    def norms(self) -> np.ndarray:
        """The lengths (n,) of all vectors."""
        return row_norms(self._vectors)

    def __len__(self) -> int:
        return len(self._vectors)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors of consecutive items."""
        return self._vectors[start:stop]

    def take(self, places: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors of items at some places."""
        return self._vectors[np.asarray(places, dtype=np.int64)]


# What tasks do with a block


class Named(NamedTuple):
    """Finds the items of some names."""

    names: frozenset[str]

    def __call__(self, block: Block, names: list[str], places: np.ndarray) -> list[Found]:
        """Return them."""
        here = [at for at, name in enumerate(names) if name in self.names]
        return [_taken(block, names, places, here)]


class Placed(NamedTuple):
    """Finds the items at some places among all, which are sorted."""

    places: np.ndarray

    def __call__(self, block: Block, names: list[str], places: np.ndarray) -> list[Found]:
        """Return them."""
        return [_taken(block, names, places, np.flatnonzero(np.isin(places, self.places)).tolist())]


class Best(NamedTuple):
    """Finds the best items of each of some plans."""

    plans: Sequence[Plan]
    top: int
    excluded: Sequence[frozenset[int]]

    def __call__(self, block: Block, names: list[str], places: np.ndarray) -> list[Found]:
        """Return them, for each plan."""
        excluded = [frozenset(np.flatnonzero(np.isin(places, list(out))).tolist()) for out in self.excluded]
        rankings = search(block, self.plans, self.top, excluded=excluded)
        return [_taken(block, names, places, one.indices.tolist(), one.scores) for one in rankings]


def _taken(
    block: Block, names: Sequence[str], places: np.ndarray, here: Sequence[int], scores: np.ndarray | None = None
) -> Found:
    found = scores if scores is not None else np.zeros(len(here))
    return Found(places[np.asarray(here, dtype=np.int64)], [names[at] for at in here], block.take(here), found)


class _Task:
    """An actor that reads spans and does something with each of their blocks."""

    def __init__(self, work: Any, columns: VectorColumns, dimensions: int) -> None:
        self.work, self.columns, self.dimensions = work, columns, dimensions

    def __call__(self, table: Any) -> Any:
        """Return what was found, or the sentence of the error that ended it."""
        import pyarrow as pa

        rows = [row for one in table.to_pylist() for row in self._span(Span(**one))]
        return pa.Table.from_pylist(rows, schema=_schema())

    def _span(self, span: Span) -> Iterator[dict[str, Any]]:
        try:
            for at, table in read_blocks(span, self.columns, block=BLOCK):
                there = np.flatnonzero(np.asarray(table.column(self.columns.vector).is_valid()))
                if not len(there):
                    continue
                some = table if len(there) == len(table) else table.take(there)
                names = [str(name) for name in values_of(some.column(self.columns.id))]
                block = Block(names, _checked(some.column(self.columns.vector), span, self.dimensions))
                for which, found in enumerate(self.work(block, names, there + span.start + at * BLOCK)):
                    if len(found.places):
                        yield _packed(which, found)
        except FAULTS as error:
            yield {"which": -1, "error": f"{span.name}: {error}"}


def _checked(column: Any, span: Span, dimensions: int) -> np.ndarray:
    rows = rows_of(column)
    if rows.shape[1] != dimensions:
        raise InputError(f"its vectors have {rows.shape[1]} numbers, but those of the first file {dimensions}")
    if not np.isfinite(rows).all():
        at = int(np.argwhere(~np.isfinite(rows))[0, 0])
        raise InputError(f"the vector of row {at} of a block of row group {span.group} has a number that is not finite")
    return rows


def _schema() -> Any:
    import pyarrow as pa

    arrays = [(name, pa.large_binary()) for name in ("places", "vectors", "scores")]
    return pa.schema([("which", pa.int64()), ("names", pa.list_(pa.string())), *arrays, ("error", pa.string())])


def _packed(which: int, found: Found) -> dict[str, Any]:
    arrays = {"places": found.places, "vectors": found.vectors.astype(np.float32), "scores": found.scores}
    return {"which": which, "names": found.names, **{name: one.tobytes() for name, one in arrays.items()}}


def _unpacked(row: dict[str, Any], dimensions: int) -> Found:
    vectors = np.frombuffer(row["vectors"], dtype=np.float32).reshape(-1, dimensions)
    numbers = np.frombuffer(row["places"], dtype=np.int64), np.frombuffer(row["scores"], dtype=np.float64)
    return Found(numbers[0], list(row["names"]), vectors, numbers[1])


class Shards(IdCollection):
    """Items whose ids and vectors are in Parquet files, searched by the actors of a Ray cluster.

    Args:
        ray: the module, connected: see `cluster`.
        pattern: the files, such as "shards/*.parquet".
        columns: where ids and vectors are.
        embed: what reads examples that are no ids, as `softset.load_encoder(...).embed`.
        encoder: its name, for the signature.
        workers: how many actors search.
    """

    checksum = ""

    def __init__(
        self,
        ray: Any,
        pattern: str,
        *,
        columns: Sequence[str] = VectorColumns(),
        embed: Embed | None = None,
        encoder: str = "none",
        workers: int = 2,
    ) -> None:
        self._ray, self._workers, self._columns = ray, workers, VectorColumns(*columns)
        self._embed, self._encoder = embed, encoder
        self._spans = spans_of(pattern, self._columns, block=BLOCK)
        self._size, self._dimensions = _measured(self._spans, self._columns)
        self._seen: dict[int, tuple[str, np.ndarray]] = {}

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return self._dimensions

    @property
    def encoder(self) -> str:
        """The name of what reads texts."""
        return self._encoder

    @property
    def signature(self) -> str:
        """What results depend on."""
        files = len({span.path for span in self._spans})
        return f"shards:{files}|items:{len(self)}|d:{self.dimensions}|encoder:{self._encoder}"

    def __len__(self) -> int:
        return self._size

    def _pass(self, work: Any) -> Iterator[tuple[int, Found]]:
        """Let tasks look at all items, and yield what they find."""
        given = (work, self._columns, self.dimensions)
        for row in mapped(self._ray, _Task, self._spans, self._workers, *given):
            if row["error"] is not None:
                raise FileError(row["error"])
            yield row["which"], _unpacked(row, self.dimensions)

    def _vectors_at(self, places: np.ndarray) -> np.ndarray:
        """Return the vectors (k, d) at some sorted places; a row without one is zero, and belongs to nothing."""
        rows = np.zeros((len(places), self.dimensions), dtype=np.float32)
        for _, found in self._pass(Placed(places)):
            rows[np.searchsorted(places, found.places)] = found.vectors
        return rows

    # What the borders of sets are sought among: all items if they are few, or a sample

    @cached_property
    def _few(self) -> Block:
        if len(self) > MAX_UNSAMPLED:
            raise InputError(f"{len(self):,} items do not fit into the memory of one process")
        return Block([], self._vectors_at(np.arange(len(self))))

    @property
    def norms(self) -> np.ndarray:
        """The lengths (n,) of all vectors, where they are few."""
        return self._few.norms

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors of consecutive items, where all are few."""
        return self._few.rows(start, stop)

    @cached_property
    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Some of many items, scaled to length 1 (m, d), and their places (m,)."""
        places = np.linspace(0, len(self) - 1, SAMPLE_SIZE).astype(np.int64)
        distinct, back = np.unique(places, return_inverse=True)
        rows = self._vectors_at(distinct)[back]
        lengths = row_norms(rows)[:, None]
        return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32), places

    # Queries

    def resolve_ids(self, ids: Sequence[str]) -> dict[str, Resolved]:
        """Return those of some ids that items have; one pass finds all."""
        known: dict[str, Resolved] = {}
        for _, found in self._pass(Named(frozenset(ids))):
            for name, place, row in zip(found.names, found.places.tolist(), found.vectors, strict=True):
                known.setdefault(name, Resolved(row, "exact match", (place,)))
        return known

    def rank(
        self, plans: Sequence[Plan], top: int, *, excluded: Sequence[frozenset[int]], stop: int | None = None
    ) -> list[Ranking]:
        """Return the best items of each plan: of those that are best in their blocks."""
        if stop is not None:
            raise InputError("a search over shards cannot be restricted: name fewer files")
        parts: list[list[Found]] = [[] for _ in plans]
        for which, found in self._pass(Best(plans, top, excluded)):
            parts[which].append(found)
        return [self._merged(some, top) for some in parts]

    def _merged(self, parts: Sequence[Found], top: int) -> Ranking:
        if not parts:
            return Ranking.empty()
        places, scores = (np.concatenate([getattr(one, name) for one in parts]) for name in ("places", "scores"))
        order = np.lexsort((places, -scores.round(12)))[:top]
        names = [name for one in parts for name in one.names]
        vectors = np.concatenate([one.vectors for one in parts])
        self._seen |= {int(places[at]): (names[at], vectors[at]) for at in order.tolist()}
        return Ranking(places[order], scores[order])

    def take(self, places: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors of items that were found."""
        return np.stack([self._seen[place][1] for place in places])

    def item(self, place: int) -> Item:
        """Return the name of an item that was found."""
        return Item(self._seen[place][0])


def _measured(spans: Sequence[Span], columns: VectorColumns) -> tuple[int, int]:
    """Return how many items there are, and of how many dimensions their vectors are, by the first of them."""
    import pyarrow.parquet as pq

    last = spans[-1]
    with pq.ParquetFile(last.path) as file:
        size = last.start + file.metadata.row_group(last.group).num_rows
    blocks = (table.column(columns.vector) for span in spans for _, table in read_blocks(span, columns, block=BLOCK))
    some = next((column.drop_null() for column in blocks if column.null_count < len(column)), None)
    if some is None:
        raise InputError(f"no row of {spans[0].path} and those beside it has a vector")
    dimensions = int(rows_of(some.slice(0, 1)).shape[1])
    if not dimensions:
        raise InputError(f"{spans[0].path} has an empty vector in its first row")
    return size, dimensions
