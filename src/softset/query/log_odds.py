"""The default logic: log-odds in the sets of a query are combined by AND, OR and BUT NOT.

AND of a and b is the log-odds of the product of their probabilities, OR is its dual, and BUT NOT subtracts what an item
has in common with the other set (`softset.query.exclusion`). For texts, OR is the maximum; and AND is the mean of the
product and of the log-odds in a joined set, which has the mean direction and all words of the sets: a text about both
sets often says so in one sentence. NOT is moved to the root of the tree first, by the laws of
De Morgan: `~A & ~B` becomes `~(A | B)`, and `A & ~B` becomes `A - B`. So equivalent queries have the same memberships.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.query.background import DEFAULT_CALIBRATION, Background, MembershipCalibration, Scale
from softset.query.centroid import Centroid
from softset.query.exclusion import Border, Strictness, find_border
from softset.query.expression import (
    DEFAULT_STRICTNESS,
    And,
    Example,
    LeafTree,
    Minus,
    Not,
    Or,
    SetExpression,
    leaves,
    negative_leaves,
    positive_leaves,
)

MIN_SPREAD = 0.1  # smallest difference of reference and mean of a background's log-odds in a query
# With a single example, `monday - sunday` would remove all that is like monday. If no vector of the background keeps a
# membership of MIN_REMAINING, A and B are siblings, and the milder strictness applies.
MIN_REMAINING, SIBLING_STRICTNESS = 0.01, 0.35


def and_(a: Any, b: Any) -> Any:
    """Return the log-odds of the product of two probabilities, given their log-odds.

    >>> round(float(and_(0.0, 0.0)), 4), round(float(and_(50.0, 1.0)), 4)
    (-1.0986, 1.0)
    """
    return -np.logaddexp(np.logaddexp(-a, -b), -a - b)


def or_(a: Any, b: Any) -> Any:
    """Return NOT (NOT a AND NOT b) of log-odds.

    >>> round(float(or_(0.0, 0.0)), 4)
    1.0986
    """
    return -and_(-a, -b)


def move_not_to_root(tree: SetExpression) -> tuple[SetExpression, bool]:
    """Return an equivalent tree without NOT, and whether it must be negated.

    >>> from softset.query.parser import parse
    >>> for query in ("~a & ~b", "a & ~b", "a | ~b", "a - ~b"):
    ...     print(*move_not_to_root(parse(query)))
    {a} | {b} True
    {a} - {b} False
    {b} - {a} True
    {a} & {b} False
    """
    match tree:
        case Not(inner):
            positive, negated = move_not_to_root(inner)
            return positive, not negated
        case And(left, right) | Or(left, right) | Minus(left, right):
            (left, not_left), (right, not_right) = move_not_to_root(left), move_not_to_root(right)
        case _:
            return tree, False
    if isinstance(tree, Minus):
        not_right = not not_right
    if isinstance(tree, Or):
        if not (not_left or not_right):
            return Or(left, right), False
        not_left, not_right = not not_left, not not_right
    if not_left and not_right:
        return Or(left, right), not isinstance(tree, Or)
    if not (not_left or not_right):
        return And(left, right), isinstance(tree, Or)
    kept, removed = (right, left) if not_left else (left, right)
    strict = {"strict": tree.strict} if isinstance(tree, Minus) else {}
    return Minus(kept, removed, **strict), isinstance(tree, Or)


def normal_form(tree: SetExpression, *, is_text: bool) -> tuple[SetExpression, bool]:
    """Return an equivalent tree without NOT, and whether it must be negated.

    For texts, BUT NOT is also moved out of AND, so that the sets of an AND are joined.

    >>> from softset.query.parser import parse
    >>> print(*normal_form(parse("a & b - c & d"), is_text=True))
    ({a} & {b} & {d}) - {c} False
    """
    positive, negated = move_not_to_root(tree)
    return (_move_minus_out(positive) if is_text else positive), negated


def _move_minus_out(tree: SetExpression) -> SetExpression:
    match tree:
        case And(left, right):
            left, right = _move_minus_out(left), _move_minus_out(right)
            if isinstance(left, Minus):
                return Minus(_move_minus_out(And(left.left, right)), left.right, left.strict)
            if isinstance(right, Minus):
                return Minus(_move_minus_out(And(left, right.left)), right.right, right.strict)
            return And(left, right)
        case Or(left, right):
            return Or(_move_minus_out(left), _move_minus_out(right))
        case Minus(left, right):
            return Minus(_move_minus_out(left), right, tree.strict)
    return tree


def joinable(tree: SetExpression) -> dict[And, list[LeafTree]]:
    """Return the sets of each AND that joins only sets, in a tree without NOT; nested ANDs are one."""
    match tree:
        case And(left, right):
            operands = _operands(tree)
            if all(isinstance(operand, LeafTree) for operand in operands):
                return {tree: operands}  # type: ignore[dict-item]
            return joinable(left) | joinable(right)
        case Or(left, right):
            return joinable(left) | joinable(right)
        case Minus(left, _):
            return joinable(left)
    return {}


def _operands(tree: SetExpression) -> list[SetExpression]:
    return [*_operands(tree.left), *_operands(tree.right)] if isinstance(tree, And) else [tree]


@dataclass(frozen=True, eq=False)
class Exclusion:
    """What one BUT NOT of a query needs: its strictness, and the border of each set on its right side."""

    strictness: Strictness
    borders: Mapping[LeafTree, Border]

    def penalty(self, right: SetExpression, by_leaf: Mapping[LeafTree, Any]) -> Any:
        """Return what is added to the log-odds of the left side, given the log-odds in the sets of the right side."""
        return self.strictness.penalty(_outside(right, lambda leaf: self.borders[leaf](by_leaf[leaf])))


@dataclass(frozen=True, eq=False)
class Combination:
    """The function from the log-odds in each set to the memberships in a query.

    Attributes:
        tree: the query without NOT.
        negated: whether memberships in the query are 1 minus those in the tree.
        exclusions: the exclusion of each BUT NOT in the tree.
        scale: the scale of the background's log-odds in the tree without its BUT NOTs, so that A - B is at most A.
        calibration: the function from relative values to memberships.
        is_text: whether the items are texts.
    """

    tree: SetExpression
    negated: bool
    exclusions: Mapping[Minus, Exclusion]
    scale: Scale
    calibration: MembershipCalibration = DEFAULT_CALIBRATION
    is_text: bool = False

    def combine(self, tree: SetExpression, values: Mapping[Any, Any], *, with_exclusions: bool = True) -> Any:
        """Return the log-odds in a part of the tree from those in the sets and the joined sets."""
        return combine(tree, values, self.exclusions if with_exclusions else {}, is_text=self.is_text)

    def score(self, values: Mapping[Any, Any]) -> Any:
        """Return scores, in the order of the memberships, from the log-odds in the sets and the joined sets."""
        odds = self.combine(self.tree, values)
        return -odds if self.negated else odds

    def relative(self, scores: np.ndarray) -> np.ndarray:
        """Return the relative values (n,) in the tree that belong to scores."""
        values: np.ndarray = self.scale.relative(-scores if self.negated else scores)
        return values

    def membership(self, scores: np.ndarray) -> np.ndarray:
        """Return the memberships (n,) of scores; that of -inf is 0."""
        memberships = self.calibration.apply(self.relative(scores))
        return np.where(scores == -np.inf, 0.0, 1 - memberships if self.negated else memberships)

    def score_error(self, errors: Mapping[Any, float]) -> float:
        """Return a bound of the error of a score from bounds of the errors of the log-odds in each set.

        AND and OR of log-odds change by at most the sum of the changes of their operands. So do the logarithms of the
        probabilities of being outside or inside two sets; on the right side of BUT NOT, outside becomes inside.
        """

        def bound(part: SetExpression) -> float:
            match part:
                case And(left, right) if part in errors:
                    return (bound(left) + bound(right) + len(_operands(part)) * errors[part]) / 2
                case And(left, right) | Or(left, right):
                    return bound(left) + bound(right)
                case Minus(left, right):
                    exclusion = self.exclusions[part]
                    changes = [errors[leaf] * exclusion.borders[leaf].max_slopes[0] for leaf in positive_leaves(right)]
                    changes += [errors[leaf] * exclusion.borders[leaf].max_slopes[1] for leaf in negative_leaves(right)]
                    return bound(left) + exclusion.strictness.weight * sum(changes)
            return errors[part]

        return bound(self.tree)


class CentroidLeaf(NamedTuple):
    """A set of the default logic: its centroid, its examples, and their vectors (k, d)."""

    members: Centroid
    vectors: np.ndarray
    examples: tuple[Example, ...] = ()


def make_combination(
    tree: SetExpression,
    by_tree: Mapping[LeafTree, CentroidLeaf],
    of_background: Mapping[Any, np.ndarray],
    background: Background,
) -> Combination:
    """Return the function from the log-odds in each set to memberships in a query.

    Args:
        tree: the query.
        by_tree: its sets.
        of_background: the log-odds (b,) of the background in each set, and in the joined set of each AND.
        background: the background.
    """
    positive, negated = normal_form(tree, is_text=background.is_text)
    differences = [part for part in parts(positive) if isinstance(part, Minus)]
    exclusions = {part: _exclusion(part, by_tree, of_background, background) for part in differences}
    of_kept = combine(without_exclusions(positive), of_background, {}, is_text=background.is_text)
    scale = Scale.of(of_kept, MIN_SPREAD)
    return Combination(positive, negated, exclusions, scale, background.calibration, background.is_text)


def _exclusion(
    part: Minus,
    by_tree: Mapping[LeafTree, CentroidLeaf],
    of_background: Mapping[Any, np.ndarray],
    background: Background,
) -> Exclusion:
    groups = [unit_rows(by_tree[leaf].vectors) for leaf in kept_leaves(part.left)]
    strictness = Strictness.of(part.strict, max(map(len, groups)), is_text=background.is_text)
    borders = {}
    for leaf in dict.fromkeys(leaves(part.right)):
        B, rows = by_tree[leaf].members, unit_rows(by_tree[leaf].vectors)
        borders[leaf] = find_border(B, rows, groups, background, strictness.evidence_share)
    if max(map(len, groups)) == 1 and part.strict <= DEFAULT_STRICTNESS and not background.is_text:
        by_default = Exclusion(Strictness.of(DEFAULT_STRICTNESS, 1), borders)
        kept = combine(without_exclusions(part.left), of_background, {}, is_text=False)
        odds = kept + by_default.penalty(part.right, of_background)
        memberships = background.calibration.apply(Scale.of(kept, MIN_SPREAD).relative(odds))
        if memberships.max(initial=0) < MIN_REMAINING:
            strictness = Strictness.of(min(part.strict, SIBLING_STRICTNESS), 1)
    return Exclusion(strictness, borders)


def combine(
    tree: SetExpression, values: Mapping[Any, Any], exclusions: Mapping[Minus, Exclusion], *, is_text: bool
) -> Any:
    """Return the log-odds in a tree without NOT from those in its sets and in the joined sets of its ANDs."""

    def evaluate(part: SetExpression) -> Any:
        match part:
            case And(left, right):
                product = and_(evaluate(left), evaluate(right))
                return (product + len(_operands(part)) * values[part]) / 2 if part in values else product
            case Or(left, right):
                return (np.maximum if is_text else or_)(evaluate(left), evaluate(right))
            case Minus(left, right):
                return evaluate(left) + exclusions[part].penalty(right, values)
        return values[part]

    return evaluate(tree)


def _outside(tree: SetExpression, of_leaf: Callable[[LeafTree], Any]) -> Any:
    """Return the probability of being outside a tree without NOT, from those of its sets."""
    match tree:
        case Or(left, right):
            return _outside(left, of_leaf) * _outside(right, of_leaf)
        case And(left, right):
            return 1 - (1 - _outside(left, of_leaf)) * (1 - _outside(right, of_leaf))
        case Minus(left, right):
            return 1 - (1 - _outside(left, of_leaf)) * _outside(right, of_leaf)
    return of_leaf(tree)  # type: ignore[arg-type]


def without_exclusions(tree: SetExpression) -> SetExpression:
    """Return a tree without NOT in which each BUT NOT is replaced by its left side."""
    match tree:
        case And(left, right) | Or(left, right):
            return type(tree)(without_exclusions(left), without_exclusions(right))
        case Minus(left, _):
            return without_exclusions(left)
    return tree


def parts(tree: SetExpression) -> Iterator[SetExpression]:
    """Yield a tree without NOT and its parts; those on the right side of BUT NOT belong to one exclusion."""
    yield tree
    if isinstance(tree, And | Or | Minus):
        yield from parts(tree.left)
    if isinstance(tree, And | Or):
        yield from parts(tree.right)


def kept_leaves(tree: SetExpression) -> list[LeafTree]:
    """Return the distinct sets of a tree without NOT, except those on the right side of a BUT NOT."""
    return list(dict.fromkeys(leaves(without_exclusions(tree))))
