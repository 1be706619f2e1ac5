"""Coverage of the evaluation data's words by word vectors, and the speed of lookup and search."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from softset.evaluation.data import DataFolder
from softset.evaluation.sts_data import DATASETS, read_datasets
from softset.evaluation.tables import ResultRow
from softset.evaluation.word_sets.data import QUERY_SIZE, Concepts
from softset.search.words import WordVectors
from softset.vectors.matching import find_token

TIMED_QUERIES = 50
QUERIES_PER_CALL = 10


def sts_words(data: DataFolder) -> Counter[str]:
    """Return how often each word occurs in the tokenised STS test pairs; punctuation is not counted."""
    counts: Counter[str] = Counter()
    for pairs in read_datasets(data, DATASETS, "tokenised"):
        for text in (*pairs.references, *pairs.candidates):
            counts.update(word for word in text.split() if any(map(str.isalnum, word)))
    return counts


def coverage(words: WordVectors, concepts: Concepts, texts: Mapping[str, int], *, limit: int | None) -> list[ResultRow]:
    """Return the shares of words that have a vector, and the words and queries answered per second."""
    test = [concepts.sets[index] for index in concepts.splits["test"]][:limit]
    start = time.perf_counter()
    known = [find_token(words.words, word) is not None for word in concepts.words]
    seconds = time.perf_counter() - start
    queries = [word for words_of_set in test for word in words_of_set[:QUERY_SIZE]]
    targets = [word for words_of_set in test for word in words_of_set[QUERY_SIZE:]]
    occurrences = sum(texts.values())
    covered = sum(count for word, count in texts.items() if find_token(words.words, word) is not None)
    rows = [
        ("LDA-1k", "vocabulary", _share(known, range(len(known))), len(known)),
        ("LDA-1k", "queries", _share(known, queries), len(queries)),
        ("LDA-1k", "targets", _share(known, targets), len(test)),
        ("STS", "words", covered / max(occurrences, 1), occurrences),
        ("speed", "words/s", len(known) / seconds, len(known)),
        ("speed", "queries/s", *_search_speed(words, concepts, test)),
    ]
    return [ResultRow("words", dataset, words.name, metric, value, n) for dataset, metric, value, n in rows]


def _share(known: Sequence[bool], indices: Iterable[int]) -> float:
    flags = [known[index] for index in indices]
    return sum(flags) / max(len(flags), 1)


def _search_speed(words: WordVectors, concepts: Concepts, test: Sequence[Sequence[int]]) -> tuple[float, int]:
    """Return how many queries per second `find_many` answers over all vectors, and how many were timed."""
    shown = [[concepts.words[index] for index in indices[:QUERY_SIZE]] for indices in test[:TIMED_QUERIES]]
    known = [examples for examples in shown if any(word in words for word in examples)]
    queries = ["{" + ", ".join(f'"{word}"' for word in examples) + "}" for examples in known]
    if not queries:
        return 0.0, 0
    words.find_many(queries[:1], skip_unknown=True)  # the first call reads the vectors
    start = time.perf_counter()
    for index in range(0, len(queries), QUERIES_PER_CALL):
        words.find_many(queries[index : index + QUERIES_PER_CALL], skip_unknown=True)
    return len(queries) / (time.perf_counter() - start), len(queries)
