"""Numerics: sets of vectors that are huge, tiny, equal or nearly so, of one dimension or thousands, in all types."""

import math
import warnings

import numpy as np

from reliability.check import Broken, Check, Finding, expect
from softset import GradedSubspace, Subspace, TokenSets, WordVectors
from softset.errors import InputError

__all__ = ["CHECKS"]

TYPES = ("float16", "float32", "float64")
SMALL = (1, 2, 3, 5, 8, 16)
LARGE = (64, 300, 768, 4_096)
EVERY = 2_000  # how rare the largest sets are
METRICS = {  # and their ranges: those of cosines reach down to -1, and the paper's Johnson score is a sum of two
    "softset": (0, 1),
    "subspace": (0, 1),
    "dynamax": (0, 1),
    "johnson": (0, 2),
    "bertscore": (-1, 1),
    "average": (-1, 1),
}


def rows_of(random: np.random.Generator, k: int, d: int, dtype: str) -> np.ndarray:
    """Return (k, d) vectors of some odd kind."""
    rows = random.standard_normal((k, d))
    kind = random.integers(8)
    if kind == 1:  # lengths from 1e-30 to 1e30
        rows *= 10.0 ** random.uniform(-30, 30, (k, 1))
    elif kind == 2:  # denormal numbers
        rows *= 1e-42 if dtype == "float32" else 1e-310 if dtype == "float64" else 1e-7
    elif kind == 3:  # copies
        rows = rows[random.integers(0, max(1, k // 3), k)]
    elif kind == 4:  # nearly copies
        rows = rows[:1] + 10.0 ** random.uniform(-12, -3) * rows
    elif kind == 5:  # one coordinate each
        rows = np.eye(d)[random.integers(0, d, k)]
    elif kind == 6:  # far fewer directions than vectors
        rank = max(1, min(k, d) // 4)
        rows = random.standard_normal((k, rank)) @ random.standard_normal((rank, d))
    elif kind == 7:  # opposites, and some that are nothing
        rows[1::2] = -rows[: len(rows[1::2])]
        rows[random.random(k) < 0.2] = 0
    limit = np.finfo(dtype).max / 2
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(rows, -limit, limit).astype(dtype)


def _size(random: np.random.Generator, at: int) -> tuple[int, int]:
    """Return how many vectors of how many dimensions: mostly few, and now and then 2,000 of 4,096."""
    if at % EVERY == EVERY - 1:
        return int(random.integers(500, 2_001)), 4_096
    if at % 10 == 0:
        return int(random.integers(1, 60)), int(random.choice(LARGE))
    return int(random.integers(1, 12)), int(random.choice(SMALL))


def _check_range(values: object, what: str, least: float = 0.0, most: float = 1.0) -> None:
    found = np.asarray(values, dtype=np.float64)
    expect(bool(np.isfinite(found).all()), f"{what}: not finite")
    expect(bool((found >= least).all() and (found <= most).all()), f"{what}: {found}")


def _algebra(rows: list[np.ndarray], probes: np.ndarray) -> int:
    """Ask all sets that two sets make for the memberships of probes; return how many there were."""
    crisp = [Subspace.span(one) for one in rows]
    graded = [GradedSubspace.of(one) for one in rows]
    made = 0
    for A, B in (crisp, graded):
        sets = [A, ~A, A | B, A & B, A - B, ~(A & ~B)]
        sets += [A.intersection(B, alpha=0.5)] if isinstance(A, Subspace) else [A.with_floor(0.05)]
        for one in sets:
            _check_range(one.membership(probes), f"membership in {one!r}")
        made += len(sets)
    angles = np.asarray(crisp[0].angles(crisp[1]), dtype=np.float64)
    expect(bool(np.isfinite(angles).all() and (angles >= 0).all() and (angles <= math.pi / 2 + 1e-6).all()), "angles")
    return made


def _against_mpmath(rows: np.ndarray, probe: np.ndarray) -> float:
    """Return the error of a membership by the bound that docs/algebra.md states: at most 1."""
    from tests.algebra import exact

    units = rows.astype(np.float64)
    units /= np.abs(units).max(axis=1, keepdims=True)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    sine = float(np.linalg.svd(units, compute_uv=False)[-1])
    if sine < 1e-2:  # whether such vectors are one direction or two is the tolerance's to say
        return 0.0
    eps = np.finfo("float32" if rows.dtype == np.float16 else rows.dtype).eps
    bound = max(8, math.sqrt(rows.shape[1]) / 2) * eps + 8 * np.finfo("float64").eps / sine
    A = Subspace.span(rows)
    errors = [
        abs(float(A.membership(probe)) - float(exact.membership(rows, probe))),
        abs(float((~A).membership(probe)) - float(exact.outside(rows, probe))),
    ]
    return max(errors) / bound


def _scores(rows: list[np.ndarray]) -> None:
    import softset

    sides = [TokenSets.from_arrays([one.astype(np.float32)]) for one in rows]
    for metric, (least, most) in METRICS.items():
        found = softset.score(*sides, metric=metric)
        for name in ("precision", "recall", "score"):
            _check_range(getattr(found, name), f"{metric} {name}", least, most)
        _check_range(softset.pairwise(*sides, metric=metric), f"{metric} of all pairs", least, most)


def _search(rows: np.ndarray) -> None:
    names = [f"w{at}" for at in range(len(rows))]
    words = WordVectors.of(names, rows.astype(np.float32))
    query = "{w0, w1} | w2" if len(names) > 2 else "w0"
    for logic in ("logistic", "lattice", "graded", "product", "minmax"):
        try:
            found = words.find(query, 5, logic=logic, preprocessing="none")
        except InputError:  # a word without a direction, or a query that nothing can belong to
            continue
        _check_range([hit.membership for hit in found], f"find by {logic}")


def _run(short: bool) -> Finding:
    warnings.simplefilter("error")
    wanted = 400 if short else 10_000
    sets, exact, worst = 0, 0, 0.0
    for at in range(wanted):
        random = np.random.default_rng([5, at])
        k, d = _size(random, at)
        dtype = str(random.choice(TYPES))
        rows = [rows_of(random, size, d, dtype) for size in (k, max(1, k // 2))]
        try:
            sets += _algebra(rows, rows_of(random, 4, d, dtype))
            if at % 4 == 0 and k <= 60:
                _scores(rows)
                _search(rows[0])
            few = rows[0][: max(1, min(4, d - 1))]
            probe = random.standard_normal(d).astype(dtype)
            if d <= 16 and np.abs(few).max(axis=1).min() > 0:
                worst, exact = max(worst, _against_mpmath(few, probe)), exact + 1
                expect(worst <= 1, f"an error of {worst:.2f} times the bound")
        except Broken as broken:
            raise Broken(f"case {at} ({k} x {d}, {dtype}): {broken}") from broken
        except Exception as error:
            raise Broken(f"case {at} ({k} x {d}, {dtype}): {type(error).__name__}: {error}") from error
    return Finding(
        f"{wanted:,} cases, {sets:,} sets, up to 2,000 vectors of 4,096 dimensions",
        {"beside mpmath": f"{exact:,}", "largest error": f"{worst:.2f} of the bound"},
    )


CHECKS = (
    Check(
        "numerics",
        "fuzz",
        "lengths from 1e-30 to 1e30, denormals, copies and near copies, float16 to float64, 1 to 4,096 dimensions",
        "no NaN, nothing outside [0, 1], errors beside mpmath within the stated bound",
        _run,
    ),
)
