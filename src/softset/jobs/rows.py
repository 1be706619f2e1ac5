"""Problems of single rows: a row that cannot be computed gets a message and does not stop the job."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from softset.errors import SoftsetError

__all__ = ["compute_rows", "text_problem"]

Result = TypeVar("Result")
MAX_CHARACTERS = 1_000_000


def text_problem(noun: str, text: Any) -> str | None:
    """Return why a value is not a usable text, or None.

    >>> text_problem("candidate", None), text_problem("candidate", "a red book")
    ('the candidate is missing, not a text', None)
    """
    if not isinstance(text, str):
        return f"the {noun} is {'missing' if text is None else f'of type {type(text).__name__}'}, not a text"
    if len(text) > MAX_CHARACTERS:
        return f"the {noun} has {len(text):,} characters, but at most {MAX_CHARACTERS:,} are allowed"
    return None


def compute_rows(
    indices: Sequence[int], compute: Callable[[Sequence[int]], Sequence[Result]]
) -> Iterator[tuple[int, Result | str]]:
    """Yield the index and the result of each row, or the message of its error.

    If rows cannot be computed together, each half is computed separately, down to the row with the error.

    >>> from softset.errors import InputError
    >>> def halved(indices):
    ...     if 3 in indices:
    ...         raise InputError("three is odd")
    ...     return [index / 2 for index in indices]
    >>> list(compute_rows([2, 3, 4], halved))
    [(2, 1.0), (3, 'three is odd'), (4, 2.0)]
    """
    if not indices:
        return
    try:
        results = compute(indices)
    except SoftsetError as error:
        if len(indices) == 1:
            yield indices[0], str(error)
            return
        middle = len(indices) // 2
        yield from compute_rows(indices[:middle], compute)
        yield from compute_rows(indices[middle:], compute)
        return
    yield from zip(indices, results, strict=True)
