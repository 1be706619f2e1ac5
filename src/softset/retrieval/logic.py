"""How a tree of sets becomes memberships: four logics, and their parameters.

=========  ========================================================================================================
lattice    the paper's: leaves are spans, | is the sum space, & the nearly shared directions (alpha), - is `without`
graded     leaves are graded sets (aperture), combined by conceptor logic; & stands on a floor
product    leaves are graded sets, their *memberships* are combined: a b, sqrt(a^2 + b^2 - a^2 b^2), sqrt(1 - a^2)
minmax     the same by min, max and sqrt(1 - a^2)
=========  ========================================================================================================
"""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from softset.algebra import GradedSubspace, SoftSet, Subspace, and_min, and_product, not_, or_max, or_product
from softset.errors import InputError
from softset.retrieval.tree import And, Examples, Minus, Named, Not, Or, Tree

__all__ = ["Logic"]


@dataclass(frozen=True)
class Logic:
    """A logic by name, and what it needs: alpha of the lattice, aperture of graded sets, floor of the graded AND.

    >>> Logic("lattice", alpha=0.5)
    Logic(name='lattice', alpha=0.5, aperture=2.0, floor=0.05)
    """

    name: str = "product"
    alpha: float = 0.5
    aperture: float = 2.0
    floor: float = 0.05

    NAMES: ClassVar[tuple[str, ...]] = ("lattice", "graded", "product", "minmax")

    def __post_init__(self) -> None:
        if self.name not in self.NAMES:
            raise InputError(f"the logic {self.name!r} is not known: use one of {', '.join(self.NAMES)}")
        if not 0 <= self.alpha < 1:
            raise InputError(f"alpha must be at least 0 and below 1, but {self.alpha} was given")
        if not self.aperture > 0:
            raise InputError(f"the aperture must be above 0, but {self.aperture} was given")
        if not 0 < self.floor < 1:
            raise InputError(f"the floor must be above 0 and below 1, but {self.floor} was given")

    @property
    def on_sets(self) -> bool:
        """Tell whether sets are combined (lattice, graded) rather than memberships."""
        return self.name in ("lattice", "graded")

    def __str__(self) -> str:
        """Return the name with the parameters that count."""
        parameters = {"lattice": f"alpha={self.alpha:g}", "graded": f"aperture={self.aperture:g}, floor={self.floor:g}"}
        return f"{self.name}({parameters.get(self.name, f'aperture={self.aperture:g}')})"

    def leaf(self, rows: np.ndarray, weights: np.ndarray) -> SoftSet:
        """Return the set of (k, d) examples; a crisp one does not know weights."""
        if self.name == "lattice" or self.aperture == inf:
            return Subspace.span(rows)
        return GradedSubspace.of(rows, aperture=self.aperture, weights=weights)

    def both(self, A: Any, B: Any) -> Any:
        """Return the AND of two sets."""
        return A.intersection(B, alpha=self.alpha) if self.name == "lattice" else A.intersection(B, floor=self.floor)

    def memberships(self, tree: Tree, leaves: dict[Examples | Named, Any]) -> Any:
        """Return the memberships (n,) in a tree from those in its leaves."""
        both, either = (and_product, or_product) if self.name == "product" else (and_min, or_max)
        match tree:
            case Not(inner):
                return not_(self.memberships(inner, leaves))
            case And(left, right):
                return both(*(self.memberships(side, leaves) for side in (left, right)))
            case Minus(left, right):
                return both(self.memberships(left, leaves), not_(self.memberships(right, leaves)))
            case Or(left, right):
                return either(*(self.memberships(side, leaves) for side in (left, right)))
            case _:
                return leaves[tree]

    def combine(self, tree: Tree, leaves: dict[Examples | Named, Any], notes: list[str]) -> Any:
        """Return the one set that a tree makes of its leaves, and note every part that came out empty."""
        match tree:
            case Not(inner):
                return ~self.combine(inner, leaves, notes)
            case Or(left, right):
                return self.combine(left, leaves, notes) | self.combine(right, leaves, notes)
            case Minus(left, right):
                A, B = (self.combine(side, leaves, notes) for side in (left, right))
                return self._noted(tree, A.without(B), A, B, notes)
            case And(left, right):
                A, B = (self.combine(side, leaves, notes) for side in (left, right))
                return self._noted(tree, self.both(A, B), A, B, notes)
            case _:
                return leaves[tree]

    def _noted(self, tree: Tree, made: Any, A: Any, B: Any, notes: list[str]) -> Any:
        if not made and A and B and isinstance(made, Subspace):
            cosine = float(np.cos(A.angles(B)[0]))
            advice = f"; with alpha above {1 - cosine:.2f} it would not be" if isinstance(tree, And) else ""
            notes.append(f"{tree} is empty: the largest canonical cosine is {cosine:.2f}{advice}")
        return made
