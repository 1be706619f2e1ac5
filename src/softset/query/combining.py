"""A tree of sets to one set, or to one membership, as a logic says."""

from collections.abc import Callable
from itertools import product
from math import inf
from typing import Any

import numpy as np

from softset.algebra import GradedSubspace, SoftSet, Subspace, and_min, and_product, not_, or_max, or_product
from softset.query.expression import And, Examples, Minus, Named, Not, Or, Tree, leaves
from softset.query.logic import Logic

__all__ = ["combined_memberships", "combined_set", "leaf_set", "truth_values"]

Leaf = Examples | Named


def _rest(chance: Any) -> Any:
    """Return the chance not to belong."""
    return 1 - chance


# AND, OR and NOT of memberships, by the name of a logic.
FAMILIES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "product": (and_product, or_product, not_),
    "minmax": (and_min, or_max, not_),
    "logistic": (and_product, or_max, _rest),
}


def leaf_set(logic: Logic, rows: np.ndarray, weights: np.ndarray) -> SoftSet:
    """Return the set of (k, d) examples; a crisp one does not know weights.

    In the graded logic a crisp set is a graded one all the same: AND stands on a floor there.
    """
    if logic.name == "lattice" or (logic.aperture == inf and logic.name != "graded"):
        return Subspace.span(rows)
    return GradedSubspace.of(rows, aperture=logic.aperture, weights=weights)


def combined_memberships(logic: Logic, tree: Tree, of_leaf: dict[Leaf, Any]) -> Any:
    """Return the memberships (n,) in a tree from those in its leaves."""
    both, either, negated = FAMILIES[logic.name]

    def value(part: Tree) -> Any:
        match part:
            case Not(inner):
                return negated(value(inner))
            case And(left, right):
                return both(value(left), value(right))
            case Minus(left, right):
                return both(value(left), negated(value(right)))
            case Or(left, right):
                return either(value(left), value(right))
            case _:
                return of_leaf[part]

    return value(tree)


def combined_set(logic: Logic, tree: Tree, of_leaf: dict[Leaf, Any], notes: list[str]) -> Any:
    """Return the one set that a tree makes of its leaves, and note every part that came out empty."""

    def made(part: Tree) -> Any:
        match part:
            case Not(inner):
                return ~made(inner)
            case Or(left, right):
                return made(left) | made(right)
            case Minus(left, right):
                A, B = made(left), made(right)
                return _noted(part, A.without(B), A, B, notes)
            case And(left, right):
                A, B = made(left), made(right)
                return _noted(part, _both(logic, A, B), A, B, notes)
            case _:
                return of_leaf[part]

    return made(tree)


def _both(logic: Logic, A: Any, B: Any) -> Any:
    return A.intersection(B, alpha=logic.alpha) if logic.name == "lattice" else A.intersection(B, floor=logic.floor)


def _noted(tree: Tree, made: Any, A: Any, B: Any, notes: list[str]) -> Any:
    if not made and A and B and isinstance(made, Subspace):
        cosine = max(float(np.cos(A.angles(B)[0])), 0.0)
        helps = isinstance(tree, And) and cosine > 0.01
        advice = f"; with alpha above {1 - cosine:.2f} it would not be" if helps else ""
        notes.append(f"{tree} is empty: the largest canonical cosine is {cosine:.2f}{advice}")
    return made


def truth_values(tree: Tree) -> set[bool]:
    """Return the values that a query takes as a proposition: only True if everything belongs to it, whatever its sets.

    Of queries with more than twelve different sets both values are supposed.
    """
    if isinstance(tree, Leaf):
        return {True, False}
    names = list(dict.fromkeys(leaves(tree)))
    if len(names) > 12:
        return {True, False}
    return {_holds(tree, dict(zip(names, row, strict=True))) for row in product((False, True), repeat=len(names))}


def _holds(tree: Tree, known: dict[Leaf, bool]) -> bool:
    match tree:
        case Not(inner):
            return not _holds(inner, known)
        case And(left, right):
            return _holds(left, known) and _holds(right, known)
        case Minus(left, right):
            return _holds(left, known) and not _holds(right, known)
        case Or(left, right):
            return _holds(left, known) or _holds(right, known)
        case _:
            return known[tree]
