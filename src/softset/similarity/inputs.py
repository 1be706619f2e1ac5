"""What may be scored, checked and brought into one form: texts, token sets, or arrays of one's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softset.encoders.texts import check_text, iter_items
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError, ShapeError
from softset.io.text import counted, there_are

__all__ = ["Job", "Side", "read_job", "read_side"]

Side = list[str] | TokenSets  # one side of the pairs: texts, or their token sets


@dataclass(frozen=True, eq=False)
class Job:
    """n candidates and all their references: pair p is candidate owner[p] with references[right[p]]; owners rise."""

    candidates: Side
    references: Side
    owner: np.ndarray
    right: np.ndarray

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def multi_reference(self) -> bool:
        """Whether a candidate has more than one reference."""
        return len(self.owner) > len(self.candidates)

    @property
    def texts(self) -> bool:
        """Whether anything has to be encoded."""
        return isinstance(self.candidates, list) or isinstance(self.references, list)


def read_side(given: Any, what: str, first: int = 0) -> Side:
    """Return texts as a list, and token sets or arrays as token sets.

    `what` names one of them in messages, and `first` is the number of the first in what the user gave.
    """
    if isinstance(given, TokenSets):
        return given
    rows = list(iter_items(given, f"{what}s"))
    if rows and all(_is_array(row) for row in rows):
        return _arrays(rows, what)
    for at, row in enumerate(rows, first):
        check_text(row, f"{what} {at}")
    return rows


def _arrays(rows: Sequence[Any], what: str) -> TokenSets:
    """Return arrays as token sets; what is wrong with one says on which side it is."""
    try:
        return TokenSets.from_arrays(rows)
    except InputError as error:
        raise type(error)(f"of the {what}s, {error}") from None


def _is_array(row: Any) -> bool:
    """Tell the vectors of one text: an array, or rows of numbers."""
    if isinstance(row, str):
        return False  # NumPy's own strings too
    if isinstance(row, list | tuple):
        first = row[0] if row else None
        return (isinstance(first, list | tuple) and not any(isinstance(one, str) for one in first)) or (
            isinstance(first, np.ndarray) and first.ndim == 1
        )
    return hasattr(row, "__array__")


def read_job(candidates: Any, references: Any, first: int = 0) -> Job:
    """Return what is to be scored; `first` is the number of the first pair in what the user gave.

    References are one for each candidate; or for each a list of several texts or arrays; or a list of token sets, each
    with one reference for every candidate.
    """
    left = read_side(candidates, "candidate", first)
    n = len(left)
    if not isinstance(references, TokenSets | str | bytes):
        references = list(iter_items(references, "references"))
        if references and all(isinstance(one, TokenSets) for one in references):
            return _streams(left, references)
        if any(_is_several(one) for one in references):
            return _lists(left, references, first)
    right = read_side(references, "reference", first)
    _must_match(n, len(right), "reference")
    return Job(left, right, np.arange(n), np.arange(n))


def _is_several(one: Any) -> bool:
    """Tell a list of references from the vectors of one."""
    return isinstance(one, list | tuple) and not _is_array(one)


def _streams(left: Side, references: Sequence[TokenSets]) -> Job:
    n, count = len(left), len(references)
    for at, one in enumerate(references):
        _must_match(n, len(one), "reference", f" in set {at}")
    together = references[0] if count == 1 else TokenSets.concatenate(references)
    owner = np.repeat(np.arange(n), count)
    return Job(left, together, owner, owner + n * np.tile(np.arange(count), n))


def _lists(left: Side, references: Sequence[Any], first: int) -> Job:
    _must_match(len(left), len(references), "list", " of references")
    for at, some in enumerate(references, first):
        if not _is_several(some):
            raise InputError(f"candidate {at} has no list of references, but others have: give each a list")
        if not some:
            raise InputError(f"candidate {at} has no reference: give at least one")
    owner = np.repeat(np.arange(len(left)), [len(some) for some in references])
    flat = [one for some in references for one in some]
    if all(_is_array(one) for one in flat):
        return Job(left, _arrays(flat, "reference"), owner, np.arange(len(flat)))
    for at, one in zip(owner.tolist(), flat, strict=True):
        check_text(one, f"a reference of candidate {first + at}")
    return Job(left, flat, owner, np.arange(len(flat)))


def _must_match(candidates: int, others: int, noun: str, rest: str = "") -> None:
    if candidates != others:
        raise ShapeError(
            f"{there_are(candidates, 'candidate')} but {counted(others, noun)}{rest}: give one for each candidate, in "
            "the same order"
        )
