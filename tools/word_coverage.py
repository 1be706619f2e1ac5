"""Measure which share of the words of LDA-1k has a vector: `python tools/word_coverage.py --data DIR VECTORS...`.

The words are those of the vocabulary, of the test queries, and of the sets to be found. VECTORS are names or folders.
"""

import argparse
from pathlib import Path

from softset.evaluation.data import DataFolder
from softset.evaluation.tables import ResultRow, ResultTable
from softset.evaluation.word_sets.data import QUERY_SIZE, Concepts, read_concepts
from softset.search.words import WordVectors, load_words
from softset.vectors.matching import find_token

RESULTS = Path(__file__).parent.parent / "results"


def coverage(words: WordVectors, concepts: Concepts) -> list[ResultRow]:
    test = [concepts.sets[index] for index in concepts.splits["test"]]
    known = [find_token(words.words, word) is not None for word in concepts.words]
    groups = {
        "vocabulary": range(len(known)),
        "queries": [word for members in test for word in members[:QUERY_SIZE]],
        "targets": [word for members in test for word in members[QUERY_SIZE:]],
    }
    shares = {name: sum(known[index] for index in indices) / len(indices) for name, indices in groups.items()}
    return [ResultRow("words", "LDA-1k", words.name, name, shares[name], len(groups[name])) for name in groups]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the coverage of word vectors.")
    parser.add_argument("--data", help="folder of evaluation data")
    parser.add_argument("vectors", nargs="+", help="names or folders of word vectors")
    arguments = parser.parse_args()
    folder = DataFolder(arguments.data)
    concepts, sources = read_concepts(folder), [load_words(name) for name in arguments.vectors]
    rows = [row for words in sources for row in coverage(words, concepts)]
    facts = {"vectors": [words.signature for words in sources], "data": dict(folder.checksums)}
    ResultTable("Share of words with a vector", tuple(rows), facts=facts).save(RESULTS / "words", "words")


if __name__ == "__main__":
    main()
