"""Approximate search compared with exact search, and the index compared with other libraries."""

import time
from collections.abc import Callable

import numpy as np

from benchmarks.case import Case, Check, Measurement, SkipCase, Target, require_modules
from benchmarks.data import large_word_vectors, set_query, word_sets, word_vectors
from benchmarks.measurement import median_seconds, thread_count
from softset import WordVectors

__all__ = ["CASES"]

TOP = 100
NEIGHBOURS = 200
RECALL = Target("recall@100 over 64 sets", 0.95, "higher")
Search = Callable[[np.ndarray], np.ndarray]


def _compare_with_exact(source: Callable[[bool], WordVectors]) -> Callable[[bool], Measurement]:
    def run(quick: bool) -> Measurement:
        require_modules("faiss")
        vectors = source(quick)
        queries = [set_query(words) for words in word_sets(vectors, 16 if quick else 64)]
        start = time.perf_counter()
        vectors.find(queries[0], top=TOP, approximate=True)
        first = time.perf_counter() - start
        recall = vectors.recall(queries, top=TOP)
        tasks = {
            "approximate": lambda: [vectors.find(query, top=TOP, approximate=True) for query in queries],
            "exact": lambda: [vectors.find(query, top=TOP) for query in queries],
        }
        seconds = median_seconds(tasks, 4 if quick else 16)
        return Measurement(
            softset=1e3 * seconds["approximate"] / len(queries),
            baseline=1e3 * seconds["exact"] / len(queries),
            unit="ms",
            ratio=seconds["exact"] / seconds["approximate"],
            notes=(
                f"{len(vectors):,} x {vectors.dimensions}, {thread_count()} threads",
                f"the first call, which builds or opens the index, took {first:.1f} s",
            ),
            checks=(Check(recall, RECALL),),
        )

    return run


def _case(name: str, size: str, source: Callable[[bool], WordVectors], factor: int) -> Case:
    return Case(
        name,
        f"one set of 5 words, top 100 of {size}, approximate search",
        "softset's exact search",
        "exact time / approximate time",
        Target(f"at least {factor} times as fast, with recall@100 of .95 or more", factor, "higher"),
        _compare_with_exact(source),
    )


# Other indexes; each searches the neighbours of the means of the sets


def _build_hnswlib(units: np.ndarray) -> Search:
    import hnswlib

    index = hnswlib.Index("ip", units.shape[1])
    index.init_index(len(units), M=16, ef_construction=100)
    index.add_items(units, num_threads=thread_count())
    index.set_ef(NEIGHBOURS)
    return lambda vector: index.knn_query(vector[None], NEIGHBOURS)[0][0]


def _build_usearch(units: np.ndarray) -> Search:
    from usearch.index import Index

    index = Index(
        ndim=units.shape[1], metric="ip", dtype="f32", connectivity=16, expansion_add=100, expansion_search=NEIGHBOURS
    )
    index.add(np.arange(len(units)), units, threads=thread_count())
    return lambda vector: index.search(vector, NEIGHBOURS).keys


def _compare_build_times(quick: bool) -> Measurement:
    require_modules("faiss")
    vectors = word_vectors(quick)
    units = np.ascontiguousarray(vectors.normalised().matrix)
    sets = word_sets(vectors, 16 if quick else 64)
    in_memory = WordVectors.of(list(vectors.words), np.array(vectors.matrix))  # its index is not cached on disk
    start = time.perf_counter()
    in_memory.find(set_query(sets[0]), top=TOP, approximate=True)
    ours = time.perf_counter() - start
    means = [vectors.normalised()[words].mean(axis=0) for words in sets]
    exact = [set(np.argsort(-(units @ mean))[:TOP].tolist()) for mean in means]
    build_times: dict[str, float] = {}
    notes = [f"softset: recall {in_memory.recall([set_query(words) for words in sets], top=TOP):.3f}"]
    for name, build in (("hnswlib", _build_hnswlib), ("usearch", _build_usearch)):
        start = time.perf_counter()
        try:
            search = build(units)
        except ImportError:
            notes.append(f"{name} is not installed")
            continue
        build_times[name] = time.perf_counter() - start
        recall = np.mean(
            [len(best & set(search(m)[:TOP].tolist())) / TOP for best, m in zip(exact, means, strict=True)]
        )
        notes.append(f"{name}: built in {build_times[name]:.1f} s, recall {recall:.3f}")
    if not build_times:
        raise SkipCase("no graph index is installed: pip install usearch")
    fastest = min(build_times.values())
    return Measurement(ours, fastest, "s", fastest / ours, (*notes, f"{thread_count()} threads"))


CASES = (
    _case("approximate-341k", "341k x 100", word_vectors, 5),
    _case("approximate-2m", "2 million x 100", large_word_vectors, 10),
    Case(
        "index-build",
        "building the approximate index of 341k x 100, with one search",
        "the fastest graph index (hnswlib, usearch)",
        "baseline time / softset time",
        Target("at least 5 times as fast", 5, "higher"),
        _compare_build_times,
    ),
)
