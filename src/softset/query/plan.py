"""Between a query and its scores: what stands for the examples, which sets these make, how sets are combined."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from softset.algebra import SoftSet
from softset.errors import InputError
from softset.query.centroid import Centroid
from softset.query.combining import combined_memberships, combined_set, leaf_set, truth_values
from softset.query.expression import Example, Examples, Named, Tree, leaves
from softset.query.logic import Logic

__all__ = ["CachedResolver", "Leaf", "Members", "Plan", "Resolved", "Resolver", "examples_of", "make_plan"]

NamedSets = Mapping[str, Sequence[str]]


class Resolved(NamedTuple):
    """The vector (d,) that stands for an example, how it was found, and which items it is, if it is any."""

    vector: np.ndarray
    how: str
    indices: tuple[int, ...]


class Resolver(Protocol):
    """Whatever can give a text a vector: word vectors, a collection."""

    def resolve(self, text: str) -> Resolved:
        """Return what stands for a text, or raise UnknownWordError."""

    def can_resolve(self, text: str) -> bool:
        """Tell whether `resolve` would find something."""


class CachedResolver:
    """A resolver that knows the answers for some texts already, and asks another for the rest."""

    def __init__(self, resolver: Resolver, answers: Mapping[str, Resolved]) -> None:
        self._resolver, self._answers = resolver, answers

    @property
    def preprocessing(self) -> str:
        """What was done to the vectors."""
        return str(getattr(self._resolver, "preprocessing", "none"))

    def resolve(self, text: str) -> Resolved:
        """Return what stands for a text, or raise UnknownWordError."""
        known = self._answers.get(text)
        return self._resolver.resolve(text) if known is None else known

    def can_resolve(self, text: str) -> bool:
        """Tell whether `resolve` would find something."""
        return text in self._answers or self._resolver.can_resolve(text)


class Members(Protocol):
    """What a search asks of a leaf's set: a `SoftSet`, or a `Centroid`."""

    @property
    def ambient(self) -> int:
        """The dimension of the space that the set lives in."""

    @property
    def dim(self) -> int:
        """The number of directions that belong to the set at all."""

    def membership(self, v: Any) -> Any:
        """Return how much one (d,) vector, or each of (n, d) vectors, belongs: numbers from 0 to 1."""

    def factor(self) -> Any:
        """Return the rows that memberships are made of, or None if the set has no such rows."""


@dataclass(frozen=True)
class Leaf:
    """A set of examples with their vectors (k, d)."""

    tree: Examples | Named
    examples: tuple[Example, ...]
    resolved: tuple[Resolved, ...]
    members: Members

    @property
    def vectors(self) -> np.ndarray:
        """The examples' vectors (k, d)."""
        return np.stack([one.vector for one in self.resolved])


@dataclass(frozen=True)
class Plan:
    """A query ready to be scored."""

    query: str
    tree: Tree
    logic: Logic
    leaves: tuple[Leaf, ...]
    combined: SoftSet | None
    notes: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def example_indices(self) -> frozenset[int]:
        """The items that are examples of the query themselves."""
        return frozenset(index for leaf in self.leaves for one in leaf.resolved for index in one.indices)

    @property
    def sets(self) -> tuple[Members, ...]:
        """The sets whose memberships the score is made of."""
        return (self.combined,) if self.combined is not None else tuple(leaf.members for leaf in self.leaves)

    def score(self, memberships: Sequence[Any]) -> Any:
        """Return the scores (n,) from the memberships (n,) in each of `sets`."""
        if self.combined is not None or isinstance(self.tree, Examples | Named):
            return memberships[0]
        by_leaf = {leaf.tree: m for leaf, m in zip(self.leaves, memberships, strict=True)}
        return combined_memberships(self.logic, self.tree, by_leaf)

    @property
    def resolved_as(self) -> dict[str, str]:
        """What stands for the examples that are not looked up as they are."""
        pairs = [pair for leaf in self.leaves for pair in zip(leaf.examples, leaf.resolved, strict=True)]
        return {example.text: found.how for example, found in pairs if found.how != "exact match"}

    def to_dict(self) -> dict[str, Any]:
        """Return the plan for programs."""
        sets = [
            {
                "set": str(leaf.tree),
                "makes": repr(leaf.members),
                "examples": [
                    {"text": one.text, "weight": one.weight, "how": found.how}
                    for one, found in zip(leaf.examples, leaf.resolved, strict=True)
                ],
            }
            for leaf in self.leaves
        ]
        makes = None if self.combined is None else repr(self.combined)
        told = {"query": str(self.tree), "logic": str(self.logic), "sets": sets, "makes": makes}
        return told | {"notes": list(self.notes), "unknown": list(self.unknown)}

    def __str__(self) -> str:
        """Return the plan for a person to read."""
        lines = [f"query   {self.tree}", f"logic   {self.logic}"]
        for leaf in self.leaves:
            lines.append(f"set     {leaf.tree}  ->  {leaf.members!r}")
            lines += [
                f"          {one.text}: {found.how}" for one, found in zip(leaf.examples, leaf.resolved, strict=True)
            ]
        if self.combined is not None:
            lines.append(f"makes   {self.combined!r}, then ranks by membership in it")
        else:
            lines.append(f"then    combines {len(self.leaves)} memberships")
        return "\n".join([*lines, *(f"note    {note}" for note in self.notes)])


def make_plan(
    query: str,
    tree: Tree,
    resolver: Resolver,
    logic: Logic,
    *,
    named: NamedSets | None = None,
    skip_unknown: bool = False,
) -> Plan:
    """Return the plan of a parsed query; with `skip_unknown` examples without a vector are left out and listed."""
    values = truth_values(tree)
    if len(values) == 1:
        what = "everything belongs to this query alike" if True in values else "nothing can belong to this query"
        raise InputError(f"{what}, whatever its sets: {tree}")
    unknown: list[str] = []
    made = {leaf: _leaf(leaf, resolver, logic, named or {}, unknown if skip_unknown else None) for leaf in leaves(tree)}
    notes: list[str] = []
    combined = None
    if logic.on_sets:
        combined = combined_set(logic, tree, {leaf: one.members for leaf, one in made.items()}, notes)
        _refuse_nothing_and_everything(tree, combined, notes)
    return Plan(query, tree, logic, tuple(made.values()), combined, tuple(notes), tuple(dict.fromkeys(unknown)))


def _refuse_nothing_and_everything(tree: Tree, combined: Any, notes: list[str]) -> None:
    if not combined:
        raise InputError("nothing belongs to this query: " + (notes[-1] if notes else f"{tree} is empty"))
    if combined.chance > 1 - 1e-9:
        raise InputError(f"everything belongs to this query alike: {tree} is the whole space")


def _leaf(
    tree: Examples | Named, resolver: Resolver, logic: Logic, named: NamedSets, unknown: list[str] | None
) -> Leaf:
    examples = examples_of(tree, named)
    kept: list[tuple[Example, Resolved]] = []
    for example in examples:
        if unknown is not None and not resolver.can_resolve(example.text):
            unknown.append(example.text)
        else:
            kept.append((example, resolver.resolve(example.text)))
    if not kept:
        raise InputError(f"no example of {tree} has a vector here: give others")
    texts, found = zip(*kept, strict=True)
    rows = np.array([one.vector for one in found])
    if not rows.any():
        done = getattr(resolver, "preprocessing", "none")
        after = "" if done == "none" else f" after {done} (--preprocessing none leaves vectors as they are)"
        raise InputError(f"every example of {tree} has the zero vector, which has no direction{after}: give others")
    weights = np.array([example.weight for example in texts])
    if logic.name == "logistic":
        middle = Centroid.of(rows, weights)
        if not middle.direction.any():
            raise InputError(
                f"the examples of {tree} point opposite ways and have no middle: give others, or a --logic"
            )
        return Leaf(tree, texts, found, middle)
    return Leaf(tree, texts, found, leaf_set(logic, rows, weights))


def examples_of(tree: Examples | Named, named: NamedSets) -> tuple[Example, ...]:
    """Return the examples of a set: its own, or those that its name stands for.

    >>> examples_of(Named("colours"), {"colours": ["red"]})[0].text
    'red'
    """
    if isinstance(tree, Examples):
        return tree.items
    if tree.name not in named:
        known = f"known are {', '.join(sorted(named)[:20])}" if named else "there are no named sets: use --named-sets"
        raise InputError(f"there is no set named @{tree.name}; {known}")
    given = named[tree.name]
    return tuple(Example(text) for text in ([given] if isinstance(given, str) else given))
