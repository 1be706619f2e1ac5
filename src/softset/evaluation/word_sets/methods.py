"""Methods of set retrieval, named preprocessing/leaf/logic, such as none/crisp/lattice(alpha=0.5).

A leaf scores all words by the few words of one set:

======================  =====================================================================
near                    the largest cosine with a word of the query
mean                    the mean cosine with the words of the query
centroid                the cosine with the mean of their unit vectors
fuzzy                   the cosine with their elementwise maximum (Zhelezniak et al. 2019)
crisp                   the membership in their span (the paper)
graded(aperture=2)      the membership in their graded set
======================  =====================================================================

A logic combines two leaves:

======================  =====================================================================
product, minmax         combines scores
logistic                combines membership probabilities, as `softset find` does by default
lattice(alpha=0.5)      combines spans: the paper's sum space, soft intersection and difference
graded(floor=0.05)      combines graded sets by conceptor logic
fuzzy                   combines pooled vectors by elementwise maximum and minimum
ignore B                uses the first set only: the lower bound for a difference
======================  =====================================================================
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from softset.algebra import GradedSubspace, SoftSet, Subspace, and_min, and_product, not_, or_max, or_product
from softset.algebra.arrays import unit_rows
from softset.errors import InputError
from softset.evaluation.word_sets.data import Concepts, SetTask
from softset.query.logic import Logic
from softset.query.thresholds import MIN_THRESHOLD, expected_size, probability

Rows = npt.NDArray[np.float32]

PREPROCESSINGS = ("none", "centre", "all-but-the-top", "whiten(0.2)")
APERTURES = (1.0, 2.0)
ALPHAS = (0.5, 0.7)
FLOOR = 0.05
SETS_PER_BLOCK = 64  # 64 sets of 10 directions over 17,016 words take 44 MB

Combination = dict[str, Callable[[Any, Any], Any]]
SCORE_LOGICS: dict[str, Combination] = {
    "product": {"Union": or_product, "Intersect": and_product, "Difference": lambda a, b: and_product(a, not_(b))},
    "minmax": {"Union": or_max, "Intersect": and_min, "Difference": lambda a, b: and_min(a, not_(b))},
    "logistic": {"Union": np.maximum, "Intersect": np.multiply, "Difference": lambda a, b: a * (1 - b)},
}


@dataclass(frozen=True)
class LeafModel:
    """A way to score all words by the examples of a set; `build` returns the set itself if the model has one.

    `score` takes queries, unit rows (k, d) each, and the words, unit rows V (v, d), and returns scores (q, v).
    """

    name: str
    score: Callable[[Sequence[Rows], Rows], Rows]
    build: Callable[[Rows], SoftSet] | None = None

    @property
    def logics(self) -> tuple[str, ...]:
        """The names of the logics that combine this model.

        >>> CRISP.logics
        ('lattice(alpha=0.5)', 'lattice(alpha=0.7)', 'product', 'minmax', 'logistic', 'ignore B')
        """
        own: tuple[str, ...] = ("fuzzy",) if self.name == "fuzzy" else ()
        if self.build is not None:
            own = tuple(LATTICE_LOGICS if self.name == "crisp" else GRADED_LOGICS)
        return (*own, *SCORE_LOGICS, "ignore B")


def memberships(sets: Sequence[SoftSet], V: Rows) -> Rows:
    """Return the memberships (q, v) of unit vectors V (v, d) in each set, with one product for many sets.

    >>> V = np.array([[0.6, 0.8], [1, 0]], dtype=np.float32)
    >>> memberships([Subspace.span([[1.0, 0.0]]), Subspace.empty(2), GradedSubspace.whole(2)], V).round(3).tolist()
    [[0.6..., 1.0], [0.0, 0.0], [1.0, 1.0]]
    """
    blocks = []
    for start in range(0, len(sets), SETS_PER_BLOCK):
        directions, grades, rests = zip(*map(_spectrum, sets[start : start + SETS_PER_BLOCK]), strict=True)
        squares = np.square(np.concatenate(directions).astype(np.float32) @ V.T)
        squares *= np.concatenate([g - rest for g, rest in zip(grades, rests, strict=True)]).astype(np.float32)[:, None]
        starts = np.cumsum([0, *map(len, directions[:-1])])
        sums = np.add.reduceat(squares, starts, axis=0) + np.array(rests, dtype=np.float32)[:, None]
        blocks.append(np.sqrt(np.clip(sums, 0, 1)))
    return np.concatenate(blocks)


def _spectrum(members: SoftSet) -> tuple[np.ndarray, np.ndarray, float]:
    """Return directions (r, d) with r >= 1, their grades (r,), and the grade of all orthogonal directions."""
    if isinstance(members, GradedSubspace):
        directions, grades, rest = members.directions, members.grades, members.rest
    else:
        directions, rest = members.basis if isinstance(members, Subspace) else np.zeros((0, members.ambient)), 0.0
        grades = np.ones(len(directions))
    return (directions, grades, rest) if len(directions) else (np.zeros((1, members.ambient)), np.full(1, rest), rest)


def _near(queries: Sequence[Rows], V: Rows) -> Rows:
    starts = np.cumsum([0, *map(len, queries[:-1])])
    largest: Rows = np.maximum.reduceat(np.concatenate(queries) @ V.T, starts, axis=0)
    return largest


def _mean(queries: Sequence[Rows], V: Rows) -> Rows:
    return np.stack([rows.mean(axis=0) for rows in queries]) @ V.T


def _cosines(vectors: Sequence[Rows], V: Rows) -> Rows:
    """Return the cosines (q, v) of vectors (d,) with unit rows V (v, d)."""
    scores: Rows = unit_rows(np.stack(vectors), np.float32) @ V.T
    return scores


def _set_model(name: str, build: Callable[[Rows], SoftSet]) -> LeafModel:
    return LeafModel(name, lambda queries, V: memberships([build(rows) for rows in queries], V), build)


def graded(aperture: float) -> LeafModel:
    """Return the model of graded sets with an aperture.

    >>> graded(2).name
    'graded(aperture=2)'
    """
    return _set_model(f"graded(aperture={aperture:g})", lambda rows: GradedSubspace.of(rows, aperture=aperture))


NEAR = LeafModel("near", _near)
MEAN = LeafModel("mean", _mean)
CENTROID = LeafModel("centroid", lambda queries, V: _cosines([rows.mean(axis=0) for rows in queries], V))
FUZZY = LeafModel("fuzzy", lambda queries, V: _cosines([rows.max(axis=0) for rows in queries], V))
CRISP = _set_model("crisp", Subspace.span)


def _set_logic(intersection: Callable[[Any, Any], Any]) -> Combination:
    return {"Union": lambda A, B: A | B, "Intersect": intersection, "Difference": lambda A, B: A.without(B)}


LATTICE_LOGICS = {
    f"lattice(alpha={alpha:g})": _set_logic(lambda A, B, alpha=alpha: A.intersection(B, alpha=alpha))  # type: ignore[misc]
    for alpha in ALPHAS
}
GRADED_LOGICS = {f"graded(floor={FLOOR:g})": _set_logic(lambda A, B: A.intersection(B, floor=FLOOR))}
SET_LOGICS = LATTICE_LOGICS | GRADED_LOGICS
POOLED_LOGIC = {"Union": np.maximum, "Intersect": np.minimum}


@dataclass(frozen=True)
class SetMethod:
    """A preprocessing of the vectors, a leaf model, and a logic.

    >>> SetMethod("none", CRISP, "product").name
    'none/crisp/product'
    """

    preprocessing: str
    leaf: LeafModel
    logic: str

    @property
    def name(self) -> str:
        """The three names, separated by slashes."""
        return f"{self.preprocessing}/{self.leaf.name}/{self.logic}"


BASELINE = SetMethod("none", CRISP, "lattice(alpha=0.5)")  # the paper's setting
DEFAULT = f"{Logic().preprocessing}/centroid/{Logic().name}"  # what `softset find` does


def all_methods() -> list[SetMethod]:
    """Return all combinations of preprocessing, leaf model and fitting logic.

    >>> [method.name for method in all_methods()][:2], DEFAULT in [method.name for method in all_methods()]
    (['none/near/product', 'none/near/minmax'], True)
    """
    leaves = [NEAR, MEAN, CENTROID, FUZZY, CRISP, *map(graded, APERTURES)]
    return [SetMethod(name, leaf, logic) for name in PREPROCESSINGS for leaf in leaves for logic in leaf.logics]


def choose_methods(patterns: Sequence[str], *, baseline: SetMethod | None = None) -> list[SetMethod]:
    """Return the methods whose names match one of the patterns with * and ?, and the baseline; all without patterns.

    >>> [method.name for method in choose_methods(["none/crisp/lattice*5)"])]
    ['none/crisp/lattice(alpha=0.5)']
    >>> choose_methods(["none/gradet/*"])
    Traceback (most recent call last):
    softset.errors.InputError: no method matches 'none/gradet/*': a name is preprocessing/leaf/logic, such as \
none/near/product
    """
    methods = all_methods()
    for pattern in patterns:
        if not any(fnmatchcase(method.name, pattern) for method in methods):
            example = methods[0].name
            raise InputError(f"no method matches {pattern!r}: a name is preprocessing/leaf/logic, such as {example}")
    names = [*(patterns or ["*"]), *([baseline.name] if baseline else [])]
    return [method for method in methods if any(fnmatchcase(method.name, name) for name in names)]


@dataclass
class QueryScorer:
    """Scores all words, unit rows V (v, d), for the queries of a task; the scores of the last leaf are cached."""

    concepts: Concepts
    V: Rows
    known: npt.NDArray[np.bool_]
    _cache: dict[tuple[str, tuple[int, ...]], Rows] = field(default_factory=dict)

    def scores(self, leaf: LeafModel, logic: str, task: SetTask) -> Rows | None:
        """Return the scores (q, v) of all words, or None if the logic does not define the task's operation."""
        if logic == "ignore B" and task.name != "Difference":
            return None
        if task.name == "Set" or logic == "ignore B":
            return self._leaf_scores(leaf, task.left)
        if logic in SET_LOGICS and leaf.build is not None:
            combine = SET_LOGICS[logic][task.name]
            sides = [[leaf.build(self.query(index)) for index in side] for side in (task.left, task.right)]
            return memberships([combine(A, B) for A, B in zip(*sides, strict=True)], self.V)
        if logic == "fuzzy":
            return self._pooled_scores(task)
        a, b = self._leaf_scores(leaf, task.left), self._leaf_scores(leaf, task.right)
        if logic == "logistic":
            a, b = self._probabilities(a), self._probabilities(b)
        combined: Rows = SCORE_LOGICS[logic][task.name](a, b)
        return combined

    def query(self, index: int) -> Rows:
        """Return the unit rows (k, d) of a set's query; one zero row if none of its words has a vector."""
        words = [word for word in self.concepts.query(index) if self.known[word]]
        return self.V[words] if words else np.zeros((1, self.V.shape[1]), dtype=np.float32)

    def _leaf_scores(self, leaf: LeafModel, sets: tuple[int, ...]) -> Rows:
        if (leaf.name, sets) not in self._cache:
            if any(name != leaf.name for name, _ in self._cache):
                self._cache.clear()  # the scores of a leaf take 27 MB
            self._cache[leaf.name, sets] = leaf.score([self.query(index) for index in sets], self.V)
        return self._cache[leaf.name, sets]

    def _probabilities(self, scores: Rows) -> Rows:
        """Return scores (q, v) as probabilities; the threshold is computed over words that have a vector."""
        rank = expected_size(int(self.known.sum()))
        thresholds = np.partition(scores[:, self.known], -rank, axis=1)[:, [-rank]]
        return probability(scores, np.maximum(thresholds, MIN_THRESHOLD))

    def _pooled_scores(self, task: SetTask) -> Rows | None:
        combine = POOLED_LOGIC.get(task.name)
        if combine is None:
            return None
        sides = [[self.query(index).max(axis=0) for index in side] for side in (task.left, task.right)]
        return _cosines([combine(a, b) for a, b in zip(*sides, strict=True)], self.V)
