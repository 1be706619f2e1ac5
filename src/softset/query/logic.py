"""Logics: how a query's tree of sets becomes memberships.

=========  ========================================================================================================
lattice    the paper's logic: leaves are spans, | is the sum space, & the nearly shared directions (alpha), - `without`
graded     leaves are graded subspaces (aperture), combined by conceptor logic; & has a minimum grade (floor)
product    leaves are graded subspaces; memberships are combined: a b, sqrt(a^2 + b^2 - a^2 b^2), sqrt(1 - a^2)
minmax     the same with min, max and sqrt(1 - a^2)
logistic   leaves are centroids with a threshold; memberships are probabilities: a b, max(a, b), 1 - a
=========  ========================================================================================================

The default is logistic, for whitened vectors. It was chosen on the training and validation sets of LDA-1k;
docs/results.md has the table for the test sets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import cos, inf
from operator import and_, not_, or_
from typing import TYPE_CHECKING, Any, ClassVar

from softset.errors import InputError
from softset.query.expression import And, Examples, Minus, Named, Not, Or, Tree, leaves

if TYPE_CHECKING:  # the command line shows the names of logics in its help, which must not import NumPy
    import numpy as np

    from softset.algebra import SoftSet, Subspace

LeafTree = Examples | Named
Connective = Callable[..., Any]


@dataclass(frozen=True)
class Logic:
    """A logic and its parameters: alpha for lattice, aperture for graded subspaces, floor for the AND of graded.

    >>> Logic("lattice", alpha=0.5)
    Logic(name='lattice', alpha=0.5, aperture=2.0, floor=0.05)
    >>> Logic().parameters, Logic("graded").parameters
    ((), ('aperture', 'floor'))
    """

    name: str = "logistic"
    alpha: float = 0.5
    aperture: float = 2.0
    floor: float = 0.05

    NAMES: ClassVar[tuple[str, ...]] = ("lattice", "graded", "product", "minmax", "logistic")

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
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters that this logic uses."""
        return {"lattice": ("alpha",), "graded": ("aperture", "floor"), "logistic": ()}.get(self.name, ("aperture",))

    @property
    def preprocessing(self) -> str:
        """The default preprocessing of word vectors."""
        return "whiten(0.2)" if self.name == "logistic" else "none"

    @property
    def on_sets(self) -> bool:
        """Whether sets are combined (lattice, graded) rather than memberships."""
        return self.name in ("lattice", "graded")

    def __str__(self) -> str:
        """Return the name with the parameters that this logic uses."""
        values = ", ".join(f"{name}={getattr(self, name):g}" for name in self.parameters)
        return f"{self.name}({values})" if values else self.name


def resolve_logic(
    logic: str | Logic | None = None,
    *,
    alpha: float | None = None,
    aperture: float | None = None,
    floor: float | None = None,
) -> Logic:
    """Return the logic with the given name and parameters; parameters that are None keep their defaults."""
    options = {"alpha": alpha, "aperture": aperture, "floor": floor}
    parameters = {name: value for name, value in options.items() if value is not None}
    base = logic if isinstance(logic, Logic) else Logic(logic or Logic.name)
    unused = [name for name in parameters if name not in base.parameters]
    if unused and logic is None:  # a caller who names the logic may try several with the same parameters
        others = " or ".join(name for name in Logic.NAMES if unused[0] in Logic(name).parameters)
        raise InputError(f"the logic {base.name} has no {unused[0]}: choose {others} (--logic), or leave it out")
    return Logic(base.name, **{"alpha": base.alpha, "aperture": base.aperture, "floor": base.floor, **parameters})


def connectives(logic: Logic) -> tuple[Connective, Connective, Connective]:
    """Return AND, OR and NOT of memberships."""
    from softset import algebra

    if logic.name == "logistic":
        return algebra.and_product, algebra.or_max, lambda membership: 1 - membership
    if logic.name == "product":
        return algebra.and_product, algebra.or_product, algebra.not_
    return algebra.and_min, algebra.or_max, algebra.not_


def leaf_set(logic: Logic, rows: "np.ndarray", weights: "np.ndarray") -> "SoftSet":
    """Return the set of (k, d) examples with weights (k,); crisp sets ignore the weights.

    In the logic graded, even a set of infinite aperture is a graded subspace, because AND needs the floor.
    """
    from softset.algebra import GradedSubspace, Subspace

    if logic.name == "lattice" or (logic.aperture == inf and logic.name != "graded"):
        return Subspace.span(rows)
    return GradedSubspace.of(rows, aperture=logic.aperture, weights=weights)


def evaluate(tree: Tree, by_leaf: dict[LeafTree, Any], and_: Connective, or_: Connective, not_: Connective) -> Any:
    """Return the value of a tree from the values of its leaves."""

    def value_of(part: Tree) -> Any:
        match part:
            case Not(inner):
                return not_(value_of(inner))
            case And(left, right):
                return and_(value_of(left), value_of(right))
            case Minus(left, right):
                return and_(value_of(left), not_(value_of(right)))
            case Or(left, right):
                return or_(value_of(left), value_of(right))
            case _:
                return by_leaf[part]

    return value_of(tree)


def combined_set(logic: Logic, tree: Tree, by_leaf: dict[LeafTree, Any]) -> tuple[Any, list[str]]:
    """Return the one set that a tree makes of the sets of its leaves, and a note for each part that is empty."""
    from softset.algebra import Subspace

    notes: list[str] = []
    tolerance = {"alpha": logic.alpha} if logic.name == "lattice" else {"floor": logic.floor}

    def evaluate(part: Tree) -> Any:
        match part:
            case Not(inner):
                return ~evaluate(inner)
            case Or(left, right):
                return evaluate(left) | evaluate(right)
            case And(left, right) | Minus(left, right):
                A, B = evaluate(left), evaluate(right)
                result = A.without(B) if isinstance(part, Minus) else A.intersection(B, **tolerance)
                if isinstance(result, Subspace) and not result and A and B:
                    notes.append(_empty_note(part, A, B))
                return result
            case _:
                return by_leaf[part]

    return evaluate(tree), notes


def _empty_note(part: Tree, A: "Subspace", B: "Subspace") -> str:
    cosine = max(cos(A.angles(B)[0]), 0.0)
    alpha_helps = isinstance(part, And) and cosine > 0.01
    advice = f"; with alpha above {1 - cosine:.2f} it would not be empty" if alpha_helps else ""
    return f"{part} is empty: the largest canonical cosine is {cosine:.2f}{advice}"


def truth_values(tree: Tree) -> set[bool]:
    """Return the truth values that a query can take as a proposition; {True} means that every item belongs to it.

    Queries with more than twelve different sets are assumed to take both values.
    """
    names = list(dict.fromkeys(leaves(tree)))
    if isinstance(tree, LeafTree) or len(names) > 12:
        return {True, False}
    values = product((False, True), repeat=len(names))
    return {evaluate(tree, dict(zip(names, row, strict=True)), and_, or_, not_) for row in values}
