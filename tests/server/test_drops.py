"""Lines that somebody drops: searched like an indexed file, kept for a while, never more than allowed."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from softset.server import Limits, Settings
from tests.server.conftest import client_of

LINES = ["A storm at sea", "Bread and butter", "War on the ocean", "A quiet garden", "Sailing around the world"]


@pytest.mark.parametrize("model", ["minilm", "words"])
def test_lines_are_found_as_an_indexed_file_is(client: TestClient, command, tmp_path: Path, model: str) -> None:
    made = client.post("/v1/collections", json={"texts": LINES[:2], "model": model})
    assert made.status_code == 201
    name = made.json()["collection"]
    more = client.post(f"/v1/collections/{name}/items", json={"texts": LINES[2:]}).json()
    assert more == {"collection": name, "items": 5, "blank": 0, "seconds": 3600.0}
    found = client.post("/v1/find", json={"query": "{sea, ship} - war", "collection": name, "explain": True}).json()
    (tmp_path / "lines.txt").write_text("\n".join(LINES))
    command("index", str(tmp_path / "lines.txt"), "--out", str(tmp_path / "c"), "--encoder", model)
    expected = command("find", "--in", str(tmp_path / "c"), "{sea, ship} - war", "--explain", "--json")[1]
    assert found["results"] == expected["results"]
    assert client.delete(f"/v1/collections/{name}").status_code == 204
    assert client.post("/v1/find", json={"query": "sea", "collection": name}).status_code == 404
    assert client.delete(f"/v1/collections/{name}").status_code == 404


def test_blank_lines_are_told(client: TestClient) -> None:
    made = client.post("/v1/collections", json={"texts": ["a red book", "qwxzy"], "model": "words"}).json()
    assert made["blank"] == 1


def test_only_so_many_lines_and_collections(home) -> None:
    with client_of(Settings(limits=Limits(items=3, collections_kept=2))) as client:
        many = client.post("/v1/collections", json={"texts": LINES, "model": "words"})
        assert many.status_code == 413 and "3 items of a collection" in many.json()["detail"]
        names = [
            client.post("/v1/collections", json={"texts": LINES[:2], "model": "words"}).json()["collection"]
            for _ in range(3)
        ]
        assert client.post(f"/v1/collections/{names[2]}/items", json={"texts": LINES[:2]}).status_code == 413
        asked = [client.post("/v1/find", json={"query": "sea", "collection": name}).status_code for name in names]
        assert asked == [404, 200, 200]
        folder = client.app.state.service.offers.drops._folder
        assert sorted(one.name for one in folder.iterdir()) == sorted(names[1:])
    assert not folder.exists()


def test_what_is_not_used_goes(home) -> None:
    with client_of(Settings(limits=Limits(lifetime=0.2))) as client:
        name = client.post("/v1/collections", json={"texts": LINES, "model": "words"}).json()["collection"]
        assert client.post("/v1/find", json={"query": "sea", "collection": name}).status_code == 200
        time.sleep(0.3)
        assert client.post("/v1/find", json={"query": "sea", "collection": name}).status_code == 404
        assert not list(client.app.state.service.offers.drops._folder.iterdir())


def test_a_failure_leaves_nothing(client: TestClient, monkeypatch) -> None:
    from softset.server.batching import BatchedEncoder

    folder = client.app.state.service.offers.drops._folder
    before = set(folder.iterdir())
    monkeypatch.setattr(BatchedEncoder, "embed", lambda *_: 1 / 0)
    assert client.post("/v1/collections", json={"texts": LINES, "model": "words"}).status_code == 500
    assert set(folder.iterdir()) == before


def test_what_nobody_asks_for_goes_by_itself(home) -> None:
    with client_of(Settings(limits=Limits(lifetime=0.2))) as client:
        client.post("/v1/collections", json={"texts": LINES, "model": "words"})
        folder, end = client.app.state.service.offers.drops._folder, time.monotonic() + 10
        while list(folder.iterdir()):
            assert time.monotonic() < end
            time.sleep(0.02)


def test_bytes_are_bounded_too(home) -> None:
    with client_of(Settings(limits=Limits(item_bytes=100))) as client:
        made = client.post("/v1/collections", json={"texts": ["x" * 90], "model": "words"})
        name = made.json()["collection"]
        assert client.post(f"/v1/collections/{name}/items", json={"texts": ["y" * 20]}).status_code == 413
        assert client.post(f"/v1/collections/{name}/items", json={"texts": ["y" * 10]}).status_code == 200


def test_searching_while_lines_come_and_go(client: TestClient) -> None:
    """Nobody meets a file that is just being replaced, and no folder stays behind."""
    drops = client.app.state.service.offers.drops
    before = {one.name for one in drops._folder.iterdir()}
    for _ in range(4):
        name = client.post("/v1/collections", json={"texts": LINES, "model": "words"}).json()["collection"]
        statuses = []

        def search(name: str = name, statuses: list[int] = statuses) -> None:
            for _ in range(25):
                asked = {"query": "{sea, ship}", "collection": name, "top": 20}
                statuses.append(client.post("/v1/find", json=asked).status_code)

        with ThreadPoolExecutor(4) as pool:
            searching = [pool.submit(search) for _ in range(3)]
            for _ in range(10):
                added = client.post(f"/v1/collections/{name}/items", json={"texts": LINES})
                assert added.status_code == 200
            for one in searching:
                one.result(60)
            assert set(statuses) == {200}
            adding = [
                pool.submit(client.post, f"/v1/collections/{name}/items", json={"texts": LINES}) for _ in range(3)
            ]
            assert client.delete(f"/v1/collections/{name}").status_code == 204
            assert {one.result(60).status_code for one in adding} <= {200, 404}
    assert {one.name for one in drops._folder.iterdir()} == before
