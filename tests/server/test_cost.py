"""Requests that would take minutes are refused at once, and long loops stop when the client has left."""

import time
from threading import Event

import numpy as np
import pytest
from starlette.testclient import TestClient

from softset.search.words import WordVectors, load_words
from softset.server import ServerLimits, Settings, worker_pool
from softset.server.cost import scoring_seconds, search_seconds
from softset.similarity.metrics.registry import METRICS
from softset.similarity.scorer import Scorer
from tests.server.conftest import client_for

WORDS = [word for word in load_words().words if word.isalpha()][100:3000]
LONG_TEXTS = [" ".join(WORDS[number : number + 120]) for number in range(256)]
CHAIN = " | ".join("{" + ", ".join(WORDS[start : start + 8]) + "}" for start in range(0, 392, 8))  # 49 sets


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("matrix", {"candidates": LONG_TEXTS, "metric": "grassmann", "model": "words"}),
        ("matrix", {"candidates": LONG_TEXTS, "model": "words"}),
        ("score", {"candidates": [" ".join(WORDS)], "references": [["red book"] * 900], "model": "words"}),
        ("find", {"query": [CHAIN] * 3, "logic": "graded", "collection": "large"}),
        ("find", {"query": ["@a - @b & @c"] * 700, "logic": "graded", "sets": dict.fromkeys("abc", WORDS[:300])}),
        ("membership", {"query": " | ".join(["@a"] * 99), "texts": ["red"], "logic": "graded", "collection": "large"}),
        ("map", {"query": " | ".join(["@a"] * 99), "logic": "graded", "collection": "large"}),
    ],
)
def test_requests_that_take_too_long_are_refused_at_once(home, monkeypatch, path: str, body: dict) -> None:
    large = WordVectors.of(WORDS, np.random.default_rng(0).standard_normal((len(WORDS), 1024), dtype=np.float32))
    limits = ServerLimits(query=100_000)
    with client_for(Settings(limits=limits)) as client:
        if body.pop("collection", None):
            service = client.app.state.service
            monkeypatch.setattr(service.resources, "source", lambda *_: large)
            body = {"sets": {"a": WORDS[:1000]}, **body}
        client.get("/v1/models")
        start = time.process_time()
        response = client.post(f"/v1/{path}", json=body)
        assert response.status_code == 413, response.text
        assert "the limit is 30.0 seconds of computation (estimated), but there are" in response.json()["detail"]
        assert "--timeout" in response.json()["detail"] and time.process_time() - start < 5


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("find", {"query": CHAIN, "logic": "graded"}),
        ("find", {"query": CHAIN}),
        ("find", {"query": CHAIN, "logic": "lattice"}),
        ("matrix", {"candidates": LONG_TEXTS[:30], "model": "words"}),
        ("score", {"candidates": LONG_TEXTS[:100], "references": LONG_TEXTS[100:200], "model": "words"}),
    ],
)
def test_usual_requests_are_accepted(client: TestClient, path: str, body: dict) -> None:
    response = client.post(f"/v1/{path}", json=body)
    assert response.status_code in (200, 422), response.text
    assert "estimated" not in response.text


@pytest.mark.parametrize("name", METRICS)
def test_short_texts_may_fill_the_largest_matrix(name: str) -> None:
    tokens = np.full(256, 12)
    assert scoring_seconds(name, tokens[:, None], tokens, 384) < 30


def test_the_estimate_grows_with_every_size() -> None:
    words = load_words()
    estimates = [
        scoring_seconds("softset", np.array([10]), np.array([10]), 300),
        scoring_seconds("softset", np.array([100]), np.array([10]), 300),
        scoring_seconds("softset", np.array([100]), np.array([200]), 300),
        scoring_seconds("grassmann", np.array([100]), np.array([200]), 300),
        scoring_seconds("grassmann", np.array([100, 100]), np.array([200, 200]), 300),
    ]
    assert estimates == sorted(set(estimates))
    searches = [
        search_seconds(["{red"], {}, None, words),
        search_seconds(["red"], {}, None, words),
        search_seconds(["red & blue"], {}, None, words),
        search_seconds(["red & blue"] * 2, {}, None, words),
        search_seconds(["@a & @b"] * 2, {"a": WORDS[:100], "b": WORDS[100:200]}, "lattice", words),
        search_seconds(["@a & @b"] * 2, {"a": WORDS[:100], "b": WORDS[100:200]}, "graded", words),
    ]
    assert searches[0] == 0 and searches == sorted(set(searches))


def test_no_query_is_searched_twice_because_another_is_invalid(client: TestClient, monkeypatch) -> None:
    searched: list[str] = []
    rank = WordVectors.rank

    def record(self, plans, *arguments, **options):
        searched.extend(plan.query for plan in plans)
        return rank(self, plans, *arguments, **options)

    monkeypatch.setattr(WordVectors, "rank", record)
    valid = [f"{{{first}, {second}}}" for first, second in zip(WORDS[:200], WORDS[200:400], strict=True)]
    queries = [*valid[:150], "qwxzy", *valid[150:], "{red"]
    results = client.post("/v1/find", json={"query": queries, "top": 2}).json()
    assert sorted(searched) == sorted(valid)
    assert [index for index, result in enumerate(results) if "error" in result] == [150, 201]
    assert [result["query"] for result in results] == queries


@pytest.mark.parametrize(
    ("path", "body", "owner", "name"),
    [
        ("matrix", {"candidates": LONG_TEXTS[:60], "model": "words"}, Scorer, "matrix"),
        ("find", {"query": ["red"] * 1000, "top": 1}, WordVectors, "find_many"),
    ],
)
def test_a_loop_stops_when_the_client_has_left(
    client: TestClient, monkeypatch, path: str, body: dict, owner: type, name: str
) -> None:
    calls, step, abandoned = [], getattr(owner, name), Event()

    def leave(self, *arguments, **options):
        calls.append(name)
        abandoned.set()
        worker_pool._ABANDONED.set(abandoned)
        return step(self, *arguments, **options)

    monkeypatch.setattr(owner, name, leave)
    assert client.post(f"/v1/{path}", json=body).status_code == 500  # nobody reads this response
    assert calls == [name]


@pytest.mark.parametrize("metric", ["softset", "subspace(weights=idf)", "wrd", "tfidf"])
def test_blocks_of_a_matrix_equal_the_whole(client: TestClient, monkeypatch, metric: str) -> None:
    if metric == "wrd":
        pytest.importorskip("ot")
    monkeypatch.setattr("softset.server.routes.scoring_seconds", lambda *_: 5.0)  # so that there are five blocks
    texts = [*LONG_TEXTS[:10], "red", "", "qwxzy"]
    result = client.post("/v1/matrix", json={"candidates": texts, "metric": metric, "model": "words"}).json()
    expected = Scorer("words", metric=metric).matrix(texts).to_dict()
    assert result["signature"] == expected["signature"]
    for number in ("precision", "recall", "score"):
        assert np.allclose(result[number], expected[number], atol=1e-6)
