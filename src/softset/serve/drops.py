"""Collections that people drop on the server: lines of text, kept for a while in a folder of the server's own."""

import os
import re
import secrets
import shutil
import tempfile
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from threading import Lock

from softset.retrieval.collection import Collection
from softset.retrieval.items import Item
from softset.serve.batching import BatchedEncoder
from softset.serve.problems import BadRequestError
from softset.serve.settings import Limits

__all__ = ["Drops"]

PREFIX = "softset-drops-"


@dataclass
class _Drop:
    """One of them: the collection as it is now, who makes its vectors, and when it was last used."""

    collection: Collection
    encoder: BatchedEncoder
    used: float
    changing: Lock = field(default_factory=Lock)


class Drops:
    """The last collections that were dropped; who knows the name of one, which nobody can guess, may search it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        _sweep()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self._drops: OrderedDict[str, _Drop] = OrderedDict()
        self._lock = Lock()

    def create(self, texts: Sequence[str], encoder: BatchedEncoder, name: str) -> tuple[str, Collection]:
        """Make a collection of texts, numbered from 1, and return its new name."""
        self._check_size(len(texts))
        key = secrets.token_urlsafe(16)
        items = (Item(str(at), text) for at, text in enumerate(texts, 1))
        made = Collection.create(self._folder / key, items, embed=encoder.embed, encoder=name)
        with self._lock:
            self._drops[key] = _Drop(made, encoder, time.monotonic())
            gone = self._outdated()
        self._delete(gone)
        return key, made

    def add(self, key: str, texts: Sequence[str]) -> Collection:
        """Add texts to a collection."""
        drop = self._find(key)
        with drop.changing:
            size = len(drop.collection)
            self._check_size(size + len(texts))
            drop.collection = drop.collection.add(Item(str(at), text) for at, text in enumerate(texts, size + 1))
            return drop.collection

    def encoder_of(self, key: str) -> BatchedEncoder:
        """Return what makes the vectors of a collection."""
        return self._find(key).encoder

    def get(self, key: str) -> Collection | None:
        """Return a collection, or None where there is none of that name, or no longer."""
        with self._lock:
            gone = self._outdated()
            drop = self._drops.get(key)
            if drop is not None:
                drop.used = time.monotonic()
                self._drops.move_to_end(key)
        self._delete(gone)
        return None if drop is None else drop.collection

    def remove(self, key: str) -> None:
        """Forget a collection."""
        self._find(key)
        with self._lock:
            gone = [key] if self._drops.pop(key, None) else []
        self._delete(gone)

    def __len__(self) -> int:
        return len(self._drops)

    def close(self) -> None:
        """Delete all of them."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _find(self, key: str) -> _Drop:
        drop = self._drops.get(key) if self.get(key) is not None else None
        if drop is None:
            raise BadRequestError(
                HTTPStatus.NOT_FOUND, "there is no such collection here, or no longer: drop its lines again"
            )
        return drop

    def _outdated(self) -> list[str]:
        """Forget those that were not used for long, and the oldest of too many; return their names."""
        end = time.monotonic() - self._limits.lifetime
        gone = []
        while self._drops:
            key, oldest = next(iter(self._drops.items()))
            if oldest.used >= end and len(self._drops) <= self._limits.collections_kept:
                break
            del self._drops[key]
            gone.append(key)
        return gone

    def _delete(self, keys: Sequence[str]) -> None:
        for key in keys:  # whoever searches one still has its files open
            shutil.rmtree(self._folder / key, ignore_errors=True)

    def _check_size(self, size: int) -> None:
        if size > self._limits.items:
            raise BadRequestError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"a collection dropped here may have {self._limits.items:,} items, but this would have {size:,}: index "
                "them with softset index, and let the server offer them (softset serve --in)",
            )


def _sweep() -> None:
    """Delete what servers left behind that were killed: a folder's name says whose it is."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = re.match(rf"{PREFIX}(\d+)-", folder.name)
        if owner and not Path(f"/proc/{owner[1]}").exists() and Path("/proc/self").exists():
            shutil.rmtree(folder, ignore_errors=True)
