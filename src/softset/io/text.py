"""Short helpers for messages: printable text, counted nouns, errors of libraries, unknown options."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from softset.errors import FileError, InputError, SoftsetError


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


def check_options(options: Iterable[str], valid: Iterable[str]) -> None:
    """Raise InputError for the first option that is not valid, with the most similar valid name."""
    from difflib import get_close_matches

    names = list(valid)
    for name in options:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f": use {', '.join(names)}"
            raise InputError(f"there is no option {name!r}{hint}")
