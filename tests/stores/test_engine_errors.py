"""Errors of a database become one sentence; mistakes in the code do not, and no call waits forever."""

import pickle
import time
from typing import Any

import numpy as np
import pytest

from softset.errors import FileError, InputError
from softset.stores import Neighbours, Record, milvus
from softset.stores.base import call_engine
from softset.stores.ingest import IngestReport
from softset.stores.milvus import MilvusStore


class FakeClient:
    """A Milvus client whose index has the given numbers of pending rows, one after the other."""

    def __init__(self, *pending: int) -> None:
        self.pending, self.calls = list(pending), []

    def describe_collection(self, _: str) -> dict[str, Any]:
        return {"fields": [{"name": "vector", "params": {"dim": 4}}], "properties": {milvus.PROPERTY: "none"}}

    def describe_index(self, *_: str) -> dict[str, int]:
        return {"pending_index_rows": self.pending.pop(0) if len(self.pending) > 1 else self.pending[0]}

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: self.calls.append(name)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milvus, "POLL_INTERVAL", 0.001)
    monkeypatch.setattr(milvus, "INDEX_TIMEOUT", 0.05)


def test_an_index_without_progress_is_an_error() -> None:
    store = MilvusStore(FakeClient(9), "books", is_file=False)
    start = time.monotonic()
    with pytest.raises(
        InputError, match=r"has all items of 'books', but its index has not made progress.*9 items left"
    ):
        store.finish()
    assert time.monotonic() - start < 5


def test_a_slow_index_with_progress_is_awaited() -> None:
    client = FakeClient(*range(200, -1, -1))
    MilvusStore(client, "books", is_file=True).finish()
    assert client.pending == [0]
    assert client.calls == ["load_collection", "release_collection", "flush", "load_collection"]


class CountingClient(FakeClient):
    """A Milvus client that counts how often it is asked for the state of its index."""

    asked = 0

    def describe_index(self, *_: str) -> dict[str, int]:
        self.asked += 1
        return super().describe_index()


def test_a_server_is_asked_once_per_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milvus, "POLL_INTERVAL", 0.02)
    client = CountingClient(9)
    with pytest.raises(InputError, match="has not made progress"):
        MilvusStore(client, "books", is_file=False).finish()
    assert client.asked <= 5


def test_an_index_that_pauses_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milvus, "INDEX_TIMEOUT", 60.0)
    client = FakeClient(9, 9, 9, 4, 4, 0)
    MilvusStore(client, "books", is_file=False).finish()
    assert client.pending == [0]


class EngineError(Exception):
    """An exception of the database's client."""

    __module__ = "pymilvus.exceptions"


@pytest.mark.parametrize("error", [EngineError("no\ndetails"), OSError("no"), RuntimeError("no"), ValueError("no")])
def test_errors_of_a_database_are_one_sentence(error: Exception) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(InputError, match=r"^Milvus reports in x: no$") as caught:
        call_engine("Milvus", fail, " in x")
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [TypeError, KeyError, AttributeError, AssertionError, IndexError, NameError])
def test_mistakes_in_the_code_are_not_reported_as_errors_of_the_database(error: type[Exception]) -> None:
    def fail() -> None:
        raise error("mistake")

    with pytest.raises(error, match="mistake"):
        call_engine("Milvus", fail)


def test_errors_of_softset_are_not_changed() -> None:
    def fail() -> None:
        raise FileError("the file is damaged")

    with pytest.raises(FileError, match=r"^the file is damaged$"):
        call_engine("Milvus", fail)


def test_messages_of_a_database_are_short() -> None:
    def fail(message: str) -> None:
        raise RuntimeError(message)

    with pytest.raises(InputError, match=r"^LanceDB reports: bad filter$"):
        call_engine("LanceDB", lambda: fail("bad filter, /home/build/src/lance/table.rs:12:5"))
    with pytest.raises(InputError, match=r"^LanceDB reports: x{300}$"):
        call_engine("LanceDB", lambda: fail("x" * 1_000))
    with pytest.raises(InputError, match=r"No space left on device; free some space and run the command again"):
        call_engine("LanceDB", lambda: fail("No space left on device"))


def test_values_can_be_pickled() -> None:
    record = Record("a", "b", {"c": 1}, np.ones(2))
    assert pickle.loads(pickle.dumps(record))[:3] == record[:3]
    neighbours = Neighbours(["a"], np.ones(1))
    assert pickle.loads(pickle.dumps(neighbours)).ids == ["a"]
    assert pickle.loads(pickle.dumps(IngestReport(1, 2, 3))) == (1, 2, 3)
