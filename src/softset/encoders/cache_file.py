"""Token sets under keys in one SQLite file, within a limit of bytes.

The small table `texts` says what is kept and when it was used last, so that a use does not rewrite the large rows of
`contents`; triggers keep the sum of the bytes. A connection lives for one look-up or one block of texts: none crosses a
fork or a thread, and none is open while an encoder runs.
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
from softset.encoders.tokensets_file import arrays_of, sets_of
from softset.errors import FileError

__all__ = ["Rows"]

LARGEST = 900_000_000  # bytes: SQLite takes no row of more than 10^9
WAIT = 60.0  # seconds for another process that writes
AT_ONCE = 500  # keys in one question: old builds of SQLite take 999

VERSION = 1  # of the tables and of what is in them
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
LOOK_UP = "SELECT key, data, checksum, used <= ? FROM texts LEFT JOIN contents USING (id) WHERE key IN"
# Errors that are no fault of the file
PASSING = {sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_FULL}
PASSING |= {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL}


class Rows:
    """Token sets under keys in FOLDER/cache.sqlite, within a limit.

    The clock goes on by 1 with each block written. What is written bears the clock, what is read the clock + 1: so
    reading again what was read since the last block writes nothing.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._path, self._limit, self.repaired = folder / "cache.sqlite", limit, 0
        with self._opened():
            pass  # a folder that cannot be used is refused before hours of encoding

    def read(self, keys: Sequence[bytes]) -> dict[bytes, TokenSets]:
        """Return what is kept under some of the keys; rows that are not whole are deleted."""
        found: dict[bytes, TokenSets] = {}
        old, broken = [], []
        with self._opened() as db:
            clock, _ = _state(db)
            for start in range(0, len(keys), AT_ONCE):
                some = keys[start : start + AT_ONCE]
                question = f"{LOOK_UP} ({','.join('?' * len(some))})"
                whole = {}
                for key, data, checksum, stale in db.execute(question, (clock, *some)):
                    sets = _unpack(key, data, checksum)
                    if sets is None:
                        broken.append((key,))
                        continue
                    whole[key] = sets
                    old += [(clock + 1, key)] if stale else []
                found |= _in_one_piece(whole)
            if old or broken:
                with _writing(db):
                    db.executemany("DELETE FROM texts WHERE key = ?", broken)
                    db.executemany("UPDATE texts SET used = ? WHERE key = ?", old)
        self.repaired += len(broken)
        return found

    def write(self, rows: Mapping[bytes, TokenSets]) -> None:
        """Keep some rows, all or none, and delete the least recently used ones if that is too much."""
        packed = [(key, _pack(sets)) for key, sets in rows.items()]
        with self._opened() as db, _writing(db):
            clock = _state(db)[0] + 1
            db.execute("UPDATE state SET clock = ?", (clock,))
            for key, data in packed:
                if len(data) > min(self._limit, LARGEST):
                    continue
                entry = db.execute("INSERT OR IGNORE INTO texts VALUES (NULL, ?, ?, ?)", (key, len(data), clock))
                if entry.rowcount:  # else another process was quicker
                    row = (entry.lastrowid, data, _checksum(key, data))
                    db.execute("INSERT OR REPLACE INTO contents VALUES (?, ?, ?)", row)
            self._trim(db)

    def _trim(self, db: sqlite3.Connection) -> None:
        _, total = _state(db)
        if total <= self._limit:
            return
        doomed = []
        for number, size in db.execute("SELECT id, bytes FROM texts ORDER BY used, id"):
            if total <= 0.9 * self._limit or total == size <= self._limit:  # one alone may fill all of it
                break
            doomed.append((number,))
            total -= size
        db.executemany("DELETE FROM texts WHERE id = ?", doomed)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self._path, timeout=WAIT, isolation_level=None)) as db:
                self._prepare(db)
                yield db
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter: a message with a damaged name in it
            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in PASSING:
                remedy = "see that its folder can be written, that the disk has room and that no process holds it"
                raise FileError(f"the cache {self._path} cannot be used ({error}): {remedy}") from error
            raise FileError(f"{self._path} is damaged, or no cache at all ({error}): delete this file") from error

    def _prepare(self, db: sqlite3.Connection) -> None:
        """See that the tables are there; a database of another kind or version is left as it is."""
        db.execute("PRAGMA synchronous = NORMAL")  # the last blocks may be lost with the power, but not the database
        question = "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version"
        version, tables = db.execute(question).fetchone()
        if version == VERSION:
            return
        if version or tables:
            raise FileError(
                f"{self._path} is a database of another kind or version ({version}, but {VERSION} was wanted): delete "
                "this file, or use another folder"
            )
        _allow_readers(db)
        db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")


@contextmanager
def _writing(db: sqlite3.Connection) -> Iterator[None]:
    with db:  # commits, or takes all back
        db.execute("BEGIN IMMEDIATE")
        yield


def _state(db: sqlite3.Connection) -> tuple[int, int]:
    """Return the clock and the sum of the bytes."""
    row = db.execute("SELECT clock, bytes FROM state").fetchone()
    if row is None or not all(isinstance(one, int) for one in row):
        raise sqlite3.DatabaseError("the sum of its bytes is missing")
    return row[0], row[1]


def _allow_readers(db: sqlite3.Connection) -> None:
    """Let readers and one writer work side by side; here SQLite itself does not wait for others that do the same."""
    end = time.monotonic() + WAIT
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
    arrays = arrays_of(sets)
    for prefix, one in (("", sets), ("special_", sets.special)):
        if one is not None:
            arrays[prefix + "signature"] = np.frombuffer(one.signature.encode(), dtype=np.uint8)
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})


def _unpack(key: bytes, data: bytes, checksum: bytes) -> TokenSets | None:
    """Return the set in a row, or None if the row is not whole."""
    try:
        if _checksum(key, data) != checksum:
            return None
        arrays = load(data)
        sets = sets_of(arrays, arrays["signature"].tobytes().decode())
        if sets.special is None:
            return sets
        return replace(sets, special=replace(sets.special, signature=arrays["special_signature"].tobytes().decode()))
    except (SafetensorError, KeyError, ValueError, IndexError, TypeError):
        return None


def _in_one_piece(rows: Mapping[bytes, TokenSets]) -> dict[bytes, TokenSets]:
    """Return the same sets as parts of one: memory of many small arrays does not go back to the system."""
    if not rows:
        return {}
    joined = TokenSets.concatenate(rows.values())
    return {key: joined[at : at + 1] for at, key in enumerate(rows)}


def _checksum(key: bytes, data: bytes) -> bytes:
    return blake2b(data, key=key, digest_size=16).digest()  # with the key: the row of another text does not verify
