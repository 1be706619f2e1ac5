"""Collections that people drop on the server: lines of text, kept for a while in a folder of the server's own."""

import os
import re
import secrets
import shutil
import tempfile
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from threading import Lock

from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.server.batching import BatchedEncoder
from softset.server.problems import BadRequestError
from softset.server.settings import Limits

__all__ = ["Drops"]

PREFIX = "softset-drops-"


@dataclass
class _Drop:
    """One of them: the collection as it is now, who makes its vectors, how large its texts are, when it was used."""

    collection: Collection
    encoder: BatchedEncoder
    size: int
    used: float
    changing: Lock = field(default_factory=Lock)
    gone: bool = False


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
        size = self._checked(texts, 0, 0)
        key = secrets.token_urlsafe(16)
        items = (Item(str(at), text) for at, text in enumerate(texts, 1))
        made = Collection.create(self._folder / key, items, embed=encoder.embed, encoder=name)
        with self._lock:
            self._drops[key] = _Drop(made, encoder, size, time.monotonic())
        self.purge()
        return key, made

    def add(self, key: str, texts: Sequence[str]) -> Collection:
        """Add texts to a collection."""
        drop = self._find(key)
        with drop.changing:
            if drop.gone:
                raise _no_longer()
            count = len(drop.collection)
            drop.size = self._checked(texts, count, drop.size)
            drop.collection = drop.collection.add(Item(str(at), text) for at, text in enumerate(texts, count + 1))
            return drop.collection

    def encoder_of(self, key: str) -> BatchedEncoder:
        """Return what makes the vectors of a collection."""
        return self._find(key).encoder

    def get(self, key: str) -> Collection | None:
        """Return a collection, or None where there is none of that name, or no longer."""
        self.purge()
        with self._lock:
            drop = self._drops.get(key)
            if drop is None:
                return None
            drop.used = time.monotonic()
            self._drops.move_to_end(key)
            return drop.collection

    def remove(self, key: str) -> None:
        """Forget a collection."""
        self._find(key)
        with self._lock:
            drop = self._drops.pop(key, None)
        if drop is not None:
            self._delete({key: drop})

    def purge(self) -> None:
        """Forget those that were not used for long, and the oldest of too many."""
        end = time.monotonic() - self._limits.lifetime
        gone: dict[str, _Drop] = {}
        with self._lock:
            while self._drops:
                key, oldest = next(iter(self._drops.items()))
                if oldest.used >= end and len(self._drops) <= self._limits.collections_kept:
                    break
                gone[key] = self._drops.pop(key)
        self._delete(gone)

    def __len__(self) -> int:
        return len(self._drops)

    def close(self) -> None:
        """Delete all of them."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _find(self, key: str) -> _Drop:
        drop = self._drops.get(key) if self.get(key) is not None else None
        if drop is None:
            raise _no_longer()
        return drop

    def _delete(self, drops: Mapping[str, _Drop]) -> None:
        for key, drop in drops.items():  # whoever searches one still has its files mapped
            with drop.changing:
                drop.gone = True
                shutil.rmtree(self._folder / key, ignore_errors=True)

    def _checked(self, texts: Sequence[str], count: int, size: int) -> int:
        """Return how many bytes the texts of a collection have with these, unless they are too many."""
        size += sum(len(text.encode()) for text in texts)
        self._limits.check("items of a collection that is dropped", "items", count + len(texts))
        self._limits.check("bytes of its texts", "item_bytes", size)
        return size


def _no_longer() -> BadRequestError:
    sentence = "no collection of this name was dropped here, or it is gone: drop its lines again"
    return BadRequestError(HTTPStatus.NOT_FOUND, sentence)


def _sweep() -> None:
    """Delete what servers left behind that were killed: a folder's name says whose it is."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = re.match(rf"{PREFIX}(\d+)-", folder.name)
        if owner and not Path(f"/proc/{owner[1]}").exists() and Path("/proc/self").exists():
            shutil.rmtree(folder, ignore_errors=True)
