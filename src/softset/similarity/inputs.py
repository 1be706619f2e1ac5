"""Check the input of score calls and convert it to one form: texts or token sets, and which of them are pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from softset.encoders.texts import check_text, iter_items
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError, ShapeError
from softset.io.text import counted, there_are

TextsOrSets = list[str] | TokenSets


@dataclass(frozen=True, eq=False)
class ScoringInput:
    """n candidates and the p references that they are scored with.

    Attributes:
        candidates: texts or token sets.
        references: texts or token sets.
        left: (n,) the index of each candidate.
        right: (p,) the index of each reference, ordered by the candidate that it belongs to.
        owner: (p,) the number, from 0 to n - 1, of the candidate that each reference belongs to.
    """

    candidates: TextsOrSets
    references: TextsOrSets
    left: np.ndarray
    right: np.ndarray
    owner: np.ndarray

    def __len__(self) -> int:
        return len(self.left)

    @property
    def has_multiple_references(self) -> bool:
        """Whether a candidate has more than one reference."""
        return len(self.owner) > len(self)

    @property
    def has_texts(self) -> bool:
        """Whether a side has to be encoded."""
        return isinstance(self.candidates, list) or isinstance(self.references, list)

    @property
    def token_sets(self) -> tuple[TokenSets, TokenSets]:
        """The token sets of both sides; only for encoded inputs."""
        assert isinstance(self.candidates, TokenSets)  # noqa: S101 (see above)
        assert isinstance(self.references, TokenSets)  # noqa: S101 (see above)
        return self.candidates, self.references

    def block(self, start: int, stop: int) -> "ScoringInput":
        """Return the candidates from start to stop, with their references."""
        rows = slice(*np.searchsorted(self.owner, [start, stop]))
        return replace(self, left=self.left[start:stop], right=self.right[rows], owner=self.owner[rows] - start)


def read_input(candidates: Any, references: Any, first: int = 0) -> ScoringInput:
    """Return the input of a score call; `first` is the number of the first pair, for error messages.

    There is one reference for each candidate, or a list of texts or arrays for each candidate; or the references are a
    list of token sets, each with one reference for every candidate.
    """
    left = read_side(candidates, "candidate", first)
    n = len(left)
    if not isinstance(references, TokenSets | str | bytes):
        references = list(iter_items(references, "references"))
        if references and all(isinstance(sets, TokenSets) for sets in references):
            return _from_token_sets(left, references)
        if any(_is_list(reference) for reference in references):
            return _from_lists(left, references, first)
    right = read_side(references, "reference", first)
    _check_counts(n, len(right), "reference")
    return ScoringInput(left, right, np.arange(n), np.arange(n), np.arange(n))


def read_side(items: Any, noun: str, first: int = 0, labels: Iterable[str] | None = None) -> TextsOrSets:
    """Return texts as a list, and arrays as token sets.

    Error messages name an item by its label, or by `noun` and its index, counted from `first`.
    """
    if isinstance(items, TokenSets):
        return items
    rows = list(iter_items(items, f"{noun}s"))
    if rows and all(_is_array(row) for row in rows):
        return _token_sets(rows, noun)
    for row, label in zip(rows, labels or (f"{noun} {index}" for index in count(first)), strict=False):
        check_text(row, label)
    return rows


def _token_sets(arrays: Sequence[Any], noun: str) -> TokenSets:
    """Return arrays as token sets; error messages say which side the array is on."""
    try:
        return TokenSets.from_arrays(arrays)
    except InputError as error:
        raise type(error)(f"in the {noun}s, {error}") from None


def _is_array(row: Any) -> bool:
    """Return whether an object holds the vectors of one text: an array, or rows of numbers."""
    if isinstance(row, str) or _has_strings(row):
        return False  # NumPy strings have __array__ too
    if isinstance(row, list | tuple):
        first = row[0] if row else None
        return (isinstance(first, list | tuple) and not any(isinstance(item, str) for item in first)) or (
            isinstance(first, np.ndarray) and first.ndim == 1
        )
    return hasattr(row, "__array__")


def _is_list(reference: Any) -> bool:
    """Return whether an object is a list of references, and not the vectors of one reference."""
    return _has_strings(reference) or (isinstance(reference, list | tuple) and not _is_array(reference))


def _has_strings(row: Any) -> bool:
    """Return whether an object is an array of texts, such as a row of a 2-D array."""
    if not isinstance(row, np.ndarray) or row.ndim != 1:
        return False
    return row.dtype.kind in "UT" or (row.dtype == object and any(isinstance(item, str) for item in row))


def _from_token_sets(left: TextsOrSets, references: Sequence[TokenSets]) -> ScoringInput:
    n, count = len(left), len(references)
    for index, sets in enumerate(references):
        _check_counts(n, len(sets), "reference", f" in set {index}")
    right = references[0] if count == 1 else TokenSets.concatenate(references)
    owner = np.repeat(np.arange(n), count)
    return ScoringInput(left, right, np.arange(n), owner + n * np.tile(np.arange(count), n), owner)


def _from_lists(left: TextsOrSets, references: Sequence[Any], first: int) -> ScoringInput:
    n = len(left)
    _check_counts(n, len(references), "list", " of references")
    for index, reference in enumerate(references, first):
        if not _is_list(reference):
            raise InputError(f"candidate {index} has no list of references, but others have: give each a list")
        if not len(reference):
            raise InputError(f"candidate {index} has no reference: give at least one")
    owner = np.repeat(np.arange(n), [len(reference) for reference in references])
    flat = [item for reference in references for item in reference]
    right = read_side(flat, "reference", labels=[f"a reference of candidate {first + index}" for index in owner])
    return ScoringInput(left, right, np.arange(n), np.arange(len(flat)), owner)


def check_count(name: str, value: Any, smallest: int) -> None:
    """Raise InputError if an argument is not a whole number of at least `smallest`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < smallest:
        raise InputError(f"{name} is {value!r}, but a whole number of at least {smallest} was expected")


def _check_counts(candidates: int, others: int, noun: str, where: str = "") -> None:
    if candidates != others:
        raise ShapeError(
            f"{there_are(candidates, 'candidate')} but {counted(others, noun)}{where}: give one for each candidate, in "
            "the same order"
        )
