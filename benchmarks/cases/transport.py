"""Word Mover's and Word Rotator's Distance with the bundled word vectors, compared with gensim."""

from collections.abc import Callable

import numpy as np

import softset
from benchmarks.case import Case, Check, Measurement, SkipCase, Target, require_modules
from benchmarks.data import random_sentences, sts_pairs, to_gensim
from benchmarks.measurement import median_seconds

__all__ = ["CASES"]

AGREEMENT = Target("largest difference of softset's WMD from gensim's", 1e-4, "lower")


def _word_pairs(vectors: softset.WordVectors, count: int) -> tuple[list[list[str]], list[list[str]], str]:
    """Return pairs of word lists without unknown words, and the name of their source."""
    try:
        A, B = sts_pairs()
        source = "STS-B test"
    except SkipCase:
        A, B, source = random_sentences(count, seed=0), random_sentences(count, seed=1), "random words"
    sides = [[_known_words(vectors, text) for text in side] for side in (A, B)]
    pairs = [(a, b) for a, b in zip(*sides, strict=True) if a and b][:count]
    return [a for a, _ in pairs], [b for _, b in pairs], source


def _known_words(vectors: softset.WordVectors, text: str) -> list[str]:
    words = [word.strip(".,;:!?\"'()") for word in text.lower().split()]
    return [word for word in words if word.isalpha() and word in vectors.words]


def _compare_with_gensim(metric: str) -> Callable[[bool], Measurement]:
    def run(quick: bool) -> Measurement:
        require_modules("ot", "gensim")
        vectors = softset.load_words()
        keyed_vectors = to_gensim(vectors)
        A, B, source = _word_pairs(vectors, 100 if quick else 1000)
        texts = [[" ".join(words) for words in side] for side in (A, B)]
        scorer = softset.Scorer("words", metric=metric)

        def gensim_distances() -> np.ndarray:
            return np.array([keyed_vectors.wmdistance(a, b, norm=False) for a, b in zip(A, B, strict=True)])

        tasks = {"softset": lambda: scorer.score(*texts), "gensim": gensim_distances}
        seconds = median_seconds(tasks, 3 if quick else 7)
        checks = ()
        if metric == "wmd":
            expected = gensim_distances()
            difference = np.abs(1 / scorer.score(*texts).score - 1 - expected) / np.maximum(expected, 1)
            checks = (Check(float(difference.max()), AGREEMENT),)
        return Measurement(
            softset=len(A) / seconds["softset"],
            baseline=len(A) / seconds["gensim"],
            unit="pairs/s",
            ratio=seconds["gensim"] / seconds["softset"],
            notes=(f"{len(A):,} pairs of {source}, from words to distances, one thread each",),
            checks=checks,
        )

    return run


def _case(name: str, distance: str) -> Case:
    return Case(
        name,
        f"{distance} of 1,000 pairs",
        "gensim wmdistance",
        "baseline time / softset time",
        Target("at least 2 times as fast", 2, "higher"),
        _compare_with_gensim(name),
    )


CASES = (_case("wmd", "Word Mover's Distance"), _case("wrd", "Word Rotator's Distance"))
