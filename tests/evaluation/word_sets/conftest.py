"""A tiny folder of concept sets: three topics of thirty words, vectors near their topic's direction."""

from pathlib import Path

import numpy as np
import pytest

from softset.evaluation.data import DataFolder
from softset.evaluation.word_sets.data import Concepts, read_concepts
from softset.search.words import WordVectors

TOPICS, WORDS, SIZE = 3, 30, 20


def write_concepts(folder: Path) -> Path:
    """Write vocab.txt and twelve sets: random words of one topic, so that two sets of a topic share ten or more."""
    rng = np.random.default_rng(5)
    target = folder / "lda-1k"
    target.mkdir(parents=True)
    words = [f"{'abc'[topic]}{number}" for topic in range(TOPICS) for number in range(WORDS)]
    (target / "vocab.txt").write_text("\n".join(rng.permutation(words)) + "\n")
    for split, count in (("train", 6), ("val", 6), ("test", 6)):
        topics = [words[WORDS * (number % TOPICS) : WORDS * (number % TOPICS + 1)] for number in range(count)]
        lines = ["\t".join(rng.permutation(topic)[:SIZE]) for topic in topics]
        (target / f"sets_{split}.tsv").write_text("\n".join(lines) + "\n")
    return folder


def topic_vectors() -> WordVectors:
    """Return vectors for all words but three, one of each topic; a word is its topic's direction, and noise."""
    rng = np.random.default_rng(6)
    names = [f"{letter}{number}" for letter in "abc" for number in range(WORDS) if number != 7]
    directions = np.eye(8)[["abc".index(name[0]) for name in names]]
    return WordVectors.of(names, directions + 0.35 * rng.normal(size=(len(names), 8)), name="topics")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_concepts(tmp_path / "data")


@pytest.fixture
def concepts(folder: Path) -> Concepts:
    return read_concepts(DataFolder(folder))


@pytest.fixture
def words() -> WordVectors:
    return topic_vectors()
