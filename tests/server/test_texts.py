"""/v1/score, /v1/matrix and /v1/explain return what the command line and the library return."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

import softset
from softset.server import ServerLimits, Settings
from tests.server.conftest import client_for

PAIR = ("A boy walks in this park.", "The kid runs in the square.")


@pytest.mark.parametrize(
    ("body", "flags"),
    [
        ({}, ()),
        ({"layer": 4, "metric": "subspace(weights=l2)"}, ("--layer", "4", "--metric", "subspace(weights=l2)")),
        (
            {"layer": -2, "metric": "subspace", "rescale": "chance"},
            ("--layer=-2", "--metric", "subspace", "--rescale", "chance"),
        ),
        ({"layer": 0.5, "unit": "word"}, ("--layer", "0.5", "--unit", "word")),
        ({"layer": 1}, ("--layer", "1")),
        ({"layer": 1.0}, ("--layer", "1.0")),
        ({"layer": "1.0"}, ("--layer", "1.0")),
        ({"model": "words"}, ("--model", "words")),
        ({"max_length": 5, "overflow": "truncate"}, ("--max-length", "5", "--overflow", "truncate")),
    ],
)
def test_score_equals_the_command_line(client: TestClient, command, body: dict, flags: tuple[str, ...]) -> None:
    response = client.post("/v1/score", json={"candidates": [PAIR[0]], "references": [PAIR[1]], **body})
    assert response.status_code == 200
    assert response.json() == command("score", "--inline", "-c", PAIR[0], "-r", PAIR[1], "--json", *flags)[1]


def test_multiple_references(client: TestClient) -> None:
    body = {"candidates": ["It rains.", "A pen."], "references": [["Rain falls.", "It is dry."], ["A pencil."]]}
    for multi_reference in ("best", "mean", "union"):
        result = client.post("/v1/score", json={**body, "multi_reference": multi_reference}).json()
        expected = softset.score(body["candidates"], body["references"], multi_reference=multi_reference)
        assert result == expected.to_dict()


def test_explain_equals_the_command_line(client: TestClient, command) -> None:
    body = {"candidate": PAIR[0], "reference": PAIR[1], "metrics": ["bertscore", "subspace"], "layer": 4}
    flags = ("--metric", "bertscore", "--metric", "subspace", "--layer", "4", "--json")
    assert client.post("/v1/explain", json=body).json() == command("explain", *PAIR, *flags)[1]


def test_matrix_equals_the_library(client: TestClient) -> None:
    texts, others = ["red", "a blue pen"], ["green", "a pen", "a dog"]
    result = client.post("/v1/matrix", json={"candidates": texts, "references": others, "model": "words"}).json()
    assert result == softset.Scorer("words").matrix(texts, others).to_dict()
    own = client.post("/v1/matrix", json={"candidates": texts, "model": "words"}).json()
    assert own["score"][0][0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("score", {"candidates": ["a"], "references": ["a", "b"]}, 422, "there is 1 candidate but 2 references"),
        ("score", {"candidates": ["a"], "references": ["b"], "metric": "nothing"}, 422, "there is no metric 'nothing'"),
        (
            "score",
            {"candidates": ["a"], "references": ["b"], "model": "/etc"},
            404,
            "there is no model named '/etc'",
        ),
        ("score", {"candidates": ["a"], "references": ["b"], "model": "bert-base-uncased"}, 404, "there is no model"),
        ("score", {"candidates": ["a"], "references": ["b"], "layer": 99}, 422, "layer"),
        ("score", {"candidates": ["a"], "references": ["b"], "rescale": "chance"}, 422, "has no closed form"),
        ("score", {"candidates": ["word " * 600], "references": ["b"], "overflow": "error"}, 422, "shorten the text"),
        ("score", {"candidates": [], "references": []}, 422, "candidates: "),
        ("score", {"candidates": ["a"]}, 422, "references: field required"),
        ("score", {"candidates": "a", "references": ["b"]}, 422, "candidates: "),
        ("explain", {"candidate": " ", "reference": "b"}, 422, "the candidate is empty"),
        (
            "explain",
            {"candidate": "a", "reference": "b", "metrics": ["wmd"]},
            422,
            "has no membership of single tokens",
        ),
        ("explain", {"candidate": "a", "reference": "b", "metrics": []}, 422, "metrics: "),
        ("matrix", {"candidates": ["a"] * 300, "references": ["b"] * 300}, 413, "the limit is 65,536 cells"),
        ("score", {"candidates": ["a"] * 600, "references": ["b"] * 600}, 413, "the limit is 1,024 texts"),
        ("score", {"candidates": ["word " * 5_000], "references": ["b"]}, 413, "the limit is 4,096 tokens in one text"),
        ("score", {"candidates": ["a"], "references": [1] * 90_000}, 422, "references: must be a list of texts"),
        ("score", {"candidates": ["a"], "references": [1] * 200_000}, 422, "200,000 elements were given"),
        ("score", {str(key): 1 for key in range(2_000)}, 422, "2,000 elements were given"),
        ("score", {"candidates": ["a"], "references": ["b"], "layer": "abc"}, 422, "layer 'abc' is not known"),
        (
            "score",
            {"candidates": ["a"], "references": ["b"], "layer": None},
            422,
            "layer: must be a number",
        ),
        (
            "score",
            {"candidates": ["word " * 4_000] * 9, "references": ["b"] * 9},
            413,
            "the limit is 32,768 tokens",
        ),
        ("explain", {"candidate": "a b " * 200, "reference": "c d " * 200}, 413, "the limit is 65,536 links"),
    ],
)
def test_invalid_requests_get_a_one_line_error(
    client: TestClient, path: str, body: dict, status: int, message: str
) -> None:
    response = client.post(f"/v1/{path}", json=body)
    problem = response.json()
    assert response.status_code == problem["status"] == status and message in problem["detail"]
    assert response.headers["content-type"] == "application/problem+json" and "\n" not in problem["detail"]


def test_limits_can_be_changed(home) -> None:
    with client_for(Settings(limits=ServerLimits(texts=3, tokens=4, text_tokens=3, query=5, cells=2))) as client:
        for path, body, message in (
            ("score", {"candidates": ["a", "b"], "references": ["c", "d"]}, "3 texts"),
            ("score", {"candidates": ["a b c"], "references": ["d e"], "model": "words"}, "4 tokens"),
            ("matrix", {"candidates": ["a"], "references": ["b", "c", "d"], "model": "words"}, "2 cells"),
            ("find", {"query": "yellow"}, "5 characters"),
            ("find", {"query": ["a", "b", "c", "d"]}, "3 queries"),
            ("find", {"query": ["red", "blue"]}, "5 characters"),
            ("find", {"query": "red", "top": 3}, "2 results"),
            ("membership", {"query": "red", "texts": ["a"], "sets": {"a": ["a long name"]}}, "5 characters"),
            ("find", {"query": "@a", "sets": {"a": ["red", "blue"], "b": ["tan", "sky"]}}, "3 examples in named sets"),
            ("score", {"candidates": ["a b c d"], "references": ["b"], "model": "words"}, "3 tokens in one text"),
            ("membership", {"query": "red", "texts": ["a", "b", "c", "d"]}, "3 texts"),
        ):
            response = client.post(f"/v1/{path}", json=body)
            assert (
                response.status_code == 413
                and message in response.json()["detail"]
                and "softset serve --max-" in response.text
            )


def test_a_missing_package_gets_status_501(client: TestClient, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "ot.lp.emd_wrap", None)
    response = client.post(
        "/v1/score", json={"candidates": ["a"], "references": ["b"], "metric": "wmd", "model": "words"}
    )
    assert response.status_code == 501 and "pip install 'softset[transport]'" in response.json()["detail"]


def test_concurrent_scores_are_the_same(client: TestClient) -> None:
    texts = [f"message number {n} about {topic}" for n in range(6) for topic in ("ships", "bread", "war")]

    def f1(text: str) -> float:
        body = {"candidates": [text], "references": [PAIR[0]], "layer": 4}
        return client.post("/v1/score", json=body).json()["score"]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(f1, texts))
    alone = softset.score(texts, [PAIR[0]] * len(texts), layer=4).score
    assert together == pytest.approx(alone.tolist(), abs=1e-6)
