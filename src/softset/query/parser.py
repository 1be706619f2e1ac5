"""The parser of queries, by recursive descent; docs/queries.md has the grammar. Errors point at a character."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from softset.errors import InputError, QueryError
from softset.query.expression import (
    BARE_ID,
    BARE_WORD,
    DEFAULT_STRICTNESS,
    MAX_DEPTH,
    MAX_SETS,
    RESERVED,
    And,
    Example,
    Examples,
    Minus,
    Named,
    Not,
    Or,
    SetExpression,
)

# Limits on the size of a query
MAX_CHARACTERS = 10_000
MAX_EXAMPLES = 1_000

QUOTED = r""" "(?:[^"\\]|\\.)*"|\u201c[^\u201c\u201d]*\u201d """.strip()
TOKEN = re.compile(
    rf"""\s*(?:
      (?P<quoted>{QUOTED})
    | id:(?P<id>{QUOTED}|{BARE_ID})
    | (?P<number>\^\s*(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<word>{BARE_WORD})
    | (?P<operator>--|[{{}}()&|~,@\-])
    )""",
    re.VERBOSE | re.DOTALL,
)
OPERATORS = {"AND": "&", "OR": "|", "NOT": "~"}
BUT_NOT = "BUT NOT"
# Words in lower case are operators beside a bracket only: {cats} and {dogs}, but the phrase rock and roll.
BEFORE_BRACKET = re.compile(r"(?:(?:and|or|but)\s+)?(?:and|or|not)\s*[{(@]")
# Connectives of a bare sentence, outside quotation marks and braces.
CONNECTIVES = {"but not": "BUT NOT", "and": "AND", "or": "OR", "without": "BUT NOT", "except": "BUT NOT"}
CONNECTIVE = re.compile(rf"{QUOTED}|{{[^{{}}]*}}|(?<=\s)({'|'.join(CONNECTIVES)})(?=\s)", re.DOTALL)
# BUT NOT applies to all before it, as in English.
LEVELS: tuple[tuple[str, ...], ...] = ((BUT_NOT,), ("|",), ("&",), ("-", "--"))
MAX_GROWTH = 8  # the printed form of a query is at most this many times as long: a&b becomes {a} & {b}


EXAMPLE_KINDS = ("word", "quoted", "id")


class Token(NamedTuple):
    """A token: its kind (a group of the pattern, a keyword, an operator or "end"), its value and its position."""

    kind: str
    value: Any
    position: int


def parse(query: str) -> SetExpression:
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
        message = f"a query may have at most {MAX_CHARACTERS} characters, but this has {len(query)}"
        raise QueryError(message, query, MAX_CHARACTERS)
    try:
        return _Parser(query, _tokens(query)).whole()
    except InputError as error:
        raise error if isinstance(error, QueryError) else QueryError(str(error), query, 0) from None


def suggestion(query: str, tree: SetExpression) -> str | None:
    """Return the query that a sentence may mean whose connectives were parsed as words, or None."""
    rewritten = CONNECTIVE.sub(lambda match: CONNECTIVES[match[1]] if match[1] else match[0], query)
    try:
        meant = parse(rewritten) if rewritten != query else tree
    except QueryError:
        return None
    return str(meant) if meant != tree else None


class TokenParser:
    """The tokens of a text, for a parser that looks one token ahead; the last one has the kind "end"."""

    def __init__(self, text: str, tokens: Iterator[Token]) -> None:
        self.text, self.tokens, self.current, self.depth = text, tokens, next(tokens), 0

    def error(self, sentence: str) -> QueryError:
        """Return an error at the current token."""
        return QueryError(sentence, self.text, self.current.position)

    def step(self) -> Token:
        """Return the current token, which is not the end, and advance to the next."""
        token, self.current = self.current, next(self.tokens)
        return token

    def take(self, kind: str) -> bool:
        """Skip the current token if it is of the given kind, and return whether it was."""
        if self.current.kind != kind:
            return False
        self.step()
        return True


class _Parser(TokenParser):
    sets = examples = 0  # read so far

    def whole(self) -> SetExpression:
        if self.current.kind == "end":
            raise self.error("the query is empty: give a word or a set such as {red, blue}")
        tree = self.binary()
        if self.current.kind != "end":
            hints = {",": "; several examples are written {red, blue}", "~": "; write AND NOT, or BUT NOT"}
            hint = hints.get(self.current.kind, "")
            raise self.error(f"the end of the query, or one of & | - was expected here{hint}")
        # The printed form must be parsable.
        if len(self.text) > MAX_CHARACTERS // MAX_GROWTH and len(str(tree)) > MAX_CHARACTERS:
            size = f"{len(str(tree))} with all braces"
            message = f"a query may have at most {MAX_CHARACTERS} characters, but this has {size}"
            raise QueryError(message, self.text, len(self.text))
        return tree

    def binary(self, level: int = 0) -> SetExpression:
        """Parse sets joined by the operator of a level; operators of later levels bind more tightly."""
        if level == len(LEVELS):
            return self.complement()
        tree = self.binary(level + 1)
        while self.current.kind in LEVELS[level]:
            operator = self.step().kind
            if operator in ("|", "&"):
                tree = (Or if operator == "|" else And)(tree, self.binary(level + 1))
            else:
                strict = 1.0 if operator == "--" else self.strictness()
                tree = Minus(tree, self.binary(level + 1), strict)
        return tree

    def strictness(self) -> float:
        """Parse the strictness after a minus, as in -^0.3."""
        if self.current.kind != "number":
            return DEFAULT_STRICTNESS
        value = float(self.current.value[1:].strip())
        if value > 1:
            raise self.error("the strictness of a minus must be from 0 to 1")
        self.step()
        return value

    def complement(self) -> SetExpression:
        self.depth += 1
        # Printing may add a bracket to each NOT, so twice the depth must be parsable.
        if self.depth > 2 * MAX_DEPTH + 2:
            raise self.error(f"sets may be nested at most {MAX_DEPTH} levels deep, but this one is deeper")
        tree = Not(self.complement()) if self.take("~") else self.primary()
        self.depth -= 1
        return tree

    def primary(self) -> SetExpression:
        if self.take("("):
            tree = self.binary()
            if not self.take(")"):
                raise self.error("a ) was expected here")
            return tree
        self.sets += 1
        if self.sets > MAX_SETS:
            raise self.error(f"a query may have at most {MAX_SETS} sets, but this one has more")
        if self.take("{"):
            return self.braces()
        if self.take("@"):
            if self.current.kind not in ("word", "quoted"):
                raise self.error("the name of a set was expected after @")
            return Named(_unquoted(self.step()))
        if self.current.kind in EXAMPLE_KINDS:
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
        """Parse a phrase (adjacent words or a quoted text) or an id, and its weight."""
        self.examples += 1
        if self.examples > MAX_EXAMPLES:
            raise self.error(f"a query may have at most {MAX_EXAMPLES} examples, but this one has more")
        if self.current.kind not in EXAMPLE_KINDS:
            raise self.error("a word or a quoted phrase was expected here")
        first = self.step()
        words = [_unquoted(first)]
        while first.kind == "word" and self.current.kind == "word":
            words.append(self.step().value)
        if not "".join(words).strip():
            raise QueryError("an example must not be empty", self.text, first.position)
        return Example(" ".join(words), self.weight(), "id" if first.kind == "id" else "text")

    def weight(self) -> float:
        if self.current.kind != "number":
            return 1.0
        value = float(self.current.value[1:].strip())  # the pattern allows more kinds of spaces than float does
        if not 0 < value < 1e9:
            raise self.error("a weight must be above 0 and below 1e9")
        self.step()
        return value


def _tokens(query: str) -> Iterator[Token]:
    """Yield the tokens of a query lazily, so that nothing after the first error is read."""
    start, end, after_but, after_bracket = 0, len(query.rstrip()), False, False
    while start < end:
        match = TOKEN.match(query, start)
        if match is None:
            raise _bad_character(query, start)
        kind = str(match.lastgroup)
        text, position, start = match[kind], match.start(kind), match.end()
        if kind == "word" and text.upper() in RESERVED and text.islower():
            text = text.upper() if after_bracket or BEFORE_BRACKET.match(query, position) else text
        after_bracket = text in ("}", ")") or (after_bracket and text in RESERVED)
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
    if query[position] == "^":
        return QueryError("a number was expected after ^, as in red^2", query, position)
    return QueryError("this quotation mark is never closed", query, position + 3 * query.startswith("id:", position))


def _unquoted(token: Token) -> str:
    text: str = token.value
    if text[0] not in '"\u201c':
        return text
    inner = text[1:-1]  # between curly quotation marks, which word processors write, nothing is escaped
    escaped = text[0] == '"' and "\\" in inner
    return re.sub(r"\\(.)", r"\1", inner, flags=re.DOTALL) if escaped else inner
