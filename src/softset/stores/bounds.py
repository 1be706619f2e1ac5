"""Upper bounds on scores, from neighbour lists: which items need not be fetched, and when a search can stop.

The sets of a logistic query are directions with thresholds. The score grows with the memberships in its positive sets
and falls with those in its negated sets. The neighbour list of a positive set is in the order of memberships in it, and
an item that is not in the list is at most as near as the last item of the list. From this, Fagin's threshold algorithm
decides when no further item can be among the best.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from softset.query.expression import Not, positive_leaves
from softset.query.plan import Plan
from softset.query.thresholds import Centroid
from softset.stores.base import Neighbours

ROUNDING = 1e-5  # tolerance for the cosines of a database


class UpperBounds(NamedTuple):
    """The listed items, highest bound first; the bounds (n,) on their scores; and the bound for all other items."""

    ids: list[str]
    scores: np.ndarray
    others: float


class ScoreBounds:
    """Computes bounds on the scores of a plan from the neighbour lists of its positive sets."""

    def __init__(self, plan: Plan) -> None:
        positive = set(positive_leaves(plan.tree))
        self._plan = plan
        self._sets = [leaf.members for leaf in plan.leaves]
        self._listed = [index for index, leaf in enumerate(plan.leaves) if leaf.tree in positive]
        self.directions = np.concatenate([np.asarray(self._sets[index].factor()) for index in self._listed])

    @staticmethod
    def apply_to(plan: Plan) -> bool:
        """Tell whether all sets are centroids, and no set is both positive and negated."""
        ambiguous = set(positive_leaves(plan.tree)) & set(positive_leaves(Not(plan.tree)))
        return not ambiguous and all(isinstance(leaf.members, Centroid) for leaf in plan.leaves)

    def compute(self, lists: Sequence[Neighbours], count: int) -> UpperBounds:
        """Return the bounds that follow from the lists of `count` neighbours of `directions`."""
        ids = list(dict.fromkeys(name for neighbours in lists for name in neighbours.ids))
        columns = {name: column for column, name in enumerate(ids)}
        # A list with fewer neighbours than requested contains all items.
        ends = [float(neighbours.cosines[-1]) if len(neighbours.ids) >= count else -1.0 for neighbours in lists]
        cosines = np.tile(np.array(ends)[:, None], (1, len(ids) + 1))  # the last column is an item in no list
        for row, neighbours in zip(cosines, lists, strict=True):
            row[[columns[name] for name in neighbours.ids]] = neighbours.cosines
        scores = self._largest_scores(cosines + ROUNDING)
        order = np.argsort(-scores[:-1], kind="stable")
        others = float(scores[-1]) if min(ends, default=-1.0) > -1 else -1.0
        return UpperBounds([ids[index] for index in order], scores[order], others)

    def _largest_scores(self, cosines: np.ndarray) -> np.ndarray:
        """Return the scores (n,) of items with cosines (k, n) to the positive sets and 0 to the negated sets."""
        known = dict(zip(self._listed, cosines, strict=True))
        zeros = np.zeros(cosines.shape[1])
        memberships = [
            centroid.probability(known.get(index, zeros))
            for index, centroid in enumerate(self._sets)
            if isinstance(centroid, Centroid)
        ]
        return np.asarray(self._plan.score(memberships))
