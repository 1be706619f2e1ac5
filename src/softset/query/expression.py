"""The expression tree of a query; its printed form parses to the same tree."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

# Words that need no quotation marks.
BARE_WORD = r"[^\s{}()&|~,^\"\u201c\u201d@\-][^\s{}()&|~,^\"\u201c\u201d@]*"
RESERVED = frozenset({"AND", "OR", "NOT", "BUT"})


@dataclass(frozen=True)
class Example:
    """A word or phrase with a weight."""

    text: str
    weight: float = 1.0

    def __str__(self) -> str:
        return _quoted(self.text) + ("" if self.weight == 1 else f"^{self.weight!r}".removesuffix(".0"))


@dataclass(frozen=True)
class Examples:
    """A set given by examples: {red, blue, "new york"^2}."""

    items: tuple[Example, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self.items)) + "}"


@dataclass(frozen=True)
class Named:
    """A named set: @colour."""

    name: str

    def __str__(self) -> str:
        return "@" + (self.name if _is_bare(self.name) else _in_quotes(self.name))


@dataclass(frozen=True)
class Not:
    """The complement of a set: ~A."""

    inner: "Tree"

    def __str__(self) -> str:
        return "~" + _wrapped(self.inner, 4)


@dataclass(frozen=True)
class _Binary:
    left: "Tree"
    right: "Tree"
    symbol: ClassVar[str]

    def __str__(self) -> str:
        precedence = _PRECEDENCE[type(self)]
        return f"{_wrapped(self.left, precedence)} {self.symbol} {_wrapped(self.right, precedence + 1)}"


class Minus(_Binary):
    """The difference of two sets: A - B."""

    symbol = "-"


class And(_Binary):
    """The intersection of two sets: A & B."""

    symbol = "&"


class Or(_Binary):
    """The union of two sets: A | B."""

    symbol = "|"


Tree = Examples | Named | Not | Minus | And | Or

# The precedence of Python: ~ before -, - before &, & before |.
_PRECEDENCE: dict[type, int] = {Or: 1, And: 2, Minus: 3, Not: 4, Named: 5, Examples: 5}


def _wrapped(tree: Tree, min_precedence: int) -> str:
    return str(tree) if _PRECEDENCE[type(tree)] >= min_precedence else f"({tree})"


def _quoted(text: str) -> str:
    return text if all(map(_is_bare, text.split(" "))) else _in_quotes(text)


def _is_bare(word: str) -> bool:
    return re.fullmatch(BARE_WORD, word) is not None and word not in RESERVED


def _in_quotes(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _signed_leaves(tree: Tree, negated: bool = False) -> Iterator[tuple[Examples | Named, bool]]:
    """Yield the leaves from left to right, each with whether it is under an odd number of negations."""
    match tree:
        case Not(inner):
            yield from _signed_leaves(inner, not negated)
        case And(left, right) | Or(left, right) | Minus(left, right):
            yield from _signed_leaves(left, negated)
            yield from _signed_leaves(right, negated != isinstance(tree, Minus))
        case _:
            yield tree, negated


def leaves(tree: Tree) -> Iterator[Examples | Named]:
    """Return the sets of a tree, from left to right."""
    return (leaf for leaf, _ in _signed_leaves(tree))


def positive_leaves(tree: Tree) -> Iterator[Examples | Named]:
    """Return the sets under an even number of negations: their members score higher, those of the others lower."""
    return (leaf for leaf, negated in _signed_leaves(tree) if not negated)


def depth(tree: Tree) -> int:
    """Return the nesting depth; a chain of the same operator counts as one level."""
    match tree:
        case Not(inner):
            return 1 + depth(inner)
        case And(left, right) | Or(left, right) | Minus(left, right):
            return max(depth(left) + (type(left) is not type(tree)), depth(right) + 1)
    return 0


def has_neighbours(tree: Tree, *, negated: bool = False) -> bool:
    """Return whether every item of a tree is near one of its sets: false for complements and for unions with one."""
    match tree:
        case Not(inner):
            return has_neighbours(inner, negated=not negated)
        case And(left, right) | Or(left, right) | Minus(left, right):
            negated_right = negated != isinstance(tree, Minus)
            sides = (has_neighbours(left, negated=negated), has_neighbours(right, negated=negated_right))
            is_intersection = isinstance(tree, Or) == negated  # by De Morgan, a negated union is an intersection
            return any(sides) if is_intersection else all(sides)
    return not negated
