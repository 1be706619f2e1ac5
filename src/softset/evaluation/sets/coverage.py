"""Which words of the evaluation data have vectors, and how fast vectors are looked up and searched."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from softset.evaluation.data import Data, numbers
from softset.evaluation.results import Row
from softset.evaluation.sets.concepts import QUERY, Concepts
from softset.search.words import WordVectors

__all__ = ["coverage", "sts_words"]

FILES = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSB-test", "SICK-test")
COLUMNS = ("score", "sentence1", "sentence2", "source")
QUERIES = 50  # that are timed
AT_ONCE = 10


def sts_words(data: Data) -> Counter[str]:
    """Return how often each word occurs in the tokenised test pairs; marks without a letter or digit are no words."""
    counts: Counter[str] = Counter()
    for name in FILES:
        for _, left, right, _ in data.table(f"sts/tokenised/{name}.tsv", COLUMNS, [numbers, str, str, str]):
            counts.update(word for word in f"{left} {right}".split() if any(map(str.isalnum, word)))
    return counts


def coverage(words: WordVectors, concepts: Concepts, texts: Mapping[str, int], *, limit: int | None) -> list[Row]:
    """Return the shares of words that have a vector, and how many words and queries a second are answered."""
    test = [concepts.sets[at] for at in concepts.splits["test"]][:limit]
    vocabulary = range(len(concepts.words))
    start = time.perf_counter()
    has = [words.get_token(word) is not None for word in concepts.words]
    seconds = time.perf_counter() - start
    rows = [
        _row(words, "vocabulary", _share(has, vocabulary), len(has)),
        _row(words, "queries", _share(has, [word for one in test for word in one[:QUERY]]), len(test) * QUERY),
        _row(words, "targets", _share(has, [word for one in test for word in one[QUERY:]]), len(test)),
    ]
    occurrences = texts.total() if isinstance(texts, Counter) else sum(texts.values())
    found = sum(count for word, count in texts.items() if words.get_token(word) is not None)
    rows.append(Row("words", "STS", words.name, "words", found / max(occurrences, 1), occurrences))
    rows.append(Row("words", "speed", words.name, "words/s", len(has) / seconds, len(has)))
    return [*rows, _speed(words, concepts, test)]


def _share(has: Sequence[bool], places: Iterable[int]) -> float:
    found = [has[place] for place in places]
    return sum(found) / max(len(found), 1)


def _row(words: WordVectors, metric: str, value: float, n: int) -> Row:
    return Row("words", "LDA-1k", words.name, metric, value, n)


def _speed(words: WordVectors, concepts: Concepts, test: Sequence[Sequence[int]]) -> Row:
    """Return how many queries a second `find_many` answers over all of the vectors, ten at once."""
    shown = [[concepts.words[place] for place in one[:QUERY]] for one in test[:QUERIES]]
    queries = ["{" + ", ".join(f'"{word}"' for word in some) + "}" for some in shown if any(w in words for w in some)]
    if not queries:
        return Row("words", "speed", words.name, "queries/s", 0.0, 0)
    words.find_many(queries[:1], skip_unknown=True)  # the first one reads the vectors
    start = time.perf_counter()
    for at in range(0, len(queries), AT_ONCE):
        words.find_many(queries[at : at + AT_ONCE], skip_unknown=True)
    return Row("words", "speed", words.name, "queries/s", len(queries) / (time.perf_counter() - start), len(queries))
