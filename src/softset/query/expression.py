"""A query as a tree of sets. Printing a tree gives a query that parses back to it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["And", "Example", "Examples", "Minus", "Named", "Not", "Or", "Tree", "height", "leaves", "positive_leaves"]

# What needs no quotes: words of letters, digits and inner marks, single spaces between them.
BARE_WORD = r"[^\s{}()&|~,^\"\u201c\u201d@\-][^\s{}()&|~,^\"\u201c\u201d@]*"
RESERVED = frozenset({"AND", "OR", "NOT", "BUT"})


@dataclass(frozen=True)
class Example:
    """A word or phrase, and how much it counts."""

    text: str
    weight: float = 1.0

    def __str__(self) -> str:
        return _quoted(self.text) + ("" if self.weight == 1 else f"^{self.weight!r}".removesuffix(".0"))


@dataclass(frozen=True)
class Examples:
    """A set by examples: {red, blue, "new york"^2}."""

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
    """Everything but a set."""

    inner: "Tree"

    def __str__(self) -> str:
        return "~" + _wrapped(self.inner, 4)


@dataclass(frozen=True)
class Minus:
    """The one set but not the other."""

    left: "Tree"
    right: "Tree"

    def __str__(self) -> str:
        return f"{_wrapped(self.left, 3)} - {_wrapped(self.right, 4)}"


@dataclass(frozen=True)
class And:
    """What belongs to both."""

    left: "Tree"
    right: "Tree"

    def __str__(self) -> str:
        return f"{_wrapped(self.left, 2)} & {_wrapped(self.right, 3)}"


@dataclass(frozen=True)
class Or:
    """What belongs to either."""

    left: "Tree"
    right: "Tree"

    def __str__(self) -> str:
        return f"{_wrapped(self.left, 1)} | {_wrapped(self.right, 2)}"


Tree = Examples | Named | Not | Minus | And | Or

# As in Python: ~ binds tighter than -, which binds tighter than &, which binds tighter than |.
_PRECEDENCE = {Or: 1, And: 2, Minus: 3, Not: 4, Named: 5, Examples: 5}


def _wrapped(tree: Tree, least: int) -> str:
    return str(tree) if _PRECEDENCE[type(tree)] >= least else f"({tree})"


def _quoted(text: str) -> str:
    return text if all(map(_is_bare, text.split(" "))) else _in_quotes(text)


def _is_bare(word: str) -> bool:
    return re.fullmatch(BARE_WORD, word) is not None and word not in RESERVED


def _in_quotes(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def positive_leaves(tree: Tree, *, negated: bool = False) -> Iterator[Examples | Named]:
    """Return the leaves under an even number of negations: those that speak for an item."""
    match tree:
        case Examples() | Named():
            if not negated:
                yield tree
        case Not(inner):
            yield from positive_leaves(inner, negated=not negated)
        case And(left, right) | Or(left, right) | Minus(left, right):
            yield from positive_leaves(left, negated=negated)
            yield from positive_leaves(right, negated=negated != isinstance(tree, Minus))


def height(tree: Tree) -> int:
    """Return how deep sets are nested; a chain of the same operator is one level."""
    match tree:
        case Not(inner):
            return 1 + height(inner)
        case And(left, right) | Or(left, right) | Minus(left, right):
            return max(height(left) + (type(left) is not type(tree)), height(right) + 1)
    return 0


def leaves(tree: Tree) -> Iterator[Examples | Named]:
    """Return the sets by examples and the named sets of a tree, from left to right."""
    match tree:
        case Examples() | Named():
            yield tree
        case Not(inner):
            yield from leaves(inner)
        case And(left, right) | Or(left, right) | Minus(left, right):
            yield from leaves(left)
            yield from leaves(right)
