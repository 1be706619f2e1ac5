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
logistic                combines log-odds in the centroids, as `softset find` does by default
lattice(alpha=0.5)      combines spans: the paper's sum space, soft intersection and difference
graded(floor=0.05)      combines graded sets by conceptor logic
fuzzy                   combines pooled vectors by elementwise maximum and minimum
ignore B                uses the first set only, as a baseline of differences
nearer to A             uses the first set, for words that are nearer to it than to the second
pooled                  the centroid of all examples of both sets, as a baseline of unions and intersections
rocchio                 the cosine with a - b / 2 for centroids a and b
orthogonal              the cosine with the part of a that is orthogonal to b
======================  =====================================================================
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from softset.algebra import GradedSubspace, SoftSet, Subspace, and_min, and_product, not_, or_max, or_product
from softset.algebra.arrays import unit_rows
from softset.errors import InputError
from softset.evaluation.word_sets.data import Concepts, SetTask
from softset.query.background import Background
from softset.query.centroid import make_centroids
from softset.query.expression import And, LeafTree, Minus, Named, Or, SetExpression
from softset.query.log_odds import CentroidLeaf, make_combination
from softset.query.logic import Logic

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
    "nearer to A": {"Difference": lambda a, b: np.where(a > b, a, a - 2)},
}


@dataclass(frozen=True)
class LeafModel:
    """A way to score all words by the examples of a set.

    Attributes:
        name: The name of the model.
        build: Makes the representation of a set from the unit rows (k, d) of its examples.
        measure: Computes scores (q, v) from the representations of q sets and the words, unit rows V (v, d).
        own_logics: The logics that combine the representations of two sets.
    """

    name: str
    build: Callable[[Rows], Any]
    measure: Callable[[Sequence[Any], Rows], Rows]
    own_logics: dict[str, Combination] = field(default_factory=dict)

    @property
    def logics(self) -> tuple[str, ...]:
        """The names of all logics that can be used with this model."""
        return (*self.own_logics, *SCORE_LOGICS, "ignore B")

    def score(self, queries: Sequence[Rows], V: Rows) -> Rows:
        """Return the scores (q, v) of the words V (v, d) for queries of unit rows (k, d) each."""
        return self.measure([self.build(rows) for rows in queries], V)


def memberships(sets: Sequence[SoftSet], V: Rows) -> Rows:
    """Return the memberships (q, v) of unit vectors V (v, d) in each set, with one product for many sets."""
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
    """Return the largest cosines (q, v) of each query's unit rows (k, d) with unit rows V (v, d)."""
    starts = np.cumsum([0, *map(len, queries[:-1])])
    return np.asarray(np.maximum.reduceat(np.concatenate(queries) @ V.T, starts, axis=0))


def _cosines(vectors: Sequence[Rows], V: Rows) -> Rows:
    """Return the cosines (q, v) of vectors (d,) with unit rows V (v, d)."""
    return np.asarray(unit_rows(np.stack(vectors), np.float32) @ V.T)


def _mean(rows: Rows) -> Rows:
    return np.asarray(rows.mean(axis=0))


def _set_logic(**options: float) -> Combination:
    """Return a logic of sets; the options are those of `intersection`."""
    return {
        "Union": lambda A, B: A | B,
        "Intersect": lambda A, B: A.intersection(B, **options),
        "Difference": lambda A, B: A.without(B),
    }


def graded(aperture: float) -> LeafModel:
    """Return the model of graded sets with an aperture."""
    build = partial(GradedSubspace.of, aperture=aperture)
    logics = {f"graded(floor={FLOOR:g})": _set_logic(floor=FLOOR)}
    return LeafModel(f"graded(aperture={aperture:g})", build, memberships, logics)


NEAR = LeafModel("near", lambda rows: rows, _near)
MEAN = LeafModel("mean", _mean, lambda means, V: np.stack(means) @ V.T)
CENTROID_LOGICS: dict[str, Combination] = {
    Logic.name: {},  # see `QueryScorer`
    "pooled": {"Union": np.add, "Intersect": np.add},
    "rocchio": {"Difference": lambda a, b: a - b / 2},
    "orthogonal": {"Difference": lambda a, b: a - (a @ b) * b},
}
CENTROID = LeafModel("centroid", lambda rows: unit_rows(_mean(rows)[None])[0], _cosines, CENTROID_LOGICS)
POOLED_LOGIC: Combination = {"Union": np.maximum, "Intersect": np.minimum}
FUZZY = LeafModel("fuzzy", lambda rows: rows.max(axis=0), _cosines, {"fuzzy": POOLED_LOGIC})
LATTICE_LOGICS = {f"lattice(alpha={alpha:g})": _set_logic(alpha=alpha) for alpha in ALPHAS}
CRISP = LeafModel("crisp", Subspace.span, memberships, LATTICE_LOGICS)


@dataclass(frozen=True)
class SetMethod:
    """A preprocessing of the vectors, a leaf model, and a logic."""

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
    """Return all combinations of preprocessing, leaf model and compatible logic."""
    leaves = [NEAR, MEAN, CENTROID, FUZZY, CRISP, *map(graded, APERTURES)]
    return [SetMethod(name, leaf, logic) for name in PREPROCESSINGS for leaf in leaves for logic in leaf.logics]


def choose_methods(patterns: Sequence[str], *, baseline: SetMethod | None = None) -> list[SetMethod]:
    """Return the methods whose names match one of the patterns with * and ?, and the baseline; all without patterns."""
    methods = all_methods()
    for pattern in patterns:
        if not any(fnmatchcase(method.name, pattern) for method in methods):
            example = methods[0].name
            raise InputError(f"no method matches {pattern!r}: a name is preprocessing/leaf/logic, such as {example}")
    names = [*(patterns or ["*"]), *([baseline.name] if baseline else [])]
    return [method for method in methods if any(fnmatchcase(method.name, name) for name in names)]


TREES: dict[str, Callable[[SetExpression, SetExpression], SetExpression]] = {
    "Union": Or,
    "Intersect": And,
    "Difference": Minus,
}


@dataclass
class QueryScorer:
    """Scores all words, unit rows V (v, d), for the queries of a task; the scores of the last leaf are cached."""

    concepts: Concepts
    V: Rows
    known: npt.NDArray[np.bool_]
    background: Background
    _cache: dict[tuple[str, tuple[int, ...]], Rows] = field(default_factory=dict)

    def scores(self, leaf: LeafModel, logic: str, task: SetTask) -> Rows | None:
        """Return the scores (q, v) of all words, or None if the logic does not define the task's operation."""
        if logic == "ignore B" and task.name != "Difference":
            return None
        if task.name == "Set" or logic == "ignore B":
            return self._leaf_scores(leaf, task.left)
        if logic == Logic.name:
            sides = [[self.query(index) for index in side] for side in (task.left, task.right)]
            return np.stack([self._default_scores(task.name, *rows) for rows in zip(*sides, strict=True)])
        if logic in leaf.own_logics:
            combine = leaf.own_logics[logic].get(task.name)
            if combine is None:
                return None
            sides = [[leaf.build(self.query(index)) for index in side] for side in (task.left, task.right)]
            return leaf.measure([combine(A, B) for A, B in zip(*sides, strict=True)], self.V)
        if task.name not in SCORE_LOGICS[logic]:
            return None
        a, b = self._leaf_scores(leaf, task.left), self._leaf_scores(leaf, task.right)
        return np.asarray(SCORE_LOGICS[logic][task.name](a, b))

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

    def _default_scores(self, task: str, A: Rows, B: Rows) -> Rows:
        """Return the scores (v,) of all words for two sets of unit rows (k, d), as `softset find` ranks them."""
        directions = [CENTROID.build(rows).astype(np.float64) for rows in (A, B)]
        if not all(direction.any() for direction in directions):  # a query without vectors
            return np.zeros(len(self.V), dtype=np.float32)
        centroids, odds = make_centroids(directions, self.background)
        names = Named("A"), Named("B")
        sets: dict[LeafTree, CentroidLeaf] = dict(zip(names, map(CentroidLeaf, centroids, (A, B)), strict=True))
        of_background: dict[LeafTree, Any] = dict(zip(names, odds, strict=True))
        combination = make_combination(TREES[task](*names), sets, of_background, self.background)
        by_leaf: dict[LeafTree, Any] = {
            name: leaf.members.log_odds(self.V @ leaf.members.direction.astype(np.float32))
            for name, leaf in sets.items()
        }
        return np.asarray(combination.score(by_leaf))
