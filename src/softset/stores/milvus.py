"""Milvus as a store: a file (Milvus Lite), or the address of a server or cluster; the same client for both."""

import json
import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softset.errors import FileError, InputError, MissingExtraError
from softset.stores.asking import asked
from softset.stores.protocol import Neighbours, Record

__all__ = ["MilvusStore"]

LONGEST_ID, LONGEST_TEXT = 512, 65_535  # characters, by Milvus's own limits
MOST = 16_384  # neighbours that Milvus returns
AT_ONCE = 1_000  # records in one call
EF = 512  # candidates that a search of the graph keeps: recall before speed
PATIENCE = 10.0
PAUSE = 0.5  # between two looks at how far an index is
PROPERTY = "softset.encoder"
INDEX = {"index_type": "HNSW", "metric_type": "IP", "params": {"M": 16, "efConstruction": 200}}


class MilvusStore:
    """A collection in Milvus; vectors are kept at length 1, where inner products are cosines."""

    most = MOST

    def __init__(self, client: Any, collection: str, *, is_file: bool) -> None:
        self._client, self.name, self._is_file = client, collection, is_file
        facts = self._told(lambda: client.describe_collection(collection))
        fields = {one["name"]: one for one in facts["fields"]}
        try:
            self.dimensions = int(fields["vector"]["params"]["dim"])
            self.encoder = str(facts["properties"][PROPERTY])
        except (KeyError, ValueError, TypeError):
            raise FileError(f"the Milvus collection {collection!r} was not made by softset: name another") from None
        self._told(lambda: client.load_collection(collection))

    @classmethod
    def open(cls, uri: str, collection: str) -> "MilvusStore":
        """Open a collection."""
        if _is_file(uri) and not Path(uri).exists():
            raise InputError(f"there is no {uri}: name the file of a Milvus Lite collection, or a server's address")
        client = _client(uri)
        if not asked("Milvus", lambda: client.has_collection(collection)):
            known = ", ".join(sorted(asked("Milvus", client.list_collections))) or "none"
            raise InputError(f"there is no collection {collection!r} at {uri}; there are: {known}")
        return cls(client, collection, is_file=_is_file(uri))

    @classmethod
    def create(cls, uri: str, collection: str, dimensions: int, encoder: str) -> "MilvusStore":
        """Make a collection, or open one of the same encoder and dimensions, to go on with it."""
        from pymilvus import DataType

        client = _client(uri)
        if not asked("Milvus", lambda: client.has_collection(collection)):
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=LONGEST_ID)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimensions)
            schema.add_field("length", DataType.FLOAT)
            schema.add_field("text", DataType.VARCHAR, max_length=LONGEST_TEXT)
            schema.add_field("metadata", DataType.JSON)
            index = client.prepare_index_params()
            index.add_index("vector", **INDEX)
            noted = {PROPERTY: encoder}
            asked(
                "Milvus",
                lambda: client.create_collection(collection, schema=schema, index_params=index, properties=noted),
            )
        return cls(client, collection, is_file=_is_file(uri))

    def _told(self, call: Any) -> Any:
        return asked("Milvus", call, f" in the collection {self.name!r}")

    def __len__(self) -> int:
        rows = self._told(
            lambda: self._client.query(self.name, filter="", output_fields=["count(*)"], consistency_level="Strong")
        )
        return int(rows[0]["count(*)"])

    def nearest(self, probes: np.ndarray, count: int, where: str | None) -> list[Neighbours]:
        """Return about the nearest items to each probe."""
        found = self._told(
            lambda: self._client.search(
                self.name,
                data=probes.astype(np.float32).tolist(),
                limit=min(count, MOST),
                filter=where or "",
                anns_field="vector",
                search_params={"metric_type": "IP", "params": {"ef": max(EF, min(count, MOST))}},
                consistency_level="Strong",
            )
        )
        return [
            Neighbours([str(hit["id"]) for hit in hits], np.array([hit["distance"] for hit in hits], dtype=np.float64))
            for hits in found
        ]

    def fetch(self, ids: Sequence[str]) -> list[Record]:
        """Return the items of some ids."""
        rows: list[dict[str, Any]] = []
        for start in range(0, len(ids), AT_ONCE):
            some = list(ids[start : start + AT_ONCE])
            rows += self._told(
                lambda some=some: self._client.query(
                    self.name,
                    filter=f"id in {json.dumps(some, ensure_ascii=False)}",  # its own get puts quotes around quotes
                    output_fields=["id", "vector", "length", "text", "metadata"],
                    consistency_level="Strong",
                )
            )
        return [_record(row) for row in rows]

    def add(self, records: Sequence[Record]) -> None:
        """Add items, or replace those of the same ids."""
        for start in range(0, len(records), AT_ONCE):
            rows = [_row(one) for one in records[start : start + AT_ONCE]]
            self._told(lambda rows=rows: self._client.upsert(self.name, rows))

    def remove(self, ids: Sequence[str]) -> None:
        """Take items away."""
        for start in range(0, len(ids), AT_ONCE):
            some = list(ids[start : start + AT_ONCE])
            chosen = f"id in {json.dumps(some, ensure_ascii=False)}"
            self._told(lambda chosen=chosen: self._client.delete(self.name, filter=chosen))

    def finish(self) -> None:
        """Write what was added to where it stays, and index it.

        A server goes on answering while it does, and says when it is done. Milvus Lite says so at once, and indexes in
        the background: a file is closed to searches until its index is made.
        """
        if self._is_file:
            self._told(lambda: self._client.release_collection(self.name))
        self._told(lambda: self._client.flush(self.name))
        while self._told(lambda: self._client.describe_index(self.name, "vector")).get("pending_index_rows", 0):
            time.sleep(PAUSE)
        if self._is_file:
            self._told(lambda: self._client.load_collection(self.name))


def _row(record: Record) -> dict[str, Any]:
    if len(record.id.encode()) > LONGEST_ID or len(record.text.encode()) > LONGEST_TEXT:
        raise InputError(f"the item {record.id[:40]!r} has an id or a text that is too long for Milvus: shorten it")
    if not _fits(record.metadata):
        raise InputError(
            f"the metadata of the item {record.id[:40]!r} has a whole number of more than 64 bits: shorten it"
        )
    length = float(np.linalg.norm(record.vector.astype(np.float64)))
    unit = record.vector / length if length else record.vector
    return {
        "id": record.id,
        "vector": unit.astype(np.float32).tolist(),
        "length": length,
        "text": record.text,
        "metadata": record.metadata,
    }


def _fits(value: Any) -> bool:
    """Tell whether Milvus can hold some JSON."""
    if isinstance(value, dict | list):
        return all(map(_fits, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _record(row: dict[str, Any]) -> Record:
    vector = np.asarray(row["vector"], dtype=np.float32) * np.float32(row["length"])
    return Record(str(row["id"]), str(row["text"]), dict(row["metadata"] or {}), vector)


def _is_file(uri: str) -> bool:
    return "://" not in uri


def _check_writable(path: Path) -> None:
    """Refuse what Milvus Lite would only say that it cannot open; it writes a lock, even to read."""
    folder = path if path.exists() else path.parent
    if folder.is_dir() and not os.access(folder, os.W_OK):
        raise FileError(f"{folder} may not be written (permission denied), and Milvus Lite must: name another file")


def _client(uri: str) -> Any:
    try:
        from pymilvus import MilvusClient
    except ImportError as error:
        raise MissingExtraError("collections in Milvus need its client: pip install 'softset[milvus]'") from error
    if _is_file(uri):
        _check_writable(Path(uri))
    for name in ("pymilvus", "milvus_lite"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # they log what they raise, with all their frames
    return asked("Milvus", lambda: MilvusClient(uri, timeout=PATIENCE), f" at {uri}")
