"""Searching words by a set of five: one at a time, and many at once."""

import time
from itertools import cycle

from benchmarks.case import Case, Outcome, Target
from benchmarks.data import gensim_of, query, word_sets, words
from benchmarks.measuring import IN_A_ROW, Task, alternating, in_a_row, threads

__all__ = ["CASES"]

TOP = 100


def _one(quick: bool) -> Outcome:
    vectors = words(quick)
    keyed = gensim_of(vectors)
    # Another set in each turn: neither side shall live by what it remembers of the last.
    sets = word_sets(vectors, 16)
    ours, theirs = cycle([query(one) for one in sets]), cycle(sets)
    tasks = {
        "ours": in_a_row(lambda: vectors.find(next(ours), top=TOP)),
        "peer": in_a_row(lambda: keyed.most_similar(next(theirs), topn=TOP)),
    }
    seconds = alternating(tasks, 4 if quick else 16)
    return Outcome(
        ours=1e3 * seconds["ours"] / IN_A_ROW,
        peer=1e3 * seconds["peer"] / IN_A_ROW,
        unit="ms",
        ratio=seconds["ours"] / seconds["peer"],
        notes=(f"{len(vectors):,} x {vectors.dimensions}, {threads()} threads",),
    )


def _many(quick: bool) -> Outcome:
    vectors = words(quick)
    keyed = gensim_of(vectors)
    sets = word_sets(vectors, 64)
    queries = [query(one) for one in sets]
    first, second = (_seconds(lambda: vectors.find_many(queries, top=TOP)) for _ in range(2))
    tasks = {
        "ours": lambda: vectors.find_many(queries, top=TOP),
        "peer": lambda: [keyed.most_similar(one, topn=TOP) for one in sets],
    }
    seconds = alternating(tasks, 3 if quick else 9)
    return Outcome(
        ours=1e3 * seconds["ours"],
        peer=1e3 * seconds["peer"],
        unit="ms",
        ratio=seconds["peer"] / seconds["ours"],
        notes=(
            f"{len(vectors):,} x {vectors.dimensions}, {threads()} threads",
            f"before, a first call took {first:.2f} s, and a second, which makes codes of all vectors, {second:.2f} s",
        ),
    )


def _seconds(task: Task) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


CASES = (
    Case(
        "find-one",
        "one set of 5 words, top 100 over 341k x 100",
        "gensim most_similar with the same words",
        "our time / peer's time",
        Target("at most 1.3 times its time", 1.3, "lower"),
        _one,
    ),
    Case(
        "find-many",
        "64 sets of 5 words at once, top 100 over 341k x 100",
        "64 calls of gensim most_similar",
        "peer's time / our time",
        Target("at least 10 times as fast", 10, "higher"),
        _many,
    ),
)
