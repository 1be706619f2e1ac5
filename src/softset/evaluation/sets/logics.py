"""How the sets of a query combine: each logic with the leaves that it fits, over many queries at once.

==========================  ==========================================================================================
product, minmax             scores are combined (any leaf)
lattice(alpha=0.5)          spans are: the paper's sum space and soft intersection, and A without B
graded(floor=0.05)          graded sets are, by conceptor logic
logistic                    chances to belong are, as `softset find` does with centroids (any leaf)
fuzzy                       pooled vectors are: elementwise maximum and minimum (no difference)
ignore B                    B is not looked at: what a difference has to beat
==========================  ==========================================================================================
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from softset.evaluation.sets.concepts import Concepts
from softset.evaluation.sets.leaves import FUZZY, Leaf, Rows, cosines, memberships, pooled
from softset.evaluation.sets.tasks import Task
from softset.query.centroid import MIN_THRESHOLD, expected_size, probability
from softset.query.combining import combined_memberships, combined_set
from softset.query.expression import And, Examples, Minus, Named, Or, Tree
from softset.query.logic import Logic

__all__ = ["IGNORE", "Scorer", "logics_of"]

IGNORE = "ignore B"
Leaves = Examples | Named
A, B = Named("A"), Named("B")
TREES: dict[str, Tree] = {"Set": A, "Union": Or(A, B), "Intersect": And(A, B), "Difference": Minus(A, B)}
ALPHAS = (0.5, 0.7)
ON_SETS = {f"lattice(alpha={alpha:g})": Logic("lattice", alpha=alpha) for alpha in ALPHAS}
LOGISTIC = "logistic"
ON_GRADED = {"graded(floor=0.05)": Logic("graded", floor=0.05)}


def logics_of(leaf: Leaf) -> tuple[str, ...]:
    """Return the names of the logics that a leaf fits.

    >>> from softset.evaluation.sets.leaves import crisp
    >>> logics_of(crisp())
    ('lattice(alpha=0.5)', 'lattice(alpha=0.7)', 'product', 'minmax', 'logistic', 'ignore B')
    """
    if leaf == FUZZY:
        own: tuple[str, ...] = ("fuzzy",)
    elif leaf.make is None:
        own = ()
    else:
        own = tuple(ON_SETS if leaf.name == "crisp" else ON_GRADED)
    return (*own, "product", "minmax", LOGISTIC, IGNORE)


@dataclass
class Scorer:
    """Scores all words of a vocabulary, unit rows V (v, d), for all queries of a task; a leaf's scores are kept."""

    concepts: Concepts
    V: Rows
    known: np.ndarray
    _kept: dict[tuple[str, tuple[int, ...]], Rows] = field(default_factory=dict)

    def scores(self, leaf: Leaf, logic: str, task: Task) -> Rows | None:
        """Return the scores (q, v) of all words, or None where the logic has no such operation."""
        if logic == IGNORE and task.name != "Difference":
            return None
        if task.name == "Set" or logic == IGNORE:
            return self._leaf(leaf, task.left)
        if logic in ON_SETS or logic in ON_GRADED:
            return self._of_sets(leaf, {**ON_SETS, **ON_GRADED}[logic], task)
        if logic == "fuzzy":
            return self._of_pooled(task)
        a, b = self._leaf(leaf, task.left), self._leaf(leaf, task.right)
        if logic == LOGISTIC:
            a, b = self._chances(a), self._chances(b)
        given: dict[Leaves, Rows] = {A: a, B: b}
        combined: Rows = combined_memberships(Logic(logic), TREES[task.name], given)
        return combined

    def of(self, leaf: Leaf, logic: str) -> Callable[[Task], Rows | None]:
        """Return `scores` of one leaf and logic, as a function of the task."""
        return partial(self.scores, leaf, logic)

    def forget(self) -> None:
        """Drop the scores of leaves that were kept: 27 MB a leaf."""
        self._kept.clear()

    def query(self, at: int) -> Rows:
        """Return the unit rows (k, d) of a set's query; one row of zeros if none of its words has a vector."""
        places = [place for place in self.concepts.query(at) if self.known[place]]
        return self.V[places] if places else np.zeros((1, self.V.shape[1]), dtype=np.float32)

    def _leaf(self, leaf: Leaf, sets: tuple[int, ...]) -> Rows:
        if (leaf.name, sets) not in self._kept:
            self._kept[leaf.name, sets] = leaf.scores([self.query(at) for at in sets], self.V)
        return self._kept[leaf.name, sets]

    def _of_sets(self, leaf: Leaf, logic: Logic, task: Task) -> Rows:
        made = {at: leaf.make(self.query(at)) for at in {*task.left, *task.right}} if leaf.make else {}
        tree = TREES[task.name]
        pairs = zip(task.left, task.right, strict=True)
        return memberships([combined_set(logic, tree, {A: made[a], B: made[b]}, []) for a, b in pairs], self.V)

    def _chances(self, scores: Rows) -> Rows:
        """Return scores (q, v) as chances; only words that have a vector count for the border."""
        rank = expected_size(int(self.known.sum()))
        borders = np.partition(scores[:, self.known], -rank, axis=1)[:, [-rank]]
        return probability(scores, np.maximum(borders, MIN_THRESHOLD))

    def _of_pooled(self, task: Task) -> Rows | None:
        joined = {"Union": np.maximum, "Intersect": np.minimum}.get(task.name)
        if joined is None:
            return None
        sides: Sequence[Sequence[Rows]] = [[pooled(self.query(at)) for at in side] for side in (task.left, task.right)]
        return cosines([joined(a, b) for a, b in zip(*sides, strict=True)], self.V)
