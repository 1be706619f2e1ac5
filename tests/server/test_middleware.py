"""Host names, the API key, limits on bodies, security headers, the page files and metrics."""

import json

import pytest
from starlette.testclient import TestClient

from softset.server import ServerLimits, Settings
from tests.server.conftest import client_for

KEY = "correct-horse-battery"
FIND = {"query": "red", "top": 1}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:99", "LOCALHOST", "[::1]", "[::1]:8000"])
def test_local_host_names_are_accepted(client: TestClient, host: str) -> None:
    assert client.get("/v1/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil:80", "", "8000", "[::2]"])
def test_other_host_names_are_refused(client: TestClient, host: str) -> None:
    for path in ("/", "/v1/health", "/metrics"):
        response = client.get(path, headers={"host": host})
        assert response.status_code == 421 and response.headers["content-type"] == "application/problem+json"


def test_additional_host_names_are_accepted(home) -> None:
    with client_for(Settings(hosts=("words.team.example",))) as client:
        assert client.get("/v1/health", headers={"host": "words.team.example"}).status_code == 200
        assert client.get("/v1/health", headers={"host": "team.example"}).status_code == 421


@pytest.fixture(scope="module")
def locked(home):
    with client_for(Settings(host="0.0.0.0", key=KEY)) as client:
        yield client


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", f"Bearer {KEY}x", f"Bearer {KEY[:-1]}", KEY, f"Basic {KEY}", "Bearer é"]
)
def test_requests_without_the_key_are_refused(locked: TestClient, header: str | None) -> None:
    headers = {} if header is None else {"authorization": header.encode()}
    for method, path in (("POST", "/v1/find"), ("GET", "/v1/models"), ("GET", "/metrics"), ("GET", "/v1/openapi.json")):
        response = locked.request(method, path, json=FIND if method == "POST" else None, headers=headers)
        assert response.status_code == 401 and response.headers["www-authenticate"] == "Bearer"
        assert KEY not in response.text


def test_requests_with_the_key_are_accepted(locked: TestClient) -> None:
    for scheme in ("Bearer", "bearer"):
        response = locked.post("/v1/find", json=FIND, headers={"authorization": f"{scheme} {KEY}"})
        assert response.json()["results"][0]["id"] == "blue"
    assert locked.get("/v1/health").status_code == 200  # for load balancers
    assert locked.get("/").status_code == 200  # the page asks for the key


def test_every_response_has_security_headers(client: TestClient) -> None:
    for response in (
        client.get("/"),
        client.get("/nothing"),
        client.post("/v1/find", json=FIND),
        client.get("/v1/health"),
    ):
        policy = response.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "http" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "server" not in response.headers and "access-control-allow-origin" not in response.headers


def test_page_files_have_etags(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html") and "<title>softset" in page.text
    for path in ("/page/main.js", "/page/style.css", "/page/icon.svg"):
        response = client.get(path)
        assert response.status_code == 200
        cached = client.get(path, headers={"if-none-match": response.headers["etag"]})
        assert cached.status_code == 304 and not cached.content
    assert client.head("/").status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/page/../app.py", "/page/%2e%2e/app.py", "/page/..%2fapp.py", "/page//etc/passwd", "/page/nothing.js", "/docs"],
)
def test_other_files_are_not_served(client: TestClient, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404 and response.json()["detail"].startswith("there is nothing at ")


def test_page_files_name_no_other_host(client: TestClient) -> None:
    from softset.server.app import PAGE

    for file in PAGE.iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")  # an XML namespace, not an address
        assert "http:" not in text and "https:" not in text and "//cdn" not in text, file


def test_large_bodies_are_refused(home) -> None:
    with client_for(Settings(limits=ServerLimits(body=1000))) as client:
        declared = client.post("/v1/find", content=b"x" * 1001, headers={"content-type": "application/json"})
        assert declared.status_code == 413 and "1,000 bytes" in declared.json()["detail"]

        def chunks():
            for _ in range(100):
                yield b'"' + b"x" * 99

        streamed = client.post("/v1/find", content=chunks(), headers={"content-type": "application/json"})
        assert streamed.status_code == 413
        assert client.post("/v1/find", json=FIND).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"[" * 100_000, 400),
        (b'{"query": "\xff"}', 400),
        (b'{"query": "\\ud800"}', 422),
        (b'{"query": "red", "top": 1e400}', 422),
        (b'{"query": "red", "min_score": NaN}', 422),
        (b'{"query": "red", "alpha": -Infinity}', 422),
        (b'{"query": "red", "top": "5"}', 422),
        (b'{"query": "red", "top": 0}', 422),
        (b'{"query": "red", "top": true}', 422),
        (b'{"query": "red", "logic": "fuzzy"}', 422),
        (b'{"query": "red", "preprocessing": "whiten(0.3)"}', 422),
        (b'{"query": "red", "strange": 1}', 422),
        (b'{"query": []}', 422),
        (b'{"query": null}', 422),
        (b'["red"]', 422),
        (b"null", 422),
        (b'{"query": "red", "sets": {"a": "b"}}', 422),
        (b'{"query": "red", "aperture": "many"}', 422),
    ],
)
def test_invalid_bodies_get_a_one_line_error(client: TestClient, body: bytes, status: int) -> None:
    response = client.post("/v1/find", content=body, headers={"content-type": "application/json"})
    body_status, detail = response.json()["status"], response.json()["detail"]
    assert response.status_code == body_status == status, detail
    assert "\n" not in detail and 5 < len(detail) < 1000 and "function-after" not in detail


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_content_types_of_html_forms_are_refused(client: TestClient, kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    refused = client.post("/v1/find", content=json.dumps(FIND).encode(), headers=headers)
    assert refused.status_code == 415 and "content-type: application/json" in refused.json()["detail"]


def test_unknown_paths_and_methods_are_refused(client: TestClient) -> None:
    assert client.get("/v1/find").status_code == 405 and client.get("/v1/find").json()["status"] == 405
    assert client.get("/v2/find").status_code == 404


def test_internal_errors_are_logged_but_not_sent(client: TestClient, monkeypatch, caplog) -> None:
    from softset.search.words import WordVectors

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("/secret/place")

    monkeypatch.setattr(WordVectors, "find_many", broken)
    response = client.post("/v1/find", json=FIND)
    assert response.status_code == 500 and "secret" not in response.text and "see the log" in response.json()["detail"]
    assert "/secret/place" in caplog.text


def test_metrics(client: TestClient) -> None:
    client.post("/v1/find", json=FIND)
    client.post("/v1/score", json={"candidates": ["a"], "references": ["b"]})
    client.get("/a/path/that/nobody/has")
    for path in ("/metrics", "/v1/metrics"):
        response = client.get(path)
        assert response.headers["content-type"].startswith("text/plain")
        assert 'requests_total{route="/v1/find",status="200"}' in response.text
        assert "softset_requests_in_progress 0" in response.text
        assert "nobody" not in response.text
    assert client.get("/v1/health").json()["status"] == "ok"
