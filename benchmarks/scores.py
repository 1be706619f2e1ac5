"""Scoring, in one run: how memory grows with the number of pairs, and the pair kernel beside the paper's algorithm.

python benchmarks/scores.py memory --pairs 1000000
python benchmarks/scores.py kernel
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from softset.embed.tokensets import TokenSets
from softset.similarity.metrics import metric
from softset.similarity.pairs import Pairs

WORDS = ["the", "a", "red", "blue", "old", "new", "man", "woman", "dog", "house", "car", "runs", "walks", "sees", "sea"]


def memory(pairs: int) -> None:
    """Score files of short lines with the static encoder, each in a process of its own; print its peak."""
    rng = np.random.default_rng(0)
    for count in (pairs // 10, pairs):
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder, name) for name in ("candidates", "references")]
            for path in files:
                with path.open("w") as file:
                    for length in rng.integers(4, 9, count):
                        file.write(" ".join(rng.choice(WORDS, length)) + "\n")
            start = time.perf_counter()
            command = [sys.executable, "-m", "softset", "score", "-c", str(files[0]), "-r", str(files[1])]
            subprocess.run([*command, "--model", "words", "--out", str(Path(folder, "scores.tsv"))], check=True)
            seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024  # of the largest process so far
        print(f"{count:,} pairs: {seconds:.0f} s, {count / seconds:,.0f} pairs/s, peak {peak:.0f} MB")


def literal(A: np.ndarray, B: np.ndarray) -> tuple[float, float]:
    """The paper's algorithm as it stands: an orthonormal basis of each side, then one SVD a token."""

    def mean(rows: np.ndarray, others: np.ndarray) -> float:
        basis = np.linalg.qr(others.T)[0].T
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return float(np.mean([np.linalg.svd(basis @ v[:, None], compute_uv=False)[0] for v in units]))

    return mean(A, B), mean(B, A)


def kernel(n: int = 500, d: int = 768, repeats: int = 5) -> None:
    """P, R and F of pairs with 8 to 40 tokens: the literal algorithm, ours, and a bare product of matrices."""
    rng = np.random.default_rng(0)
    A, B = (
        TokenSets.from_arrays([rng.normal(size=(k, d)).astype(np.float32) for k in rng.integers(8, 41, n)])
        for _ in range(2)
    )
    subspace = metric("subspace")

    def slow() -> np.ndarray:
        return np.array([literal(a, b) for a, b in zip(A, B, strict=True)])

    def fast() -> np.ndarray:
        return np.array(subspace.of_pairs(Pairs.of(A, B))[:2]).T

    times: dict[str, list[float]] = {"literal": [], "softset": []}
    for _ in range(repeats):
        for name, run in (("literal", slow), ("softset", fast)):
            start = time.perf_counter()
            found = run()
            times[name].append(time.perf_counter() - start)
            if name == "literal":
                expected = found
    print(f"largest difference {np.abs(found - expected).max():.1e}")
    medians = {name: statistics.median(some) for name, some in times.items()}
    for name, seconds in medians.items():
        print(f"{name}: {n / seconds:,.0f} pairs/s")
    print(f"ratio {medians['literal'] / medians['softset']:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=["memory", "kernel"])
    parser.add_argument("--pairs", type=int, default=1_000_000)
    given = parser.parse_args()
    if given.case == "memory":
        memory(given.pairs)
    else:
        kernel()
