"""Plans: a query with its examples resolved to vectors, its sets built and its scale known.

`make_plans` resolves the examples of all queries at once, compares all sets with the background of the vector source
and returns immutable plans. Every engine (exact, approximate, stores, Ray jobs) runs the same plan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from math import sqrt
from typing import Any

import numpy as np

from softset.algebra import SoftSet
from softset.errors import InputError, ShapeError
from softset.io.text import counted
from softset.query.background import Background, MembershipCalibration
from softset.query.centroid import Centroid, make_centroids
from softset.query.expression import And, Example, Examples, GivenSet, LeafTree, SetExpression, leaves
from softset.query.lexical import term_weights
from softset.query.log_odds import (
    CentroidLeaf,
    Combination,
    joinable,
    make_combination,
    normal_form,
    without_exclusions,
)
from softset.query.logic import Logic, combined_set, given_set, leaf_set, truth_values
from softset.query.named_sets import Sets
from softset.query.parsed import ParsedQuery
from softset.query.resolution import EXACT_MATCH, QuerySource, Resolved, resolve_all, resolve_ids
from softset.query.warnings import warnings_about

GIVEN_DIRECTIONS = 8  # largest number of directions of a given set that explanations show
LeafSet = SoftSet | Centroid


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
    """A query that is ready to run.

    Logics that combine sets have one set, `combined`. The default logic has `combination`, a function of the log-odds
    in the sets of the leaves and in `joined`, the joined set of each AND over texts.
    """

    query: str
    tree: SetExpression
    logic: Logic
    leaves: tuple[Leaf, ...]
    combined: SoftSet | None
    combination: Combination | None
    notes: tuple[str, ...]
    unknown: tuple[str, ...]
    joined: tuple[tuple[And, Centroid], ...] = ()

    @property
    def example_indices(self) -> frozenset[int]:
        """The indices of the items that are examples of the query."""
        return frozenset(index for leaf in self.leaves for example in leaf.resolved for index in example.indices)

    @property
    def sets(self) -> tuple[LeafSet, ...]:
        """The sets whose memberships `score` combines."""
        if self.combined is not None:
            return (self.combined,)
        return (*(leaf.members for leaf in self.leaves), *(members for _, members in self.joined))

    @property
    def centroid(self) -> Centroid | None:
        """The centroid of a query that is one set of the logic "logistic", else None."""
        members = self.leaves[0].members
        return members if isinstance(self.tree, LeafTree) and isinstance(members, Centroid) else None

    def score(self, values: Sequence[Any]) -> Any:
        """Return the scores (n,) of items, by which they are ranked, from their values (n,) in each of `sets`.

        The values are log-odds in centroids, and memberships in other sets.
        """
        return values[0] if self.combination is None else self.combination.score(self._by_tree(values))

    def membership(self, scores: np.ndarray) -> np.ndarray:
        """Return the memberships (n,) of scores; that of -inf is 0."""
        return np.maximum(scores, 0.0) if self.combination is None else self.combination.membership(scores)

    @cached_property
    def without_exclusions(self) -> "Plan | None":
        """The plan of the query without its BUT NOTs, or None if it has none or its logic combines sets."""
        if self.combination is None or not self.combination.exclusions:
            return None
        tree = without_exclusions(self.combination.tree)
        return replace(self, combination=replace(self.combination, tree=tree, exclusions={}))

    def score_error(self, errors: Sequence[float]) -> float:
        """Return a bound of the error of a score from bounds of the errors of its values in each of `sets`."""
        return errors[0] if self.combination is None else self.combination.score_error(self._by_tree(errors))

    def _by_tree(self, values: Sequence[Any]) -> dict[SetExpression, Any]:
        trees = [*(leaf.tree for leaf in self.leaves), *(tree for tree, _ in self.joined)]
        return dict(zip(trees, values, strict=True))

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

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

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
            lines.append(f"combined  the log-odds in {counted(len(self.leaves), 'set')}")
        return "\n".join([*lines, *(f"note      {note}" for note in self.notes)])


def make_plans(
    queries: Sequence[ParsedQuery],
    source: QuerySource,
    logic: Logic,
    *,
    sets: Sets,
    skip_unknown: bool = False,
    lexical: bool = True,
    calibration: MembershipCalibration | None = None,
) -> list[Plan]:
    """Return the plans of queries.

    With `skip_unknown`, examples without a vector are left out and listed. Without `lexical`, words do not count beside
    vectors.
    """
    if not isinstance(calibration, MembershipCalibration | None):
        raise InputError(f"a calibration must come from calibrate, but {calibration!r} was given")
    if calibration is not None and logic.name != Logic.name:
        raise InputError(f"a calibration is for the logic {Logic.name}: leave it out in the logic {logic.name}")
    for query in queries:
        values = truth_values(query.tree)
        if len(values) == 1:
            claim = "every item belongs to a tautology" if True in values else "no item belongs to a contradiction"
            raise InputError(f"{claim}: {query.tree}")
    examples = {leaf: _examples_of(leaf, sets) for query in queries for leaf in leaves(query.tree)}
    rows = _resolve_examples(source, [each for group in examples.values() for each in group], skip_unknown=skip_unknown)
    resolved = [_resolve_leaf(tree, group, rows, source) for tree, group in examples.items()]
    words = _words_of(resolved, source) if lexical and logic.name == Logic.name else {}
    sets_of_leaves, odds = _build_sets(resolved, source, logic, words)
    of_background = {leaf.tree: row for leaf, row in zip(resolved, odds, strict=False)}
    by_tree = {
        leaf.tree: Leaf(**vars(leaf), members=members) for leaf, members in zip(resolved, sets_of_leaves, strict=True)
    }
    plans = [_make_plan(query, logic, by_tree, of_background, source, words) for query in queries]
    return plans if calibration is None else [_calibrated(plan, calibration) for plan in plans]


def _calibrated(plan: Plan, calibration: MembershipCalibration) -> Plan:
    return replace(plan, combination=replace(plan.combination, calibration=calibration))  # type: ignore[type-var]


def _resolve_examples(
    source: QuerySource, examples: Sequence[Example], *, skip_unknown: bool
) -> dict[tuple[str, str], Resolved]:
    """Return the vectors of texts and ids, by the kind and the text of their examples."""
    texts, ids = ([each.text for each in examples if each.kind == kind] for kind in ("text", "id"))
    by_text = resolve_all(source, texts, skip_unknown=skip_unknown)
    by_id = resolve_ids(source, ids, skip_unknown=skip_unknown)
    return {("text", text): row for text, row in by_text.items()} | {("id", name): row for name, row in by_id.items()}


def _examples_of(tree: LeafTree, sets: Sets) -> tuple[Example, ...]:
    if isinstance(tree, GivenSet):
        rows = getattr(tree.members, "directions", None)  # of a graded subspace, the strongest first
        rows = tree.members.basis if rows is None else rows  # type: ignore[attr-defined]
        shown = enumerate(rows[:GIVEN_DIRECTIONS], 1)
        return tuple(Example(f"direction {i}", kind="vector", vector=row) for i, row in shown)
    named = tree if isinstance(tree, Examples) else sets.lookup(tree.name)
    return tuple(named.items)  # type: ignore[attr-defined]  # `Sets.expand` has replaced all other expressions


def _resolve_leaf(
    tree: LeafTree, examples: tuple[Example, ...], rows: Mapping[tuple[str, str], Resolved], source: QuerySource
) -> _ResolvedLeaf:
    pairs = [(each, _given_vector(each, tree, source) or rows.get((each.kind, each.text))) for each in examples]
    known = [(example, row) for example, row in pairs if row is not None]
    unknown = tuple(example.text for example, row in pairs if row is None)
    if not known and isinstance(tree, GivenSet):
        raise InputError(f"nothing belongs to {tree}: it is an empty set")
    if not known:
        raise InputError(f"no example of {tree} has a vector here: give other examples")
    leaf = _ResolvedLeaf(tree, tuple(example for example, _ in known), tuple(row for _, row in known), unknown)
    if not leaf.vectors.any():
        applied = getattr(source, "preprocessing", "none")
        cause = "" if applied == "none" else f" after {applied} (--preprocessing none leaves vectors unchanged)"
        raise InputError(f"every example of {tree} has the zero vector, which has no direction{cause}: give others")
    return leaf


def _given_vector(example: Example, tree: LeafTree, source: QuerySource) -> Resolved | None:
    """Return a vector that the caller gave, as a vector of the source; None for other examples."""
    if example.vector is None:
        return None
    rows = np.asarray(example.vector, dtype=np.float64)[None]
    if rows.shape[1] != source.dimensions:
        problem = f"has {rows.shape[1]} dimensions, but the items have {source.dimensions}"
        raise ShapeError(f"a vector of {tree} {problem}: give vectors of the same model")
    vector = rows[0] if isinstance(tree, GivenSet) else source.prepare_vectors(rows)[0]
    return Resolved(vector, "a given vector", ())


def _build_sets(
    resolved: Sequence[_ResolvedLeaf], source: QuerySource, logic: Logic, words: Mapping[LeafTree, Mapping[str, float]]
) -> tuple[Sequence[LeafSet], np.ndarray]:
    """Return the set of each leaf and, for centroids, the log-odds (k, b) of the background in them."""
    made: dict[LeafTree, SoftSet] = {
        leaf.tree: given_set(logic, leaf.tree.members) for leaf in resolved if isinstance(leaf.tree, GivenSet)
    }
    if logic.name != "logistic":  # which refuses given sets
        made |= {leaf.tree: leaf_set(logic, leaf.vectors, leaf.weights) for leaf in resolved if leaf.tree not in made}
        return [made[leaf.tree] for leaf in resolved], np.zeros((0, 0))
    directions = [source.background.direction(leaf.vectors, leaf.weights) for leaf in resolved]
    for leaf, direction in zip(resolved, directions, strict=True):
        if not direction.any():
            raise InputError(f"the examples of {leaf.tree} cancel out: give other examples, or choose another --logic")
    return make_centroids(directions, source.background, [words.get(leaf.tree, {}) for leaf in resolved])


def _words_of(resolved: Sequence[_ResolvedLeaf], source: QuerySource) -> dict[LeafTree, dict[str, float]]:
    """Return the weights of the terms in the texts of each set's examples, if the items have a lexical index."""
    words, statistics = dict[LeafTree, dict[str, float]](), source.background.lexical
    if statistics is None:
        return words
    for leaf in resolved:
        texts = [source.terms(row.text) or [] for row in leaf.resolved]
        words[leaf.tree] = term_weights(texts, leaf.weights.tolist(), statistics)
    return words


def _join_sets(
    tree: SetExpression,
    by_tree: Mapping[LeafTree, CentroidLeaf],
    background: Background,
    words: Mapping[LeafTree, Mapping[str, float]],
) -> tuple[dict[And, Centroid], dict[And, np.ndarray]]:
    """Return the joined set of each AND over texts, and the log-odds (b,) of the background in it."""
    joins = joinable(normal_form(tree, is_text=True)[0]) if background.is_text else {}
    directions, terms = [], []
    for operands in joins.values():
        total = np.sum([by_tree[leaf].members.direction for leaf in operands], axis=0)
        directions.append(total / max(sqrt(total @ total), 1e-12))
        pooled: dict[str, float] = {}
        for term, weight in (pair for leaf in operands for pair in words.get(leaf, {}).items()):
            pooled[term] = max(pooled.get(term, 0.0), weight)
        terms.append(pooled)
    centroids, odds = make_centroids(directions, background, terms)
    return dict(zip(joins, centroids, strict=True)), dict(zip(joins, odds, strict=True))


def _make_plan(
    query: ParsedQuery,
    logic: Logic,
    by_tree: Mapping[LeafTree, Leaf],
    of_background: Mapping[LeafTree, np.ndarray],
    source: QuerySource,
    words: Mapping[LeafTree, Mapping[str, float]],
) -> Plan:
    tree = query.tree
    plan_leaves = {leaf: by_tree[leaf] for leaf in dict.fromkeys(leaves(tree))}
    unknown = tuple(dict.fromkeys(text for leaf in plan_leaves.values() for text in leaf.unknown))
    fields = (query.text, tree, logic, tuple(plan_leaves.values()))
    if logic.name == "logistic":
        background = source.background
        centroids = {
            leaf.tree: CentroidLeaf(leaf.members, leaf.vectors, leaf.examples)
            for leaf in plan_leaves.values()
            if isinstance(leaf.members, Centroid)
        }
        joined, of_joined = _join_sets(tree, centroids, background, words)
        combination = make_combination(tree, centroids, {**of_background, **of_joined}, background)
        warnings = warnings_about(combination, centroids, {**of_background, **of_joined})
        notes = tuple(filter(None, (*query.notes, background.note, *warnings)))
        return Plan(*fields, None, combination, notes, unknown, tuple(joined.items()))
    combined, empty_parts = combined_set(logic, tree, {leaf: plan_leaves[leaf].members for leaf in plan_leaves})
    if not combined:
        raise InputError("nothing belongs to this query: " + (empty_parts[-1] if empty_parts else f"{tree} is empty"))
    if combined.chance > 1 - 1e-9:
        raise InputError(f"every vector belongs to this query: {tree} is the whole space")
    return Plan(*fields, combined, None, (*query.notes, *empty_parts), unknown)
