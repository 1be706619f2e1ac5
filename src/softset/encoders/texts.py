"""Checks of texts that come from the caller."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from softset.errors import InputError

MAX_CHARACTERS = 10_000_000  # a long book has 4 million; a longer text is a mistake and would take hours


def check_texts(texts: Iterable[Any], first: int = 0) -> list[str]:
    """Return the texts as a list; `first` is the index of the first one, for error messages."""
    checked = list(iter_items(texts, "texts"))
    for index, text in enumerate(checked, first):
        check_text(text, f"text {index}")
    return checked


def iter_items(items: Any, noun: str) -> Iterator[Any]:
    """Return an iterator over a list; reject a single string and unordered collections."""
    kind = type(items).__name__
    if isinstance(items, str | bytes):
        raise InputError(f"a list of {noun} was expected, but one {kind} was given: put it in a list")
    if isinstance(items, set | frozenset | Mapping):
        raise InputError(f"a list of {noun} was expected, but a {kind} has no order: put it in a list")
    try:
        return iter(_column(items, noun))
    except TypeError:
        raise InputError(f"a list of {noun} was expected, but {kind} was given") from None


def _column(items: Any, noun: str) -> Any:
    """Return the column of a DataFrame with one column, and columns of polars and pyarrow as lists."""
    if hasattr(items, "__dataframe__") or hasattr(items, "collect_schema"):  # a DataFrame, Table or LazyFrame
        if not hasattr(items, "shape"):
            raise InputError(f"a list of {noun} was expected, but a {type(items).__name__} was given: collect it first")
        names = [str(name) for name in getattr(items, "column_names", items.columns)]
        if len(names) != 1:
            shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            raise InputError(
                f"a list of {noun} was expected, but a {type(items).__name__} with {len(names)} columns ({shown}) was "
                f'given: give one column, such as df["{names[0] if names else "text"}"]; several references for each '
                "candidate are df[[...]].to_numpy()"
            )
        items = items.iloc[:, 0] if hasattr(items, "iloc") else items[names[0]]
    if hasattr(items, "to_pylist"):  # pyarrow
        return items.to_pylist()
    return items.to_list() if type(items).__module__.partition(".")[0] == "polars" else items


def check_text(text: Any, label: str) -> None:
    """Reject an object that is not a str, is too long, or has a lone surrogate; `label` names it in the message."""
    if not isinstance(text, str):
        kind = "None" if text is None else f"of type {type(text).__name__}"
        raise InputError(f"{label} is {kind}, but a str was expected")
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"{label} has {len(text):,} characters, but the limit is {MAX_CHARACTERS:,}: split it")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{label} has a lone surrogate, U+{ord(text[error.start]):04X}, at character {error.start}: decode the "
                "text again with errors='replace'"
            ) from None


def excerpt(text: str, length: int = 40) -> str:
    """Return the beginning of a text in quotes, for error messages."""
    return repr(text if len(text) <= length else text[:length] + "…")


def distinct_indices(texts: Sequence[str]) -> dict[str, int]:
    """Return the distinct texts in order of first appearance, each with its index among them."""
    return {text: index for index, text in enumerate(dict.fromkeys(texts))}
