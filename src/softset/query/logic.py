"""Logics: how a query's tree of sets becomes memberships.

==========  ========================================  ==================================================
logic       a set of examples                         a query
==========  ========================================  ==================================================
logistic    the mean of their unit vectors            log-odds are combined (`softset.query.log_odds`)
graded      a graded subspace (conceptor)             graded subspaces are combined into one
lattice     their span (the paper)                    subspaces are combined into one
==========  ========================================  ==================================================

docs/queries.md compares them on the development data; docs/results.md has the table for the test sets.
"""

from dataclasses import dataclass
from math import cos
from typing import TYPE_CHECKING, Any, ClassVar

from softset.errors import InputError
from softset.query.expression import And, GivenSet, LeafTree, Minus, Not, Or, SetExpression, leaves

if TYPE_CHECKING:  # the command line shows the names of logics in its help, which must not import NumPy
    import numpy as np

    from softset.algebra import SoftSet, Subspace


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

    NAMES: ClassVar[tuple[str, ...]] = ("logistic", "graded", "lattice")

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
        return {"lattice": ("alpha",), "graded": ("aperture", "floor")}.get(self.name, ())

    @property
    def preprocessing(self) -> str:
        """The default preprocessing of word vectors."""
        return "whiten(0.2)" if self.name == "logistic" else "none"

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
    if unused and logic is None:  # a caller may pass the same parameters to several named logics
        others = " or ".join(name for name in Logic.NAMES if unused[0] in Logic(name).parameters)
        raise InputError(f"the logic {base.name} has no {unused[0]}: choose {others} (--logic), or leave it out")
    return Logic(base.name, **{"alpha": base.alpha, "aperture": base.aperture, "floor": base.floor, **parameters})


def default_logic(tree: SetExpression) -> Logic | None:
    """Return the logic for the sets of the algebra in an expression, or None if it has none."""
    kinds = {type(leaf.members).__name__ for leaf in leaves(tree) if isinstance(leaf, GivenSet)}
    return Logic("graded" if "GradedSubspace" in kinds else "lattice") if kinds else None


def given_set(logic: Logic, members: "SoftSet") -> "SoftSet":
    """Return a set of the algebra as a leaf of a logic, or raise InputError if the logic has no such leaves."""
    from softset.algebra import GradedSubspace, Subspace

    if logic.name == "graded":
        return GradedSubspace.from_crisp(members) if isinstance(members, Subspace) else members
    if logic.name == "logistic" or (logic.name == "lattice" and not isinstance(members, Subspace)):
        advice = "leave out the logic, or choose graded"
        raise InputError(f"the logic {logic.name} cannot use a {type(members).__name__}: {advice}")
    return members


def leaf_set(logic: Logic, rows: "np.ndarray", weights: "np.ndarray") -> "SoftSet":
    """Return the set of (k, d) examples with weights (k,); crisp sets ignore the weights.

    Even a set of infinite aperture is a graded subspace, because AND needs the floor.
    """
    from softset.algebra import GradedSubspace, Subspace

    if logic.name == "lattice":
        return Subspace.span(rows)
    return GradedSubspace.of(rows, aperture=logic.aperture, weights=weights)


def combined_set(logic: Logic, tree: SetExpression, by_leaf: dict[LeafTree, Any]) -> tuple[Any, list[str]]:
    """Return the one set that a tree makes of the sets of its leaves, and a note for each part that is empty."""
    from softset.algebra import Subspace

    notes: list[str] = []
    tolerance = {"alpha": logic.alpha} if logic.name == "lattice" else {"floor": logic.floor}

    def evaluate(part: SetExpression) -> Any:
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
                return by_leaf[part]  # type: ignore[index]

    return evaluate(tree), notes


def _empty_note(part: SetExpression, A: "Subspace", B: "Subspace") -> str:
    cosine = max(cos(A.angles(B)[0]), 0.0)
    alpha_helps = isinstance(part, And) and cosine > 0.01
    advice = f"; with alpha above {1 - cosine:.2f} it would not be empty" if alpha_helps else ""
    return f"{part} is empty: the largest canonical cosine is {cosine:.2f}{advice}"


def truth_values(tree: SetExpression) -> set[bool]:
    """Return the truth values that a query can take as a proposition; {True} means that every item belongs to it.

    Queries with more than twelve different sets are assumed to take both values.
    """
    names = list(dict.fromkeys(leaves(tree)))
    if isinstance(tree, LeafTree) or len(names) > 12:
        return {True, False}
    table = frozenset(range(2 ** len(names)))  # the rows of a truth table; a set holds those in which it is true
    by_leaf = {leaf: frozenset(row for row in table if row >> bit & 1) for bit, leaf in enumerate(names)}

    def true_rows(part: SetExpression) -> frozenset[int]:
        match part:
            case Not(inner):
                return table - true_rows(inner)
            case And(left, right):
                return true_rows(left) & true_rows(right)
            case Minus(left, right):
                return true_rows(left) - true_rows(right)
            case Or(left, right):
                return true_rows(left) | true_rows(right)
        return by_leaf[part]  # type: ignore[index]

    true = true_rows(tree)
    return {row in true for row in table}
