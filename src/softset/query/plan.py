"""Plans: a query with its examples resolved to vectors, its sets built and their thresholds known.

`make_plans` parses the queries, resolves all examples at once, asks the vector source for all thresholds at once and
returns immutable plans. Every engine (exact, approximate, stores, Ray jobs) runs the same plan.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from operator import add
from typing import Any, NamedTuple

import numpy as np

from softset.algebra import SoftSet
from softset.errors import InputError
from softset.io.text import counted
from softset.query.expression import Example, Examples, Tree, leaves
from softset.query.logic import Connective, LeafTree, Logic, combined_set, connectives, evaluate, leaf_set, truth_values
from softset.query.parser import parse
from softset.query.thresholds import MIN_THRESHOLD, Centroid, mean_direction

EXACT_MATCH = "exact match"
NamedSets = Mapping[str, Sequence[str]]
LeafSet = SoftSet | Centroid


class Resolved(NamedTuple):
    """The vector (d,) of an example, how it was found, and the indices of the items that it consists of."""

    vector: np.ndarray
    resolved_as: str
    indices: tuple[int, ...]


class QuerySource(ABC):
    """The part of a vector source that the planner uses."""

    @abstractmethod
    def resolve(self, text: str) -> Resolved:
        """Return the vector of a text, or raise UnknownWordError."""

    @abstractmethod
    def resolve_many(self, texts: Iterable[str]) -> dict[str, Resolved]:
        """Return the vectors of those texts that have one, read in one batch."""

    @abstractmethod
    def thresholds(self, directions: np.ndarray) -> np.ndarray:
        """Return the cosines (k,), with k directions (k, d), of the ceil(sqrt(n))-th nearest of n items."""


@dataclass(frozen=True)
class _ResolvedLeaf:
    """A set of the query before it is built: its examples, their vectors, and the examples without one."""

    tree: LeafTree
    examples: tuple[Example, ...]
    resolved: tuple[Resolved, ...]
    unknown: tuple[str, ...]

    @property
    def vectors(self) -> np.ndarray:
        """The vectors (k, d) of the examples."""
        return np.stack([example.vector for example in self.resolved])

    @property
    def weights(self) -> np.ndarray:
        """The weights (k,) of the examples."""
        return np.array([example.weight for example in self.examples])


@dataclass(frozen=True)
class Leaf(_ResolvedLeaf):
    """A set of the query: its examples, their vectors and the set that these make."""

    members: LeafSet


@dataclass(frozen=True)
class Plan:
    """A query that is ready to run; `combined` is the one set of logics that combine sets, else None."""

    query: str
    tree: Tree
    logic: Logic
    leaves: tuple[Leaf, ...]
    combined: SoftSet | None
    notes: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def example_indices(self) -> frozenset[int]:
        """The indices of the items that are examples of the query."""
        return frozenset(index for leaf in self.leaves for example in leaf.resolved for index in example.indices)

    @property
    def sets(self) -> tuple[LeafSet, ...]:
        """The sets whose memberships `score` combines."""
        return (self.combined,) if self.combined is not None else tuple(leaf.members for leaf in self.leaves)

    @property
    def centroid(self) -> Centroid | None:
        """The centroid of a query that is one set of the logic "logistic", else None."""
        members = self.leaves[0].members
        return members if isinstance(self.tree, LeafTree) and isinstance(members, Centroid) else None

    def score(self, memberships: Sequence[Any]) -> Any:
        """Return the scores (n,) of items from their memberships (n,) in each of `sets`."""
        return self._combine(memberships, *connectives(self.logic))

    def score_error(self, errors: Sequence[float]) -> float:
        """Return a bound of the error of a score from bounds of the errors of its memberships in each of `sets`.

        AND and OR change by at most as much as their operands, and so does 1 - a. For sqrt(1 - a^2) the bound of an
        error e is sqrt(2 e), which it reaches near a = 1.
        """
        keeps_errors = self.logic.name == "logistic"
        bound: float = self._combine(errors, add, add, lambda error: error if keeps_errors else sqrt(2 * error))
        return bound

    def _combine(self, values: Sequence[Any], and_: Connective, or_: Connective, not_: Connective) -> Any:
        if self.combined is not None:
            return values[0]
        by_leaf = {leaf.tree: value for leaf, value in zip(self.leaves, values, strict=True)}
        return evaluate(self.tree, by_leaf, and_, or_, not_)

    @property
    def resolved_as(self) -> dict[str, str]:
        """How the examples were found that are not exact matches."""
        pairs = [pair for leaf in self.leaves for pair in zip(leaf.examples, leaf.resolved, strict=True)]
        return {example.text: row.resolved_as for example, row in pairs if row.resolved_as != EXACT_MATCH}

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values for JSON."""
        sets = [
            {
                "set": str(leaf.tree),
                "value": repr(leaf.members),
                "examples": [
                    {"text": example.text, "weight": example.weight, "resolved_as": row.resolved_as}
                    for example, row in zip(leaf.examples, leaf.resolved, strict=True)
                ],
            }
            for leaf in self.leaves
        ]
        combined = None if self.combined is None else repr(self.combined)
        fields = {"query": str(self.tree), "logic": str(self.logic), "sets": sets, "combined": combined}
        return fields | {"notes": list(self.notes), "unknown": list(self.unknown)}

    def __str__(self) -> str:
        """Return the plan as text."""
        lines = [f"query     {self.tree}", f"logic     {self.logic}"]
        for leaf in self.leaves:
            lines.append(f"set       {leaf.tree}  ->  {leaf.members!r}")
            pairs = zip(leaf.examples, leaf.resolved, strict=True)
            lines += [f"            {example.text}: {row.resolved_as}" for example, row in pairs]
        if self.combined is not None:
            lines.append(f"combined  {self.combined!r}; items are ranked by their membership in it")
        else:
            lines.append(f"combined  the memberships in {counted(len(self.leaves), 'set')}")
        return "\n".join([*lines, *(f"note      {note}" for note in self.notes)])


def make_plans(
    queries: Sequence[str],
    source: QuerySource,
    logic: Logic,
    *,
    sets: NamedSets | None = None,
    skip_unknown: bool = False,
) -> list[Plan]:
    """Return the plans of queries; with `skip_unknown`, examples without a vector are left out and listed."""
    trees = [parse(query) for query in queries]
    for tree in trees:
        values = truth_values(tree)
        if len(values) == 1:
            claim = "everything belongs to this query alike" if True in values else "nothing can belong to this query"
            raise InputError(f"{claim}, whatever its sets: {tree}")
    examples = {leaf: _examples_of(leaf, sets or {}) for tree in trees for leaf in leaves(tree)}
    texts = (example.text for group in examples.values() for example in group)
    vectors = resolve_all(source, texts, skip_unknown=skip_unknown)
    resolved = [_resolve_leaf(tree, group, vectors, source) for tree, group in examples.items()]
    sets_of_leaves = _build_sets(resolved, source, logic)
    by_tree = {
        leaf.tree: Leaf(**vars(leaf), members=members) for leaf, members in zip(resolved, sets_of_leaves, strict=True)
    }
    return [_make_plan(query, tree, logic, by_tree) for query, tree in zip(queries, trees, strict=True)]


def resolve_all(source: QuerySource, texts: Iterable[str], *, skip_unknown: bool) -> dict[str, Resolved]:
    """Return the vectors of texts; a text without a vector raises UnknownWordError, or is left out on request."""
    distinct = list(dict.fromkeys(texts))
    resolved = source.resolve_many(distinct)
    if not skip_unknown:
        resolved |= {text: source.resolve(text) for text in distinct if text not in resolved}  # raises the error
    return resolved


def _examples_of(tree: LeafTree, sets: NamedSets) -> tuple[Example, ...]:
    if isinstance(tree, Examples):
        return tree.items
    if tree.name not in sets:
        known = f"known are {', '.join(sorted(sets)[:20])}" if sets else "there are no named sets: use --named-sets"
        raise InputError(f"there is no set named @{tree.name}; {known}")
    texts = sets[tree.name]
    return tuple(Example(text) for text in ([texts] if isinstance(texts, str) else texts))


def _resolve_leaf(
    tree: LeafTree, examples: tuple[Example, ...], vectors: Mapping[str, Resolved], source: QuerySource
) -> _ResolvedLeaf:
    known = tuple(example for example in examples if example.text in vectors)
    unknown = tuple(example.text for example in examples if example.text not in vectors)
    if not known:
        raise InputError(f"no example of {tree} has a vector here: give other examples")
    leaf = _ResolvedLeaf(tree, known, tuple(vectors[example.text] for example in known), unknown)
    if not leaf.vectors.any():
        applied = getattr(source, "preprocessing", "none")
        cause = "" if applied == "none" else f" after {applied} (--preprocessing none leaves vectors unchanged)"
        raise InputError(f"every example of {tree} has the zero vector, which has no direction{cause}: give others")
    return leaf


def _build_sets(resolved: Sequence[_ResolvedLeaf], source: QuerySource, logic: Logic) -> list[LeafSet]:
    """Return the set of each leaf; thresholds of all centroids are computed in one batch."""
    if logic.name != "logistic":
        return [leaf_set(logic, leaf.vectors, leaf.weights) for leaf in resolved]
    directions = np.array([mean_direction(leaf.vectors, leaf.weights) for leaf in resolved])
    for leaf, direction in zip(resolved, directions, strict=True):
        if not direction.any():
            raise InputError(f"the examples of {leaf.tree} cancel out: give other examples, or choose another --logic")
    thresholds = source.thresholds(directions).tolist() if resolved else []
    pairs = zip(directions, thresholds, strict=True)
    return [Centroid(direction, max(threshold, MIN_THRESHOLD)) for direction, threshold in pairs]


def _make_plan(query: str, tree: Tree, logic: Logic, by_tree: Mapping[LeafTree, Leaf]) -> Plan:
    plan_leaves = tuple(by_tree[leaf] for leaf in dict.fromkeys(leaves(tree)))
    unknown = tuple(dict.fromkeys(text for leaf in plan_leaves for text in leaf.unknown))
    if not logic.on_sets:
        return Plan(query, tree, logic, plan_leaves, None, (), unknown)
    combined, notes = combined_set(logic, tree, {leaf.tree: leaf.members for leaf in plan_leaves})
    if not combined:
        raise InputError("nothing belongs to this query: " + (notes[-1] if notes else f"{tree} is empty"))
    if combined.chance > 1 - 1e-9:
        raise InputError(f"everything belongs to this query alike: {tree} is the whole space")
    return Plan(query, tree, logic, plan_leaves, combined, tuple(notes), unknown)
