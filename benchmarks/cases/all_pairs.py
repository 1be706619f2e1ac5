"""Every sentence with every other, in both directions."""

import numpy as np

import softset
from benchmarks.case import Case, Check, Outcome, Target
from benchmarks.data import token_sets
from benchmarks.measuring import alternating, threads

__all__ = ["CASES"]

D = 384
ABOUT = "1,000 x 1,000 sentences, 8-24 tokens, 384 dimensions, both directions, vectors given"
BLOCK = 4_096  # rows of the left side in one product; its result is then some 250 MB
AGREEMENT = Target("largest difference of that MaxSim from our bertscore", 1e-4, "lower")


def _sides(quick: bool) -> tuple[softset.TokenSets, softset.TokenSets]:
    count = 200 if quick else 1000
    return token_sets(count, 8, 24, D, seed=0), token_sets(count, 8, 24, D, seed=1)


def _sgemm(quick: bool) -> Outcome:
    A, B = _sides(quick)
    scorer = softset.Scorer(None, metric="subspace")
    left, right = np.array(A.vectors), np.array(B.vectors)
    out = np.empty((BLOCK, len(right)), dtype=np.float32), np.empty((BLOCK, len(left)), dtype=np.float32)

    def products() -> None:
        for X, Y, C in ((left, right, out[0]), (right, left, out[1])):
            for start in range(0, len(X), BLOCK):
                rows = X[start : start + BLOCK]
                np.matmul(rows, Y.T, out=C[: len(rows)])

    seconds = alternating({"ours": lambda: scorer.matrix(A, B), "sgemm": products}, 5)
    count = 4 * len(left) * len(right) * D / 1e9
    return Outcome(
        ours=count / seconds["ours"],
        peer=count / seconds["sgemm"],
        unit="GFLOP/s",
        ratio=seconds["sgemm"] / seconds["ours"],
        notes=(f"{len(left):,} by {len(right):,} tokens twice, {threads()} threads",),
    )


def maxsim(A: softset.TokenSets, B: softset.TokenSets) -> tuple[np.ndarray, np.ndarray]:
    """Return BERTScore's P and R (n, m) in plain NumPy: one product a sentence, then maxima over its pairs."""
    others = B.vectors / np.linalg.norm(B.vectors, axis=1, keepdims=True)
    P, R = np.empty((len(A), len(B))), np.empty((len(A), len(B)))
    for at, rows in enumerate(A):
        cosines = (rows / np.linalg.norm(rows, axis=1, keepdims=True)) @ others.T
        P[at] = np.maximum.reduceat(cosines, B.offsets[:-1], axis=1).mean(axis=0)
        R[at] = np.add.reduceat(cosines.max(axis=0), B.offsets[:-1]) / B.counts
    return P, R


def _maxsim(quick: bool) -> Outcome:
    A, B = _sides(quick)
    subspace, closest = (softset.Scorer(None, metric=name) for name in ("subspace", "bertscore"))
    tasks = {
        "ours": lambda: subspace.matrix(A, B),
        "peer": lambda: maxsim(A, B),
        "our own": lambda: closest.matrix(A, B),
    }
    seconds = alternating(tasks, 5)
    ours, plain = closest.matrix(A, B), maxsim(A, B)
    difference = float(np.abs(np.array([ours.precision, ours.recall]) - plain).max())
    return Outcome(
        ours=seconds["ours"],
        peer=seconds["peer"],
        unit="s",
        ratio=seconds["ours"] / seconds["peer"],
        notes=(f"our own bertscore takes {seconds['our own']:.2f} s", f"{threads()} threads"),
        also=(Check(difference, AGREEMENT),),
    )


CASES = (
    Case(
        "all-pairs-sgemm",
        ABOUT,
        "the same products alone, of two different matrices",
        "peer's time / our time",
        Target("at least 50 % of their rate", 0.50, "higher"),
        _sgemm,
    ),
    Case(
        "all-pairs-maxsim",
        ABOUT,
        "MaxSim (bertscore) of the same sentences in plain NumPy",
        "our time / peer's time",
        Target("no slower than twice its time", 2.0, "lower"),
        _maxsim,
    ),
)
