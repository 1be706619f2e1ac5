"""What may be scored, checked and brought into one form: texts, token sets, or arrays of one's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softset.embed.encoders.texts import check_texts
from softset.embed.tokensets import TokenSets
from softset.errors import InputError, ShapeError

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
    def several(self) -> bool:
        """Whether a candidate has more than one reference."""
        return len(self.owner) > len(self.candidates)


def read_side(given: Any, what: str) -> Side:
    """Return texts as a list, and token sets or arrays as token sets; `what` names one of them in messages."""
    if isinstance(given, TokenSets):
        return given
    if isinstance(given, str | bytes):
        raise InputError(f"a list of {what}s was wanted, but one {type(given).__name__} was given: put it in a list")
    rows = _listed(given, what)
    if rows and all(_is_array(row) for row in rows):
        return TokenSets.from_arrays(rows)
    for at, row in enumerate(rows):
        _must_be_text(row, f"{what} {at}")
    return check_texts(rows)


def _listed(given: Any, what: str) -> list[Any]:
    try:
        return list(given)
    except TypeError:
        raise InputError(f"a list of {what}s was wanted, but {type(given).__name__} was given") from None


def _must_be_text(row: Any, where: str) -> None:
    if not isinstance(row, str):
        raise InputError(
            f"{where} is {'None' if row is None else f'of type {type(row).__name__}'}, but a str was wanted"
        )


def _is_array(row: Any) -> bool:
    """Tell vectors from texts: an array, or rows of numbers."""
    nested = isinstance(row, list | tuple) and bool(row) and isinstance(row[0], list | tuple | np.ndarray)
    return hasattr(row, "__array__") or nested


def read_job(candidates: Any, references: Any) -> Job:
    """Return what is to be scored.

    References are one for each candidate; or for each a list of several texts; or a list of token sets, each with one
    reference for every candidate.
    """
    left = read_side(candidates, "candidate")
    n = len(left)
    if not isinstance(references, TokenSets | str | bytes):
        references = _listed(references, "reference")
        if references and all(isinstance(one, TokenSets) for one in references):
            return _streams(left, references)
        if any(_is_several(one) for one in references):
            return _lists(left, references)
    right = read_side(references, "reference")
    _must_match(n, len(right), "references")
    return Job(left, right, np.arange(n), np.arange(n))


def _is_several(one: Any) -> bool:
    """Tell a list of references from the vectors of one."""
    return isinstance(one, list | tuple) and not _is_array(one)


def _streams(left: Side, references: Sequence[TokenSets]) -> Job:
    n, count = len(left), len(references)
    for at, one in enumerate(references):
        _must_match(n, len(one), f"references in set {at}")
    together = references[0] if count == 1 else TokenSets.concatenate(references)
    owner = np.repeat(np.arange(n), count)
    return Job(left, together, owner, owner + n * np.tile(np.arange(count), n))


def _lists(left: Side, references: Sequence[Any]) -> Job:
    _must_match(len(left), len(references), "lists of references")
    for at, some in enumerate(references):
        if not _is_several(some):
            raise InputError(f"candidate {at} has no list of references, but others have: give each a list")
        if not some:
            raise InputError(f"candidate {at} has no reference: give at least one")
        for one in some:
            _must_be_text(one, f"a reference of candidate {at}")
    owner = np.repeat(np.arange(len(left)), [len(some) for some in references])
    flat = check_texts(one for some in references for one in some)
    return Job(left, flat, owner, np.arange(len(flat)))


def _must_match(candidates: int, others: int, what: str) -> None:
    if candidates != others:
        raise ShapeError(
            f"there are {candidates} candidates but {others} {what}: give one for each candidate, in the same order"
        )
