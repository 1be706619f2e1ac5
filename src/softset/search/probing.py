"""Probes: where an index is asked for neighbours, so that the best items of a query are among them.

Candidates of a set that is a direction and a border are the neighbours of that direction. Those of other sets are the
neighbours of its examples, of its first directions and of its mean, and of the opposites of the last two, for
membership in a subspace does not mind the sign.
"""

from collections.abc import Sequence

import numpy as np

from softset.errors import InputError
from softset.query.centroid import Centroid
from softset.query.expression import And, Examples, Minus, Named, Not, Or, Tree, positive_leaves
from softset.query.plan import Leaf, Plan

__all__ = ["SPARE", "probes_of", "units"]

NEIGHBOURS = 200
SPARE = 8  # neighbours of a direction beyond those that are wanted: the order in float64 may be another


def probes_of(plan: Plan, top: int, advice: str) -> tuple[np.ndarray, int]:
    """Return unit vectors (k, d) and how many neighbours of each to look at; a query without near ones is refused."""
    members = plan.leaves[0].members
    if isinstance(plan.tree, Examples | Named) and isinstance(members, Centroid):
        # Cosines with this direction are the order that is asked for: what comes first is all that is needed.
        return members.factor().astype(np.float32), top + SPARE
    leaves = _positive(plan, advice)
    return units(np.concatenate([_probes(leaf) for leaf in leaves] + _between(leaves))), max(NEIGHBOURS, 2 * top)


def units(rows: np.ndarray) -> np.ndarray:
    """Return rows (n, d) scaled to length 1, in float32; zero stays zero.

    >>> units(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    norms = np.sqrt(np.vecdot(rows, rows, dtype=np.float64))[:, None]  # squares of 1e25 or 1e-30 are none in float32
    return np.ascontiguousarray(rows / np.where(norms > 0, norms, 1), dtype=np.float32)


def _probes(leaf: Leaf) -> np.ndarray:
    """Return the examples, the first two directions, the mean, and the opposites of mean and first direction."""
    rows = units(leaf.vectors)
    mean = rows.mean(axis=0)
    directions = np.linalg.svd(rows, full_matrices=False)[2][:2]
    directions = directions * np.where(directions @ mean < 0, -1, 1)[:, None]
    return np.concatenate([rows, directions, [mean, -mean], -directions[:1]])


def _between(leaves: Sequence[Leaf]) -> list[np.ndarray]:
    """Return the middle of the positive sets' means: what belongs to both of two sets need not be near to either."""
    means = [units(leaf.vectors).mean(axis=0) for leaf in leaves]
    return [np.mean(units(np.stack(means)), axis=0, keepdims=True)] if len(means) > 1 else []


def _positive(plan: Plan, advice: str) -> list[Leaf]:
    """Return the leaves that candidates are looked for around, or refuse a query that has none on some side."""
    by_tree = {leaf.tree: leaf for leaf in plan.leaves}
    if not _has_candidates(plan.tree):
        raise InputError(
            f"one side of {plan.tree} holds nearly everything, so that there are no near candidates: {advice}"
        )
    return [by_tree[tree] for tree in dict.fromkeys(positive_leaves(plan.tree))]


def _has_candidates(tree: Tree, *, negated: bool = False) -> bool:
    """Tell whether every item that belongs to a tree is near some leaf: false for complements, and for OR with one."""
    match tree:
        case Not(inner):
            return _has_candidates(inner, negated=not negated)
        case Minus(left, right):
            sides = (_has_candidates(left, negated=negated), _has_candidates(right, negated=not negated))
        case And(left, right) | Or(left, right):
            sides = (_has_candidates(left, negated=negated), _has_candidates(right, negated=negated))
        case _:
            return not negated
    any_will_do = isinstance(tree, Or) == negated  # an AND, or by De Morgan a negated OR
    return any(sides) if any_will_do else all(sides)
