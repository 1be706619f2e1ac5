"""Recall of set queries in databases, compared with exact search."""

import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.case import Case, Check, Measurement, Target, require_modules
from benchmarks.data import set_query, word_sets, word_vectors
from softset import WordVectors
from softset.collections.items import Item

__all__ = ["CASES", "MIN_RECALL", "fill_store", "measure_recall"]

TOP = 100
MIN_RECALL = 0.97
SETS = 20


def _queries(vectors: WordVectors, count: int) -> dict[str, list[str]]:
    """Return unions and intersections of two sets of five words, and differences of three and two neighbours."""
    sets = word_sets(vectors, count)
    pairs = [(set_query(first), set_query(second)) for first, second in pairwise(sets)]
    return {
        "unions": [f"{first} | {second}" for first, second in pairs],
        "intersections": [f"{first} & {second}" for first, second in pairs],
        "differences": [f"{set_query(words[:3])} - {set_query(words[3:])}" for words in sets],
    }


def fill_store(kind: str, vectors: WordVectors, folder: Path):
    """Return a collection of all words in a store of the given kind, and the seconds that it took."""
    from softset.stores import StoreCollection, create_store
    from softset.stores.ingest import ingest

    store = create_store(f"{kind}://{folder / kind}.db#words", vectors.dimensions, "none")
    index = {word: i for i, word in enumerate(vectors.words)}
    items = (Item(word, word) for word in vectors.words)
    start = time.perf_counter()
    ingest(store, items, lambda texts: vectors.take([index[text] for text in texts]))
    return StoreCollection(store), time.perf_counter() - start


def measure_recall(stored, vectors: WordVectors, count: int = SETS) -> Iterator[tuple[str, float, float]]:
    """Yield the kind of query, the mean recall at 100, and the median seconds of a query.

    The exact search has the background of the store, and does not hide variants of words, as the store does not.
    """
    with patch.dict(vars(vectors), {"background": stored.background}):
        for name, queries in _queries(vectors, count).items():
            recalls, seconds = [], []
            for query in queries:
                exact = {hit.id for hit in vectors.find(query, TOP, preprocessing="none", variants=True)}
                start = time.perf_counter()
                recalls.append(len(exact & {hit.id for hit in stored.find(query, TOP)}) / len(exact))
                seconds.append(time.perf_counter() - start)
            yield name, float(np.mean(recalls)), float(np.median(seconds))


def _compare_with_exact(kind: str, module: str) -> Callable[[bool], Measurement]:
    def run(quick: bool) -> Measurement:
        require_modules(module)
        source = word_vectors(quick)
        n = min(len(source), 10_000 if quick else 200_000)
        vectors = WordVectors.of(list(source.words[:n]), np.array(source.matrix[:n]))
        with tempfile.TemporaryDirectory() as folder:
            stored, seconds = fill_store(kind, vectors, Path(folder))
            size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
            results = list(measure_recall(stored, vectors, 4 if quick else SETS))
        lowest = min(recall for _, recall, _ in results)
        return Measurement(
            softset=lowest,
            baseline=1.0,
            unit="recall",
            ratio=lowest,
            notes=(
                f"{n:,} x {vectors.dimensions} added in {seconds:.0f} s, {size / n:,.0f} bytes per item on disk",
                *(f"{name}: {1e3 * each:,.0f} ms per query" for name, _, each in results),
            ),
            checks=tuple(
                Check(recall, Target(f"recall of {name}", MIN_RECALL, "higher")) for name, recall, _ in results
            ),
        )

    return run


def _case(kind: str, engine: str, module: str) -> Case:
    return Case(
        f"store-{kind}",
        f"recall@100 of set queries over 200k x 100 in {engine}, the lowest of three kinds of query",
        "exact search",
        "items of the exact result that the store finds / all of them",
        Target(f"at least {MIN_RECALL:g}", MIN_RECALL, "higher"),
        _compare_with_exact(kind, module),
    )


CASES = (_case("milvus", "Milvus Lite (HNSW)", "pymilvus"), _case("lance", "LanceDB (IVF)", "lancedb"))
