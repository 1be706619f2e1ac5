"""A guard against large regressions of speed: ratios within one process, with generous bounds.

One thread and processor time make the results independent of other processes.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from benchmarks.cases.kernel import literal_scores, random_pairs, softset_scores
from benchmarks.data import set_query, word_sets, word_vectors
from benchmarks.measurement import median_seconds
from threadpoolctl import threadpool_limits

from softset import WordVectors


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


def measure(repeats: int, **tasks: Callable[[], object]) -> dict[str, float]:
    return median_seconds(tasks, repeats, clock=time.process_time)


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    return word_vectors(quick=True)


def test_kernel_is_faster_than_the_literal_algorithm() -> None:
    A, B = random_pairs(400)
    sample = slice(0, 400, 20)
    pairs = list(zip(list(A)[sample], list(B)[sample], strict=True))
    seconds = measure(5, softset=lambda: softset_scores(A, B), literal=lambda: [literal_scores(a, b) for a, b in pairs])
    assert 20 * seconds["literal"] > 4 * seconds["softset"]
    expected = np.array([literal_scores(a, b) for a, b in pairs])
    assert softset_scores(A, B)[sample] == pytest.approx(expected, abs=1e-4)


def test_many_queries_at_once_are_faster_than_single_queries(vectors: WordVectors) -> None:
    queries = [set_query(words) for words in word_sets(vectors, 16)]
    seconds = measure(
        3,
        at_once=lambda: vectors.find_many(queries, top=100),
        single=lambda: [vectors.find(query, top=100) for query in queries],
    )
    assert seconds["at_once"] < seconds["single"]


def test_kernel_time_grows_at_most_linearly() -> None:
    few, many = random_pairs(40), random_pairs(640)
    seconds = measure(5, few=lambda: softset_scores(*few), many=lambda: softset_scores(*many))
    assert seconds["many"] < 24 * seconds["few"]


def test_find_time_grows_at_most_linearly(vectors: WordVectors) -> None:
    part = vectors.restrict(len(vectors) // 16)
    query = set_query([word for word in part.words[:1000] if word.isalpha()][100:105])
    seconds = measure(5, few=lambda: part.find(query, top=100), many=lambda: vectors.find(query, top=100))
    assert seconds["many"] < 24 * seconds["few"]
