"""Set expressions: the tree of a query, made from text or by Python's operators; the printed form is a query text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from softset.errors import InputError

if TYPE_CHECKING:  # the command line parses its options without NumPy
    import numpy as np

    from softset.algebra.base import SoftSet

# Words and ids that need no quotation marks; id:d7 is not a word but the item with the id d7.
BARE_ID = r"[^\s{}()&|~,^\"\u201c\u201d@]+"
BARE_WORD = rf"(?!-|id:(?:{BARE_ID}|[\"\u201c])){BARE_ID}"
RESERVED = frozenset({"AND", "OR", "NOT", "BUT"})
MAX_SETS = 100  # in one expression
MAX_DEPTH = 50
DEFAULT_STRICTNESS = 0.5  # of BUT NOT
SHOWN_DIGITS = 12  # digits of a checksum in the short name of a vector or a subspace


class SetExpression:
    """A set, as a query describes it: `&`, `|`, `-` and `~` combine it with other sets.

    The other side may be an expression, a string (one example), a `Subspace` or a `GradedSubspace`. Expressions are
    immutable, and equal if their printed forms are; vectors and subspaces are printed by a short name, all else as a
    query text.

    >>> import softset
    >>> words = softset.load_words()
    >>> fruit = words.set("apple", "peach", "banana")
    >>> colour = SetExpression.parse("{red, blue, green}")
    >>> print(fruit & colour - "black")
    {apple, peach, banana} & {red, blue, green} - {black}
    >>> words.find(fruit & colour, top=2)
    0.599  orange
    0.244  plum
    """

    size = 1  # number of sets
    depth = 0  # nesting depth; a chain of the same operator counts as one level

    @staticmethod
    def parse(query: str) -> "SetExpression":
        """Return the expression of a query text.

        >>> SetExpression.parse("{red, blue} AND fruit")
        SetExpression('{red, blue} & {fruit}')
        """
        from softset.query.parser import parse

        return parse(query)

    def __and__(self, other: Any) -> "And":
        return NotImplemented if (right := _operand(other)) is None else And(self, right)

    def __rand__(self, other: Any) -> "And":
        return NotImplemented if (left := _operand(other)) is None else And(left, self)

    def __or__(self, other: Any) -> "Or":
        return NotImplemented if (right := _operand(other)) is None else Or(self, right)

    def __ror__(self, other: Any) -> "Or":
        return NotImplemented if (left := _operand(other)) is None else Or(left, self)

    def __sub__(self, other: Any) -> "Minus":
        return NotImplemented if (right := _operand(other)) is None else Minus(self, right)

    def __rsub__(self, other: Any) -> "Minus":
        return NotImplemented if (left := _operand(other)) is None else Minus(left, self)

    def without(self, other: Any, *, strict: float = DEFAULT_STRICTNESS) -> "Minus":
        """Return the difference with another set; `strict`, from 0 to 1, says how much is removed.

        At 0 nothing is removed, .5 is the default of `-`, and at 1 (`--`) the examples of this set protect less of what
        is like the other set.

        >>> weekdays = SetExpression.parse("{monday, tuesday, wednesday}")
        >>> print(weekdays.without("sunday", strict=1), "or", weekdays.without("sunday", strict=0.3))
        {monday, tuesday, wednesday} -- {sunday} or {monday, tuesday, wednesday} -^0.3 {sunday}
        """
        right = _operand(other)
        if right is None:
            kinds = "a string, a set expression, a Subspace or a GradedSubspace"
            raise InputError(f"the set to exclude must be {kinds}, but a {type(other).__name__} was given")
        return Minus(self, right, strict)

    def __invert__(self) -> "Not":
        return Not(self)

    def __bool__(self) -> bool:
        raise TypeError("a set expression is neither true nor false: combine sets with & | - ~ instead of and, or, not")

    def __repr__(self) -> str:
        return f"SetExpression({str(self)!r})"

    def _repr_html_(self) -> str:
        return f"<code>{escape(str(self))}</code>"


def as_expression(query: Any) -> SetExpression:
    """Return a set expression or a set of the algebra as an expression, or raise InputError."""
    expression = None if isinstance(query, str) else _operand(query)
    if expression is None:
        kinds = "a text such as '{red, blue} & fruit', a set expression, a Subspace or a GradedSubspace"
        raise InputError(f"a query must be {kinds}, but a {type(query).__name__} was given")
    return expression


def _operand(value: Any) -> SetExpression | None:
    if isinstance(value, SetExpression):
        return value
    if isinstance(value, str):
        if not value.strip():
            raise InputError("an example must not be empty: give a word or a text")
        return Examples((Example(value),))
    from softset.algebra.base import SoftSet

    return GivenSet.of(value) if isinstance(value, SoftSet) else None


@dataclass(frozen=True)
class Example:
    """A word, phrase or text, the id of an item, or a vector (d,), with a weight; a vector's `text` is a short name."""

    text: str
    weight: float = 1.0
    kind: Literal["text", "id", "vector"] = "text"
    vector: "np.ndarray | None" = field(default=None, compare=False, repr=False)

    @classmethod
    def of_vector(cls, vector: "np.ndarray") -> "Example":
        """Return a vector (d,) as an example."""
        name = f"@vector-{sha256(vector.tobytes()).hexdigest()[:SHOWN_DIGITS]}"
        return cls(name, kind="vector", vector=vector)

    def __str__(self) -> str:
        if self.kind == "id":
            text = "id:" + (self.text if re.fullmatch(BARE_ID, self.text) else _in_quotes(self.text))
        else:
            text = _quoted(self.text) if self.kind == "text" else self.text
        return text + ("" if self.weight == 1 else f"^{self.weight!r}".removesuffix(".0"))


@dataclass(frozen=True, repr=False)
class Examples(SetExpression):
    """A set given by examples: {red, blue, "new york"^2}."""

    items: tuple[Example, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self.items)) + "}"


@dataclass(frozen=True, repr=False)
class GivenSet(SetExpression):
    """A set of the algebra, printed by a short name."""

    name: str
    members: "SoftSet" = field(compare=False)

    @classmethod
    def of(cls, members: "SoftSet") -> "GivenSet":
        """Return a Subspace or GradedSubspace as an expression."""
        import numpy as np

        wide = members.like(np.zeros((1, members.ambient)))
        return cls(f"@{type(members).__name__.lower()}-{wide.fingerprint[:SHOWN_DIGITS]}", wide)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, repr=False)
class Named(SetExpression):
    """A named set: @colour."""

    name: str

    def __str__(self) -> str:
        return "@" + (self.name if _is_bare(self.name) else _in_quotes(self.name))


@dataclass(frozen=True, repr=False)
class Not(SetExpression):
    """The complement of a set: ~A."""

    inner: SetExpression

    def __post_init__(self) -> None:
        _set_extent(self, size=self.inner.size, depth=self.inner.depth + 1)

    def __str__(self) -> str:
        return "~" + _wrapped(self.inner, 4)


@dataclass(frozen=True, repr=False)
class _Binary(SetExpression):
    left: SetExpression
    right: SetExpression
    symbol: ClassVar[str]

    def __post_init__(self) -> None:
        depth = max(self.left.depth + (type(self.left) is not type(self)), self.right.depth + 1)
        _set_extent(self, size=self.left.size + self.right.size, depth=depth)

    def __str__(self) -> str:
        precedence = _PRECEDENCE[type(self)]
        return f"{_wrapped(self.left, precedence)} {self.symbol} {_wrapped(self.right, precedence + 1)}"


@dataclass(frozen=True, repr=False)
class Minus(_Binary):
    """The difference of two sets: A - B; with the strictness 1, A -- B."""

    strict: float = DEFAULT_STRICTNESS

    def __post_init__(self) -> None:
        super().__post_init__()
        strict: Any = self.strict
        if not (isinstance(strict, Real) and 0 <= float(strict) <= 1):
            raise InputError(f"the strictness of BUT NOT must be from 0 to 1, but {strict!r} was given")
        object.__setattr__(self, "strict", float(strict))  # a number of NumPy is printed differently

    @property
    def symbol(self) -> str:  # type: ignore[override]
        """The operator, with its strictness unless that is the default."""
        if self.strict == DEFAULT_STRICTNESS:
            return "-"
        return "--" if self.strict == 1 else f"-^{self.strict!r}"


class And(_Binary):
    """The intersection of two sets: A & B."""

    symbol = "&"


class Or(_Binary):
    """The union of two sets: A | B."""

    symbol = "|"


def _set_extent(tree: SetExpression, *, size: int, depth: int) -> None:
    """Set the size and the depth of a new expression; larger ones would exceed Python's recursion limit."""
    if size > MAX_SETS:
        raise InputError(f"a query may have at most {MAX_SETS} sets, but this one has more: put examples into one set")
    if depth > MAX_DEPTH:
        raise InputError(f"sets may be nested at most {MAX_DEPTH} levels deep, but these are deeper")
    object.__setattr__(tree, "size", size)
    object.__setattr__(tree, "depth", depth)


LeafTree = Examples | Named | GivenSet

# The precedence of Python: ~ before -, - before &, & before |.
_PRECEDENCE: dict[type, int] = {Or: 1, And: 2, Minus: 3, Not: 4, Named: 5, GivenSet: 5, Examples: 5}


def _wrapped(tree: SetExpression, min_precedence: int) -> str:
    return str(tree) if _PRECEDENCE[type(tree)] >= min_precedence else f"({tree})"


def _quoted(text: str) -> str:
    return text if all(map(_is_bare, text.split(" "))) else _in_quotes(text)


def _is_bare(word: str) -> bool:
    return re.fullmatch(BARE_WORD, word) is not None and word not in RESERVED


def _in_quotes(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _signed_leaves(tree: SetExpression, negated: bool = False) -> Iterator[tuple[LeafTree, bool]]:
    """Yield the leaves from left to right, each with whether it is under an odd number of negations."""
    match tree:
        case Not(inner):
            yield from _signed_leaves(inner, not negated)
        case And(left, right) | Or(left, right) | Minus(left, right):
            yield from _signed_leaves(left, negated)
            yield from _signed_leaves(right, negated != isinstance(tree, Minus))
        case Examples() | Named() | GivenSet():
            yield tree, negated


def leaves(tree: SetExpression) -> Iterator[LeafTree]:
    """Return the sets of a tree, from left to right."""
    return (leaf for leaf, _ in _signed_leaves(tree))


def positive_leaves(tree: SetExpression) -> Iterator[LeafTree]:
    """Return the sets under an even number of negations: their members score higher, those of the others lower."""
    return (leaf for leaf, negated in _signed_leaves(tree) if not negated)


def negative_leaves(tree: SetExpression) -> Iterator[LeafTree]:
    """Return the sets under an odd number of negations; a set may be positive in one place and negative in another."""
    return (leaf for leaf, negated in _signed_leaves(tree) if negated)


def has_neighbours(tree: SetExpression, *, negated: bool = False) -> bool:
    """Return whether every item of a tree is near one of its sets: false for complements, also in unions."""
    match tree:
        case Not(inner):
            return has_neighbours(inner, negated=not negated)
        case And(left, right) | Or(left, right) | Minus(left, right):
            negated_right = negated != isinstance(tree, Minus)
            sides = (has_neighbours(left, negated=negated), has_neighbours(right, negated=negated_right))
            is_intersection = isinstance(tree, Or) == negated  # by De Morgan, a negated union is an intersection
            return any(sides) if is_intersection else all(sides)
        case GivenSet(_, members):
            return negated == (2 * members.dim > members.ambient)
    return not negated
