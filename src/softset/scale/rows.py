"""What can be wrong with a single row, in one sentence."""

from typing import Any

__all__ = ["text_problem"]

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
