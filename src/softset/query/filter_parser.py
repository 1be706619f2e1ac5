"""The parser of filters, and the tree that it makes; `softset.query.filters` describes the language."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from softset.errors import QueryError
from softset.query.parser import Token, TokenParser

__all__ = ["AllOf", "AnyOf", "Condition", "FieldComparison", "Negation", "NullTest", "parse_filter"]

MAX_CHARACTERS = 16_384
MAX_DEPTH = 32
MAX_VALUES = 1_000  # in one list
OPERATORS = ("==", "!=", "<=", ">=", "<", ">")
KEYWORDS = {"and", "or", "not", "in", "is", "null", "true", "false"}
TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |`(?P<quoted>[^`]+)`
    |(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?)(?![\w.])
    |(?P<number>[+-]?[0-9]{1,40}(?:\.[0-9]{0,40})?(?:[eE][+-]?[0-9]{1,2})?)(?![\w.])
    |(?P<name>[^\W\d]\w*(?:[.-]\w+)*)
    |(?P<operator>==|!=|<=|>=|<|>|\(|\)|,)
    )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class FieldComparison:
    """A field compared with a value; the positions are those of the field and of the value in the filter."""

    field: str
    operator: str
    value: Any
    positions: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class NullTest:
    """`FIELD is null`."""

    field: str
    position: int = 0


@dataclass(frozen=True)
class Negation:
    """`not PART`."""

    part: "Condition"


@dataclass(frozen=True)
class AllOf:
    """`PART and PART`."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True)
class AnyOf:
    """`PART or PART`; `FIELD in (...)` is one with a comparison for each value."""

    parts: tuple["Condition", ...]


Condition = FieldComparison | NullTest | Negation | AllOf | AnyOf


def parse_filter(text: str) -> Condition:
    """Return the tree of a filter.

    >>> parse_filter("year > 1900").value
    1900
    >>> parse_filter("year > and")
    Traceback (most recent call last):
    softset.errors.QueryError: a text in quotes, a number, a date, true or false was expected here
      year > and
             ^
    """
    if len(text) > MAX_CHARACTERS:
        message = f"a filter may have at most {MAX_CHARACTERS} characters, but this has {len(text)}"
        raise QueryError(message, text, MAX_CHARACTERS)
    return _FilterParser(text, _tokens(text)).whole()


class _FilterParser(TokenParser):
    def whole(self) -> Condition:
        if self.current.kind == "end":
            raise self.error('a filter is empty: write a condition such as lang == "en"')
        tree = self.joined()
        if self.current.kind != "end":
            raise self.error("the end of the filter, and or or was expected here")
        return tree

    def expect(self, kind: str) -> None:
        if not self.take(kind):
            raise self.error(f"{kind} was expected here")

    def joined(self) -> Condition:
        parts = [self.all_of()]
        while self.take("or"):
            parts.append(self.all_of())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def all_of(self) -> Condition:
        parts = [self.negation()]
        while self.take("and"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def negation(self) -> Condition:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"conditions may be nested {MAX_DEPTH} levels deep, but this is deeper")
        if self.take("not"):
            tree: Condition = Negation(self.negation())
        elif self.take("("):
            tree = self.joined()
            self.expect(")")
        else:
            tree = self.predicate()
        self.depth -= 1
        return tree

    def predicate(self) -> Condition:
        if self.current.kind not in ("name", "quoted"):
            raise self.error("the name of a field, not or ( was expected here")
        field = self.step()
        if self.take("is"):
            negated = self.take("not")
            self.expect("null")
            test = NullTest(field.value, field.position)
            return Negation(test) if negated else test
        if self.take("not"):
            self.expect("in")
            return Negation(self.one_of(field))
        if self.take("in"):
            return self.one_of(field)
        if self.current.kind not in OPERATORS:
            raise self.error("one of == != < <= > >= in, not in, is null was expected here")
        return self.comparison(field, self.step().kind)

    def comparison(self, field: Token, operator: str) -> FieldComparison:
        value = self.value()
        return FieldComparison(field.value, operator, value.value, (field.position, value.position))

    def one_of(self, field: Token) -> AnyOf:
        self.expect("(")
        parts = [self.comparison(field, "==")]
        while self.take(","):
            if len(parts) >= MAX_VALUES:
                raise self.error(f"a list may have {MAX_VALUES} values, but this has more")
            parts.append(self.comparison(field, "=="))
        self.expect(")")
        return AnyOf(tuple(parts))

    def value(self) -> Token:
        if self.current.kind == "null":
            raise self.error("a comparison with null is never true: write is null, or is not null")
        if self.current.kind in ("true", "false"):
            token = self.step()
            return token._replace(value=token.kind == "true")
        if self.current.kind not in ("text", "number", "date"):
            raise self.error("a text in quotes, a number, a date, true or false was expected here")
        return self.step()


def _tokens(text: str) -> Iterator[Token]:
    start, end = 0, len(text.rstrip())
    while start < end:
        match = TOKEN.match(text, start)
        if match is None:
            raise _bad_character(text, start)
        kind = str(match.lastgroup)
        word, position, start = match[kind], match.start(kind), match.end()
        if kind == "operator" or (kind == "name" and word.lower() in KEYWORDS):
            yield Token(word.lower(), word, position)
        else:
            yield Token(kind, _literal(kind, word, text, position), position)
    yield Token("end", "", len(text))


def _literal(kind: str, word: str, text: str, position: int) -> Any:
    if kind == "text":
        return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), word[1:-1], flags=re.S)
    if kind == "number":
        return float(word) if set(word) & set(".eE") else int(word)
    if kind == "date":
        try:
            return datetime.fromisoformat(word) if "T" in word else date.fromisoformat(word)
        except ValueError:
            raise QueryError("there is no such date", text, position) from None
    return word


def _bad_character(text: str, start: int) -> QueryError:
    position = start + len(text[start:]) - len(text[start:].lstrip())
    hints = dict.fromkeys("\"'`", "this quotation mark is never closed") | {
        "=": "write == to compare with a value",
        "&": "write and to join two conditions",
        "|": "write or to join two conditions",
        "!": "write not, or != to compare with a value",
        "[": "write a list of values in round brackets",
    }
    return QueryError(hints.get(text[position], "this cannot be part of a filter"), text, position)
