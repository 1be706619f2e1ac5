"""The pair kernel: P, R and F of pairs of token sets whose vectors are given."""

import numpy as np
from threadpoolctl import threadpool_limits

import softset
from benchmarks.case import Case, Check, Outcome, Target
from benchmarks.data import token_sets
from benchmarks.measuring import Sgemm, alternating, threads

__all__ = ["CASES", "literal", "operations", "pairs", "scored"]

D = 768
ABOUT = "P, R, F of 2,000 pairs, 8-40 tokens, 768 dimensions, laying out included"
TOLERANCE = Target("largest difference from the literal algorithm", 1e-4, "lower")


def pairs(count: int) -> tuple[softset.TokenSets, softset.TokenSets]:
    """Return both sides of pairs."""
    return token_sets(count, 8, 40, D, seed=0), token_sets(count, 8, 40, D, seed=1)


def scored(A: softset.TokenSets, B: softset.TokenSets) -> np.ndarray:
    """Return P and R (n, 2) by our kernel, as a user calls it: laying out the pairs included, blocks on all threads."""
    scores = softset.Scorer(None, metric="subspace").score(A, B)
    return np.array([scores.precision, scores.recall]).T


def literal(A: np.ndarray, B: np.ndarray) -> tuple[float, float]:
    """Return P and R by the paper's algorithm as it stands: an orthonormal basis of each side, one SVD a token."""

    def mean(rows: np.ndarray, others: np.ndarray) -> float:
        basis = np.linalg.qr(others.T)[0].T
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return float(np.mean([np.linalg.svd(basis @ v[:, None], compute_uv=False)[0] for v in units]))

    return mean(A, B), mean(B, A)


def operations(A: softset.TokenSets, B: softset.TokenSets) -> float:
    """Return the operations of the three products that a pair cannot do without; Gram matrices are symmetric."""
    k, l = A.counts.astype(float), B.counts.astype(float)
    return float(2 * A.dimensions * (k**2 / 2 + l**2 / 2 + k * l).sum())


def _literal(quick: bool) -> Outcome:
    A, B = pairs(100 if quick else 2000)
    found: dict[str, np.ndarray] = {}

    def ours() -> None:
        found["ours"] = scored(A, B)

    def theirs(limit: int, count: int) -> None:
        with threadpool_limits(limit):
            found["literal"] = np.array([literal(A[at], B[at]) for at in range(count)])

    tried = alternating({str(limit): lambda limit=limit: theirs(limit, 50) for limit in {1, threads()}}, 3)
    best = int(min(tried, key=tried.__getitem__))
    tasks = {
        "ours": ours,
        "peer": lambda: theirs(best, len(A)),
    }
    seconds = alternating(tasks, 3 if quick else 7)
    difference = float(np.abs(found["ours"] - found["literal"]).max())
    return Outcome(
        ours=len(A) / seconds["ours"],
        peer=len(A) / seconds["peer"],
        unit="pairs/s",
        ratio=seconds["peer"] / seconds["ours"],
        notes=(
            f"the peer on {best} thread{'s' if best > 1 else ''}, its best of 1 and {threads()}",
            f"ours on {threads()}",
        ),
        also=(Check(difference, TOLERANCE),),
    )


def _sgemm(quick: bool) -> Outcome:
    A, B = pairs(100 if quick else 2000)
    product = Sgemm()

    def alone() -> None:
        with threadpool_limits(1):
            product()

    tasks = {"ours": lambda: scored(A, B), "sgemm": product, "one": alone}
    seconds = alternating(tasks, 5 if quick else 9)
    ours, peer = operations(A, B) / seconds["ours"], product.operations / seconds["sgemm"]
    one = product.operations / seconds["one"]
    return Outcome(
        ours=ours / 1e9,
        peer=peer / 1e9,
        unit="GFLOP/s",
        ratio=ours / peer,
        notes=(f"sgemm on {threads()} threads; on one thread {one / 1e9:.0f} GFLOP/s",),
    )


CASES = (
    Case(
        "kernel-literal",
        ABOUT,
        "the paper's algorithm, written literally",
        "peer's time / our time",
        Target("at least 25 times as fast", 25, "higher"),
        _literal,
    ),
    Case(
        "kernel-sgemm",
        ABOUT,
        "the machine's rate of float32 products",
        "our rate / the machine's",
        Target("at least 20 % of it", 0.20, "higher"),
        _sgemm,
    ),
)
