"""Scores of every sentence with every other sentence, in both directions."""

import numpy as np

import softset
from benchmarks.case import Case, Check, Measurement, Target
from benchmarks.data import random_token_sets
from benchmarks.measurement import median_seconds, thread_count

__all__ = ["CASES"]

D = 384
DESCRIPTION = "1,000 x 1,000 sentences, 8-24 tokens, 384 dimensions, both directions, vectors given"
PRODUCT_ROWS = 4_096  # rows of the left side in one product, whose result has about 250 MB
AGREEMENT = Target("largest difference of NumPy's MaxSim from softset's bertscore", 1e-4, "lower")


def _sentences(quick: bool) -> tuple[softset.TokenSets, softset.TokenSets]:
    count = 200 if quick else 1000
    return random_token_sets(count, 8, 24, D, seed=0), random_token_sets(count, 8, 24, D, seed=1)


def _compare_with_sgemm(quick: bool) -> Measurement:
    A, B = _sentences(quick)
    scorer = softset.Scorer(None, metric="subspace")
    left, right = np.array(A.vectors), np.array(B.vectors)
    results = [np.empty((PRODUCT_ROWS, len(side)), dtype=np.float32) for side in (right, left)]

    def products() -> None:
        for X, Y, C in ((left, right, results[0]), (right, left, results[1])):
            for start in range(0, len(X), PRODUCT_ROWS):
                rows = X[start : start + PRODUCT_ROWS]
                np.matmul(rows, Y.T, out=C[: len(rows)])

    seconds = median_seconds({"softset": lambda: scorer.matrix(A, B), "sgemm": products}, 5)
    operations = 4 * len(left) * len(right) * D / 1e9
    return Measurement(
        softset=operations / seconds["softset"],
        baseline=operations / seconds["sgemm"],
        unit="GFLOP/s",
        ratio=seconds["sgemm"] / seconds["softset"],
        notes=(f"{len(left):,} by {len(right):,} tokens, twice, {thread_count()} threads",),
    )


def _numpy_maxsim(A: softset.TokenSets, B: softset.TokenSets) -> tuple[np.ndarray, np.ndarray]:
    """Return BERTScore's precision and recall (n, m) in plain NumPy: one product per sentence, then maxima."""
    others = B.vectors / np.linalg.norm(B.vectors, axis=1, keepdims=True)
    precision, recall = np.empty((len(A), len(B))), np.empty((len(A), len(B)))
    for i, rows in enumerate(A):
        cosines = (rows / np.linalg.norm(rows, axis=1, keepdims=True)) @ others.T
        precision[i] = np.maximum.reduceat(cosines, B.offsets[:-1], axis=1).mean(axis=0)
        recall[i] = np.add.reduceat(cosines.max(axis=0), B.offsets[:-1]) / B.counts
    return precision, recall


def _compare_with_maxsim(quick: bool) -> Measurement:
    A, B = _sentences(quick)
    subspace, bertscore = (softset.Scorer(None, metric=name) for name in ("subspace", "bertscore"))
    tasks = {
        "subspace": lambda: subspace.matrix(A, B),
        "numpy": lambda: _numpy_maxsim(A, B),
        "bertscore": lambda: bertscore.matrix(A, B),
    }
    seconds = median_seconds(tasks, 5)
    scores, expected = bertscore.matrix(A, B), _numpy_maxsim(A, B)
    difference = float(np.abs(np.array([scores.precision, scores.recall]) - expected).max())
    return Measurement(
        softset=seconds["subspace"],
        baseline=seconds["numpy"],
        unit="s",
        ratio=seconds["subspace"] / seconds["numpy"],
        notes=(f"softset's bertscore takes {seconds['bertscore']:.2f} s", f"{thread_count()} threads"),
        checks=(Check(difference, AGREEMENT),),
    )


CASES = (
    Case(
        "all-pairs-sgemm",
        DESCRIPTION,
        "the same matrix products alone",
        "baseline time / softset time",
        Target("at least 50 % of the rate of the products", 0.50, "higher"),
        _compare_with_sgemm,
    ),
    Case(
        "all-pairs-maxsim",
        DESCRIPTION,
        "MaxSim (BERTScore) of the same sentences in plain NumPy",
        "softset time / baseline time",
        Target("at most twice the time", 2.0, "lower"),
        _compare_with_maxsim,
    ),
)
