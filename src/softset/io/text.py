"""Short helpers for messages and tables: printable text, counted nouns, errors of libraries, unknown options."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

from softset.errors import FileError, InputError, MissingExtraError, SoftsetError


def printable(text: str) -> str:
    """Return the text on one line, with each control character replaced by U+FFFD.

    File content that reaches a terminal could otherwise move the cursor or change colours.
    """
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or the name of its class if the message is empty."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@contextmanager
def translate_errors(problem: str, advice: str) -> Iterator[None]:
    """Turn any error of a library into a FileError of one sentence; the libraries have no common error class."""
    try:
        yield
    except (SoftsetError, MemoryError):
        raise
    except Exception as error:
        raise FileError(f"{problem} ({first_line(error)[:300]}): {advice}") from error


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural where needed, such as "2,000 texts"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def there_are(n: int, noun: str) -> str:
    """Return "there is 1 text", "there are 2 texts" and so on."""
    return f"there {'is' if n == 1 else 'are'} {counted(n, noun)}"


def check_names(given: Iterable[str], valid: Iterable[str], noun: str) -> None:
    """Raise InputError for the first name that is not valid, with the most similar name and all valid names.

    >>> check_names(["yaer"], ["year", "lang"], "field")
    Traceback (most recent call last):
    softset.errors.InputError: there is no field 'yaer'; did you mean 'year'? Fields: year, lang
    """
    from difflib import get_close_matches

    names = list(valid)
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise InputError(f"there is no {noun} {name!r}{hint} {noun.capitalize()}s: {', '.join(names) or 'none'}")


def import_extra(name: str, message: str) -> Any:
    """Return an optional module, or raise MissingExtraError with a message that names the command to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(message) from error


def import_pandas() -> Any:
    """Return pandas."""
    return import_extra("pandas", "results as a DataFrame need pandas: pip install pandas")


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str = "") -> str:
    """Return an HTML table for notebooks; all texts are escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
