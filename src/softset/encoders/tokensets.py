"""Many texts as sets of token vectors, ragged: one long array and where each text begins in it. No padding, ever."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, overload

import numpy as np

from softset.algebra.arrays import to_numpy, traces_gradient
from softset.errors import AmbientError, InputError, NotFiniteError, ShapeError
from softset.io.text import counted, there_are
from softset.vectors.rows import concatenate_rows, group_means

__all__ = ["TokenSets"]

FLOATS = (np.float16, np.float32, np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class TokenSets:
    """The token vectors of n texts; iterating gives one (n_i, d) array a text, in the order of the texts.

    Attributes:
        vectors: (total, d), the rows of all texts one after the other.
        offsets: (n + 1,), text i owns the rows from offsets[i] to offsets[i + 1].
        tokens: (total,) strings, what each row stands for as the encoder spells it, or None.
        spans: (total, 2), where each token begins and ends in its text, in characters, or None.
        special: what was left out of the sets but may be asked for, as token sets of the same texts: marks such as
            [CLS] (their spans are empty, at the beginning or the end of the text) and unknown tokens (they have spans).
        truncated: (n,) how many tokens of each text were cut away.
        unknown: (n,) how many tokens of each text have no vector of their own.
        signature: what made the vectors.
        lengths: (total, 2) the l2 and l1 norms that the vectors had before they were centred or scaled; None where they
            are as the model made them.

    >>> sets = TokenSets.from_arrays([[[1, 0], [0, 1]], [[3, 4]]], tokens=[["red", "book"], ["pen"]])
    >>> sets
    TokenSets(2 texts, 3 tokens, 2 dimensions)
    >>> [one.shape for one in sets], sets.counts.tolist()
    ([(2, 2), (1, 2)], [2, 1])
    """

    vectors: np.ndarray
    offsets: np.ndarray
    tokens: np.ndarray | None
    spans: np.ndarray | None
    special: "TokenSets | None"
    truncated: np.ndarray
    unknown: np.ndarray
    signature: str = "own"
    lengths: np.ndarray | None = None

    # Making

    @classmethod
    def from_arrays(
        cls,
        arrays: Iterable[Any],
        *,
        tokens: Iterable[Sequence[str]] | None = None,
        dimensions: int | None = None,
        signature: str = "own",
    ) -> Self:
        """Return the sets of your own vectors: one (n_i, d) array a text, so that they go wherever text goes.

        An array without rows is an empty set; `dimensions` says d where every set is empty.

        >>> TokenSets.from_arrays([[[1.0, 2.0]], []])
        TokenSets(2 texts, 1 token, 2 dimensions, 1 empty)
        """
        rows = [_rows(one, at) for at, one in enumerate(arrays)]
        d = _common_dimension(rows, dimensions)
        counts = np.array([len(one) for one in rows], dtype=np.int64)
        dtype = np.result_type(*{one.dtype for one in rows if one.size} or {np.dtype(np.float32)})
        vectors = np.concatenate(
            [np.zeros((0, d), dtype), *(one.astype(dtype, copy=False) for one in rows if one.size)]
        )
        nothing = np.zeros(len(rows), dtype=np.int64)
        named = None if tokens is None else _named(tokens, counts)
        return cls(vectors, _offsets(counts), named, None, None, nothing, nothing, signature)

    @classmethod
    def concatenate(cls, parts: Iterable[Self]) -> Self:
        """Return the texts of several token sets, one part after the other.

        >>> one = TokenSets.from_arrays([[[1.0, 2.0]]])
        >>> TokenSets.concatenate([one, one])
        TokenSets(2 texts, 2 tokens, 2 dimensions)
        """
        given = list(parts)
        if not given:
            raise InputError("there is nothing to concatenate: give at least one TokenSets")
        _must_agree(given)
        specials = [one.special for one in given if one.special is not None]
        return cls(
            concatenate_rows([one.vectors for one in given]),
            _offsets(np.concatenate([one.counts for one in given])),
            _joined([one.tokens for one in given]),
            _joined([one.spans for one in given]),
            TokenSets.concatenate(specials) if len(specials) == len(given) else None,
            np.concatenate([one.truncated for one in given]),
            np.concatenate([one.unknown for one in given]),
            given[0].signature,
            _joined([one.lengths for one in given]),
        )

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, TokenSets):
            return NotImplemented
        return type(self).concatenate([self, other])

    # Looking

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[np.ndarray]:
        for at in range(len(self)):
            yield self[at]

    @overload
    def __getitem__(self, at: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, at: slice | Sequence[int] | np.ndarray) -> Self: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            start, stop, step = at.indices(len(self))
            return self.take(range(start, max(start, stop) if step == 1 else stop, step))
        if isinstance(at, bool | np.bool_):
            raise InputError(f"{at} is no place of a text: give a whole number, a slice, a list of numbers or a mask")
        if isinstance(at, int | np.integer):
            return self.vectors[self._range(int(at))]
        return self.take(at)

    def _range(self, at: int) -> slice:
        if not -len(self) <= at < len(self):
            raise IndexError(f"{there_are(len(self), 'text')}, so there is no text {at}")
        at %= len(self)
        return slice(int(self.offsets[at]), int(self.offsets[at + 1]))

    def tokens_of(self, at: int) -> list[str]:
        """Return the tokens of one text.

        >>> TokenSets.from_arrays([[[1, 0], [0, 1]]], tokens=[["red", "book"]]).tokens_of(0)
        ['red', 'book']
        """
        if self.tokens is None:
            raise InputError("these token sets were made without the tokens' text: give tokens=... to from_arrays")
        return list(self.tokens[self._range(at)])

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return int(self.vectors.shape[1])

    @property
    def counts(self) -> np.ndarray:
        """How many tokens each text has, (n,)."""
        return np.diff(self.offsets)

    @property
    def empty(self) -> np.ndarray:
        """Which texts have no token at all, (n,) booleans."""
        without: np.ndarray = self.counts == 0
        return without

    def means(self) -> np.ndarray:
        """Return the mean vector of each text (n, d), summed in float64; zero where the text is empty.

        >>> TokenSets.from_arrays([[[1, 0], [0, 1]], []]).means().tolist()
        [[0.5, 0.5], [0.0, 0.0]]
        """
        means = np.zeros((len(self), self.dimensions), dtype=np.result_type(self.vectors.dtype, np.float32))
        means[~self.empty] = group_means(self.vectors, self.offsets[:-1][~self.empty], means.dtype)
        return means

    def __repr__(self) -> str:
        parts = [counted(len(self), "text"), counted(len(self.vectors), "token"), counted(self.dimensions, "dimension")]
        parts += [f"{self.empty.sum()} empty"] if self.empty.any() else []
        parts += [f"{counted(int(self.truncated.sum()), 'token')} cut away"] if self.truncated.any() else []
        return f"TokenSets({', '.join(parts)})"

    # Changing

    def take(self, places: Sequence[int] | range | np.ndarray) -> Self:
        """Return the texts at some places, in that order; a place may be named more than once.

        >>> TokenSets.from_arrays([[[1.0, 2.0]], [[3.0, 4.0]]]).take([1, 1, 0]).vectors.tolist()
        [[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]
        """
        if isinstance(places, range) and places.step == 1 and 0 <= places.start <= places.stop <= len(self):
            return self._between(places.start, places.stop)
        wanted = _places(places, len(self))
        counts = self.counts[wanted]
        begins = np.repeat(self.offsets[:-1][wanted] - _offsets(counts)[:-1], counts)
        rows = begins + np.arange(counts.sum())
        return replace(
            self,
            vectors=self.vectors[rows],
            offsets=_offsets(counts),
            tokens=None if self.tokens is None else self.tokens[rows],
            spans=None if self.spans is None else self.spans[rows],
            lengths=None if self.lengths is None else self.lengths[rows],
            special=None if self.special is None else self.special.take(wanted),
            truncated=self.truncated[wanted],
            unknown=self.unknown[wanted],
        )

    def _between(self, start: int, stop: int) -> Self:
        """Return the texts from start to stop as a view: nothing is copied, nothing of a mapped file is read."""
        rows = slice(int(self.offsets[start]), int(self.offsets[stop]))
        return replace(
            self,
            vectors=self.vectors[rows],
            offsets=self.offsets[start : stop + 1] - self.offsets[start],
            tokens=None if self.tokens is None else self.tokens[rows],
            spans=None if self.spans is None else self.spans[rows],
            lengths=None if self.lengths is None else self.lengths[rows],
            special=None if self.special is None else self.special._between(start, stop),  # noqa: SLF001 (of its kind)
            truncated=self.truncated[start:stop],
            unknown=self.unknown[start:stop],
        )

    def astype(self, dtype: Any) -> Self:
        """Return the same sets stored in another precision: float16 halves the memory and keeps three digits.

        >>> TokenSets.from_arrays([[[1.0, 2.0]]]).astype("float16").vectors.dtype
        dtype('float16')
        """
        wanted = np.dtype(dtype)
        if wanted not in FLOATS:
            raise InputError(f"{wanted} cannot hold token vectors: use float16, float32 or float64")
        with np.errstate(over="ignore"):
            vectors = self.vectors.astype(wanted, copy=False)
        if not np.isfinite(vectors).all():
            raise NotFiniteError(f"a token vector is too large for {wanted}: use float32")
        return replace(self, vectors=vectors, special=None if self.special is None else self.special.astype(wanted))

    # Keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sets to a new folder, or to one file if the name ends in .safetensors.

        >>> import tempfile
        >>> sets = TokenSets.from_arrays([[[1.0, 2.0]]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sets.save(f"{folder}/mine")
        ...     sets.save(f"{folder}/mine.safetensors")
        ...     TokenSets.open(f"{folder}/mine"), TokenSets.open(f"{folder}/mine.safetensors")
        (TokenSets(1 text, 1 token, 2 dimensions), TokenSets(1 text, 1 token, 2 dimensions))
        """
        from softset.encoders.tokensets_file import save_sets

        save_sets(path, self)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "TokenSets":
        """Open what `save` wrote; the vectors are mapped from the disk and read when they are used.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     TokenSets.from_arrays([[[1.0, 2.0]]]).save(f"{folder}/mine")
        ...     TokenSets.open(f"{folder}/mine")[0].tolist()
        [[1.0, 2.0]]
        """
        from softset.encoders.tokensets_file import open_sets

        return open_sets(path)


def _rows(given: Any, at: int) -> np.ndarray:
    """Return one text's vectors as a float array (n, d), or of shape (0,) where nothing is in it."""
    if traces_gradient(given):
        raise InputError(f"the vectors of text {at} trace a gradient, which would be lost here: give them detached")
    try:
        rows = to_numpy(given) if hasattr(given, "detach") else np.asarray(given)
    except (ValueError, TypeError):
        raise ShapeError(
            f"the vectors of text {at} are no array: rows of one length were wanted, of shape (tokens, dimensions)"
        ) from None
    if rows.size == 0 and rows.ndim <= 2:
        return np.zeros((0, rows.shape[1] if rows.ndim == 2 else 0), dtype=np.float32)
    if rows.ndim != 2:
        raise ShapeError(f"the vectors of text {at} have shape {rows.shape}, but (tokens, dimensions) was wanted")
    if rows.dtype.kind not in "fiub":
        raise InputError(f"the vectors of text {at} are of type {rows.dtype}, but real numbers were wanted")
    if rows.dtype not in FLOATS:
        rows = rows.astype(np.float32)
    if not np.isfinite(rows).all():
        token = int(np.argwhere(~np.isfinite(rows))[0, 0])
        raise NotFiniteError(f"the vector of token {token} of text {at} has a number that is not finite")
    return rows


def _common_dimension(rows: Sequence[np.ndarray], given: int | None) -> int:
    first = next((at for at, one in enumerate(rows) if one.shape[1]), None)
    d = given if given is not None else rows[first].shape[1] if first is not None else 0
    if d < 1:
        raise ShapeError("every set is empty, so their dimension is not known: give dimensions=...")
    for at, one in enumerate(rows):
        if one.shape[1] not in (0, d):
            wanted = f"text {first} has {d}" if given is None else f"{d} were wanted"
            raise AmbientError(f"the vectors of text {at} have {counted(one.shape[1], 'dimension')}, but {wanted}")
    return d


def _named(tokens: Iterable[Sequence[str]], counts: np.ndarray) -> np.ndarray:
    given = [list(one) for one in tokens]
    if len(given) != len(counts):
        raise ShapeError(f"there are tokens for {counted(len(given), 'text')}, but vectors for {len(counts)}")
    for at, (some, count) in enumerate(zip(given, counts, strict=True)):
        if len(some) != count:
            raise ShapeError(f"text {at} has {counted(int(count), 'vector')}, but {counted(len(some), 'token')}")
        for place, token in enumerate(some):
            _check_token(token, place, at)
    return strings([token for some in given for token in some])


def _check_token(token: Any, place: int, at: int) -> None:
    """Refuse what could not be written to a file."""
    if not isinstance(token, str):
        kind = type(token).__name__
        raise InputError(f"token {place} of text {at} is {token!r:.60}, of type {kind}, but a str was wanted")
    if not token.isascii() and token.encode(errors="replace").decode() != token:
        raise InputError(
            f"token {place} of text {at} is {token!r:.60}, with half of a character that was cut in two: decode it "
            "again with errors='replace'"
        )


def strings(values: Sequence[str]) -> np.ndarray:
    """Return strings as an array (n,) of Python strings, which shares them instead of padding them."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _offsets(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])


def _places(given: Sequence[int] | range | np.ndarray, n: int) -> np.ndarray:
    places = np.asarray(given)
    if places.dtype == bool:
        if places.shape != (n,):
            raise ShapeError(
                f"a mask over {counted(n, 'text')} needs {counted(n, 'boolean')}, but its shape is {places.shape}"
            )
        return np.flatnonzero(places)
    if places.size == 0:
        return np.zeros(0, dtype=np.int64)
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise InputError("places of texts are whole numbers, a slice, or a mask")
    if places.min() < -n or places.max() >= n:
        raise IndexError(f"{there_are(n, 'text')}, so there is no text {places[(places < -n) | (places >= n)][0]}")
    return places % n


def _joined(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    known = [one for one in parts if one is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _must_agree(parts: Sequence[TokenSets]) -> None:
    """Refuse to mix vectors of two encoders: their dimensions may even be the same, but their spaces are not."""
    first = parts[0]
    for one in parts[1:]:
        if one.dimensions != first.dimensions:
            raise AmbientError(f"token sets of {first.dimensions} and {one.dimensions} dimensions cannot be joined")
        if one.signature != first.signature:
            raise InputError(
                f"token sets of two encoders cannot be joined: {first.signature!r} and {one.signature!r}; encode anew"
            )
