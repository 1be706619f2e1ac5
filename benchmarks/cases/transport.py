"""Word Mover's and Word Rotator's Distance over the bundled word vectors."""

from collections.abc import Callable

import numpy as np

import softset
from benchmarks.case import Case, Check, Outcome, Skip, Target, needs
from benchmarks.data import gensim_of, sentences, sts_pairs
from benchmarks.measuring import alternating

__all__ = ["CASES"]

AGREEMENT = Target("largest difference of our WMD from gensim's", 1e-4, "lower")


def _pairs(vectors: softset.WordVectors, count: int) -> tuple[list[list[str]], list[list[str]], str]:
    """Return pairs of lists of words that both sides know, and where they come from."""
    try:
        A, B = sts_pairs()
        source = "STS-B test"
    except Skip:
        A, B, source = sentences(count, seed=0), sentences(count, seed=1), "random words"
    known = [[_known(vectors, text) for text in side] for side in (A, B)]
    kept = [(a, b) for a, b in zip(*known, strict=True) if a and b][:count]
    return [a for a, _ in kept], [b for _, b in kept], source


def _known(vectors: softset.WordVectors, text: str) -> list[str]:
    words = [word.strip(".,;:!?\"'()") for word in text.lower().split()]
    return [word for word in words if word.isalpha() and vectors.words.get_index(word) is not None]


def _distance(metric: str) -> Callable[[bool], Outcome]:
    def run(quick: bool) -> Outcome:
        needs("ot", "gensim")
        vectors = softset.load_words()
        keyed = gensim_of(vectors)
        A, B, source = _pairs(vectors, 100 if quick else 1000)
        texts = [[" ".join(words) for words in side] for side in (A, B)]
        scorer = softset.Scorer("words", metric=metric)
        found: dict[str, np.ndarray] = {}

        def ours() -> None:
            found["ours"] = scorer.score(*texts).score

        def theirs() -> None:
            found["peer"] = np.array([keyed.wmdistance(a, b, norm=False) for a, b in zip(A, B, strict=True)])

        seconds = alternating({"ours": ours, "peer": theirs}, 3 if quick else 7)
        also = ()
        if metric == "wmd":
            difference = np.abs(1 / found["ours"] - 1 - found["peer"]) / np.maximum(found["peer"], 1)
            also = (Check(float(difference.max()), AGREEMENT),)
        return Outcome(
            ours=len(A) / seconds["ours"],
            peer=len(A) / seconds["peer"],
            unit="pairs/s",
            ratio=seconds["peer"] / seconds["ours"],
            notes=(f"{len(A):,} pairs of {source}, from words to distances, one thread each",),
            also=also,
        )

    return run


def _case(name: str, what: str) -> Case:
    return Case(
        name,
        f"{what} of 1,000 pairs",
        "gensim wmdistance",
        "peer's time / our time",
        Target("at least 2 times as fast", 2, "higher"),
        _distance(name),
    )


CASES = (_case("wmd", "Word Mover's Distance"), _case("wrd", "Word Rotator's Distance"))
