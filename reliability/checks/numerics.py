"""Numerics: set operations, scores and searches on extreme vectors."""

import math
import warnings

import numpy as np

import softset
from reliability.check import CheckResult, check, expect, failure_of
from softset import GradedSubspace, Subspace, TokenSets, WordVectors
from softset.errors import InputError

TYPES = ("float16", "float32", "float64")
SMALL_DIMENSIONS = (1, 2, 3, 5, 8, 16)
LARGE_DIMENSIONS = (64, 300, 768, 4_096)
LARGEST_EVERY = 2_000  # cases
METRIC_RANGES = {  # cosines can be negative; the Johnson score of the paper is a sum of two scores
    "softset": (0, 1),
    "subspace": (0, 1),
    "dynamax": (0, 1),
    "johnson": (0, 2),
    "bertscore": (-1, 1),
    "average": (-1, 1),
}


def random_rows(rng: np.random.Generator, k: int, d: int, dtype: str) -> np.ndarray:
    """Return (k, d) vectors of a random kind."""
    rows = rng.standard_normal((k, d))
    kind = rng.integers(8)
    if kind == 1:  # norms from 1e-30 to 1e30
        rows *= 10.0 ** rng.uniform(-30, 30, (k, 1))
    elif kind == 2:  # denormal numbers
        rows *= 1e-42 if dtype == "float32" else 1e-310 if dtype == "float64" else 1e-7
    elif kind == 3:  # duplicates
        rows = rows[rng.integers(0, max(1, k // 3), k)]
    elif kind == 4:  # near duplicates
        rows = rows[:1] + 10.0 ** rng.uniform(-12, -3) * rows
    elif kind == 5:  # unit vectors along the axes
        rows = np.eye(d)[rng.integers(0, d, k)]
    elif kind == 6:  # low rank
        rank = max(1, min(k, d) // 4)
        rows = rng.standard_normal((k, rank)) @ rng.standard_normal((rank, d))
    elif kind == 7:  # opposite vectors, and some zero vectors
        rows[1::2] = -rows[: len(rows[1::2])]
        rows[rng.random(k) < 0.2] = 0
    limit = np.finfo(dtype).max / 2
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(rows, -limit, limit).astype(dtype)


def _random_shape(rng: np.random.Generator, case: int) -> tuple[int, int]:
    """Return the number of vectors and dimensions: mostly small, sometimes 2,000 x 4,096."""
    if case % LARGEST_EVERY == LARGEST_EVERY - 1:
        return int(rng.integers(500, 2_001)), 4_096
    if case % 10 == 0:
        return int(rng.integers(1, 60)), int(rng.choice(LARGE_DIMENSIONS))
    return int(rng.integers(1, 12)), int(rng.choice(SMALL_DIMENSIONS))


def _expect_range(values: object, name: str, low: float = 0.0, high: float = 1.0) -> None:
    numbers = np.asarray(values, dtype=np.float64)
    expect(bool(np.isfinite(numbers).all()), f"{name}: not finite")
    expect(bool((numbers >= low).all() and (numbers <= high).all()), f"{name}: {numbers}")


def _check_algebra(rows: list[np.ndarray], probes: np.ndarray) -> int:
    """Check the memberships of probes in all combinations of two sets; return the number of sets."""
    crisp = [Subspace.span(vectors) for vectors in rows]
    graded = [GradedSubspace.of(vectors) for vectors in rows]
    count = 0
    for A, B in (crisp, graded):
        sets = [A, ~A, A | B, A & B, A - B, ~(A & ~B)]
        sets += [A.intersection(B, alpha=0.5)] if isinstance(A, Subspace) else [A.with_floor(0.05)]
        for combination in sets:
            _expect_range(combination.membership(probes), f"membership in {combination!r}")
        count += len(sets)
    _expect_range(crisp[0].angles(crisp[1]), "angles", high=math.pi / 2 + 1e-6)
    return count


def _error_against_mpmath(rows: np.ndarray, probe: np.ndarray) -> float:
    """Return the error of a membership as a fraction of the bound in docs/algebra.md."""
    from tests.algebra import exact

    units = rows.astype(np.float64)
    units /= np.abs(units).max(axis=1, keepdims=True)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    sine = float(np.linalg.svd(units, compute_uv=False)[-1])
    if sine < 1e-2:  # the rank of nearly parallel vectors depends on the tolerance
        return 0.0
    eps = np.finfo("float32" if rows.dtype == np.float16 else rows.dtype).eps
    bound = max(8, math.sqrt(rows.shape[1]) / 2) * eps + 8 * np.finfo("float64").eps / sine
    A = Subspace.span(rows)
    errors = [
        abs(float(A.membership(probe)) - float(exact.membership(rows, probe))),
        abs(float((~A).membership(probe)) - float(exact.outside(rows, probe))),
    ]
    return max(errors) / bound


def _check_scores(rows: list[np.ndarray]) -> None:
    texts = [TokenSets.from_arrays([vectors.astype(np.float32)]) for vectors in rows]
    for metric, (low, high) in METRIC_RANGES.items():
        scores = softset.score(*texts, metric=metric)
        for name in ("precision", "recall", "score"):
            _expect_range(getattr(scores, name), f"{metric} {name}", low, high)
        _expect_range(softset.pairwise(*texts, metric=metric), f"{metric} of all pairs", low, high)


def _check_search(rows: np.ndarray) -> None:
    names = [f"w{row}" for row in range(len(rows))]
    words = WordVectors.of(names, rows.astype(np.float32))
    query = "{w0, w1} | w2" if len(names) > 2 else "w0"
    for logic in ("logistic", "lattice", "graded"):
        try:
            result = words.find(query, 5, logic=logic, preprocessing="none")
        except InputError:  # a zero vector, or an empty set
            continue
        _expect_range([hit.membership for hit in result], f"find with {logic}")


@check(
    "numerics",
    "fuzz",
    "norms from 1e-30 to 1e30, denormals, duplicates, near duplicates, float16 to float64, 1 to 4,096 dimensions",
    goal="no NaN, nothing outside [0, 1], errors against mpmath within the documented bound",
)
def _run(short: bool) -> CheckResult:
    warnings.simplefilter("error")
    cases = 400 if short else 10_000
    sets, compared, worst, largest = 0, 0, 0.0, (0, 0)
    for case in range(cases):
        rng = np.random.default_rng([5, case])
        k, d = _random_shape(rng, case)
        largest = max(largest, (k, d), key=math.prod)
        dtype = str(rng.choice(TYPES))
        rows = [random_rows(rng, size, d, dtype) for size in (k, max(1, k // 2))]
        try:
            sets += _check_algebra(rows, random_rows(rng, 4, d, dtype))
            if case % 4 == 0 and k <= 60:
                _check_scores(rows)
                _check_search(rows[0])
            few = rows[0][: max(1, min(4, d - 1))]
            probe = rng.standard_normal(d).astype(dtype)
            if d <= 16 and np.abs(few).max(axis=1).min() > 0:
                worst, compared = max(worst, _error_against_mpmath(few, probe)), compared + 1
                expect(worst <= 1, f"an error of {worst:.2f} times the bound")
        except Exception as error:
            raise failure_of(f"case {case} ({k} x {d}, {dtype})", error) from error
    return CheckResult(
        f"{cases:,} cases, {sets:,} sets, up to {largest[0]:,} vectors of {largest[1]:,} dimensions",
        {"compared with mpmath": f"{compared:,}", "largest error": f"{worst:.2f} of the bound"},
    )
