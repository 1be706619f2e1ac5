"""Text to tree, by recursive descent. docs/queries.md has the grammar; an error points at the wrong character."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from softset.errors import QueryError
from softset.query.expression import BARE_WORD, RESERVED, And, Example, Examples, Minus, Named, Not, Or, Tree, height

__all__ = ["LIMITS", "parse"]


class Limits(NamedTuple):
    """How large a query may be."""

    characters: int = 10_000
    depth: int = 50
    sets: int = 100
    examples: int = 1_000


LIMITS = Limits()

TOKEN = re.compile(
    rf"""\s*(?:
      (?P<quoted>"(?:[^"\\]|\\.)*"|\u201c[^\u201c\u201d]*\u201d)
    | (?P<number>\^\s*(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<word>{BARE_WORD})
    | (?P<mark>[{{}}()&|~,@\-])
    )""",
    re.VERBOSE | re.DOTALL,
)
OPERATORS = {"AND": "&", "OR": "|", "NOT": "~"}
BUT_NOT = "BUT NOT"
MOST_LONGER = 8  # times as long is a query at most when it is printed: a&b is {a} & {b}


class Token(NamedTuple):
    """A piece of a query: its kind (a mark, "word", "quoted", "number" or "end"), its text, and where it stands."""

    kind: str
    text: str
    position: int


def parse(query: str) -> Tree:
    """Return the tree of a query.

    >>> print(parse('{red, blue} AND fruit BUT NOT "passion fruit"'))
    ({red, blue} & {fruit}) - {passion fruit}
    >>> parse("{red, blue")
    Traceback (most recent call last):
    softset.errors.QueryError: a comma or } was expected here
      {red, blue
                ^
    """
    if len(query) > LIMITS.characters:
        raise QueryError(
            f"a query may have {LIMITS.characters} characters, but this has {len(query)}", query, LIMITS.characters
        )
    return _Parser(query).whole()


class _Parser:
    def __init__(self, query: str) -> None:
        self.query = query
        self.tokens = _tokens(query)
        self.next = next(self.tokens)
        self.depth = self.sets = self.examples = 0

    def whole(self) -> Tree:
        if self.next.kind == "end":
            raise self.error("a query is empty: give a word or a set such as {red, blue}")
        tree = self.exception()
        if self.next.kind != "end":
            hints = {",": "; several examples are written {red, blue}", "~": "; write AND NOT, or BUT NOT"}
            hint = hints.get(self.next.kind, "")
            raise self.error(f"the end of the query, or one of & | - was expected here{hint}")
        if height(tree) > LIMITS.depth:
            raise QueryError(f"sets may be nested {LIMITS.depth} deep, and these are deeper", self.query, 0)
        most = LIMITS.characters
        if len(self.query) > most // MOST_LONGER and len(str(tree)) > most:  # so that what is printed can be read again
            told = f"a query may have {most} characters, but this has {len(str(tree))} when its braces are written out"
            raise QueryError(told, self.query, len(self.query))
        return tree

    def step(self) -> Token:
        """Return the next token, which is not the end, and go on to the one after it."""
        token, self.next = self.next, next(self.tokens)
        return token

    def take(self, kind: str) -> bool:
        """Step over the next token if it is of a kind."""
        if self.next.kind != kind:
            return False
        self.next = next(self.tokens)
        return True

    def error(self, sentence: str) -> QueryError:
        return QueryError(sentence, self.query, self.next.position)

    def exception(self) -> Tree:
        """Read sets joined by BUT NOT, which as in English takes from all that was said before."""
        tree = self.union()
        while self.take(BUT_NOT):
            tree = Minus(tree, self.union())
        return tree

    def union(self) -> Tree:
        tree = self.intersection()
        while self.take("|"):
            tree = Or(tree, self.intersection())
        return tree

    def intersection(self) -> Tree:
        tree = self.difference()
        while self.take("&"):
            tree = And(tree, self.difference())
        return tree

    def difference(self) -> Tree:
        tree = self.complement()
        while self.take("-"):
            tree = Minus(tree, self.complement())
        return tree

    def complement(self) -> Tree:
        self.depth += 1
        # Printing may put a bracket beside each NOT, so that twice the depth must be readable.
        if self.depth > 2 * LIMITS.depth + 2:
            raise self.error(f"sets may be nested {LIMITS.depth} deep, and this is deeper")
        tree = Not(self.complement()) if self.take("~") else self.primary()
        self.depth -= 1
        return tree

    def primary(self) -> Tree:
        if self.take("("):
            tree = self.exception()
            if not self.take(")"):
                raise self.error("a ) was expected here")
            return tree
        self.sets += 1
        if self.sets > LIMITS.sets:
            raise self.error(f"a query may have {LIMITS.sets} sets, and this has more")
        if self.take("{"):
            return self.braces()
        if self.take("@"):
            return self.named()
        if self.next.kind in ("word", "quoted"):
            return Examples((self.example(),))
        raise self.error("a word, {examples}, @name, ~ or ( was expected here")

    def braces(self) -> Examples:
        if self.next.kind == "}":
            raise self.error("a set needs at least one example, but this one is empty")
        items = [self.example()]
        while self.take(","):
            items.append(self.example())
        if not self.take("}"):
            raise self.error("a comma or } was expected here")
        return Examples(tuple(items))

    def named(self) -> Named:
        if self.next.kind not in ("word", "quoted"):
            raise self.error("the name of a set was expected after @")
        return Named(_unquoted(self.step()))

    def example(self) -> Example:
        """Read a phrase (words side by side, or a quoted text) and its weight."""
        self.examples += 1
        if self.examples > LIMITS.examples:
            raise self.error(f"a query may have {LIMITS.examples} examples, and this has more")
        if self.next.kind not in ("word", "quoted"):
            raise self.error("a word or a quoted phrase was expected here")
        first = self.step()
        words = [_unquoted(first)]
        while first.kind == "word" and self.next.kind == "word":
            words.append(self.step().text)
        if not "".join(words).strip():
            raise QueryError("an example must not be empty", self.query, first.position)
        return Example(" ".join(words), self.weight())

    def weight(self) -> float:
        if self.next.kind != "number":
            return 1.0
        value = float(self.next.text[1:].strip())  # which takes more for spaces than float does
        if not 0 < value < 1e9:
            raise self.error("a weight must be above 0 and below 1e9")
        self.step()
        return value


def _tokens(query: str) -> Iterator[Token]:
    """Yield the pieces of a query as they are asked for: what comes after the first mistake is not read."""
    at, end, after_but = 0, len(query.rstrip()), False
    while at < end:
        found = TOKEN.match(query, at)
        if found is None:
            raise _bad_character(query, at)
        kind = str(found.lastgroup)
        text, position, at = found[kind], found.start(kind), found.end()
        if after_but and (kind, text) != ("word", "NOT"):
            raise QueryError("NOT was expected after BUT", query, position)
        if kind == "mark":
            yield Token(text, text, position)
        elif kind != "word" or text not in RESERVED:
            yield Token(kind, text, position)
        elif text != "BUT":
            yield Token(BUT_NOT if after_but else OPERATORS[text], text, position)
        after_but = kind == "word" and text == "BUT"
    if after_but:
        raise QueryError("NOT was expected after BUT", query, len(query))
    yield Token("end", "", len(query))


def _bad_character(query: str, at: int) -> QueryError:
    position = at + len(query[at:]) - len(query[at:].lstrip())
    if query[position] in '"\u201c\u201d':
        return QueryError("this quotation mark is never closed", query, position)
    return QueryError("a number was expected after ^, as in red^2", query, position)


def _unquoted(token: Token) -> str:
    if token.kind != "quoted":
        return token.text
    inner = token.text[1:-1]  # between curly quotation marks, as word processors write them, nothing is escaped
    escaped = token.text[0] == '"' and "\\" in inner
    return re.sub(r"\\(.)", r"\1", inner, flags=re.DOTALL) if escaped else inner
