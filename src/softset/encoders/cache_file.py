"""The SQLite file of the cache: token sets by key, within a limit of bytes.

The small table `texts` records which texts are stored and when they were last used, so that reading a text does not
rewrite its large row in `contents`. Triggers update the total number of bytes. A connection is open for one read or
one write: it never crosses a fork or a thread, and none is open while an encoder runs.
"""

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from softset.encoders.tokensets import TokenSets
from softset.encoders.tokensets_file import arrays_from_sets, sets_from_arrays
from softset.errors import FileError

__all__ = ["CacheFile"]

MAX_ROW_BYTES = 900_000_000  # the limit of SQLite is 10^9
TIMEOUT = 60.0  # seconds to wait for another process that writes
KEYS_PER_QUERY = 500  # old builds of SQLite allow 999 parameters

VERSION = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, key BLOB UNIQUE, bytes INTEGER, used INTEGER);
CREATE TABLE IF NOT EXISTS contents (id INTEGER PRIMARY KEY, data BLOB, checksum BLOB);
CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY, clock INTEGER, bytes INTEGER);
CREATE INDEX IF NOT EXISTS by_use ON texts (used);
CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON texts
    BEGIN UPDATE state SET bytes = bytes + NEW.bytes; END;
CREATE TRIGGER IF NOT EXISTS removed AFTER DELETE ON texts
    BEGIN UPDATE state SET bytes = bytes - OLD.bytes; DELETE FROM contents WHERE id = OLD.id; END;
INSERT OR IGNORE INTO state VALUES (1, 0, 0);
"""
SELECT = "SELECT key, data, checksum, used <= ? FROM texts LEFT JOIN contents USING (id) WHERE key IN"
# Errors of the system, not of the file
SYSTEM_ERRORS = {
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL,
}  # fmt: skip


class CacheFile:
    """The token sets in FOLDER/cache.sqlite, within a limit of bytes.

    The clock advances by 1 with each written block. Written texts get the clock and read texts the clock + 1, so that
    texts that were read since the last write need no update when they are read again.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._path, self._limit, self.repaired = folder / "cache.sqlite", limit, 0
        with self._connect():
            pass  # report an unusable folder before hours of encoding

    def read(self, keys: Sequence[bytes]) -> dict[bytes, TokenSets]:
        """Return the stored entries of the keys; damaged entries are deleted."""
        entries: dict[bytes, TokenSets] = {}
        stale, damaged = [], []
        with self._connect() as db:
            clock, _ = _state(db)
            for start in range(0, len(keys), KEYS_PER_QUERY):
                block = keys[start : start + KEYS_PER_QUERY]
                query = f"{SELECT} ({','.join('?' * len(block))})"
                valid = {}
                for key, data, checksum, is_stale in db.execute(query, (clock, *block)):
                    sets = _unpack(key, data, checksum)
                    if sets is None:
                        damaged.append((key,))
                        continue
                    valid[key] = sets
                    stale += [(clock + 1, key)] if is_stale else []
                entries |= _views_of_one_array(valid)
            if stale or damaged:
                with _transaction(db):
                    db.executemany("DELETE FROM texts WHERE key = ?", damaged)
                    db.executemany("UPDATE texts SET used = ? WHERE key = ?", stale)
        self.repaired += len(damaged)
        return entries

    def write(self, entries: Mapping[bytes, TokenSets]) -> None:
        """Store all entries or none, and delete the least recently used texts if the cache exceeds its limit."""
        packed = [(key, _pack(sets)) for key, sets in entries.items()]
        with self._connect() as db, _transaction(db):
            clock = _state(db)[0] + 1
            db.execute("UPDATE state SET clock = ?", (clock,))
            for key, data in packed:
                if len(data) > min(self._limit, MAX_ROW_BYTES):
                    continue
                inserted = db.execute("INSERT OR IGNORE INTO texts VALUES (NULL, ?, ?, ?)", (key, len(data), clock))
                if inserted.rowcount:  # otherwise another process stored it first
                    row = (inserted.lastrowid, data, _checksum(key, data))
                    db.execute("INSERT OR REPLACE INTO contents VALUES (?, ?, ?)", row)
            self._evict(db)

    def _evict(self, db: sqlite3.Connection) -> None:
        """Delete the least recently used texts until the cache is 90% full; a single text may fill all of it."""
        _, total = _state(db)
        if total <= self._limit:
            return
        evicted = []
        for number, size in db.execute("SELECT id, bytes FROM texts ORDER BY used, id"):
            if total <= 0.9 * self._limit or total == size <= self._limit:
                break
            evicted.append((number,))
            total -= size
        db.executemany("DELETE FROM texts WHERE id = ?", evicted)

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self._path, timeout=TIMEOUT, isolation_level=None)) as db:
                self._create_tables(db)
                yield db
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter: damaged names in a message
            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in SYSTEM_ERRORS:
                remedy = "check that its folder is writable, that the disk has space and that no process locks it"
                raise FileError(f"the cache {self._path} cannot be used ({error}): {remedy}") from error
            raise FileError(f"{self._path} is damaged or not a cache ({error}): delete this file") from error

    def _create_tables(self, db: sqlite3.Connection) -> None:
        """Create the tables of a new file; reject a database of another kind or version."""
        db.execute("PRAGMA synchronous = NORMAL")  # a power failure may lose the last blocks, but not the database
        query = "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version"
        version, tables = db.execute(query).fetchone()
        if version == VERSION:
            return
        if version or tables:
            raise FileError(
                f"{self._path} is a database of another kind or version ({version}, but {VERSION} was wanted): delete "
                "this file, or use another folder"
            )
        _enable_wal(db)
        db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    with db:  # commits, or rolls back on an error
        db.execute("BEGIN IMMEDIATE")
        yield


def _state(db: sqlite3.Connection) -> tuple[int, int]:
    """Return the clock and the total number of bytes."""
    row = db.execute("SELECT clock, bytes FROM state").fetchone()
    if row is None or not all(isinstance(value, int) for value in row):
        raise sqlite3.DatabaseError("its total number of bytes is missing")
    return row[0], row[1]


def _enable_wal(db: sqlite3.Connection) -> None:
    """Let readers work while one process writes; SQLite does not apply its timeout to this statement."""
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _pack(sets: TokenSets) -> bytes:
    arrays = arrays_from_sets(sets)
    for prefix, part in (("", sets), ("special_", sets.special)):
        if part is not None:
            arrays[prefix + "signature"] = np.frombuffer(part.signature.encode(), dtype=np.uint8)
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})


def _unpack(key: bytes, data: bytes, checksum: bytes) -> TokenSets | None:
    """Return the token sets of a row, or None if the row is damaged."""
    try:
        if _checksum(key, data) != checksum:
            return None
        arrays = load(data)
        sets = sets_from_arrays(arrays, arrays["signature"].tobytes().decode())
        if sets.special is None:
            return sets
        return replace(sets, special=replace(sets.special, signature=arrays["special_signature"].tobytes().decode()))
    except (SafetensorError, KeyError, ValueError, IndexError, TypeError):
        return None


def _views_of_one_array(entries: Mapping[bytes, TokenSets]) -> dict[bytes, TokenSets]:
    """Return the same entries as views of one array: the memory of many small arrays is not returned to the system."""
    if not entries:
        return {}
    joined = TokenSets.concatenate(entries.values())
    return {key: joined[index : index + 1] for index, key in enumerate(entries)}


def _checksum(key: bytes, data: bytes) -> bytes:
    return blake2b(data, key=key, digest_size=16).digest()  # keyed, so that the row of another text does not verify
