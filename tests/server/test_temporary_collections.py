"""Temporary collections: search, limits, expiry and deletion."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from softset import load_encoder
from softset.server import ServerLimits, Settings
from softset.server.limited_encoder import LimitedEncoder
from softset.server.problems import RequestError
from softset.server.temporary_collections import TemporaryCollections
from tests.server.conftest import client_for

LINES = ["A storm at sea", "Bread and butter", "War on the ocean", "A quiet garden", "Sailing around the world"]


def create(client: TestClient, texts: list[str]) -> str:
    return client.post("/v1/collections", json={"texts": texts, "model": "words"}).json()["collection"]


def folder_of(client: TestClient) -> Path:
    return client.app.state.service.resources.temporary.folder


@pytest.mark.parametrize("model", ["minilm", "words"])
def test_search_results_equal_those_of_an_indexed_file(client: TestClient, command, tmp_path: Path, model: str) -> None:
    created = client.post("/v1/collections", json={"texts": LINES[:2], "model": model})
    assert created.status_code == 201
    name = created.json()["collection"]
    extended = client.post(f"/v1/collections/{name}/items", json={"texts": LINES[2:]}).json()
    assert extended == {"collection": name, "items": 5, "without_vector": 0, "lifetime": 3600.0}
    result = client.post("/v1/find", json={"query": "{sea, ship} - war", "collection": name, "explain": True}).json()
    (tmp_path / "lines.txt").write_text("\n".join(LINES))
    command("index", str(tmp_path / "lines.txt"), "--out", str(tmp_path / "c"), "--model", model)
    expected = command("find", "--collection", str(tmp_path / "c"), "{sea, ship} - war", "--explain", "--json")[1]
    assert result["results"] == expected["results"]
    assert client.delete(f"/v1/collections/{name}").status_code == 204
    assert client.post("/v1/find", json={"query": "sea", "collection": name}).status_code == 404
    assert client.delete(f"/v1/collections/{name}").status_code == 404


def test_items_without_a_vector_are_counted(client: TestClient) -> None:
    created = client.post("/v1/collections", json={"texts": ["a red book", "qwxzy"], "model": "words"}).json()
    assert created["without_vector"] == 1


def test_the_numbers_of_items_and_collections_are_limited(home) -> None:
    with client_for(Settings(limits=ServerLimits(items=3, temporary_collections=2))) as client:
        refused = client.post("/v1/collections", json={"texts": LINES, "model": "words"})
        assert refused.status_code == 413 and "3 items in a temporary collection" in refused.json()["detail"]
        names = [create(client, LINES[:2]) for _ in range(3)]
        assert client.post(f"/v1/collections/{names[2]}/items", json={"texts": LINES[:2]}).status_code == 413
        statuses = [client.post("/v1/find", json={"query": "sea", "collection": name}).status_code for name in names]
        assert statuses == [404, 200, 200]
        folder = folder_of(client)
        assert sorted(path.name for path in folder.iterdir()) == sorted(names[1:])
    assert not folder.exists()


def test_the_bytes_of_texts_are_limited(home) -> None:
    with client_for(Settings(limits=ServerLimits(item_bytes=100))) as client:
        name = create(client, ["x" * 90])
        assert client.post(f"/v1/collections/{name}/items", json={"texts": ["y" * 20]}).status_code == 413
        assert client.post(f"/v1/collections/{name}/items", json={"texts": ["y" * 10]}).status_code == 200


def test_an_expired_collection_is_not_found(home) -> None:
    with client_for(Settings(limits=ServerLimits(lifetime=0.2))) as client:
        name = create(client, LINES)
        assert client.post("/v1/find", json={"query": "sea", "collection": name}).status_code == 200
        time.sleep(0.3)
        assert client.post("/v1/find", json={"query": "sea", "collection": name}).status_code == 404
        assert not list(folder_of(client).iterdir())


def test_expired_collections_are_deleted_without_a_request(home) -> None:
    with client_for(Settings(limits=ServerLimits(lifetime=0.2))) as client:
        create(client, LINES)
        folder, deadline = folder_of(client), time.monotonic() + 10
        while list(folder.iterdir()):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_failed_upload_leaves_no_files(client: TestClient, monkeypatch) -> None:
    before = set(folder_of(client).iterdir())
    monkeypatch.setattr(LimitedEncoder, "embed", lambda *_: 1 / 0)
    assert client.post("/v1/collections", json={"texts": LINES, "model": "words"}).status_code == 500
    assert set(folder_of(client).iterdir()) == before


def test_searches_work_while_items_are_added_and_collections_deleted(client: TestClient) -> None:
    before = {path.name for path in folder_of(client).iterdir()}
    for _ in range(4):
        name = create(client, LINES)
        statuses = []

        def search(name: str = name, statuses: list[int] = statuses) -> None:
            for _ in range(25):
                body = {"query": "{sea, ship}", "collection": name, "top": 20}
                statuses.append(client.post("/v1/find", json=body).status_code)

        def add(name: str = name) -> int:
            return client.post(f"/v1/collections/{name}/items", json={"texts": LINES}).status_code

        with ThreadPoolExecutor(4) as pool:
            searches = [pool.submit(search) for _ in range(3)]
            assert {add() for _ in range(10)} == {200}
            for future in searches:
                future.result(60)
            assert set(statuses) == {200}
            additions = [pool.submit(add) for _ in range(3)]
            assert client.delete(f"/v1/collections/{name}").status_code == 204
            assert {future.result(60) for future in additions} <= {200, 404}
    assert {path.name for path in folder_of(client).iterdir()} == before


@pytest.fixture
def uploads(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    uploads = TemporaryCollections(ServerLimits(item_bytes=100))
    yield uploads
    uploads.close()
    assert list(tmp_path.iterdir()) == []


def test_texts_that_could_not_be_added_do_not_count(uploads: TemporaryCollections, monkeypatch) -> None:
    encoder = LimitedEncoder(load_encoder("words"), ServerLimits())
    name, collection = uploads.create(["x" * 60], encoder, "words")
    with monkeypatch.context() as patch:
        patch.setattr(type(collection), "add", lambda *_: 1 / 0)
        for _ in range(5):
            with pytest.raises(ZeroDivisionError):
                uploads.add(name, ["y" * 30])
    assert len(uploads.add(name, ["y" * 30])) == 2


def test_items_are_not_added_to_a_collection_that_is_deleted_meanwhile(uploads: TemporaryCollections) -> None:
    class Encoder(LimitedEncoder):
        def check(self, texts):
            uploads.remove(name)
            return super().check(texts)

    encoder = Encoder(load_encoder("words"), ServerLimits())
    name, _ = uploads.create(["a storm"], LimitedEncoder(encoder.encoder, ServerLimits()), "words")
    uploads._uploads[name].encoder = encoder
    with pytest.raises(RequestError, match="there is no temporary collection with this name"):
        uploads.add(name, ["at sea"])
    assert list(uploads.folder.iterdir()) == []


def test_a_search_that_runs_while_items_are_added_sees_the_previous_items(uploads: TemporaryCollections) -> None:
    name, before = uploads.create(["a storm"], LimitedEncoder(load_encoder("words"), ServerLimits()), "words")
    after = uploads.add(name, ["at sea"])
    assert (len(before), len(after)) == (1, 2) and len(before.norms) == 1


LIVE = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from softset.server import ServerLimits
from softset.server.temporary_collections import TemporaryCollections
uploads = TemporaryCollections(ServerLimits())
print(uploads.folder, flush=True)
sys.stdin.read()
"""


def test_only_folders_of_servers_that_ended_are_deleted(tmp_path: Path, monkeypatch) -> None:
    """The other process stands for a server in another container, whose process id means nothing here."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    process = subprocess.Popen(
        [sys.executable, "-c", LIVE, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        folder = Path(process.stdout.readline().strip())
        assert folder.is_dir()
        TemporaryCollections(ServerLimits()).close()
        assert folder.is_dir()
        process.kill()
        process.wait()
        TemporaryCollections(ServerLimits()).close()
        assert list(tmp_path.iterdir()) == []
    finally:
        process.kill()
        process.communicate()
