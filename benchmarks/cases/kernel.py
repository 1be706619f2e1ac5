"""The pair kernel: precision and recall of pairs of token sets whose vectors are given."""

import numpy as np
from threadpoolctl import threadpool_limits

import softset
from benchmarks.case import Case, Check, Measurement, Target
from benchmarks.data import random_token_sets
from benchmarks.measurement import MatrixProduct, median_seconds, thread_count

__all__ = ["CASES", "literal_scores", "random_pairs", "softset_scores"]

D = 768
DESCRIPTION = "precision, recall and F of 2,000 pairs, 8-40 tokens, 768 dimensions, data layout included"
AGREEMENT = Target("largest difference from the literal algorithm", 1e-4, "lower")


def random_pairs(count: int) -> tuple[softset.TokenSets, softset.TokenSets]:
    return random_token_sets(count, 8, 40, D, seed=0), random_token_sets(count, 8, 40, D, seed=1)


def softset_scores(A: softset.TokenSets, B: softset.TokenSets) -> np.ndarray:
    """Return precision and recall (n, 2), computed by softset on all threads."""
    scores = softset.Scorer(None, metric="subspace").score(A, B)
    return np.array([scores.precision, scores.recall]).T


def literal_scores(A: np.ndarray, B: np.ndarray) -> tuple[float, float]:
    """Return precision and recall of a pair by the paper's algorithm: an orthonormal basis and one SVD per token."""

    def mean_membership(rows: np.ndarray, others: np.ndarray) -> float:
        basis = np.linalg.qr(others.T)[0].T
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return float(np.mean([np.linalg.svd(basis @ v[:, None], compute_uv=False)[0] for v in units]))

    return mean_membership(A, B), mean_membership(B, A)


def _operations(A: softset.TokenSets, B: softset.TokenSets) -> float:
    """Return the floating-point operations of the three products that a pair needs; Gram matrices are symmetric."""
    k, l = A.counts.astype(float), B.counts.astype(float)
    return float(2 * A.dimensions * (k**2 / 2 + l**2 / 2 + k * l).sum())


def _compare_with_literal(quick: bool) -> Measurement:
    A, B = random_pairs(100 if quick else 2000)

    def literal(threads: int, count: int) -> np.ndarray:
        with threadpool_limits(threads):
            return np.array([literal_scores(A[i], B[i]) for i in range(count)])

    choices = {str(threads): lambda threads=threads: literal(threads, 50) for threads in {1, thread_count()}}
    trial = median_seconds(choices, 3)
    best = int(min(trial, key=trial.__getitem__))
    tasks = {"softset": lambda: softset_scores(A, B), "literal": lambda: literal(best, len(A))}
    seconds = median_seconds(tasks, 3 if quick else 7)
    difference = float(np.abs(softset_scores(A, B) - literal(best, len(A))).max())
    return Measurement(
        softset=len(A) / seconds["softset"],
        baseline=len(A) / seconds["literal"],
        unit="pairs/s",
        ratio=seconds["literal"] / seconds["softset"],
        notes=(f"baseline with {best} of {thread_count()} threads, its best setting", f"{thread_count()} threads"),
        checks=(Check(difference, AGREEMENT),),
    )


def _compare_with_sgemm(quick: bool) -> Measurement:
    A, B = random_pairs(100 if quick else 2000)
    product = MatrixProduct()
    seconds = median_seconds({"softset": lambda: softset_scores(A, B), "sgemm": product}, 5 if quick else 9)
    ours, limit = _operations(A, B) / seconds["softset"], product.operations / seconds["sgemm"]
    return Measurement(ours / 1e9, limit / 1e9, "GFLOP/s", ours / limit, (f"{thread_count()} threads",))


CASES = (
    Case(
        "kernel-literal",
        DESCRIPTION,
        "a literal implementation of the paper's algorithm",
        "baseline time / softset time",
        Target("at least 25 times as fast", 25, "higher"),
        _compare_with_literal,
    ),
    Case(
        "kernel-sgemm",
        DESCRIPTION,
        "the machine's rate of float32 matrix products",
        "softset rate / machine rate",
        Target("at least 20 % of the machine's rate", 0.20, "higher"),
        _compare_with_sgemm,
    ),
)
