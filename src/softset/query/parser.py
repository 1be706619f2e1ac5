"""The parser of queries, by recursive descent; docs/queries.md has the grammar. Errors point at a character."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from softset.errors import QueryError
from softset.query.expression import BARE_WORD, RESERVED, And, Example, Examples, Minus, Named, Not, Or, Tree, depth

# Maximal sizes of a query
MAX_CHARACTERS = 10_000
MAX_DEPTH = 50
MAX_SETS = 100
MAX_EXAMPLES = 1_000

TOKEN = re.compile(
    rf"""\s*(?:
      (?P<quoted>"(?:[^"\\]|\\.)*"|\u201c[^\u201c\u201d]*\u201d)
    | (?P<number>\^\s*(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<word>{BARE_WORD})
    | (?P<operator>[{{}}()&|~,@\-])
    )""",
    re.VERBOSE | re.DOTALL,
)
OPERATORS = {"AND": "&", "OR": "|", "NOT": "~"}
BUT_NOT = "BUT NOT"
LEVELS = ((BUT_NOT, Minus), ("|", Or), ("&", And), ("-", Minus))  # BUT NOT applies to all before it, as in English
MAX_GROWTH = 8  # the printed form of a query is at most so many times as long: a&b becomes {a} & {b}


class Token(NamedTuple):
    """A token of a query: its kind (an operator, "word", "quoted", "number" or "end"), its text and its position."""

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
    if len(query) > MAX_CHARACTERS:
        message = f"a query may have {MAX_CHARACTERS} characters, but this has {len(query)}"
        raise QueryError(message, query, MAX_CHARACTERS)
    return _Parser(query).whole()


class _Parser:
    def __init__(self, query: str) -> None:
        self.query = query
        self.tokens = _tokens(query)
        self.current = next(self.tokens)
        self.depth = self.sets = self.examples = 0

    def whole(self) -> Tree:
        if self.current.kind == "end":
            raise self.error("a query is empty: give a word or a set such as {red, blue}")
        tree = self.binary()
        if self.current.kind != "end":
            hints = {",": "; several examples are written {red, blue}", "~": "; write AND NOT, or BUT NOT"}
            hint = hints.get(self.current.kind, "")
            raise self.error(f"the end of the query, or one of & | - was expected here{hint}")
        if depth(tree) > MAX_DEPTH:
            raise QueryError(f"sets may be nested {MAX_DEPTH} levels deep, but these are deeper", self.query, 0)
        # The printed form must be parsable.
        if len(self.query) > MAX_CHARACTERS // MAX_GROWTH and len(str(tree)) > MAX_CHARACTERS:
            message = f"a query may have {MAX_CHARACTERS} characters, but this has {len(str(tree))} with all its braces"
            raise QueryError(message, self.query, len(self.query))
        return tree

    def step(self) -> Token:
        """Return the current token, which is not the end, and advance to the next."""
        token, self.current = self.current, next(self.tokens)
        return token

    def take(self, kind: str) -> bool:
        """Skip the current token if it is of the given kind, and return whether it was."""
        if self.current.kind != kind:
            return False
        self.current = next(self.tokens)
        return True

    def error(self, sentence: str) -> QueryError:
        return QueryError(sentence, self.query, self.current.position)

    def binary(self, level: int = 0) -> Tree:
        """Parse sets joined by the operator of a level; operators of later levels bind more tightly."""
        if level == len(LEVELS):
            return self.complement()
        operator, node = LEVELS[level]
        tree = self.binary(level + 1)
        while self.take(operator):
            tree = node(tree, self.binary(level + 1))
        return tree

    def complement(self) -> Tree:
        self.depth += 1
        # Printing may add a bracket to each NOT, so twice the depth must be parsable.
        if self.depth > 2 * MAX_DEPTH + 2:
            raise self.error(f"sets may be nested {MAX_DEPTH} levels deep, but this is deeper")
        tree = Not(self.complement()) if self.take("~") else self.primary()
        self.depth -= 1
        return tree

    def primary(self) -> Tree:
        if self.take("("):
            tree = self.binary()
            if not self.take(")"):
                raise self.error("a ) was expected here")
            return tree
        self.sets += 1
        if self.sets > MAX_SETS:
            raise self.error(f"a query may have {MAX_SETS} sets, but this has more")
        if self.take("{"):
            return self.braces()
        if self.take("@"):
            if self.current.kind not in ("word", "quoted"):
                raise self.error("the name of a set was expected after @")
            return Named(_unquoted(self.step()))
        if self.current.kind in ("word", "quoted"):
            return Examples((self.example(),))
        raise self.error("a word, {examples}, @name, ~ or ( was expected here")

    def braces(self) -> Examples:
        if self.current.kind == "}":
            raise self.error("a set needs at least one example, but this one is empty")
        items = [self.example()]
        while self.take(","):
            items.append(self.example())
        if not self.take("}"):
            raise self.error("a comma or } was expected here")
        return Examples(tuple(items))

    def example(self) -> Example:
        """Parse a phrase (adjacent words or a quoted text) and its weight."""
        self.examples += 1
        if self.examples > MAX_EXAMPLES:
            raise self.error(f"a query may have {MAX_EXAMPLES} examples, but this has more")
        if self.current.kind not in ("word", "quoted"):
            raise self.error("a word or a quoted phrase was expected here")
        first = self.step()
        words = [_unquoted(first)]
        while first.kind == "word" and self.current.kind == "word":
            words.append(self.step().text)
        if not "".join(words).strip():
            raise QueryError("an example must not be empty", self.query, first.position)
        return Example(" ".join(words), self.weight())

    def weight(self) -> float:
        if self.current.kind != "number":
            return 1.0
        value = float(self.current.text[1:].strip())  # the pattern allows more kinds of spaces than float does
        if not 0 < value < 1e9:
            raise self.error("a weight must be above 0 and below 1e9")
        self.step()
        return value


def _tokens(query: str) -> Iterator[Token]:
    """Yield the tokens of a query lazily, so that nothing after the first error is read."""
    start, end, after_but = 0, len(query.rstrip()), False
    while start < end:
        match = TOKEN.match(query, start)
        if match is None:
            raise _bad_character(query, start)
        kind = str(match.lastgroup)
        text, position, start = match[kind], match.start(kind), match.end()
        if after_but and (kind, text) != ("word", "NOT"):
            raise QueryError("NOT was expected after BUT", query, position)
        if kind == "operator":
            yield Token(text, text, position)
        elif kind != "word" or text not in RESERVED:
            yield Token(kind, text, position)
        elif text != "BUT":
            yield Token(BUT_NOT if after_but else OPERATORS[text], text, position)
        after_but = kind == "word" and text == "BUT"
    if after_but:
        raise QueryError("NOT was expected after BUT", query, len(query))
    yield Token("end", "", len(query))


def _bad_character(query: str, start: int) -> QueryError:
    position = start + len(query[start:]) - len(query[start:].lstrip())
    if query[position] in '"\u201c\u201d':
        return QueryError("this quotation mark is never closed", query, position)
    return QueryError("a number was expected after ^, as in red^2", query, position)


def _unquoted(token: Token) -> str:
    if token.kind != "quoted":
        return token.text
    inner = token.text[1:-1]  # between curly quotation marks, which word processors write, nothing is escaped
    escaped = token.text[0] == '"' and "\\" in inner
    return re.sub(r"\\(.)", r"\1", inner, flags=re.DOTALL) if escaped else inner
