"""What can be wrong with a single row, in one sentence."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from softset.errors import SoftsetError

__all__ = ["outcomes", "text_problem"]

Result = TypeVar("Result")
LONGEST = 1_000_000  # characters of a text


def text_problem(what: str, text: Any) -> str | None:
    """Return why something is no text to work on, or None.

    >>> text_problem("candidate", None), text_problem("candidate", "a red book")
    ('the candidate is missing, not a text', None)
    """
    if not isinstance(text, str):
        return f"the {what} is {'missing' if text is None else f'of type {type(text).__name__}'}, not a text"
    if len(text) > LONGEST:
        return f"the {what} has {len(text):,} characters, but {LONGEST:,} are the most"
    return None


def outcomes(
    places: Sequence[int], work: Callable[[Sequence[int]], Sequence[Result]]
) -> Iterator[tuple[int, Result | str]]:
    """Yield what some work makes of rows at some places, or why it cannot.

    Where rows cannot be done together, each half is done alone, down to the one at fault.

    >>> from softset.errors import InputError
    >>> def halved(places):
    ...     if 3 in places:
    ...         raise InputError("three is odd")
    ...     return [place / 2 for place in places]
    >>> list(outcomes([2, 3, 4], halved))
    [(2, 1.0), (3, 'three is odd'), (4, 2.0)]
    """
    if not places:
        return
    try:
        found = work(places)
    except SoftsetError as error:
        if len(places) == 1:
            yield places[0], str(error)
            return
        middle = len(places) // 2
        yield from outcomes(places[:middle], work)
        yield from outcomes(places[middle:], work)
        return
    yield from zip(places, found, strict=True)
