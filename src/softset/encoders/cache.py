"""A disk cache of encoded texts that several runs and processes can share: one SQLite file.

The small table `texts` records which texts are stored and when they were last used, so that reading a text does not
rewrite its large row in `contents`. A connection is open for one read or one write: it never crosses a fork or a
thread, and none is open while an encoder runs.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b, sha256
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from softset.encoders.base import TEXTS_PER_BLOCK, Encoder, Progress, TextEncoder, WrappedEncoder
from softset.encoders.tokensets import TokenSets
from softset.encoders.tokensets_file import arrays_from_sets, sets_from_arrays
from softset.errors import FileError, InputError
from softset.io.text import counted
from softset.runtime.progress import iter_blocks, span

DEFAULT_CACHE_LIMIT = 4 << 30  # bytes
MAX_ROW_BYTES = 900_000_000  # the limit of SQLite is 10^9
TIMEOUT = 60.0  # seconds to wait for another process that writes
VERSION = 1
SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, key BLOB UNIQUE, bytes INTEGER, used INTEGER);
CREATE TABLE IF NOT EXISTS contents (id INTEGER PRIMARY KEY, data BLOB, checksum BLOB);
CREATE INDEX IF NOT EXISTS by_use ON texts (used);
CREATE TRIGGER IF NOT EXISTS removed AFTER DELETE ON texts BEGIN DELETE FROM contents WHERE id = OLD.id; END;
PRAGMA user_version = 1;
COMMIT;
"""
# `total` is the number of bytes of a text and of all texts used after it; the text used last is kept.
EVICT = """
DELETE FROM texts WHERE id IN (
    SELECT id FROM (SELECT id, bytes, sum(bytes) OVER (ORDER BY used DESC, id DESC) AS total FROM texts)
    WHERE total > ? AND total > bytes
)
"""

EncodeBlock = Callable[..., TokenSets]  # takes texts, and progress=...


class CachedEncoder(WrappedEncoder, TextEncoder):
    """An encoder that stores token sets in a folder and reads them from there.

    The vectors are those of the wrapped encoder, bit for bit. Several processes may share the folder. If the cache
    exceeds `limit` bytes, the least recently used texts are deleted. `repaired` counts the damaged entries that were
    encoded again.
    """

    def __init__(self, encoder: Encoder, folder: str | os.PathLike[str], *, limit: int = DEFAULT_CACHE_LIMIT) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InputError(f"the limit of the cache is {limit!r}, but a whole number of at least 1 byte was expected")
        if not getattr(encoder, "stable", True):
            raise InputError(
                f"vectors of {encoder.signature!r} cannot be cached, because its signature does not identify them: "
                "give a function a name=..., or import the word vectors"
            )
        super().__init__(encoder)
        self.repaired, self._file = 0, _CacheFile(Path(folder).absolute(), limit)

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        return self._cached("sets", texts, self.encoder.encode, progress)

    def _embed(self, texts: Sequence[str], progress: Progress | None) -> np.ndarray:
        """Return the pooled vectors of the wrapped encoder, which are cached apart from the token sets."""

        def embed(block: Sequence[str], *, progress: Progress | None) -> TokenSets:
            pooled = self.encoder.embed(block, progress=progress)
            return TokenSets.from_arrays(pooled[:, None], dimensions=self.dimensions)

        return self._cached("pooled", texts, embed, progress).vectors

    def _cached(self, kind: str, texts: Sequence[str], encode: EncodeBlock, progress: Progress | None) -> TokenSets:
        """Return the token sets of distinct texts."""
        if not texts:
            return encode([], progress=progress)
        blocks = iter_blocks(len(texts), TEXTS_PER_BLOCK, progress)
        return TokenSets.concatenate(self._block(kind, texts[start:stop], encode, step) for start, stop, step in blocks)

    def _block(self, kind: str, block: Sequence[str], encode: EncodeBlock, progress: Progress | None) -> TokenSets:
        """Return the token sets of one block; encode and store the missing ones."""
        signature = self.signature
        keys = [_key(signature, kind, text) for text in block]
        entries, damaged = self._file.read(keys, signature)
        self.repaired += damaged
        missing = [index for index, key in enumerate(keys) if key not in entries]
        if missing:
            report = span(progress, len(entries), len(block), len(block))
            sets = _readable(encode([block[index] for index in missing], progress=report), len(missing), signature)
            encoded = {keys[index]: sets[row : row + 1] for row, index in enumerate(missing)}
            self._file.write(encoded)
            entries |= encoded
        return TokenSets.concatenate(entries[key] for key in keys)


def _key(signature: str, kind: str, text: str) -> bytes:
    """Return the key of a text; the lengths before the parts make the hashed message unambiguous."""
    message = sha256()
    for part in (signature, kind, text):
        encoded = part.encode()
        message.update(len(encoded).to_bytes(8, "little") + encoded)
    return message.digest()


def _readable(sets: TokenSets, texts: int, signature: str) -> TokenSets:
    """Return the token sets as they will be read back; reject those of a custom encoder that cannot be."""
    try:
        sets = sets_from_arrays(arrays_from_sets(sets), signature)
    except ValueError as error:
        raise InputError(f"the token sets of the encoder {signature!r} cannot be cached: {error}") from error
    if len(sets) != texts:
        raise InputError(f"the encoder {signature!r} returned {counted(len(sets), 'text')}, but {texts} were expected")
    return sets


class _CacheFile:
    """The token sets in FOLDER/cache.sqlite, within a limit of bytes.

    Each written block gets the next even number in `used`, and texts that are read later get the odd number after it.
    So texts that were read since the last write need no update when they are read again.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._path, self._limit = folder / "cache.sqlite", limit
        with self._connect():
            pass  # report an unusable folder before hours of encoding

    def read(self, keys: Sequence[bytes], signature: str) -> tuple[dict[bytes, TokenSets], int]:
        """Return the stored entries of the keys and the number of damaged entries, which are deleted."""
        entries: dict[bytes, TokenSets] = {}
        stale, damaged = [], []
        with self._connect() as db:
            now = _last_use(db) | 1
            for key in keys:
                query = "SELECT data, checksum, used FROM texts LEFT JOIN contents USING (id) WHERE key = ?"
                for data, checksum, used in db.execute(query, (key,)).fetchall():
                    sets = _unpack(key, data, checksum, signature)
                    if sets is None:
                        damaged.append((key,))
                        continue
                    entries[key] = sets
                    stale += [(now, key)] if used < now else []
            if stale or damaged:
                with db:  # commits, or rolls back on an error
                    db.execute("BEGIN IMMEDIATE")
                    db.executemany("DELETE FROM texts WHERE key = ?", damaged)
                    db.executemany("UPDATE texts SET used = ? WHERE key = ?", stale)
        return entries, len(damaged)

    def write(self, entries: Mapping[bytes, TokenSets]) -> None:
        """Store all entries or none, and delete the least recently used texts if the cache exceeds its limit."""
        packed = [(key, _pack(sets)) for key, sets in entries.items()]
        with self._connect() as db, db:
            db.execute("BEGIN IMMEDIATE")
            now = (_last_use(db) // 2 + 1) * 2
            for key, data in packed:
                if len(data) > min(self._limit, MAX_ROW_BYTES):
                    continue
                inserted = db.execute("INSERT OR IGNORE INTO texts VALUES (NULL, ?, ?, ?)", (key, len(data), now))
                if inserted.rowcount:  # otherwise another process stored it first
                    row = (inserted.lastrowid, data, _checksum(key, data))
                    db.execute("INSERT OR REPLACE INTO contents VALUES (?, ?, ?)", row)
            self._evict(db)

    def _evict(self, db: sqlite3.Connection) -> None:
        """Delete the least recently used texts until the cache is 90% full; a single text may fill all of it."""
        (total,) = db.execute("SELECT ifnull(sum(bytes), 0) FROM texts").fetchone()
        if total > self._limit:
            db.execute(EVICT, (0.9 * self._limit,))

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self._path, timeout=TIMEOUT, isolation_level=None)) as db:
                query = "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version"
                version, tables = db.execute(query).fetchone()
                if version != VERSION and (version or tables):
                    raise sqlite3.DatabaseError("it is a database of another kind or version")
                if version != VERSION:
                    db.executescript(SCHEMA)
                yield db
        except (sqlite3.Error, ValueError, TypeError) as error:  # the last two: damaged names and numbers
            remedy = "check that its folder is writable and the disk has space, or delete this file"
            raise FileError(f"the cache {self._path} cannot be used ({error}): {remedy}") from error


def _last_use(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT ifnull(max(used), 0) FROM texts").fetchone()[0])


def _pack(sets: TokenSets) -> bytes:
    return save({name: np.ascontiguousarray(array) for name, array in arrays_from_sets(sets).items()})


def _unpack(key: bytes, data: bytes, checksum: bytes, signature: str) -> TokenSets | None:
    """Return the token sets of a row, or None if the row is damaged."""
    try:
        return sets_from_arrays(load(data), signature) if _checksum(key, data) == checksum else None
    except (SafetensorError, KeyError, ValueError, IndexError, TypeError):
        return None


def _checksum(key: bytes, data: bytes) -> bytes:
    return blake2b(data, key=key, digest_size=16).digest()  # keyed, so that the row of another text does not verify
