"""Collections that clients upload. They are deleted some time after their last use and when the server stops."""

import secrets
import shutil
import tempfile
import time
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from threading import Lock

from softset.collections.collection import Collection
from softset.collections.embedder import Embedder
from softset.collections.items import Item
from softset.io.atomic import open_locked
from softset.server.limited_encoder import LimitedEncoder
from softset.server.problems import RequestError
from softset.server.settings import ServerLimits

PREFIX, LOCK_SUFFIX = "softset-collections-", ".lock"


@dataclass
class _Upload:
    """One collection, with the encoder and the total size of its texts."""

    collection: Collection
    encoder: LimitedEncoder
    bytes: int
    last_used: float = field(default_factory=time.monotonic)
    lock: Lock = field(default_factory=Lock)  # held while items are added or the folder is deleted
    deleted: bool = False


class TemporaryCollections:
    """The most recently used uploads, by a random name that serves as a password."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        _delete_orphans()
        self.folder = Path(tempfile.gettempdir(), f"{PREFIX}{secrets.token_hex(8)}")
        self._lock_path = self.folder.with_suffix(LOCK_SUFFIX)
        self._folder_lock = open_locked(self._lock_path)  # tells other servers that this one runs
        self.folder.mkdir(mode=0o700)
        self._uploads: OrderedDict[str, _Upload] = OrderedDict()  # least recently used first
        self._lock = Lock()

    def create(self, texts: Sequence[str], encoder: LimitedEncoder, model: str) -> tuple[str, Collection]:
        """Create a collection with the ids 1, 2, ... and return its name and itself."""
        size = self._check_size(texts, 0, 0)
        name = secrets.token_urlsafe(16)
        items = (Item(str(number), text) for number, text in enumerate(texts, 1))
        collection = Collection.create(self.folder / name, items, encoder=Embedder(model, encoder.embed), chunks="none")
        with self._lock:
            self._uploads[name] = _Upload(collection, encoder, size)
        self.purge()
        return name, collection

    def add(self, name: str, texts: Sequence[str]) -> Collection:
        """Add items to a collection and return it."""
        upload = self._touch(name)
        if upload is None:
            raise _not_found()
        upload.encoder.check(texts)
        with upload.lock:
            if upload.deleted:
                raise _not_found()
            count = len(upload.collection)
            size = self._check_size(texts, count, upload.bytes)
            items = (Item(str(number), text) for number, text in enumerate(texts, count + 1))
            # Running searches use the previous object, which does not change.
            upload.collection, upload.bytes = copy(upload.collection).add(items), size
            return upload.collection

    def get(self, name: str) -> Collection | None:
        """Return a collection, or None if it does not exist or has expired."""
        upload = self._touch(name)
        return None if upload is None else upload.collection

    def remove(self, name: str) -> None:
        """Delete a collection."""
        with self._lock:
            upload = self._uploads.pop(name, None)
        if upload is None:
            raise _not_found()
        self._delete(name, upload)

    def purge(self) -> None:
        """Delete expired collections, and the least recently used ones if there are too many."""
        oldest_allowed = time.monotonic() - self._limits.lifetime
        expired: list[tuple[str, _Upload]] = []
        with self._lock:
            while self._uploads:
                oldest = next(iter(self._uploads.values()))
                if oldest.last_used >= oldest_allowed and len(self._uploads) <= self._limits.temporary_collections:
                    break
                expired.append(self._uploads.popitem(last=False))
        for name, upload in expired:
            self._delete(name, upload)

    def __len__(self) -> int:
        return len(self._uploads)

    def close(self) -> None:
        """Delete all collections."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock_path.unlink(missing_ok=True)
        if self._folder_lock is not None:
            self._folder_lock.close()

    def _touch(self, name: str) -> _Upload | None:
        """Return an upload, and make it the most recently used one."""
        self.purge()
        with self._lock:
            upload = self._uploads.get(name)
            if upload is not None:
                upload.last_used = time.monotonic()
                self._uploads.move_to_end(name)
            return upload

    def _delete(self, name: str, upload: _Upload) -> None:
        with upload.lock:  # searches that are still running keep the files mapped
            upload.deleted = True
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def _check_size(self, texts: Sequence[str], items: int, size: int) -> int:
        """Return the bytes in all texts of a collection with the new ones, or raise an error if it gets too large."""
        size += sum(len(text.encode()) for text in texts)
        self._limits.check("items in a temporary collection", "items", items + len(texts))
        self._limits.check("bytes in the texts of a temporary collection", "item_bytes", size)
        return size


def _not_found() -> RequestError:
    message = "there is no temporary collection with this name, or it has expired: upload its lines again"
    return RequestError(HTTPStatus.NOT_FOUND, message)


def _delete_orphans() -> None:
    """Delete the folders of servers that were killed: a running server, also in another container, has its lock."""
    for path in filter(Path.is_file, Path(tempfile.gettempdir()).glob(f"{PREFIX}*{LOCK_SUFFIX}")):
        with suppress(OSError):  # the file of another user
            lock = open_locked(path)
            if lock is not None:
                with lock:
                    path.unlink()
                    shutil.rmtree(path.with_suffix(""), ignore_errors=True)
