"""Items into a store, block by block; what is there already is passed over, so that a second run goes on."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from softset.collections.items import Item
from softset.collections.segment import Embed
from softset.errors import InputError, NotFiniteError, SoftsetError
from softset.stores.protocol import Record, Store

__all__ = ["Ingested", "ingest"]

BLOCK = 1_000


class Ingested(NamedTuple):
    """How many items were added, how many were there already, and how many have no vector and were left out."""

    added: int
    there: int
    blank: int


def ingest(
    store: Store, items: Iterable[Item], embed: Embed, progress: Callable[[int], None] | None = None
) -> Ingested:
    """Add items to a store that are not there with the same text; then make it ready, and count what it holds."""
    seen, added, there, blank = set[str](), 0, 0, 0
    for block in _blocks(items):
        _check_ids(seen, block)
        known = {one.id: one for one in store.fetch([item.id for item in block])}
        fresh = [item for item in block if item.id not in known or _differs(known[item.id], item)]
        there += len(block) - len(fresh)
        rows = embed([item.text for item in fresh]) if fresh else np.zeros((0, store.dimensions), dtype=np.float32)
        if not np.isfinite(rows).all():
            raise NotFiniteError(f"the encoder gave a number that is not finite for a text after {block[0].id!r}")
        records = [
            Record(item.id, item.text, item.metadata, row) for item, row in zip(fresh, rows, strict=True) if row.any()
        ]
        blank += len(fresh) - len(records)
        store.add(records)
        kept = {one.id for one in records}
        store.remove([item.id for item in fresh if item.id in known and item.id not in kept])  # has no vector any more
        added += len(records)
        if progress is not None:
            progress(added + there + blank)
    if not len(store):
        raise InputError("no item has a vector: there is nothing to be found; give texts that the encoder knows")
    store.finish()
    if len(store) < added + there:
        raise SoftsetError(f"the store holds {len(store):,} items after {added + there:,} were added: add them again")
    return Ingested(added, there, blank)


def _blocks(items: Iterable[Item]) -> Iterator[list[Item]]:
    source = iter(items)
    while block := list(islice(source, BLOCK)):
        yield block


def _check_ids(seen: set[str], block: list[Item]) -> None:
    for item in block:
        if item.id in seen:
            raise InputError(f"the id {item.id!r} is there twice: every item needs its own")
        seen.add(item.id)


def _differs(known: Record, item: Item) -> bool:
    return known.text != item.text or known.metadata != item.metadata
