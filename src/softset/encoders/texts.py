"""Texts as they come from outside: refused by name if they are no texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from softset.errors import InputError

__all__ = ["check_text", "check_texts", "excerpt", "first_places", "iterated"]

LONGEST = 10_000_000  # characters: a long book is 4 million; beyond is a mistake, and would take hours


def check_texts(texts: Iterable[Any], first: int = 0) -> list[str]:
    """Return texts as a list; `first` is the number of the first one in what the user gave.

    >>> check_texts(["a", None])
    Traceback (most recent call last):
    softset.errors.InputError: text 1 is None, but a str was wanted
    """
    given = list(iterated(texts, "texts"))
    for at, text in enumerate(given, first):
        check_text(text, f"text {at}")
    return given


def iterated(given: Any, what: str) -> Iterator[Any]:
    """Return an iterator over several things; one text is no list of its letters.

    >>> iterated("ab", "texts")
    Traceback (most recent call last):
    softset.errors.InputError: a list of texts was wanted, but one str was given: put it in a list
    """
    if isinstance(given, str | bytes):
        raise InputError(f"a list of {what} was wanted, but one {type(given).__name__} was given: put it in a list")
    if isinstance(given, set | frozenset | Mapping):
        raise InputError(f"a list of {what} was wanted, but a {type(given).__name__} has no order: put it in a list")
    try:
        return iter(given)
    except TypeError:
        raise InputError(f"a list of {what} was wanted, but {type(given).__name__} was given") from None


def check_text(text: Any, where: str) -> None:
    """Refuse what is no text, too long, or cut inside a character; `where` is what the message calls it."""
    if not isinstance(text, str):
        what = "None" if text is None else f"of type {type(text).__name__}"
        raise InputError(f"{where} is {what}, but a str was wanted")
    if len(text) > LONGEST:
        raise InputError(f"{where} has {len(text):,} characters, but at most {LONGEST:,} are taken: split it")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{where} has a lone surrogate, U+{ord(text[error.start]):04X}, at character {error.start}: half "
                "of a character that was cut in two; decode the text again with errors='replace'"
            ) from None


def excerpt(text: str, length: int = 40) -> str:
    """Return the beginning of a text for a message."""
    return repr(text if len(text) <= length else text[:length] + "…")


def first_places(texts: Sequence[str]) -> dict[str, int]:
    """Return each distinct text with its number among the distinct ones, in the order of first appearance."""
    return {text: at for at, text in enumerate(dict.fromkeys(texts))}
