"""Search side by side with peers, in one run, as medians: python benchmarks/search.py --vectors NAME [--engines]

Peers are measured if they are installed (pip install gensim hnswlib usearch); --engines builds graph indexes, which
takes minutes.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from softset import WordVectors, load_words

TOP = 100


def milliseconds(task: Callable[[], object], repeats: int = 15) -> float:
    task()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def realistic_sets(words: WordVectors, count: int, seed: int = 0) -> list[list[str]]:
    """Return sets of a frequent word and four of its near neighbours."""
    random = np.random.default_rng(seed)
    unit = words.restrict(20_000).normalised().matrix
    sets = []
    for place in random.choice(5_000, count, replace=False):
        near = np.argsort(-(unit @ unit[place]))[1:30]
        sets.append([words.words[int(i)] for i in [place, *random.choice(near, 4, replace=False)]])
    return sets


def query(examples: list[str]) -> str:
    return "{" + ", ".join('"' + one.replace("\\", "\\\\").replace('"', '\\"') + '"' for one in examples) + "}"


def against_gensim(words: WordVectors, sets: list[list[str]]) -> None:
    queries = [query(one) for one in sets]
    print(f"one set, exact             {milliseconds(lambda: words.find(queries[0], top=TOP)):8.1f} ms")
    print(
        f"one set, approximate       {milliseconds(lambda: words.find(queries[0], top=TOP, approximate=True)):8.1f} ms"
    )
    print(f"recall@{TOP} of approximate  {words.recall(queries, top=TOP):8.3f}")
    print(f"{len(sets)} sets at once            {milliseconds(lambda: words.find_many(queries, top=TOP), 3):8.1f} ms")
    print(f"most_similar               {milliseconds(lambda: words.most_similar(sets[0], topn=TOP)):8.1f} ms")
    try:
        from gensim.models import KeyedVectors
    except ImportError:
        print("gensim is not installed")
        return
    keyed = KeyedVectors(words.dimensions)
    keyed.add_vectors(list(words.words), np.asarray(words.matrix))
    keyed.fill_norms()
    print(f"gensim most_similar        {milliseconds(lambda: keyed.most_similar(sets[0], topn=TOP)):8.1f} ms")
    calls = milliseconds(lambda: [keyed.most_similar(one, topn=TOP) for one in sets], 3)
    print(f"{len(sets)} gensim calls            {calls:8.1f} ms")


def engines(words: WordVectors, sets: list[list[str]]) -> None:
    """Compare indexes by the same probes, 200 neighbours each, and exact membership of what they find."""
    unit = words.normalised().matrix
    probes = [_probes(words.normalised()[one]) for one in sets]
    bases = [words.span(one).basis for one in sets]
    exact = [set(np.argsort(-np.linalg.norm(unit @ Q.T, axis=1))[:TOP].tolist()) for Q in bases]
    for name, build in (("faiss IVF", _ivf), ("hnswlib", _hnswlib), ("usearch", _usearch)):
        try:
            start = time.perf_counter()
            search = build(unit)
        except ImportError:
            print(f"{name} is not installed")
            continue
        built = time.perf_counter() - start
        start, found = time.perf_counter(), 0
        for P, Q, wanted in zip(probes, bases, exact, strict=True):
            candidates = np.setdiff1d(search(P), [-1])
            best = candidates[np.argsort(-np.linalg.norm(unit[candidates] @ Q.T, axis=1))[:TOP]]
            found += len(wanted & set(best.tolist()))
        each = 1e3 * (time.perf_counter() - start) / len(sets)
        print(f"{name:12} built in {built:6.1f} s   {each:6.2f} ms a set   recall@{TOP} {found / TOP / len(sets):.3f}")


def _probes(units: np.ndarray) -> np.ndarray:
    mean = units.mean(axis=0)
    directions = np.linalg.svd(units, full_matrices=False)[2][:2]
    directions = directions * np.where(directions @ mean < 0, -1, 1)[:, None]
    rows = np.concatenate([units, directions, [mean, -mean], -directions[:1]])
    return np.ascontiguousarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def _ivf(unit: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    import faiss

    lists = int(2 * len(unit) ** 0.5)
    index = faiss.index_factory(unit.shape[1], f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(unit[np.random.default_rng(0).choice(len(unit), 64 * lists, replace=False)])
    index.add(unit)
    index.nprobe = max(32, lists // 32)
    return lambda P: index.search(P, 200)[1]


def _hnswlib(unit: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    import hnswlib

    index = hnswlib.Index("ip", unit.shape[1])
    index.init_index(len(unit), M=16, ef_construction=100)
    index.add_items(unit)
    index.set_ef(200)
    return lambda P: index.knn_query(P, 200)[0].astype(np.int64)


def _usearch(unit: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    from usearch.index import Index

    index = Index(
        ndim=unit.shape[1], metric="ip", dtype="f32", connectivity=16, expansion_add=100, expansion_search=200
    )
    index.add(np.arange(len(unit)), unit)
    return lambda P: index.search(P, 200).keys.astype(np.int64)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", help="word vectors by name or folder")
    parser.add_argument("--engines", action="store_true", help="compare approximate indexes too")
    given = parser.parse_args()
    vectors = load_words(given.vectors)
    chosen = realistic_sets(vectors, 64)
    print(vectors)
    against_gensim(vectors, chosen)
    if given.engines:
        engines(vectors, chosen)
