"""The background of a store: a sample of its items in a companion collection, frozen once there are 1,000 items."""

import numpy as np

from softset.collections.background import MIN_ITEMS, by_hash
from softset.query import background
from softset.stores.base import Record, Store

ITEMS_PER_CALL = 1_000


def read_background(store: Store) -> np.ndarray | None:
    """Return the vectors (b, d) of the stored background, or None if there is none."""
    companion = store.companion()
    records = [] if companion is None else _fetch_first(companion)
    # The text of each record is the number of all: after an interruption, some are missing.
    is_complete = bool(records) and records[0].text == str(len(records))
    return np.stack([record.vector for record in records]) if is_complete else None


def freeze_background(store: Store) -> None:
    """Store a background of the present items, unless there is one already or they are too few."""
    if len(store) < MIN_ITEMS or read_background(store) is not None:
        return
    companion, records = store.companion(create=True), _fetch_first(store)
    if companion is not None:
        companion.remove(list(companion.ids()))  # the records of an interrupted run
        companion.add([Record(record.id, str(len(records)), {}, record.vector) for record in records])
        companion.finish()


def sample_items(store: Store) -> np.ndarray:
    """Return the vectors (b, d) of the items with a vector whose ids have the smallest hashes."""
    records = _fetch_first(store)
    return np.stack([record.vector for record in records]) if records else np.zeros((0, store.dimensions))


def _fetch_first(store: Store) -> list[Record]:
    """Return the items with a vector whose ids have the smallest hashes, in the order of the hashes."""
    ids, records = list(store.ids()), list[Record]()
    ids = [ids[index] for index in by_hash(ids).tolist()]
    for start in range(0, len(ids), ITEMS_PER_CALL):
        batch = ids[start : start + ITEMS_PER_CALL]
        by_id = {record.id: record for record in store.fetch(batch) if record.vector.any()}
        records += [by_id[name] for name in batch if name in by_id]
        if len(records) >= background.SIZE:
            break
    return records[: background.SIZE]
