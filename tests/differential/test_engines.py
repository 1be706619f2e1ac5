"""Every engine returns what a brute-force search returns: exact, batches, approximate at full probe, stores, Ray, HTTP.

Ties may come in any order from a database, so rankings are compared by their memberships, and each hit by its own.
The background has 1,000 of the 1,190 items with a vector, so that engines which choose others differ.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest

from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.query import background
from tests.jobs.conftest import QUIET, two_processes, write  # noqa: F401 (two_processes is a fixture)
from tests.query.reference import score_vectors

pytestmark = QUIET
N, D, TOP, SIZE = 1_200, 12, 20, 1_000
RNG = np.random.default_rng(8)
NAMES = [f"w{index}" for index in range(N)]
QUERIES = [
    "{w1, w2, w3}", "w600", "{w1, w2} & {w50, w60}", "{w1, w700} | {w70}", "{w1, w2} - {w100, w900}", "w1 -- w100",
    "({w1, w2} | w70) -^0.3 {w100}",
]  # fmt: skip
Rankings = list[dict[str, float]]
Engine = Callable[[Sequence[str]], Rankings]


def adversarial_rows() -> np.ndarray:
    """Clusters, copies, vectors that are nearly the same, zero vectors, and lengths from 1e-3 to 1e3."""
    rows = RNG.standard_normal((N, D)) + 2 * RNG.standard_normal((15, D))[RNG.integers(0, 15, N)]
    rows[300:500] = rows[RNG.integers(0, 10, 200)]
    rows[600:800] = rows[600] + 1e-4 * RNG.standard_normal((200, D))
    rows[1_100:1_110] = 0
    return (rows * 10.0 ** RNG.uniform(-3, 3, (N, 1))).astype(np.float32)


def id_hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


VECTORS = adversarial_rows()


@pytest.fixture(scope="module", autouse=True)
def small_background() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background, "SIZE", SIZE)
        yield


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> Collection:
    return Collection.create(tmp_path_factory.mktemp("local") / "c", [Item(name) for name in NAMES], vectors=VECTORS)


@pytest.fixture(scope="module")
def expected(local: Collection) -> list[tuple[list[float], dict[str, float]]]:
    """For each query: the best memberships, and the membership of every item, by the formulas in float64."""
    with_vector = [index for index in range(N) if VECTORS[index].any()]
    first = sorted(with_vector, key=lambda index: id_hash(NAMES[index]))
    units = VECTORS[first[:SIZE]].astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    assert local.background.units == pytest.approx(units, abs=1e-12) and not local.background.note
    results = []
    for query in QUERIES:
        plan = local.plan(query)
        scores = plan.membership(score_vectors(plan, VECTORS))
        assert (scores == 0).sum() == N - len(with_vector)
        found = np.setdiff1d(np.arange(N), list(plan.example_indices))
        results.append((np.sort(scores[found])[::-1][:TOP].tolist(), dict(zip(NAMES, scores.tolist(), strict=True))))
    return results


def memberships(results: Sequence) -> Rankings:
    return [{hit.id: hit.membership for hit in result} for result in results]


@pytest.fixture(params=["exact", "find_many", "approximate", "milvus", "lance", "ray", "server"])
def engine(request, local: Collection, tmp_path: Path) -> Iterator[Engine]:
    match request.param:
        case "exact":
            yield lambda queries: memberships([local.find(query, TOP) for query in queries])
        case "find_many":
            yield lambda queries: memberships(local.find_many(queries * 20, TOP))
        case "approximate":
            pytest.importorskip("faiss")
            index = local.approximate_index.index
            index.nprobe = index.nlist
            yield lambda queries: memberships([local.find(query, TOP, approximate=True) for query in queries])
        case "milvus" | "lance":
            yield _store_engine(request.param, tmp_path)
        case "ray":
            pytest.importorskip("ray")
            pytest.importorskip("pyarrow")
            yield _ray_engine(request.getfixturevalue("two_processes"), tmp_path)
        case _:
            pytest.importorskip("fastapi")
            yield from _server_engine(local)


def _store_engine(kind: str, tmp_path: Path) -> Engine:
    pytest.importorskip({"milvus": "pymilvus", "lance": "lancedb"}[kind])
    from softset.stores import create_store
    from softset.stores.collection import StoreCollection
    from softset.stores.ingest import ingest

    address = {"milvus": f"milvus://{tmp_path / 'm.db'}#items", "lance": f"lance://{tmp_path / 'l'}#items"}[kind]
    store = create_store(address, D, "none")
    rows = dict(zip(NAMES, VECTORS, strict=True))
    report = ingest(store, [Item(name, name) for name in NAMES], lambda texts: np.stack([rows[text] for text in texts]))
    assert report.without_vector == 10
    return lambda queries: memberships(StoreCollection(store).find_many(list(queries), TOP))


def _ray_engine(cluster: object, tmp_path: Path) -> Engine:
    from softset.jobs.search import ParquetCollection

    for start in range(0, N, 500):
        part = zip(NAMES[start : start + 500], VECTORS[start : start + 500].tolist(), strict=True)
        write(tmp_path / f"{start}.parquet", [{"id": name, "vector": row} for name, row in part])
    shards = ParquetCollection(cluster, str(tmp_path / "*.parquet"))
    return lambda queries: memberships(shards.find_many(list(queries), TOP))


def _server_engine(local: Collection) -> Iterator[Engine]:
    from softset.server import Settings
    from tests.server.conftest import client_for

    with client_for(Settings(collections={"c": local.folder})) as client:

        def find(queries: Sequence[str]) -> Rankings:
            body = {"query": list(queries), "collection": "c", "top": TOP}
            answers = client.post("/v1/find", json=body).json()
            return [{hit["id"]: hit["membership"] for hit in answer["results"]} for answer in answers]

        yield find


def test_engines_agree_with_brute_force(engine: Engine, expected) -> None:
    for _ in range(3):  # caches must not change results
        for found, (best, by_id) in zip(engine(QUERIES), expected * 20, strict=False):
            assert list(found.values()) == pytest.approx(best, abs=1e-6)
            assert list(found.values()) == pytest.approx([by_id[name] for name in found], abs=1e-6)
