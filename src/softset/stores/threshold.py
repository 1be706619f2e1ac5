"""How good an item can be of which only some cosines are known: what need not be fetched, and when to stop looking.

Where sets are directions with borders, an engine's lists are in the order of the memberships in one set each, and a
query's score grows with the memberships in the sets that it asks for and falls with those in the others. An item that
is in no list is at most as near to each set as the last of its list; with that, Fagin's threshold algorithm tells when
no item outside can be among the best.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from softset.query.centroid import Centroid
from softset.query.expression import Not, positive_leaves
from softset.query.plan import Plan
from softset.stores.base import Neighbours

__all__ = ["Bounds", "Ceilings"]

ROUNDING = 1e-5  # of an engine's cosine, with room


class Ceilings(NamedTuple):
    """Items of an engine's lists, those that can be best first; the best score (n,) each can have; and all others'."""

    ids: list[str]
    scores: np.ndarray
    others: float


class Bounds:
    """What is known of a plan's scores from the lists of the sets that it asks for."""

    def __init__(self, plan: Plan) -> None:
        wanted = set(positive_leaves(plan.tree))
        self._plan, self._sets = plan, [leaf.members for leaf in plan.leaves]
        self._listed = [at for at, leaf in enumerate(plan.leaves) if leaf.tree in wanted]
        self.directions = np.concatenate([np.asarray(self._sets[at].factor()) for at in self._listed])

    @staticmethod
    def apply_to(plan: Plan) -> bool:
        """Tell whether all sets are directions with borders, and none is both asked for and not."""
        both = set(positive_leaves(plan.tree)) & set(positive_leaves(Not(plan.tree)))
        return not both and all(isinstance(leaf.members, Centroid) for leaf in plan.leaves)

    def of(self, lists: Sequence[Neighbours], count: int) -> Ceilings:
        """Return the bounds that lists of `count` neighbours of `directions` give."""
        ids = list(dict.fromkeys(one for found in lists for one in found.ids))
        places = {one: at for at, one in enumerate(ids)}
        ends = [float(found.cosines[-1]) if len(found.ids) >= count else -1.0 for found in lists]
        cosines = np.tile(np.array(ends)[:, None], (1, len(ids) + 1))  # the last column is an item in no list
        for row, found in zip(cosines, lists, strict=True):
            row[[places[one] for one in found.ids]] = found.cosines
        scores = self._best(cosines + ROUNDING)
        order = np.argsort(-scores[:-1], kind="stable")
        others = float(scores[-1]) if min(ends, default=-1.0) > -1 else -1.0  # a list that ends has shown all items
        return Ceilings([ids[at] for at in order], scores[order], others)

    def _best(self, cosines: np.ndarray) -> np.ndarray:
        """Return the scores (n,) of items with cosines (k, n) that are nowhere near the sets not asked for."""
        known = dict(zip(self._listed, cosines, strict=True))
        far = np.zeros(cosines.shape[1])
        chances = [
            one.probability(known.get(at, far)) for at, one in enumerate(self._sets) if isinstance(one, Centroid)
        ]
        return np.asarray(self._plan.score(chances))
