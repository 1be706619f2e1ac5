"""Store in LanceDB, an embedded database in a folder."""

import json
import os
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from softset.errors import FileError, InputError, MissingExtraError
from softset.stores.base import Neighbours, Record, call_engine

MAX_NEIGHBOURS = 100_000
IDS_PER_CALL = 1_000
MIN_INDEXED = 5_000  # smaller tables are searched without an index
MIN_LISTS = 64  # lists of the inverted file that a search reads
LIST_FACTOR = 16  # times as many lists as would hold all neighbours


class LanceStore:
    """A collection in a LanceDB table."""

    max_neighbours = MAX_NEIGHBOURS

    def __init__(self, table: Any, name: str) -> None:
        self._table, self.name = table, name
        schema = table.schema
        try:
            self.dimensions = int(schema.field("vector").type.list_size)
            self.encoder = str((schema.metadata or {})[b"softset encoder"].decode())
        except (KeyError, AttributeError):
            raise FileError(f"the LanceDB table {name!r} was not created by softset: choose another name") from None

    @classmethod
    def open(cls, uri: str, collection: str) -> "LanceStore":
        """Open a collection."""
        if "://" not in uri and not Path(uri).is_dir():
            raise InputError(f"there is no folder {uri} with LanceDB tables")
        database = _database(uri)
        names = _table_names(database)
        if collection not in names:
            existing = ", ".join(sorted(names)) or "none"
            raise InputError(f"there is no collection {collection!r} at {uri}; existing: {existing}")
        return cls(call_engine("LanceDB", lambda: database.open_table(collection)), collection)

    @classmethod
    def create(cls, uri: str, collection: str, dimensions: int, encoder: str) -> "LanceStore":
        """Create a collection, or open an existing one."""
        import pyarrow as pa

        database = _database(uri)
        if collection not in _table_names(database):
            fields = [("id", pa.string()), ("vector", pa.list_(pa.float32(), dimensions)), ("text", pa.string())]
            schema = pa.schema([*fields, ("metadata", pa.string())], metadata={"softset encoder": encoder})
            call_engine("LanceDB", lambda: database.create_table(collection, schema=schema))
        return cls(call_engine("LanceDB", lambda: database.open_table(collection)), collection)

    def __len__(self) -> int:
        return int(call_engine("LanceDB", self._table.count_rows))

    def nearest(self, vectors: np.ndarray, count: int, where: str | None) -> list[Neighbours]:
        """Return the (approximately) nearest items of each vector."""
        lists = max(MIN_LISTS, round(LIST_FACTOR * count / max(1, len(self)) ** 0.5))
        neighbours = []
        for vector in vectors.astype(np.float32):
            search = self._table.search(vector, vector_column_name="vector").distance_type("cosine").limit(count)
            search = search.nprobes(lists).select(["id", "_distance"])
            if where:
                search = search.where(where, prefilter=True)
            table = call_engine("LanceDB", search.to_arrow)
            cosines = 1 - np.asarray(table["_distance"], dtype=np.float64)
            neighbours.append(Neighbours([str(name) for name in table["id"].to_pylist()], cosines))
        return neighbours

    def fetch(self, ids: Sequence[str]) -> list[Record]:
        """Return the items with these ids."""
        rows: list[dict[str, Any]] = []
        for start in range(0, len(ids), IDS_PER_CALL):
            batch = ids[start : start + IDS_PER_CALL]
            search = self._table.search().where(_id_filter(batch)).limit(len(batch))
            rows += call_engine("LanceDB", search.to_arrow).to_pylist()
        return [
            Record(row["id"], row["text"], json.loads(row["metadata"]), np.asarray(row["vector"], dtype=np.float32))
            for row in rows
        ]

    def add(self, records: Sequence[Record]) -> None:
        """Add items; items with the same ids are replaced."""
        import pyarrow as pa

        rows = [
            {"id": name, "vector": vector.tolist(), "text": text, "metadata": json.dumps(metadata)}
            for name, text, metadata, vector in records
        ]
        table = pa.Table.from_pylist(rows, schema=self._table.schema)
        merge = self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        call_engine("LanceDB", lambda: merge.execute(table))

    def remove(self, ids: Sequence[str]) -> None:
        """Delete the items with these ids."""
        for start in range(0, len(ids), IDS_PER_CALL):
            call_engine("LanceDB", partial(self._table.delete, _id_filter(ids[start : start + IDS_PER_CALL])))

    def finish(self) -> None:
        """Build the index, if there are enough items for one."""
        if len(self) < MIN_INDEXED:
            return
        from lancedb.index import IvfFlat

        lists = max(1, round(len(self) ** 0.5))
        index = IvfFlat(distance_type="cosine", num_partitions=lists)
        call_engine("LanceDB", lambda: self._table.create_index("vector", config=index, replace=True))


def _id_filter(ids: Sequence[str]) -> str:
    quoted = ", ".join("'" + name.replace("'", "''") + "'" for name in ids)
    return f"id in ({quoted})"


def _database(uri: str) -> Any:
    os.environ.setdefault("LANCEDB_LOG", "error")  # it warns about each empty list of an index
    try:
        import lancedb
    except ImportError as error:
        raise MissingExtraError("stores in LanceDB need lancedb: pip install 'softset[lance]'") from error
    # Without an interval, a table would not see the changes of other processes.
    return call_engine("LanceDB", lambda: lancedb.connect(uri, read_consistency_interval=timedelta(0)))


def _table_names(database: Any) -> list[str]:
    listing = call_engine("LanceDB", lambda: database.list_tables(limit=10_000))
    names: Iterable[Any] = getattr(listing, "tables", listing)
    return [str(name) for name in names]
