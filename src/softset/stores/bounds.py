"""Upper bounds on scores, from neighbour lists: which items need not be fetched, and when a search can stop.

The sets of a logistic query are centroids. The score grows with the log-odds in its positive sets and falls with those
in its negated sets, which are smallest at the cosine -1. The neighbour list of a positive set is in the order of the
log-odds in it, and items that are not in the list are not nearer than its last item. From this, Fagin's threshold
algorithm decides when no further item can be among the best.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from softset.query.centroid import Centroid
from softset.query.expression import negative_leaves, positive_leaves
from softset.query.plan import Plan
from softset.stores.base import Neighbours

ROUNDING = 1e-5  # tolerance for the cosines of a database


class UpperBounds(NamedTuple):
    """The listed items, highest bound first; the bounds (n,) on their scores; and the bound for all other items.

    If there are no other items, their bound is -inf.
    """

    ids: list[str]
    scores: np.ndarray
    others: float


class ScoreBounds:
    """Computes bounds on the scores of a plan from the neighbour lists of its positive sets."""

    def __init__(self, plan: Plan) -> None:
        positive = set(positive_leaves(plan.tree))
        self._plan = plan
        self._sets = plan.sets
        self._listed = [index for index, leaf in enumerate(plan.leaves) if leaf.tree in positive]
        self._listed += range(len(plan.leaves), len(plan.sets))  # the joined sets of AND
        self.directions = np.concatenate([np.asarray(self._sets[index].factor()) for index in self._listed])

    @staticmethod
    def apply_to(plan: Plan) -> bool:
        """Return whether all sets are centroids, and no set is both positive and negated."""
        ambiguous = set(positive_leaves(plan.tree)) & set(negative_leaves(plan.tree))
        return not ambiguous and all(isinstance(leaf.members, Centroid) for leaf in plan.leaves)

    def compute(self, lists: Sequence[Neighbours], count: int) -> UpperBounds:
        """Return the bounds that follow from the lists of `count` neighbours of `directions`."""
        ids = list(dict.fromkeys(name for neighbours in lists for name in neighbours.ids))
        columns = {name: column for column, name in enumerate(ids)}
        # A list with fewer neighbours than requested contains all items.
        is_full = [len(neighbours.ids) >= count for neighbours in lists]
        ends = [float(each.cosines[-1]) if full else -1.0 for each, full in zip(lists, is_full, strict=True)]
        cosines = np.tile(np.array(ends)[:, None], (1, len(ids) + 1))  # the last column is an item in no list
        for row, neighbours in zip(cosines, lists, strict=True):
            row[[columns[name] for name in neighbours.ids]] = neighbours.cosines
        scores = self._largest_scores(cosines + ROUNDING)
        order = np.argsort(-scores[:-1], kind="stable")
        others = float(scores[-1]) if all(is_full) else -np.inf
        return UpperBounds([ids[index] for index in order], scores[order], others)

    def _largest_scores(self, cosines: np.ndarray) -> np.ndarray:
        """Return the scores (n,) of items with cosines (k, n) to the positive sets and -1 to the negated sets."""
        known, lowest = dict(zip(self._listed, cosines, strict=True)), np.full(cosines.shape[1], -1.0)
        log_odds = [
            centroid.log_odds(known.get(index, lowest))
            for index, centroid in enumerate(self._sets)
            if isinstance(centroid, Centroid)
        ]
        return np.asarray(self._plan.score(log_odds))
