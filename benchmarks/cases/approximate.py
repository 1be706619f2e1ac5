"""The approximate engine beside our exact one, and beside other indexes."""

import time
from collections.abc import Callable

import numpy as np

from benchmarks.case import Case, Check, Outcome, Skip, Target, needs
from benchmarks.data import large_words, query, word_sets, words
from benchmarks.measuring import alternating, threads
from softset import WordVectors
from softset.query.logic import Logic
from softset.search.approximate import FURTHER, Approximate
from softset.search.probing import SPARE

__all__ = ["CASES"]

TOP = 100
NEIGHBOURS = 200
RECALL = Target("recall@100 over 64 sets", 0.95, "higher")


def _of(source: Callable[[bool], WordVectors]) -> Callable[[bool], Outcome]:
    def run(quick: bool) -> Outcome:
        needs("faiss")
        import faiss

        vectors = source(quick)
        sets = word_sets(vectors, 16 if quick else 64)
        queries = [query(one) for one in sets]
        start = time.perf_counter()
        vectors.find(queries[0], top=TOP, approximate=True)
        opened = time.perf_counter() - start
        recall = vectors.recall(queries, top=TOP)
        size = faiss.serialize_index(vectors.preprocessed(None, Logic()).approximate_index.index).nbytes / len(vectors)
        # Every turn asks for all sets, so that all turns are the same work, and the first call after a pause, whose
        # price the remarks tell, counts for no more than one of them.
        tasks = {
            "ours": lambda: [vectors.find(one, top=TOP, approximate=True) for one in queries],
            "exact": lambda: [vectors.find(one, top=TOP) for one in queries],
            "first": lambda: vectors.find(queries[0], top=TOP, approximate=True),
            "first exact": lambda: vectors.find(queries[0], top=TOP),
        }
        seconds = alternating(tasks, 4 if quick else 16)
        return Outcome(
            ours=1e3 * seconds["ours"] / len(queries),
            peer=1e3 * seconds["exact"] / len(queries),
            unit="ms",
            ratio=seconds["exact"] / seconds["ours"],
            notes=(
                f"{len(vectors):,} x {vectors.dimensions}, {threads()} threads",
                f"the first call, which makes or opens the index, took {opened:.1f} s",
                f"{size:.0f} bytes an item in the index, {4 * vectors.dimensions} in the vectors themselves",
                f"after a pause {1e3 * seconds['first']:.2f} ms, exactly {1e3 * seconds['first exact']:.2f} ms",
            ),
            also=(Check(recall, RECALL),),
        )

    return run


def _case(name: str, about: str, source: Callable[[bool], WordVectors]) -> Case:
    return Case(
        name,
        f"one set of 5 words, top 100 over {about}, by the approximate engine",
        "our exact engine",
        "exact time / approximate time",
        Target("at least 10 times as fast, at recall@100 of .95 or more", 10, "higher"),
        _of(source),
    )


# Other indexes, each asked for the neighbours of the sets' means


def _ivf(unit: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a search in what the approximate engine makes of many items: candidates by codes, then their cosines."""
    index = Approximate(WordVectors.of([str(at) for at in range(len(unit))], unit))

    def nearest(one: np.ndarray) -> np.ndarray:
        found = index.index.search(one[None], int(FURTHER * (TOP + SPARE)) if index.coded else TOP)[1][0]
        return found[np.argsort(-(unit[found] @ one))]

    return nearest


def _hnswlib(unit: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    import hnswlib

    index = hnswlib.Index("ip", unit.shape[1])
    index.init_index(len(unit), M=16, ef_construction=100)
    index.add_items(unit, num_threads=threads())
    index.set_ef(NEIGHBOURS)
    return lambda one: index.knn_query(one[None], NEIGHBOURS)[0][0]


def _usearch(unit: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    from usearch.index import Index

    index = Index(
        ndim=unit.shape[1], metric="ip", dtype="f32", connectivity=16, expansion_add=100, expansion_search=NEIGHBOURS
    )
    index.add(np.arange(len(unit)), unit, threads=threads())
    return lambda one: index.search(one, NEIGHBOURS).keys


def _engines(quick: bool) -> Outcome:
    needs("faiss")
    vectors = words(quick)
    unit = np.ascontiguousarray(vectors.normalised().matrix)
    means = [vectors.normalised()[one].mean(axis=0) for one in word_sets(vectors, 16 if quick else 64)]
    exact = [set(np.argsort(-(unit @ one))[:TOP].tolist()) for one in means]
    built, notes = {}, []
    for name, build in (("faiss IVF, coded", _ivf), ("hnswlib", _hnswlib), ("usearch", _usearch)):
        start = time.perf_counter()
        try:
            search = build(unit)
        except ImportError:
            notes.append(f"{name} is not installed")
            continue
        built[name] = time.perf_counter() - start
        start = time.perf_counter()
        found = [search(one)[:TOP].tolist() for one in means]
        each = 1e3 * (time.perf_counter() - start) / len(means)
        recall = np.mean([len(wanted & set(some)) / TOP for wanted, some in zip(exact, found, strict=True)])
        notes.append(f"{name}: built in {built[name]:.1f} s, {each:.2f} ms a set, recall {recall:.3f}")
    ours = built.pop("faiss IVF, coded")
    if not built:
        raise Skip("no graph index is installed: pip install usearch")
    peer = min(built, key=built.__getitem__)
    notes += [f"{threads()} threads"]
    return Outcome(ours, built[peer], "s", built[peer] / ours, tuple(notes))


CASES = (
    _case("approximate-341k", "341k x 100", words),
    _case("approximate-2m", "2 million x 100", large_words),
    Case(
        "engines",
        "making an inverted file, the index of the approximate engine, of 341k x 100",
        "the quickest graph index (hnswlib, usearch)",
        "peer's time / our time",
        Target("at least 5 times as fast", 5, "higher"),
        _engines,
    ),
)
