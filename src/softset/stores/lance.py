"""LanceDB as a store: a folder of tables."""

import json
import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from softset.errors import FileError, InputError, MissingExtraError
from softset.stores.asking import asked
from softset.stores.protocol import Neighbours, Record

__all__ = ["LanceStore"]

MOST = 100_000
AT_ONCE = 1_000
LEAST_INDEXED = 5_000  # items; fewer are looked at one by one
LEAST_LISTS = 64  # of the inverted file that are read for a probe
SPREAD = 16  # times as many lists as would hold the neighbours if each held nothing else


class LanceStore:
    """A collection in a table of LanceDB."""

    most = MOST

    def __init__(self, table: Any, name: str) -> None:
        self._table, self.name = table, name
        schema = table.schema
        try:
            self.dimensions = int(schema.field("vector").type.list_size)
            self.encoder = str((schema.metadata or {})[b"softset encoder"].decode())
        except (KeyError, AttributeError):
            raise FileError(f"the LanceDB table {name!r} was not made by softset: name another") from None

    @classmethod
    def open(cls, uri: str, collection: str) -> "LanceStore":
        """Open a collection."""
        if "://" not in uri and not Path(uri).is_dir():
            raise InputError(f"there is no folder {uri} with tables of LanceDB")
        database = _database(uri)
        known = _tables(database)
        if collection not in known:
            shown = ", ".join(sorted(known)) or "none"
            raise InputError(f"there is no collection {collection!r} at {uri}; there are: {shown}")
        return cls(asked("LanceDB", lambda: database.open_table(collection)), collection)

    @classmethod
    def create(cls, uri: str, collection: str, dimensions: int, encoder: str) -> "LanceStore":
        """Make a collection, or open one to go on with it."""
        import pyarrow as pa

        database = _database(uri)
        if collection not in _tables(database):
            fields = [("id", pa.string()), ("vector", pa.list_(pa.float32(), dimensions)), ("text", pa.string())]
            schema = pa.schema([*fields, ("metadata", pa.string())], metadata={"softset encoder": encoder})
            asked("LanceDB", lambda: database.create_table(collection, schema=schema))
        return cls(asked("LanceDB", lambda: database.open_table(collection)), collection)

    def __len__(self) -> int:
        return int(asked("LanceDB", self._table.count_rows))

    def nearest(self, probes: np.ndarray, count: int, where: str | None) -> list[Neighbours]:
        """Return about the nearest items to each probe."""
        lists = max(LEAST_LISTS, round(SPREAD * count / max(1, len(self)) ** 0.5))
        found = []
        for probe in probes.astype(np.float32):
            search = self._table.search(probe, vector_column_name="vector").distance_type("cosine").limit(count)
            search = search.nprobes(lists).select(["id", "_distance"])
            if where:
                search = search.where(where, prefilter=True)
            table = asked("LanceDB", search.to_arrow)
            cosines = 1 - np.asarray(table["_distance"], dtype=np.float64)
            found.append(Neighbours([str(one) for one in table["id"].to_pylist()], cosines))
        return found

    def fetch(self, ids: Sequence[str]) -> list[Record]:
        """Return the items of some ids."""
        rows: list[dict[str, Any]] = []
        for start in range(0, len(ids), AT_ONCE):
            some = ids[start : start + AT_ONCE]
            search = self._table.search().where(_among(some)).limit(len(some))
            rows += asked("LanceDB", search.to_arrow).to_pylist()
        return [
            Record(row["id"], row["text"], json.loads(row["metadata"]), np.asarray(row["vector"], dtype=np.float32))
            for row in rows
        ]

    def add(self, records: Sequence[Record]) -> None:
        """Add items, or replace those of the same ids."""
        import pyarrow as pa

        rows = [
            {"id": one.id, "vector": one.vector.tolist(), "text": one.text, "metadata": json.dumps(one.metadata)}
            for one in records
        ]
        table = pa.Table.from_pylist(rows, schema=self._table.schema)
        merge = self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        asked("LanceDB", lambda: merge.execute(table))

    def remove(self, ids: Sequence[str]) -> None:
        """Take items away."""
        for start in range(0, len(ids), AT_ONCE):
            asked("LanceDB", partial(self._table.delete, _among(ids[start : start + AT_ONCE])))

    def finish(self) -> None:
        """Make the index that searches use, if there are enough items for one."""
        if len(self) < LEAST_INDEXED:
            return
        from lancedb.index import IvfFlat

        lists = max(1, round(len(self) ** 0.5))
        index = IvfFlat(distance_type="cosine", num_partitions=lists)
        asked("LanceDB", lambda: self._table.create_index("vector", config=index, replace=True))


def _among(ids: Sequence[str]) -> str:
    listed = ", ".join("'" + one.replace("'", "''") + "'" for one in ids)
    return f"id in ({listed})"


def _database(uri: str) -> Any:
    os.environ.setdefault("LANCEDB_LOG", "error")  # it warns of each empty list of an index
    try:
        import lancedb
    except ImportError as error:
        raise MissingExtraError("collections in LanceDB need it: pip install 'softset[lance]'") from error
    return asked("LanceDB", lambda: lancedb.connect(uri))


def _tables(database: Any) -> list[str]:
    listed = asked("LanceDB", lambda: database.list_tables(limit=10_000))
    names: Iterable[Any] = getattr(listed, "tables", listed)
    return [str(one) for one in names]
