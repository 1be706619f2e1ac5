"""Tests of the disk cache: equal vectors, concurrent processes, damaged files and the limit of bytes."""

import multiprocessing
import os
import sqlite3
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softset.encoders import cache
from softset.encoders.base import TextEncoder
from softset.encoders.cache import CachedEncoder
from softset.encoders.function import FunctionEncoder
from softset.encoders.tokensets import TokenSets, string_array
from softset.errors import FileError, InputError

TEXTS = ["a red book", "", "größer 日本", "7 pens, 42 pens", "a red book "]


class Letters(TextEncoder):
    """An encoder with one vector per character, which records its calls."""

    signature, dimensions = "", 3

    def __init__(self, signature="letters", dtype="float32", parts=("tokens", "spans", "special")):
        self.signature, self._dtype, self._parts = signature, dtype, parts
        self.calls = []

    def _encode(self, texts, progress):
        self.calls.append(list(texts))
        letters = [(letter, place) for text in texts for place, letter in enumerate(text)]
        special = self._made(["[CLS]"] * len(texts), [0] * len(texts), [1] * len(texts), texts, None)
        special = special if "special" in self._parts else None
        if progress is not None:
            progress(len(texts), len(texts))
        return self._made(
            [letter for letter, _ in letters],
            [place for _, place in letters],
            [len(text) for text in texts],
            texts,
            special,
        )

    def _made(self, tokens, places, counts, texts, special):
        rows = [[sum(map(ord, token)) / 7, place / 3, -0.0] for token, place in zip(tokens, places, strict=True)]
        spans = np.array([[place, place + 1] for place in places], dtype=np.int32).reshape(-1, 2)
        return TokenSets(
            np.array(rows, dtype=self._dtype).reshape(-1, 3),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            string_array(tokens) if "tokens" in self._parts else None,
            spans if "spans" in self._parts else None,
            special,
            np.array([len(text) // 3 for text in texts], dtype=np.int64),
            np.array([sum(map(str.isdigit, text)) for text in texts], dtype=np.int64),
            self.signature,
        )

    def _embed(self, texts, progress):
        return self._encode(texts, progress).means() * 2


def assert_same(sets, other):
    """Fail unless two token sets are the same in every bit."""
    for name in ("vectors", "offsets", "tokens", "spans", "truncated", "unknown"):
        mine, theirs = getattr(sets, name), getattr(other, name)
        assert (mine is None) == (theirs is None), name
        if mine is not None:
            assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, name
            assert mine.tolist() == theirs.tolist() if mine.dtype == object else mine.tobytes() == theirs.tobytes()
    assert sets.signature == other.signature
    assert (sets.special is None) == (other.special is None)
    if sets.special is not None:
        assert_same(sets.special, other.special)


def run(folder, statement, *values):
    """Run a statement on the database of the cache."""
    with closing(sqlite3.connect(folder / "cache.sqlite")) as db, db:
        return db.execute(statement, values).fetchall()


def stored_bytes(folder):
    """Return the stored bytes, after comparing the recorded sizes with the rows."""
    ((counted,),) = run(folder, "SELECT ifnull(sum(bytes), 0) FROM texts")
    ((real,),) = run(folder, "SELECT ifnull(sum(length(data)), 0) FROM contents")
    assert counted == real
    return real


# The same as without


def test_a_text_is_encoded_once(tmp_path):
    letters = Letters()
    encoder = CachedEncoder(letters, tmp_path / "deep" / "folder")
    encoder.encode(TEXTS[:2])
    encoder.encode(TEXTS)
    assert letters.calls == [TEXTS[:2], TEXTS[2:]]
    other = Letters()
    assert_same(CachedEncoder(other, tmp_path / "deep" / "folder").encode(TEXTS), Letters().encode(TEXTS))
    assert other.calls == [] and encoder.encoder is letters
    assert (encoder.signature, encoder.dimensions, encoder.repaired) == ("letters", 3, 0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("parts", [(), ("tokens",), ("spans", "special"), ("tokens", "spans", "special")])
def test_cached_sets_equal_the_original(tmp_path, dtype, parts):
    plain = Letters(dtype=dtype, parts=parts)
    encoder = CachedEncoder(Letters(dtype=dtype, parts=parts), tmp_path)
    for texts in (TEXTS[1:3], TEXTS, TEXTS[::-1], [""], []):
        assert_same(encoder.encode(texts), plain.encode(texts))
        assert_same(encoder.encode(texts), plain.encode(texts))
    encoder.encode(TEXTS).vectors[:] = 1  # the caller's own


@settings(max_examples=25)
@given(st.lists(st.tuples(st.lists(st.text(max_size=5), max_size=8), st.booleans()), max_size=4))
def test_any_sequence_of_calls_equals_the_uncached_encoder(calls):
    with tempfile.TemporaryDirectory() as folder:
        letters = Letters()
        encoder = CachedEncoder(letters, folder)
        for texts, pooled in calls:
            if pooled:
                assert encoder.embed(texts).tobytes() == Letters().embed(texts).tobytes()
            else:
                assert_same(encoder.encode(texts), Letters().encode(texts))
        for pooled in (True, False):
            texts = {text for batch, how in calls if how is pooled for text in batch}
            encoder.embed(list(texts)) if pooled else encoder.encode(list(texts))
        called = [text for call in letters.calls for text in call]
        assert len(called) == sum(
            len({t for batch, how in calls if how is pooled for t in batch}) for pooled in (True, False)
        )


def test_encoders_with_other_signatures_share_no_entries(tmp_path):
    CachedEncoder(Letters("one"), tmp_path).encode(TEXTS)
    letters = Letters("two", dtype="float64")
    assert_same(CachedEncoder(letters, tmp_path).encode(TEXTS), Letters("two", dtype="float64").encode(TEXTS))
    assert letters.calls == [TEXTS]
    assert (
        len({cache._key(*three) for three in [("a", "b", "c"), ("ab", "", "c"), ("", "ab", "c"), ("a", "bc", "")]}) == 4
    )


def test_progress_includes_cached_texts(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "TEXTS_PER_BLOCK", 2)
    encoder, calls = CachedEncoder(Letters(), tmp_path), []
    encoder.encode(["a", "b"])
    encoder.encode([*"abcdefg"], progress=lambda *numbers: calls.append(numbers))
    assert sorted(set(calls)) == [(2, 7), (4, 7), (6, 7), (7, 7)] and calls == sorted(calls)
    calls.clear()
    encoder.encode([*"abcdefg"], progress=lambda *numbers: calls.append(numbers))
    assert calls == [(2, 7), (4, 7), (6, 7), (7, 7)]


def test_bad_arguments_are_rejected(tmp_path):
    encoder = CachedEncoder(Letters(), tmp_path)
    for call in (encoder.encode, encoder.embed):
        with pytest.raises(InputError, match=r"text 1 has a lone surrogate, U\+D83D"):
            call(["a", "\ud83d"])
        with pytest.raises(InputError, match="put it in a list"):
            call("a")
    with pytest.raises(InputError, match="the limit of the cache is 0"):
        CachedEncoder(Letters(), tmp_path, limit=0)
    with pytest.raises(InputError, match="give a function a name"):
        CachedEncoder(FunctionEncoder(lambda texts: [[len(text)] for text in texts]), tmp_path)


class Wrong(Letters):
    def encode(self, texts, *, progress=None):
        sets = super().encode(texts, progress=progress)
        return (
            sets[1:] if self.signature == "few" else TokenSets(*[*vars(sets).values()][:6], sets.unknown.astype("i4"))
        )


def test_wrong_results_of_the_encoder_are_rejected(tmp_path):
    with pytest.raises(InputError, match="'few' returned 4 texts, but 5 were expected"):
        CachedEncoder(Wrong("few"), tmp_path).encode(TEXTS)
    with pytest.raises(InputError, match="'types' cannot be cached: the unknown have the wrong type"):
        CachedEncoder(Wrong("types"), tmp_path).encode(TEXTS)
    assert stored_bytes(tmp_path) == 0


# Damage


def flip(folder):
    ((data,),) = run(folder, "SELECT data FROM contents WHERE id = 3")
    run(folder, "UPDATE contents SET data = ? WHERE id = 3", data[:-1] + bytes([data[-1] ^ 1]))


def swap(folder):
    run(folder, "UPDATE contents SET id = 99 WHERE id = 3")
    run(folder, "UPDATE contents SET id = 3 WHERE id = 1")
    run(folder, "UPDATE contents SET id = 1 WHERE id = 99")


def lose(folder):
    run(folder, "DELETE FROM contents WHERE id = 3")


def say_nonsense(folder):
    ((key,),) = run(folder, "SELECT key FROM texts WHERE id = 3")
    run(
        folder,
        "UPDATE contents SET data = ?, checksum = ? WHERE id = 3",
        b"nonsense",
        cache._checksum(key, b"nonsense"),
    )


@pytest.mark.parametrize(("harm", "harmed"), [(flip, [2]), (swap, [0, 2]), (lose, [2]), (say_nonsense, [2])])
def test_a_damaged_row_is_encoded_again(tmp_path, harm, harmed):
    letters = Letters()
    encoder = CachedEncoder(letters, tmp_path)
    encoder.encode(TEXTS)
    harm(tmp_path)
    for _ in range(2):
        assert_same(encoder.encode(TEXTS), Letters().encode(TEXTS))
    assert letters.calls == [TEXTS, [TEXTS[index] for index in harmed]] and encoder.repaired == len(harmed)
    assert stored_bytes(tmp_path) > 0


def cut(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def overwrite(file):
    file.write_bytes(b"this is no database at all. " * 1000)


def spoil_the_tables(file):
    content = bytearray(file.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    file.write_bytes(content)


def rename_a_column(file):
    file.write_bytes(file.read_bytes().replace(b"key BLOB", b"\xbcey BLOB"))  # even the message has no UTF-8


@pytest.mark.parametrize("harm", [cut, overwrite, spoil_the_tables, rename_a_column])
def test_a_damaged_file_is_rejected(tmp_path, harm):
    encoder = CachedEncoder(Letters(), tmp_path)
    encoder.encode([f"text {n}" for n in range(50)])
    harm(tmp_path / "cache.sqlite")
    with pytest.raises(FileError, match=r"cache\.sqlite cannot be used \(.+\): check .*, or delete this file$"):
        CachedEncoder(Letters(), tmp_path).encode(["text 1", "new"])
    with pytest.raises(FileError, match=r"cache\.sqlite cannot be used"):
        encoder.embed(["text 1"])
    (tmp_path / "cache.sqlite").unlink()
    assert_same(encoder.encode(TEXTS), Letters().encode(TEXTS))


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 2", "PRAGMA user_version = 0"])
def test_a_database_of_another_version_or_kind_is_rejected_and_unchanged(tmp_path, statement):
    CachedEncoder(Letters(), tmp_path).encode(TEXTS)
    run(tmp_path, statement)
    before = (tmp_path / "cache.sqlite").read_bytes()
    with pytest.raises(FileError, match=r"another kind or version.*, or delete this file"):
        CachedEncoder(Letters(), tmp_path)
    assert (tmp_path / "cache.sqlite").read_bytes() == before


def test_an_empty_database_of_another_version_is_rejected(tmp_path):
    run(tmp_path, "PRAGMA user_version = 7")
    with pytest.raises(FileError, match="another kind or version"):
        CachedEncoder(Letters(), tmp_path)


# The disk and the system


def limit_sqlite(monkeypatch, change):
    """Change every connection that is opened from now on."""
    connect = sqlite3.connect

    def changed(*args, **options):
        db = connect(*args, **options)
        change(db)
        return db

    monkeypatch.setattr(sqlite3, "connect", changed)


@pytest.mark.parametrize(("setting", "says"), [("max_page_count = 1", "full"), ("query_only = 1", "readonly")])
def test_a_full_or_readonly_disk_gives_a_clear_error(tmp_path, monkeypatch, setting, says):
    encoder = CachedEncoder(Letters(), tmp_path)
    with monkeypatch.context() as patch:
        limit_sqlite(patch, lambda db: db.execute(f"PRAGMA {setting}"))
        with pytest.raises(FileError, match=rf"cache\.sqlite cannot be used \(.*{says}.*\): check that its folder"):
            encoder.encode([f"text {n}" for n in range(100)])
    assert stored_bytes(tmp_path) == 0
    assert_same(encoder.encode(TEXTS), Letters().encode(TEXTS))


def test_an_unusable_folder_is_rejected_at_once(tmp_path):
    (tmp_path / "file").write_text("x")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match="file"):
            CachedEncoder(Letters(), folder)
    (tmp_path / "cache.sqlite").mkdir()
    with pytest.raises(FileError, match=rf"{tmp_path}.cache\.sqlite cannot be used \(unable to open"):
        CachedEncoder(Letters(), tmp_path)


def test_a_locked_cache_is_waited_for(tmp_path, monkeypatch):
    assert cache.TIMEOUT >= 60
    encoder = CachedEncoder(Letters(), tmp_path)
    encoder.encode(["a"])
    encoder.encode(["a"])
    with closing(sqlite3.connect(tmp_path / "cache.sqlite", isolation_level=None, check_same_thread=False)) as db:
        db.execute("BEGIN IMMEDIATE")
        encoder.encode(["a"])  # nothing was written since it was read last: so reading writes nothing, and waits not
        with monkeypatch.context() as patch:
            patch.setattr(cache, "TIMEOUT", 0.05)
            with pytest.raises(FileError, match="locked"):
                encoder.encode(["b"])
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(encoder.encode, ["b"])
            time.sleep(0.2)
            assert not waiting.done()
            db.execute("ROLLBACK")
            assert_same(waiting.result(timeout=30), Letters().encode(["b"]))


def test_a_cache_that_another_process_creates_is_waited_for(tmp_path, monkeypatch):
    with closing(sqlite3.connect(tmp_path / "cache.sqlite", isolation_level=None, check_same_thread=False)) as db:
        db.execute("BEGIN IMMEDIATE")
        with monkeypatch.context() as patch:
            patch.setattr(cache, "TIMEOUT", 0.05)
            with pytest.raises(FileError, match="locked"):
                CachedEncoder(Letters(), tmp_path)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(CachedEncoder, Letters(), tmp_path)
            time.sleep(0.2)
            assert not waiting.done()
            db.execute("ROLLBACK")
            assert_same(waiting.result(timeout=30).encode(TEXTS), Letters().encode(TEXTS))


def test_the_folder_does_not_depend_on_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    encoder = CachedEncoder(Letters(), "here")
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    encoder.encode(TEXTS)
    assert stored_bytes(tmp_path / "here") > 0 and list((tmp_path / "there").iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not say which files are open")
def test_no_connection_is_open_while_the_encoder_runs_or_after(tmp_path):
    def still_open():
        return [
            path for path in Path("/proc/self/fd").iterdir() if str(path.resolve()).startswith(str(tmp_path.resolve()))
        ]

    def lengths(texts):
        assert still_open() == []  # the encoder may fork
        return [[len(text), 1] for text in texts]

    CachedEncoder(FunctionEncoder(lengths, name="lengths", dimensions=2), tmp_path).encode(TEXTS)
    assert still_open() == []
    with (tmp_path / "cache.sqlite").open():
        assert len(still_open()) == 1


def test_threads_share_an_encoder(tmp_path):
    encoder, texts = CachedEncoder(Letters(), tmp_path), [f"text {n}" for n in range(40)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda start: encoder.encode(texts[start : start + 20]), [0, 5, 10, 20] * 2))
    for start, sets in zip([0, 5, 10, 20] * 2, results, strict=True):
        assert_same(sets, Letters().encode(texts[start : start + 20]))


# The limit


def size_of(text):
    return len(cache._pack(Letters().encode([text])))


@pytest.mark.parametrize("calls", [[*"0123456789"], ["0123456789"]], ids=["ten calls", "one"])
def test_the_least_recently_used_texts_are_evicted_first(tmp_path, calls):
    letters, limit = Letters(), 10 * size_of("0")
    encoder = CachedEncoder(letters, tmp_path, limit=limit)
    for texts in calls:
        encoder.encode([*texts])
    assert stored_bytes(tmp_path) == limit
    encoder.encode(["0"])  # used again
    encoder.encode(["a"])  # one too many: 1 goes, and 2 to make room for more
    assert stored_bytes(tmp_path) == 9 * size_of("0")
    encoder.encode(["b"])
    letters.calls.clear()
    encoder.encode([*"03456789ab"])
    assert letters.calls == []
    encoder.encode(["1", "2"])
    assert letters.calls == [["1", "2"]]
    assert stored_bytes(tmp_path) <= limit


def test_a_block_larger_than_the_limit_is_stored_partly(tmp_path):
    limit, texts = 10 * size_of("text 10"), [f"text {n}" for n in range(10, 60)]
    encoder = CachedEncoder(Letters(), tmp_path, limit=limit)
    assert_same(encoder.encode(texts), Letters().encode(texts))
    assert 0.8 * limit <= stored_bytes(tmp_path) <= limit
    assert_same(encoder.encode(texts), Letters().encode(texts))


def test_a_text_larger_than_the_limit_is_not_stored_and_evicts_nothing(tmp_path, monkeypatch):
    letters, long = Letters(), "long " * 100
    encoder = CachedEncoder(letters, tmp_path, limit=size_of(long) - 1)
    encoder.encode(TEXTS)
    for _ in range(2):
        assert_same(encoder.encode([long]), Letters().encode([long]))
    encoder.encode(TEXTS)
    assert letters.calls == [TEXTS, [long], [long]]
    encoder = CachedEncoder(letters, tmp_path, limit=size_of(long))  # fills all of it, so all others go
    encoder.encode([long])
    assert stored_bytes(tmp_path) == size_of(long)
    monkeypatch.setattr(cache, "MAX_ROW_BYTES", 10)  # SQLite's own limit
    CachedEncoder(letters, tmp_path).encode(TEXTS)
    assert stored_bytes(tmp_path) == size_of(long)


# Other processes


def write(folder, limit, number, barrier):
    encoder = CachedEncoder(Letters(), folder, limit=limit)
    barrier.wait(60)
    for start in range(0, 60, 3):
        encoder.encode(
            [f"shared {n}" for n in range(start, start + 3)] + [f"own {number} {n}" for n in range(start, start + 3)]
        )


@pytest.mark.parametrize("limit", [1 << 30, 20_000])
def test_two_processes_write_at_the_same_time(tmp_path, limit):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    writers = [context.Process(target=write, args=(tmp_path, limit, number, barrier)) for number in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert 0 < stored_bytes(tmp_path) <= limit
    letters, texts = Letters(), [f"{whose} {n}" for whose in ("shared", "own 0", "own 1") for n in range(60)]
    encoder = CachedEncoder(letters, tmp_path, limit=limit)
    assert_same(encoder.encode(texts), Letters().encode(texts))
    assert encoder.repaired == 0 and (limit < 1 << 30 or letters.calls == [])


def test_an_entry_of_another_process_is_not_overwritten(tmp_path):
    class Slow(Letters):
        def _encode(self, texts, progress):
            CachedEncoder(Letters(), tmp_path).encode(texts)
            return super()._encode(texts, progress)

    for _ in range(2):
        assert_same(CachedEncoder(Slow(), tmp_path).encode(TEXTS), Letters().encode(TEXTS))
    assert stored_bytes(tmp_path) == sum(map(size_of, TEXTS))


def write_and_hang(folder, texts, inside):
    """Write one block, and stay in the transaction of the next."""
    encoder = CachedEncoder(Letters(), folder)
    encoder.encode(texts[:200])

    def hang(*_):
        inside.set()
        time.sleep(60)

    cache._CacheFile._evict = hang
    encoder.encode(texts)


@pytest.mark.parametrize("deleted", [False, True])
def test_a_killed_writer_leaves_complete_blocks(tmp_path, deleted):
    context = multiprocessing.get_context("spawn")
    inside, texts = context.Event(), [f"text {n} " * 20 for n in range(700)]
    writer = context.Process(target=write_and_hang, args=(tmp_path, texts, inside))
    writer.start()
    try:
        while not inside.wait(0.1):
            assert writer.is_alive()
    finally:
        writer.kill()
        writer.join(60)
    assert (tmp_path / "cache.sqlite-journal").stat().st_size > 0  # half of a block is on the disk
    if deleted:  # as the error message advises; leftover files must not harm the next cache
        (tmp_path / "cache.sqlite").unlink()
    letters = Letters()
    encoder = CachedEncoder(letters, tmp_path)
    assert_same(encoder.encode(texts), Letters().encode(texts))
    assert letters.calls == [texts if deleted else texts[200:]]
    encoder.encode(texts)
    assert len(letters.calls) == 1 and encoder.repaired == 0 and stored_bytes(tmp_path) > 0


class Stopping(Letters):
    def _encode(self, texts, progress):
        if "stop" in texts:
            raise KeyboardInterrupt
        return super()._encode(texts, progress)


def test_finished_blocks_survive_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "TEXTS_PER_BLOCK", 2)
    with pytest.raises(KeyboardInterrupt):
        CachedEncoder(Stopping(), tmp_path).encode(["a", "b", "c", "stop", "d"])
    letters = Letters()
    CachedEncoder(letters, tmp_path).encode(["a", "b", "c", "d"])
    assert letters.calls == [["c", "d"]]
