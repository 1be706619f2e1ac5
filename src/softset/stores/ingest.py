"""Add items to a store in blocks; unchanged items are skipped, so that an interrupted run can be repeated."""

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

import numpy as np

from softset.collections.embedder import Embed
from softset.collections.items import Item
from softset.collections.schema import SchemaTracker
from softset.errors import InputError, NotFiniteError
from softset.query.field_types import plain_value
from softset.stores.background import freeze_background
from softset.stores.base import Record, Store

ITEMS_PER_BLOCK = 1_000


class IngestReport(NamedTuple):
    """The numbers of items that were added, that were in the store already, and that have no vector."""

    added: int
    unchanged: int
    without_vector: int


def ingest(store: Store, items: Iterable[Item], embed: Embed) -> IngestReport:
    """Add the items that are not in the store with the same text and metadata; build its index and its background."""
    tracker = SchemaTracker(store.fields)
    source, seen, report = tracker.check(items), set[str](), IngestReport(0, 0, 0)
    while block := list(islice(source, ITEMS_PER_BLOCK)):
        for item in block:
            if item.id in seen:
                raise InputError(f"two items have the id {item.id!r}: ids must be unique")
            seen.add(item.id)
        store.declare(tracker.schema)
        counts = _add_block(store, [Item(item.id, item.text, plain_value(item.metadata)) for item in block], embed)
        report = IngestReport(*(total + count for total, count in zip(report, counts, strict=True)))
    if not len(store):
        raise InputError("no item has a vector: give texts with words in the encoder's vocabulary")
    store.finish()
    freeze_background(store)
    return report


def _add_block(store: Store, block: list[Item], embed: Embed) -> IngestReport:
    stored = {record.id: (record.text, record.metadata) for record in store.fetch([item.id for item in block])}
    changed = [item for item in block if (item.text, item.metadata) != stored.get(item.id)]
    rows = embed([item.text for item in changed]) if changed else np.zeros((0, store.dimensions), dtype=np.float32)
    if not np.isfinite(rows).all():
        raise NotFiniteError(f"the encoder gave a number that is not finite for a text after {block[0].id!r}")
    records = [
        Record(item.id, item.text, item.metadata, row) for item, row in zip(changed, rows, strict=True) if row.any()
    ]
    store.add(records)
    with_vector = {record.id for record in records}
    store.remove([item.id for item in changed if item.id in stored and item.id not in with_vector])
    return IngestReport(len(records), len(block) - len(changed), len(changed) - len(records))
