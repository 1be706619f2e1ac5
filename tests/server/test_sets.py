"""/v1/find, /v1/membership and /v1/map return what the command line prints, errors included."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from softset.collections.collection import Collection
from softset.collections.embedder import Embedder, text_encoder
from softset.collections.items import Item
from softset.query.logic import Logic
from softset.server import Settings
from softset.server.requests import LogicName
from tests.server.conftest import client_for

QUERY = "{red, blue, green} & {apple, peach, banana}"


@pytest.mark.parametrize(
    ("body", "flags"),
    [
        ({}, ()),
        ({"top": 3, "min_score": 0.55}, ("--top", "3", "--min-score", "0.55")),
        ({"logic": "lattice", "alpha": 0.6}, ("--logic", "lattice", "--alpha", "0.6")),
        ({"logic": "graded", "aperture": "inf"}, ("--logic", "graded", "--aperture", "inf")),
        ({"logic": "graded", "aperture": 3}, ("--logic", "graded", "--aperture", "3")),
        ({"top": 3, "offset": 4, "distinct": 0.6}, ("--top", "3", "--offset", "4", "--distinct", "0.6")),
        ({"explain": True, "include_examples": True}, ("--explain", "--include-examples")),
        ({"variants": True}, ("--variants",)),
        ({"preprocessing": "none", "restrict_vocab": 5000}, ("--preprocessing", "none", "--restrict-vocab", "5000")),
        ({"vectors": "glove-840b-300d"}, ("--vectors", "glove-840b-300d")),
    ],
)
def test_find_equals_the_command_line(client: TestClient, command, body: dict, flags: tuple[str, ...]) -> None:
    response = client.post("/v1/find", json={"query": QUERY, **body})
    assert response.status_code == 200 and response.headers["content-type"] == "application/json"
    assert response.json() == command("find", QUERY, "--json", *flags)[1]


@pytest.mark.parametrize(("field", "flag"), [("excluded", "--excluded"), ("explain", "--explain")])
def test_what_but_not_removes_equals_the_command_line(client: TestClient, command, field: str, flag: str) -> None:
    query = "{dog, cat} -- wolf"
    found = client.post("/v1/find", json={"query": query, field: True}).json()
    assert found == command("find", query, "--json", flag)[1]
    assert all("without_exclusions" in hit for hit in found["results"])
    response = client.post("/v1/find", json={"query": "dog", "excluded": True})
    assert response.status_code == 422 and "has no BUT NOT" in response.text


def test_each_query_of_a_list_has_its_own_result_or_error(client: TestClient, command) -> None:
    results = client.post("/v1/find", json={"query": ["red", "{red", "qwxz", QUERY, "{red"], "top": 2}).json()
    expected = command("find", "red", "--top", "2", "--json")[1]
    for result in (results[0], expected):  # queries that are searched together differ in the last digits
        result["results"] = [(hit["id"], round(hit["membership"], 6)) for hit in result["results"]]
    assert results[0] == expected
    assert results[1] == {"query": "{red", "error": "a comma or } was expected here\n  {red\n      ^"}
    assert results[2] == {"query": "qwxz", "error": "'qwxz' has no vector here"}
    assert results[3]["results"][0]["id"] == "orange" and results[4] == results[1]
    assert [result["query"] for result in client.post("/v1/find", json={"query": ["{red", "qwxz"]}).json()] == [
        "{red",
        "qwxz",
    ]


def test_membership_equals_the_command_line(client: TestClient, command) -> None:
    body = {"query": QUERY, "texts": ["orange", "Red Wine", "dog"], "explain": True}
    expected = command("membership", QUERY, *body["texts"], "--explain", "--json")[1]
    assert client.post("/v1/membership", json=body).json() == expected


def test_map_has_the_sets_and_the_items(client: TestClient) -> None:
    projection = client.post("/v1/map", json={"query": QUERY, "top": 4}).json()
    result = client.post("/v1/find", json={"query": QUERY, "top": 4}).json()
    assert [entry["name"] for entry in projection["sets"]] == ["{red, blue, green}", "{apple, peach, banana}"]
    assert [entry["name"] for entry in projection["items"]] == [hit["id"] for hit in result["results"]]
    assert 0 < projection["explained_variance"] < 1


def test_named_sets_and_skipped_words(client: TestClient) -> None:
    body = {"query": "@colours - qwxz", "sets": {"colours": ["red", "blue"]}, "skip_unknown": True}
    refused = client.post("/v1/find", json=body)
    assert (
        refused.status_code == 422
        and refused.json()["detail"] == "no example of {qwxz} has a vector here: give other examples"
    )
    result = client.post("/v1/find", json={**body, "query": "@colours | {green, qwxz}"}).json()
    assert result["unknown"] == ["qwxz"] and len(result["results"]) == 10


@pytest.mark.parametrize("query", ["", "{red", "qwxz", "red & ~red", "@nothing", "{red}^2 &", "red\x00blue"])
def test_errors_equal_those_of_the_command_line(client: TestClient, command, query: str) -> None:
    response = client.post("/v1/find", json={"query": query})
    problem = response.json()
    assert response.status_code == problem["status"] == 422
    assert response.headers["content-type"] == "application/problem+json"
    code, _, message = command("find", "--json", "--", query) if query else (2, None, None)
    assert code == 2 and (message is None or problem["detail"] == message.rstrip("\n"))


def test_an_error_is_a_problem_with_type_title_and_status(client: TestClient) -> None:
    problem = client.get("/v1/nothing").json()
    assert (problem["type"], problem["title"], problem["status"]) == ("about:blank", "Not Found", 404)


def test_the_error_has_the_position_in_the_query(client: TestClient) -> None:
    assert client.post("/v1/find", json={"query": "red & }"}).json()["position"] == 6


@pytest.fixture(scope="module")
def books(tmp_path_factory) -> Path:
    texts = ["ships and the sea", "a war at sea", "cooking with wine", "a garden of roses"]
    encode, name = text_encoder("words")
    folder = tmp_path_factory.mktemp("books") / "books.softset"
    items = [Item(f"b{number}", text, {"n": number}) for number, text in enumerate(texts)]
    Collection.create(folder, items, encoder=Embedder(name, encode))
    return folder


def test_a_collection_is_found_by_its_name(home, books: Path, command) -> None:
    with client_for(Settings(collections={"library": books})) as client:
        response = client.post("/v1/find", json={"query": "{sea, ship} - war", "collection": "library"})
        assert response.json() == command("find", "--collection", str(books), "{sea, ship} - war", "--json")[1]
        assert client.get("/v1/models").json()["collections"] == ["library"]
        response = client.post("/v1/find", json={"query": "sea", "collection": "library", "vectors": "glove-840b-300d"})
        assert response.status_code == 422


def test_a_filter_is_that_of_the_command_line(home, books: Path, command) -> None:
    with client_for(Settings(collections={"library": books})) as client:
        body = {"query": "{sea, ship}", "collection": "library", "filter": "n >= 1 and not n == 2"}
        response = client.post("/v1/find", json=body)
        arguments = ("find", "--collection", str(books), "{sea, ship}", "--filter", body["filter"], "--json")
        assert response.json() == command(*arguments)[1]
        assert {hit["id"] for hit in response.json()["results"]} == {"b1", "b3"}
        response = client.post("/v1/find", json={**body, "filter": "m > 1"})
        assert response.status_code == 422 and "there is no field 'm'" in response.json()["detail"]
        response = client.post("/v1/find", json={"query": "sea", "filter": "n > 1"})
        assert response.status_code == 422 and "needs items with metadata" in response.json()["detail"]


def test_items_added_later_are_found(home, books: Path, tmp_path: Path) -> None:
    shutil.copytree(books, tmp_path / "copy")
    with client_for(Settings(collections={"c": tmp_path / "copy"})) as client:
        body = {"query": "{sea}", "collection": "c", "top": 10}
        assert len(client.post("/v1/find", json=body).json()["results"]) == 4
        Collection.open(tmp_path / "copy", encoder="words").add([Item("new", "the open sea")])
        results = client.post("/v1/find", json=body).json()["results"]
        assert len(results) == 5 and "new" in [hit["id"] for hit in results[:2]]


@pytest.mark.parametrize("name", ["../../etc", "/etc/passwd", "books.softset", "", "a\x00b", "minilm", "x" * 5000])
@pytest.mark.parametrize("field", ["vectors", "collection"])
def test_names_are_not_used_as_paths(client: TestClient, monkeypatch, books: Path, name: str, field: str) -> None:
    monkeypatch.chdir(books.parent)
    response = client.post("/v1/find", json={"query": "red", field: name})
    assert response.status_code == 404 and "known names: " in response.json()["detail"] and len(response.content) < 1000


def test_all_logics_are_accepted() -> None:
    assert LogicName.__args__ == Logic.NAMES


def test_concurrent_searches_give_the_same_results(client: TestClient) -> None:
    queries = ["{red, blue}", QUERY, "~red & fruit", "{dog, cat} - {wolf}"] * 4
    alone = {query: client.post("/v1/find", json={"query": query}).json() for query in set(queries)}
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda query: client.post("/v1/find", json={"query": query}).json(), queries))
    for query, result in zip(queries, results, strict=True):
        assert [hit["id"] for hit in result["results"]] == [hit["id"] for hit in alone[query]["results"]]
        assert np.allclose(
            [hit["membership"] for hit in result["results"]],
            [hit["membership"] for hit in alone[query]["results"]],
            atol=1e-6,
        )
