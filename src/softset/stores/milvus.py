"""Store in Milvus: a file (Milvus Lite), a server or a cluster, with the same client."""

import json
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softset.algebra.arrays import row_norms, unit_rows
from softset.collections.schema import parse_schema
from softset.errors import FileError, InputError
from softset.io.text import import_extra
from softset.query.field_types import FieldType
from softset.query.filter_parser import Condition
from softset.stores.base import BACKGROUND, Neighbours, Record, call_engine
from softset.stores.filters import milvus_text, to_milvus

MAX_ID_BYTES, MAX_TEXT_BYTES = 512, 65_535  # limits of Milvus
MAX_NEIGHBOURS = 16_384  # limit of Milvus
RECORDS_PER_CALL, IDS_PER_CALL = 1_000, 10_000
MAX_COMPARED = 4_096  # up to so many items that match a filter are compared one by one: 6 MB with 384 dimensions
EF = 512  # candidates of a graph search: recall is more important than speed
TIMEOUT = 10.0  # seconds
POLL_INTERVAL = 0.5  # seconds
INDEX_TIMEOUT = 300.0  # seconds without progress
PROPERTY, FIELDS = "softset.encoder", "softset.fields"
INDEX = {"index_type": "HNSW", "metric_type": "IP", "params": {"M": 16, "efConstruction": 200}}


class MilvusStore:
    """A Milvus collection; its vectors are scaled to length 1, so that inner products are cosines."""

    max_neighbours = MAX_NEIGHBOURS

    def __init__(self, client: Any, collection: str, *, is_file: bool) -> None:
        self._client, self.name, self._is_file = client, collection, is_file
        description = self._call(lambda: client.describe_collection(collection))
        fields = {field["name"]: field for field in description["fields"]}
        try:
            self.dimensions = int(fields["vector"]["params"]["dim"])
            self.encoder = str(description["properties"][PROPERTY])
            self.fields = parse_schema(json.loads(description["properties"].get(FIELDS, "{}")))
        except (KeyError, ValueError, TypeError, AttributeError):
            raise FileError(
                f"the Milvus collection {collection!r} was not created by softset: choose another name"
            ) from None
        self._call(lambda: client.load_collection(collection))

    @classmethod
    def open(cls, uri: str, collection: str) -> "MilvusStore":
        """Open a collection."""
        if _is_file(uri) and not Path(uri).exists():
            raise InputError(f"there is no {uri}: name the file of a Milvus Lite collection, or a server's address")
        client = _client(uri)
        if not call_engine("Milvus", lambda: client.has_collection(collection)):
            existing = ", ".join(sorted(call_engine("Milvus", client.list_collections))) or "none"
            raise InputError(f"there is no collection {collection!r} at {uri}; existing: {existing}")
        return cls(client, collection, is_file=_is_file(uri))

    @classmethod
    def create(cls, uri: str, collection: str, dimensions: int, encoder: str) -> "MilvusStore":
        """Create a collection, or open an existing one."""
        return cls._create(_client(uri), collection, dimensions, encoder, is_file=_is_file(uri))

    @classmethod
    def _create(cls, client: Any, collection: str, dimensions: int, encoder: str, *, is_file: bool) -> "MilvusStore":
        from pymilvus import DataType

        if not call_engine("Milvus", lambda: client.has_collection(collection)):
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=MAX_ID_BYTES)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimensions)
            schema.add_field("length", DataType.FLOAT)
            schema.add_field("text", DataType.VARCHAR, max_length=MAX_TEXT_BYTES)
            schema.add_field("metadata", DataType.JSON)
            index = client.prepare_index_params()
            index.add_index("vector", **INDEX)
            call_engine("Milvus", lambda: client.drop_collection(collection + BACKGROUND))
            options = {"schema": schema, "index_params": index, "properties": {PROPERTY: encoder}}
            call_engine("Milvus", lambda: client.create_collection(collection, **options))
        return cls(client, collection, is_file=is_file)

    def _call(self, call: Any) -> Any:
        return call_engine("Milvus", call, f" in the collection {self.name!r}")

    def __len__(self) -> int:
        return int(self._query("", "count(*)")[0]["count(*)"])

    def _query(self, selection: str, *fields: str) -> list[dict[str, Any]]:
        options = {"filter": selection, "output_fields": list(fields), "consistency_level": "Strong"}
        return list(self._call(lambda: self._client.query(self.name, **options)))

    def nearest(self, vectors: np.ndarray, count: int, condition: Condition | None) -> list[Neighbours]:
        """Return the (approximately) nearest items of each vector; if few items match a filter, exactly the nearest.

        If few items match, a graph search of Milvus Lite does not reach all of them.
        """
        selection = "" if condition is None else to_milvus(condition, list(self.fields))
        if selection and int(self._query(selection, "count(*)")[0]["count(*)"]) <= MAX_COMPARED:
            return _nearest_rows(self._query(selection, "id", "vector"), vectors, count)
        results = self._call(
            lambda: self._client.search(
                self.name,
                data=vectors.astype(np.float32).tolist(),
                limit=min(count, MAX_NEIGHBOURS),
                filter=selection,
                anns_field="vector",
                search_params={"metric_type": "IP", "params": {"ef": max(EF, min(count, MAX_NEIGHBOURS))}},
                consistency_level="Strong",
            )
        )
        return [
            Neighbours([str(hit["id"]) for hit in hits], np.array([hit["distance"] for hit in hits], dtype=np.float64))
            for hits in results
        ]

    def fetch(self, ids: Sequence[str]) -> list[Record]:
        """Return the items with these ids."""
        fields = ("id", "vector", "length", "text", "metadata")
        return [_record(row) for selection in _id_filters(ids) for row in self._query(selection, *fields)]

    def declare(self, fields: Mapping[str, FieldType]) -> None:
        """Record the types of all metadata fields."""
        if dict(fields) != self.fields:
            self.fields = dict(fields)
            properties = {FIELDS: json.dumps(self.fields)}
            self._call(lambda: self._client.alter_collection_properties(self.name, properties=properties))

    def add(self, records: Sequence[Record]) -> None:
        """Add items; items with the same ids are replaced."""
        for start in range(0, len(records), RECORDS_PER_CALL):
            rows = [_row(record) for record in records[start : start + RECORDS_PER_CALL]]
            self._call(lambda rows=rows: self._client.upsert(self.name, rows))

    def remove(self, ids: Sequence[str]) -> None:
        """Delete the items with these ids."""
        for selection in _id_filters(ids):
            self._call(lambda selection=selection: self._client.delete(self.name, filter=selection))

    def ids(self) -> Iterator[str]:
        """Yield the ids of all items."""
        options = {"output_fields": ["id"], "batch_size": IDS_PER_CALL, "consistency_level": "Strong"}
        iterator = self._call(lambda: self._client.query_iterator(self.name, **options))
        while rows := self._call(iterator.next):
            yield from (str(row["id"]) for row in rows)
        iterator.close()

    def companion(self, *, create: bool = False) -> "MilvusStore | None":
        """Return the collection with the background."""
        name = self.name + BACKGROUND
        if not create and not self._call(lambda: self._client.has_collection(name)):
            return None
        return self._create(self._client, name, self.dimensions, self.encoder, is_file=self._is_file)

    def finish(self) -> None:
        """Flush the added items and wait for the index.

        A server answers searches meanwhile. A Milvus Lite file builds its index in the background, so the collection is
        released (not searchable) until its index is complete.
        """
        if self._is_file:
            self._call(lambda: self._client.release_collection(self.name))
        self._call(lambda: self._client.flush(self.name))
        self._wait_for_index()
        if self._is_file:
            self._call(lambda: self._client.load_collection(self.name))

    def _wait_for_index(self) -> None:
        """Wait until the index has all items; raise InputError if it makes no progress for `INDEX_TIMEOUT`."""
        pending, changed = -1, time.monotonic()
        while pending:
            description = self._call(lambda: self._client.describe_index(self.name, "vector"))
            before, pending = pending, int(description.get("pending_index_rows", 0))
            if pending != before:
                changed = time.monotonic()
            elif time.monotonic() - changed > INDEX_TIMEOUT:
                problem = f"its index has not made progress for {INDEX_TIMEOUT:.0f} s, with {pending:,} items left"
                raise InputError(f"Milvus has all items of {self.name!r}, but {problem}: check the server, then repeat")
            time.sleep(POLL_INTERVAL if pending else 0)


def _nearest_rows(rows: Sequence[dict[str, Any]], vectors: np.ndarray, count: int) -> list[Neighbours]:
    """Return the nearest of some rows for each unit vector (k, d)."""
    if not rows:
        return [Neighbours([], np.zeros(0)) for _ in vectors]
    cosines = vectors.astype(np.float64) @ np.array([row["vector"] for row in rows], dtype=np.float64).T
    orders = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
    return [
        Neighbours([str(rows[index]["id"]) for index in order], values[order])
        for order, values in zip(orders, cosines, strict=True)
    ]


def _id_filters(ids: Sequence[str]) -> Iterator[str]:
    """Yield filter expressions that select the ids, in batches; the client's own `get` does not escape quotes."""
    for start in range(0, len(ids), RECORDS_PER_CALL):
        quoted = ", ".join(map(milvus_text, ids[start : start + RECORDS_PER_CALL]))
        yield f"id in [{quoted}]"


def _row(record: Record) -> dict[str, Any]:
    if len(record.id.encode()) > MAX_ID_BYTES or len(record.text.encode()) > MAX_TEXT_BYTES:
        raise InputError(f"the item {record.id[:40]!r} has an id or a text that is too long for Milvus: shorten it")
    if not _fits(record.metadata):
        raise InputError(f"the metadata of the item {record.id[:40]!r} has an integer of more than 64 bits: shorten it")
    return {
        "id": record.id,
        "vector": unit_rows(record.vector, np.float32).tolist(),
        "length": float(row_norms(record.vector[None, :].astype(np.float64))[0]),
        "text": record.text,
        "metadata": record.metadata,
    }


def _fits(value: Any) -> bool:
    """Return whether Milvus can store a JSON value; larger integers are changed without an error."""
    if isinstance(value, dict | list):
        return all(map(_fits, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _record(row: dict[str, Any]) -> Record:
    vector = np.asarray(row["vector"], dtype=np.float32) * np.float32(row["length"])
    return Record(str(row["id"]), str(row["text"]), dict(row["metadata"] or {}), vector)


def _is_file(uri: str) -> bool:
    return "://" not in uri


def _check_writable(path: Path) -> None:
    """Raise FileError if the folder is read-only: Milvus Lite writes a lock even to read, with an unclear error."""
    folder = path if path.exists() else path.parent
    if folder.is_dir() and not os.access(folder, os.W_OK):
        raise FileError(f"Milvus Lite cannot write to {folder} (permission denied): name another file")


def _client(uri: str) -> Any:
    pymilvus = import_extra("pymilvus", "stores in Milvus need pymilvus: pip install 'softset[milvus]'")
    if _is_file(uri):
        _check_writable(Path(uri))
    for name in ("pymilvus", "milvus_lite"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # they log the exceptions that they raise
    return call_engine("Milvus", lambda: pymilvus.MilvusClient(uri, timeout=TIMEOUT), f" at {uri}")
