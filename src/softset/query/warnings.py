"""Warnings about queries whose sets or examples do not fit together."""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.errors import InputError
from softset.query.background import SHARE
from softset.query.centroid import Centroid
from softset.query.expression import DEFAULT_STRICTNESS, And, LeafTree, Minus, positive_leaves
from softset.query.log_odds import CentroidLeaf, Combination, kept_leaves, parts, without_exclusions

# Relative values (see `softset.query.background`): typical members have values from 2 on, unrelated items about 0.
UNRELATED, RELATED = 0.5, 1.2
SMALL_CHANGE = -0.5  # change of log-odds by BUT NOT from which it has an effect
# Log-odds that the best vector of the background reaches in an intersection with members: on the development data, all
# intersections reach it, and half of the pairs of unrelated categories do not.
SHARED = -0.1


def warnings_about(
    combination: Combination, by_tree: Mapping[LeafTree, CentroidLeaf], of_background: Mapping[Any, np.ndarray]
) -> list[str]:
    """Return short warnings about the sets of a query; an example on both sides of BUT NOT raises InputError.

    `of_background` holds the log-odds (b,) of the background in each set.
    """
    warnings = [warning for tree, leaf in by_tree.items() for warning in _odd_examples(tree, leaf)]
    for part in parts(combination.tree):
        if isinstance(part, And):
            kept_part = without_exclusions(part)
            best = combination.combine(kept_part, of_background, with_exclusions=False).max(initial=SHARED)
            if best <= SHARED:
                warnings.append(f"{part.left} and {part.right} have little in common: the results fit neither set well")
        elif isinstance(part, Minus):
            kept = combination.combine(part.left, of_background)
            changes = combination.combine(part, of_background) - kept
            best = np.argsort(-kept)[: ceil(SHARE * len(kept))]
            has_effect = bool(changes[best].min(initial=0) < SMALL_CHANGE)
            is_mild = combination.exclusions[part].strictness.min_outside > 0
            warnings += _difference_warnings(
                part, by_tree, has_effect=has_effect, is_mild=is_mild, is_text=combination.is_text
            )
    return warnings


def _odd_examples(tree: LeafTree, leaf: CentroidLeaf) -> Iterator[str]:
    """Yield a warning about an example that is unlike the other examples of its set."""
    rows, centroid = unit_rows(leaf.vectors), leaf.members
    if len(rows) < 2:
        return
    others = unit_rows(rows.sum(axis=0) - rows)
    values = centroid.scale.relative(np.vecdot(rows, others))
    names = [example.text for example in leaf.examples]
    worst = int(values.argmin())
    if values[worst] < UNRELATED:
        if len(rows) == 2:
            yield f"the examples {names[0]} and {names[1]} have little in common"
        elif np.median(np.delete(values, worst)) > RELATED:
            yield f"{names[worst]} is unlike the other examples of {tree}"


def _difference_warnings(
    tree: Minus, by_tree: Mapping[LeafTree, CentroidLeaf], *, has_effect: bool, is_mild: bool, is_text: bool
) -> Iterator[str]:
    kept = [by_tree[leaf] for leaf in kept_leaves(tree.left)]
    rows = np.concatenate([leaf.vectors for leaf in kept])
    for removed in dict.fromkeys(positive_leaves(tree.right)):
        leaf = by_tree[removed]
        for example, row in zip(leaf.examples, leaf.vectors, strict=True):
            if (rows == row).all(axis=1).any():
                raise InputError(f"{example.text!r} is an example on both sides of BUT NOT: remove it from one side")
        likeness = max(_value(each.members, leaf.members) for each in kept)
        if max(likeness, *(_value(leaf.members, each.members) for each in kept)) < UNRELATED:
            yield f"{removed} is far from {tree.left}: BUT NOT removes almost nothing"
        elif is_text:  # the border of texts does not depend on examples
            continue
        elif max(len(each.examples) for each in kept) == 1:
            if is_mild and tree.strict == DEFAULT_STRICTNESS:
                yield (
                    f"everything like {tree.left} is also like {removed}: only close neighbours of "
                    f"{removed} are removed (-- removes more)"
                )
            elif likeness > RELATED and tree.strict >= DEFAULT_STRICTNESS:
                yield f"{tree.left} has one example, so everything like {removed} is removed: add examples to keep more"
        elif not has_effect and tree.strict == DEFAULT_STRICTNESS:
            yield f"{removed} is like the examples of {tree.left}: BUT NOT removes almost nothing (-- removes more)"


def _value(item: Centroid, of: Centroid) -> float:
    """Return the relative value of the direction of a set in another set."""
    return float(of.scale.relative(item.direction @ of.direction))
