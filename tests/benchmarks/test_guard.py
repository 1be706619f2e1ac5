"""A guard against regressions of speed: ratios within one process, with generous bounds.

One thread and the time of the processor, not of the clock: what other processes do on the machine hardly matters then.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from benchmarks.cases.kernel import literal, pairs, scored
from benchmarks.data import query, word_sets, words
from benchmarks.measuring import alternating
from threadpoolctl import threadpool_limits

from softset import WordVectors


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


def measured(repeats: int, **tasks: Callable[[], object]) -> dict[str, float]:
    return alternating(tasks, repeats, clock=time.process_time)


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    return words(quick=True)


def test_the_kernel_is_faster_than_the_literal_algorithm() -> None:
    A, B = pairs(400)
    some = slice(0, 400, 20)
    short = list(zip(list(A)[some], list(B)[some], strict=True))
    seconds = measured(5, ours=lambda: scored(A, B), literal=lambda: [literal(*one) for one in short])
    assert 20 * seconds["literal"] > 4 * seconds["ours"]
    assert scored(A, B)[some] == pytest.approx(np.array([literal(*one) for one in short]), abs=1e-4)


def test_many_queries_at_once_are_cheaper_than_one_by_one(vectors: WordVectors) -> None:
    queries = [query(one) for one in word_sets(vectors, 16)]
    seconds = measured(
        3,
        at_once=lambda: vectors.find_many(queries, top=100),
        one_by_one=lambda: [vectors.find(one, top=100) for one in queries],
    )
    assert seconds["at_once"] < seconds["one_by_one"]


def test_the_time_of_the_kernel_grows_no_faster_than_the_work() -> None:
    few, many = pairs(40), pairs(640)
    seconds = measured(5, few=lambda: scored(*few), many=lambda: scored(*many))
    assert seconds["many"] < 24 * seconds["few"]


def test_the_time_of_find_grows_no_faster_than_the_work(vectors: WordVectors) -> None:
    part = vectors.restrict(len(vectors) // 16)
    asked = query([word for word in part.words[:1000] if word.isalpha()][100:105])
    seconds = measured(5, few=lambda: part.find(asked, top=100), many=lambda: vectors.find(asked, top=100))
    assert seconds["many"] < 24 * seconds["few"]
