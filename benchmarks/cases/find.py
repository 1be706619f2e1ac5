"""Search by sets of five words: one query, and many queries at once."""

from itertools import cycle

from benchmarks.case import Case, Measurement, Target
from benchmarks.data import set_query, to_gensim, word_sets, word_vectors
from benchmarks.measurement import REPETITIONS, median_seconds, repeated, thread_count

__all__ = ["CASES"]

TOP = 100


def _find_one(quick: bool) -> Measurement:
    vectors = word_vectors(quick)
    keyed_vectors = to_gensim(vectors)
    sets = word_sets(vectors, 16)
    queries, examples = cycle([set_query(words) for words in sets]), cycle(sets)  # no two calls in a row are equal
    tasks = {
        "softset": repeated(lambda: vectors.find(next(queries), top=TOP)),
        "gensim": repeated(lambda: keyed_vectors.most_similar(next(examples), topn=TOP)),
    }
    seconds = median_seconds(tasks, 4 if quick else 16)
    return Measurement(
        softset=1e3 * seconds["softset"] / REPETITIONS,
        baseline=1e3 * seconds["gensim"] / REPETITIONS,
        unit="ms",
        ratio=seconds["softset"] / seconds["gensim"],
        notes=(f"{len(vectors):,} x {vectors.dimensions}, {thread_count()} threads",),
    )


def _find_many(quick: bool) -> Measurement:
    vectors = word_vectors(quick)
    keyed_vectors = to_gensim(vectors)
    sets = word_sets(vectors, 64)
    queries = [set_query(words) for words in sets]
    tasks = {
        "softset": lambda: vectors.find_many(queries, top=TOP),
        "gensim": lambda: [keyed_vectors.most_similar(words, topn=TOP) for words in sets],
    }
    seconds = median_seconds(tasks, 3 if quick else 9)
    return Measurement(
        softset=1e3 * seconds["softset"],
        baseline=1e3 * seconds["gensim"],
        unit="ms",
        ratio=seconds["gensim"] / seconds["softset"],
        notes=(f"{len(vectors):,} x {vectors.dimensions}, {thread_count()} threads",),
    )


CASES = (
    Case(
        "find-one",
        "one set of 5 words, top 100 of 341k x 100",
        "gensim most_similar with the same words",
        "softset time / baseline time",
        Target("at most 1.3 times the time", 1.3, "lower"),
        _find_one,
    ),
    Case(
        "find-many",
        "64 sets of 5 words at once, top 100 of 341k x 100",
        "64 calls of gensim most_similar",
        "baseline time / softset time",
        Target("at least 6 times as fast", 6, "higher"),
        _find_many,
    ),
)
