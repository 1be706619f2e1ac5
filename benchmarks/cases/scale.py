"""Beyond one machine: two workers beside one, and what stores find beside an exact search."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.case import Case, Check, Outcome, Target, needs
from benchmarks.data import query, sentences, word_sets, words
from benchmarks.measuring import cores
from softset import WordVectors
from softset.collections.items import Item
from softset.search import find as finding

__all__ = ["CASES", "found_in", "recalls"]

TOP = 100
RECALL = 0.97
SETS = 20


# Two workers beside one


def _workers(quick: bool) -> Outcome:
    needs("ray", "pyarrow")
    from softset.jobs.cluster import cluster
    from softset.jobs.scoring import score_files

    pairs = 400 if quick else 4_000
    os.environ["OMP_NUM_THREADS"] = "1"  # of each worker, whose processes begin with this
    times: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder, cluster(workers=2):
        _write_pairs(Path(folder, "pairs.parquet"), pairs)
        for turn in range(1 + (1 if quick else 3)):
            for workers, seconds in times.items():
                start = time.perf_counter()
                score_files(
                    f"{folder}/pairs.parquet", f"{folder}/{turn}-{workers}", workers=workers, block=200, threads=1
                )
                if turn:  # the first is to warm up
                    seconds.append(time.perf_counter() - start)
    one, two = (float(np.median(seconds)) for seconds in times.values())
    return Outcome(
        ours=pairs / two,
        peer=pairs / one,
        unit="pairs/s",
        ratio=one / two,
        notes=(f"{pairs:,} pairs, one thread a worker, {cores()} cores; the start of the workers is counted",),
    )


def _write_pairs(file: Path, count: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = {name: sentences(count, seed) for seed, name in enumerate(("candidate", "reference"))}
    pq.write_table(pa.table({"id": [str(at) for at in range(count)], **texts}), file, row_group_size=200)


# What stores find


def _asked(vectors: WordVectors, count: int) -> dict[str, list[str]]:
    """Return unions and intersections of two sets of five words, and sets of three without two of their neighbours."""
    sets = word_sets(vectors, count)
    pairs = [(query(one), query(other)) for one, other in pairwise(sets)]
    return {
        "unions": [f"{one} | {other}" for one, other in pairs],
        "intersections": [f"{one} & {other}" for one, other in pairs],
        "differences": [f"{query(one[:3])} - {query(one[3:])}" for one in sets],
    }


def found_in(kind: str, vectors: WordVectors, folder: Path):
    """Return a collection of all words in a store of some kind, and the seconds that took."""
    from softset.stores import Stored, create_store
    from softset.stores.ingesting import ingest

    store = create_store(f"{kind}://{folder / kind}.db#words", vectors.dimensions, "none")
    place = {word: at for at, word in enumerate(vectors.words)}
    start = time.perf_counter()
    ingest(
        store, (Item(word, word) for word in vectors.words), lambda texts: vectors.take([place[one] for one in texts])
    )
    return Stored(store), time.perf_counter() - start


def recalls(stored, vectors: WordVectors, count: int = SETS) -> Iterator[tuple[str, float, float]]:
    """Yield for each kind of query its name, the mean recall at 100, and the median seconds of one.

    Where a set ends is known exactly here, not from a sample, as it is of the store.
    """
    with patch.object(finding, "FEW", len(vectors)):
        for name, queries in _asked(vectors, count).items():
            shares, seconds = [], []
            for one in queries:
                exact = {hit.id for hit in vectors.find(one, TOP, preprocessing="none")}
                start = time.perf_counter()
                shares.append(len(exact & {hit.id for hit in stored.find(one, TOP)}) / len(exact))
                seconds.append(time.perf_counter() - start)
            yield name, float(np.mean(shares)), float(np.median(seconds))


def _store(kind: str, module: str) -> Callable[[bool], Outcome]:
    def run(quick: bool) -> Outcome:
        needs(module)
        given = words(quick)
        n = min(len(given), 10_000 if quick else 200_000)
        vectors = WordVectors.of(list(given.words[:n]), np.array(given.matrix[:n]))
        with tempfile.TemporaryDirectory() as folder:
            stored, seconds = found_in(kind, vectors, Path(folder))
            size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
            found = list(recalls(stored, vectors, 4 if quick else SETS))
        return Outcome(
            ours=min(recall for _, recall, _ in found),
            peer=1.0,
            unit="recall",
            ratio=min(recall for _, recall, _ in found),
            notes=(
                f"{n:,} x {vectors.dimensions} added in {seconds:.0f} s, {size / n:,.0f} bytes an item on disk",
                *(f"{name}: {1e3 * each:,.0f} ms a query" for name, _, each in found),
            ),
            also=tuple(Check(recall, Target(f"of {name}", RECALL, "higher")) for name, recall, _ in found),
        )

    return run


def _store_case(kind: str, engine: str, module: str) -> Case:
    return Case(
        f"store-{kind}",
        f"recall@100 of set queries over 200k x 100 in {engine}, the least of three kinds",
        "an exact search",
        "items of the exact answer that are found / all of them",
        Target(f"at least {RECALL:g}", RECALL, "higher"),
        _store(kind, module),
    )


CASES = (
    Case(
        "workers",
        "pairs scored from Parquet to Parquet by two workers on Ray, MiniLM, one thread each",
        "one worker",
        "pairs/s of two / of one",
        Target("at least 1.6 times as many", 1.6, "higher"),
        _workers,
    ),
    _store_case("milvus", "Milvus Lite (HNSW)", "pymilvus"),
    _store_case("lance", "LanceDB (IVF)", "lancedb"),
)
