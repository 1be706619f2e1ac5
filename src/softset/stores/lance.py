"""Store in LanceDB, an embedded database in a folder."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from softset.collections.items import Item
from softset.collections.schema import with_dates
from softset.collections.tables import arrow_types
from softset.errors import FileError, InputError
from softset.io.text import import_extra
from softset.query.field_types import FieldType, plain_value
from softset.query.filter_parser import Condition
from softset.stores.base import BACKGROUND, Neighbours, Record, call_engine
from softset.stores.filters import column_name, field_name, sql_text, to_sql

MAX_NEIGHBOURS = 100_000
IDS_PER_CALL = 1_000
MIN_INDEXED = 5_000  # smaller tables are searched without an index
MIN_LISTS = 64  # smallest number of inverted lists that a search reads
LIST_FACTOR = 16  # a search reads this many times the lists that would hold all neighbours


class LanceStore:
    """A collection in a LanceDB table."""

    max_neighbours = MAX_NEIGHBOURS

    def __init__(self, database: Any, name: str) -> None:
        table = call_engine("LanceDB", lambda: database.open_table(name))
        self._database, self._table, self.name = database, table, name
        schema = table.schema
        try:
            self.dimensions = int(schema.field("vector").type.list_size)
            self.encoder = str((schema.metadata or {})[b"softset encoder"].decode())
            self.fields = _fields(schema)
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
        return cls(database, collection)

    @classmethod
    def create(cls, uri: str, collection: str, dimensions: int, encoder: str) -> "LanceStore":
        """Create a collection, or open an existing one."""
        return cls._create(_database(uri), collection, dimensions, encoder)

    @classmethod
    def _create(cls, database: Any, collection: str, dimensions: int, encoder: str) -> "LanceStore":
        import pyarrow as pa

        if collection not in _table_names(database):
            fields = [("id", pa.string()), ("vector", pa.list_(pa.float32(), dimensions)), ("text", pa.string())]
            schema = pa.schema([*fields, ("metadata", pa.string())], metadata={"softset encoder": encoder})
            call_engine("LanceDB", lambda: database.drop_table(collection + BACKGROUND, ignore_missing=True))
            call_engine("LanceDB", lambda: database.create_table(collection, schema=schema))
        return cls(database, collection)

    def __len__(self) -> int:
        return int(call_engine("LanceDB", self._table.count_rows))

    def nearest(self, vectors: np.ndarray, count: int, condition: Condition | None) -> list[Neighbours]:
        """Return the (approximately) nearest items of each vector."""
        lists = max(MIN_LISTS, round(LIST_FACTOR * count / max(1, len(self)) ** 0.5))
        neighbours = []
        for vector in vectors.astype(np.float32):
            search = self._table.search(vector, vector_column_name="vector").distance_type("cosine").limit(count)
            search = search.nprobes(lists).select(["id", "_distance"])
            if condition is not None:
                search = search.where(to_sql(condition, list(self.fields)), prefilter=True)
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
        return [self._record(row) for row in rows]

    def _record(self, row: dict[str, Any]) -> Record:
        """Return an item; its fields have the values that filters see."""
        metadata = json.loads(row["metadata"])
        columns = {name: row[column_name(name)] for name in metadata if name in self.fields}
        return Record(
            row["id"], row["text"], metadata | plain_value(columns), np.asarray(row["vector"], dtype=np.float32)
        )

    def declare(self, fields: Mapping[str, FieldType]) -> None:
        """Add a column for each new field."""
        import pyarrow as pa

        types = arrow_types()
        new = {name: types[kind] for name, kind in fields.items() if kind in types and name not in self.fields}
        if new:
            columns = [pa.field(column_name(name), kind) for name, kind in new.items()]
            call_engine("LanceDB", lambda: self._table.add_columns(columns))
        wider = [name for name, kind in self.fields.items() if kind == "integer" and fields.get(name) == "number"]
        if wider:
            changes = [{"path": column_name(name), "data_type": pa.float64()} for name in wider]
            call_engine("LanceDB", lambda: self._table.alter_columns(*changes))
        self.fields = _fields(self._table.schema)

    def add(self, records: Sequence[Record]) -> None:
        """Add items; items with the same ids are replaced."""
        import pyarrow as pa

        rows = [
            {"id": name, "vector": vector.tolist(), "text": text, "metadata": json.dumps(metadata)}
            | self._columns(name, metadata)
            for name, text, metadata, vector in records
        ]
        table = call_engine("LanceDB", lambda: pa.Table.from_pylist(rows, schema=self._table.schema))
        merge = self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        call_engine("LanceDB", lambda: merge.execute(table))

    def _columns(self, item_id: str, metadata: dict[str, Any]) -> dict[str, Any]:
        item = with_dates(Item(item_id, "", metadata), self.fields)
        if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in metadata.values()):
            raise InputError(
                f"the metadata of the item {item_id[:40]!r} has an integer of more than 64 bits: shorten it"
            )
        return {column_name(name): value for name, value in item.metadata.items() if name in self.fields}

    def remove(self, ids: Sequence[str]) -> None:
        """Delete the items with these ids."""
        for start in range(0, len(ids), IDS_PER_CALL):
            call_engine("LanceDB", partial(self._table.delete, _id_filter(ids[start : start + IDS_PER_CALL])))

    def ids(self) -> Iterable[str]:
        """Return the ids of all items."""
        return [
            str(name) for name in call_engine("LanceDB", self._table.search().select(["id"]).to_arrow)["id"].to_pylist()
        ]

    def companion(self, *, create: bool = False) -> "LanceStore | None":
        """Return the table with the background."""
        name = self.name + BACKGROUND
        if not create and name not in _table_names(self._database):
            return None
        return self._create(self._database, name, self.dimensions, self.encoder)

    def finish(self) -> None:
        """Build the index, if there are enough items for one."""
        if len(self) < MIN_INDEXED:
            return
        from lancedb.index import IvfFlat

        lists = max(1, round(len(self) ** 0.5))
        index = IvfFlat(distance_type="cosine", num_partitions=lists)
        call_engine("LanceDB", lambda: self._table.create_index("vector", config=index, replace=True))


def _id_filter(ids: Sequence[str]) -> str:
    return f"id in ({', '.join(map(sql_text, ids))})"


def _fields(schema: Any) -> dict[str, FieldType]:
    """Return the types of the fields that have columns in a table."""
    kinds = {arrow: kind for kind, arrow in arrow_types().items()}
    names = {column.name: field_name(column.name) for column in schema}
    return {name: kinds[schema.field(column).type] for column, name in names.items() if name is not None}


def _database(uri: str) -> Any:
    os.environ.setdefault("LANCEDB_LOG", "error")  # it warns about each empty list of an index
    lancedb = import_extra("lancedb", "stores in LanceDB need lancedb: pip install 'softset[lance]'")
    # Without an interval, a table would not see the changes of other processes.
    return call_engine("LanceDB", lambda: lancedb.connect(uri, read_consistency_interval=timedelta(0)))


def _table_names(database: Any) -> list[str]:
    listing = call_engine("LanceDB", lambda: database.list_tables(limit=10_000))
    names: Iterable[Any] = getattr(listing, "tables", listing)
    return [str(name) for name in names]
