"""TokenSets: the token vectors of many texts in one array, without padding."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, overload

import numpy as np

from softset.algebra.arrays import to_numpy, traces_gradient
from softset.errors import AmbientError, InputError, NotFiniteError, ShapeError
from softset.io.text import counted, html_table, there_are
from softset.vectors.rows import concatenate_rows, group_means

HTML_ROWS, HTML_TOKENS = 10, 12  # texts, and tokens of each, that a notebook shows
FLOAT_TYPES = (np.float16, np.float32, np.float64)
ROW_FIELDS, TEXT_FIELDS = ("vectors", "tokens", "spans", "lengths"), ("truncated", "unknown", "text_hashes")


@dataclass(frozen=True, eq=False, repr=False)
class TokenSets:
    """The token vectors of n texts; iteration yields one (n_i, d) array per text, in the order of the texts.

    Attributes:
        vectors: (total, d) the rows of all texts, one text after the other.
        offsets: (n + 1,) text i has the rows from offsets[i] to offsets[i + 1].
        tokens: (total,) the token of each row as the encoder spells it, or None.
        spans: (total, 2) the first character and the end of each token in its text, or None.
        special: rows that are not members of the sets, as token sets of the same texts: special tokens such as [CLS]
            (with empty spans, at the start or end of the text) and unknown tokens.
        truncated: (n,) the number of tokens that were cut from each text.
        unknown: (n,) the number of out-of-vocabulary tokens of each text.
        signature: the signature of the encoder.
        lengths: (total, 2) the l2 and l1 norms of the vectors before centring or scaling, or None if the vectors are
            those of the model.
        text_hashes: (n,) a hash of each text, which identifies texts whose tokens are all unknown; None if the texts
            are not known.

    >>> sets = TokenSets.from_arrays([[[1, 0], [0, 1]], [[3, 4]]], tokens=[["red", "book"], ["pen"]])
    >>> sets
    TokenSets(2 texts, 3 tokens, 2 dimensions)
    >>> [rows.shape for rows in sets], sets.counts.tolist()
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
    text_hashes: np.ndarray | None = None

    @classmethod
    def from_arrays(
        cls,
        arrays: Iterable[Any],
        *,
        tokens: Iterable[Sequence[str]] | None = None,
        dimensions: int | None = None,
        signature: str = "own",
    ) -> Self:
        """Return token sets of your own vectors, one (n_i, d) array per text; they are accepted wherever texts are.

        An array without rows is an empty set. If all sets are empty, `dimensions` gives d.

        >>> TokenSets.from_arrays([[[1.0, 2.0]], []])
        TokenSets(2 texts, 1 token, 2 dimensions, 1 empty)
        """
        rows = [_check_vectors(array, index) for index, array in enumerate(arrays)]
        d = _common_dimension(rows, dimensions)
        counts = np.array([len(array) for array in rows], dtype=np.int64)
        dtype = np.result_type(*{array.dtype for array in rows if array.size} or {np.dtype(np.float32)})
        filled = [array.astype(dtype, copy=False) for array in rows if array.size]
        zeros = np.zeros(len(rows), dtype=np.int64)
        names = None if tokens is None else _check_tokens(tokens, counts)
        vectors = np.concatenate([np.zeros((0, d), dtype), *filled])
        return cls(vectors, offsets_from_counts(counts), names, None, None, zeros, zeros, signature)

    @classmethod
    def concatenate(cls, parts: Iterable[Self]) -> Self:
        """Return the texts of several token sets, one part after the other.

        >>> sets = TokenSets.from_arrays([[[1.0, 2.0]]])
        >>> TokenSets.concatenate([sets, sets])
        TokenSets(2 texts, 2 tokens, 2 dimensions)
        """
        parts = list(parts)
        if not parts:
            raise InputError("there is nothing to concatenate: give at least one TokenSets")
        first = parts[0]
        for part in parts[1:]:
            if part.dimensions != first.dimensions:
                d = f"{first.dimensions} and {part.dimensions}"
                raise AmbientError(f"token sets with different dimensions ({d}) cannot be joined")
            if part.signature != first.signature:
                pair = f"{first.signature!r}, {part.signature!r}"
                raise InputError(f"token sets of two encoders cannot be joined: {pair}")
        specials = [part.special for part in parts if part.special is not None]
        special = TokenSets.concatenate(specials) if len(specials) == len(parts) else None
        offsets = offsets_from_counts(np.concatenate([part.counts for part in parts]))
        fields = {name: _concatenate([getattr(part, name) for part in parts]) for name in (*ROW_FIELDS, *TEXT_FIELDS)}
        return replace(first, offsets=offsets, special=special, **fields)

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, TokenSets):
            return NotImplemented
        return type(self).concatenate([self, other])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[index] for index in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | np.ndarray) -> Self: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return self.take(range(start, max(start, stop) if step == 1 else stop, step))
        if isinstance(index, int | np.integer):
            return self.vectors[self._rows_of(int(index))]
        return self.take(index)

    def _rows_of(self, index: int) -> slice:
        if not -len(self) <= index < len(self):
            raise IndexError(f"{there_are(len(self), 'text')}, so there is no text {index}")
        index %= len(self)
        return slice(int(self.offsets[index]), int(self.offsets[index + 1]))

    def tokens_of(self, index: int) -> list[str]:
        """Return the tokens of one text.

        >>> TokenSets.from_arrays([[[1, 0], [0, 1]]], tokens=[["red", "book"]]).tokens_of(0)
        ['red', 'book']
        """
        if self.tokens is None:
            raise InputError("these token sets have vectors but no tokens: give tokens=... to from_arrays")
        return list(self.tokens[self._rows_of(index)])

    @property
    def dimensions(self) -> int:
        """The dimension d of the vectors."""
        return int(self.vectors.shape[1])

    @property
    def counts(self) -> np.ndarray:
        """The number of tokens of each text, (n,)."""
        return np.diff(self.offsets)

    @property
    def empty(self) -> np.ndarray:
        """Whether each text has no token, (n,)."""
        return np.asarray(self.counts == 0)

    def means(self) -> np.ndarray:
        """Return the mean vector of each text (n, d), summed in float64; zero for an empty text.

        >>> TokenSets.from_arrays([[[1, 0], [0, 1]], []]).means().tolist()
        [[0.5, 0.5], [0.0, 0.0]]
        """
        means = np.zeros((len(self), self.dimensions), dtype=np.result_type(self.vectors.dtype, np.float32))
        means[~self.empty] = group_means(self.vectors, self.offsets[:-1][~self.empty], means.dtype)
        return means

    def __repr__(self) -> str:
        parts = [counted(len(self), "text"), counted(len(self.vectors), "token"), counted(self.dimensions, "dimension")]
        parts += [f"{self.empty.sum()} empty"] if self.empty.any() else []
        parts += [f"{counted(int(self.truncated.sum()), 'token')} truncated"] if self.truncated.any() else []
        return f"TokenSets({', '.join(parts)})"

    def _repr_html_(self) -> str:
        rows = []
        for index in range(min(len(self), HTML_ROWS)):
            tokens = [] if self.tokens is None else self.tokens_of(index)
            shown = " ".join(tokens[:HTML_TOKENS]) + (" …" if len(tokens) > HTML_TOKENS else "")
            rows.append([str(index), f"{self.counts[index]:,}", shown])
        return html_table(["text", "tokens", "first tokens"], rows, caption=repr(self))

    def take(self, indices: Sequence[int] | range | np.ndarray) -> Self:
        """Return the texts with these indices, in this order; an index may occur more than once.

        A range with step 1 returns a view: it copies no vector and reads nothing from a memory-mapped file.

        >>> TokenSets.from_arrays([[[1.0, 2.0]], [[3.0, 4.0]]]).take([1, 1, 0]).vectors.tolist()
        [[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]
        """
        if isinstance(indices, range) and indices.step == 1 and 0 <= indices.start <= indices.stop <= len(self):
            offsets = self.offsets[indices.start : indices.stop + 1]
            return self._select(slice(int(offsets[0]), int(offsets[-1])), offsets - offsets[0], indices)
        chosen = np.asarray(indices)
        texts = np.arange(len(self))[chosen if chosen.size else chosen.astype(np.int64)]  # NumPy checks the indices
        counts = self.counts[texts]
        offsets = offsets_from_counts(counts)
        rows = np.repeat(self.offsets[:-1][texts] - offsets[:-1], counts) + np.arange(counts.sum())
        return self._select(rows, offsets, texts)

    def _select(self, rows: slice | np.ndarray, offsets: np.ndarray, texts: range | np.ndarray) -> Self:
        """Return the given rows, which are all rows of the given texts."""
        index = slice(texts.start, texts.stop) if isinstance(texts, range) else texts
        fields: dict[str, Any] = {}
        for names, selection in ((ROW_FIELDS, rows), (TEXT_FIELDS, index)):
            arrays = {name: getattr(self, name) for name in names}
            fields |= {name: None if array is None else array[selection] for name, array in arrays.items()}
        special = None if self.special is None else self.special.take(texts)
        return replace(self, offsets=offsets, special=special, **fields)

    def astype(self, dtype: Any) -> Self:
        """Return the same sets in another precision; float16 halves the memory and keeps three digits.

        >>> TokenSets.from_arrays([[[1.0, 2.0]]]).astype("float16").vectors.dtype
        dtype('float16')
        """
        target = np.dtype(dtype)
        if target not in FLOAT_TYPES:
            raise InputError(f"{target} cannot hold token vectors: use float16, float32 or float64")
        with np.errstate(over="ignore"):
            vectors = self.vectors.astype(target, copy=False)
        if not np.isfinite(vectors).all():
            raise NotFiniteError(f"a token vector is too large for {target}: use float32")
        return replace(self, vectors=vectors, special=None if self.special is None else self.special.astype(target))

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
        """Open a folder or file that `save` wrote; the vectors are memory-mapped and read when they are used.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     TokenSets.from_arrays([[[1.0, 2.0]]]).save(f"{folder}/mine")
        ...     TokenSets.open(f"{folder}/mine")[0].tolist()
        [[1.0, 2.0]]
        """
        from softset.encoders.tokensets_file import open_sets

        return open_sets(path)


def string_array(values: Sequence[str]) -> np.ndarray:
    """Return an array (n,) of Python strings; equal strings share memory, and none is padded."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def hash_texts(texts: Iterable[str]) -> np.ndarray:
    """Return a 64-bit hash (n,) of each text, the same in every process."""
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(digests), dtype="<i8").astype(np.int64)


def offsets_from_counts(counts: np.ndarray) -> np.ndarray:
    """Return the offsets (n + 1,) of n groups with these numbers of rows."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])


def _check_vectors(vectors: Any, text: int) -> np.ndarray:
    """Return the vectors of one text as a float array (n, d), or (0, 0) if there are none."""
    if traces_gradient(vectors):
        raise InputError(f"the vectors of text {text} require a gradient, which is not kept: call .detach() first")
    try:
        rows = to_numpy(vectors) if hasattr(vectors, "detach") else np.asarray(vectors)
    except (ValueError, TypeError):
        raise ShapeError(f"the vectors of text {text} are not an array of shape (tokens, dimensions)") from None
    if rows.size == 0 and rows.ndim <= 2:
        return np.zeros((0, rows.shape[1] if rows.ndim == 2 else 0), dtype=np.float32)
    if rows.ndim != 2:
        raise ShapeError(f"the vectors of text {text} have shape {rows.shape}, but (tokens, dimensions) was expected")
    if rows.dtype.kind not in "fiub":
        raise InputError(f"the vectors of text {text} are of type {rows.dtype}, but real numbers were expected")
    if rows.dtype.kind == "f":  # big-endian numbers keep their precision, long double becomes float64
        rows = rows.astype(np.dtype(f"f{min(rows.dtype.itemsize, 8)}"), copy=False)
    else:
        rows = rows.astype(np.float32)
    if not np.isfinite(rows).all():
        token = int(np.argwhere(~np.isfinite(rows))[0, 0])
        raise NotFiniteError(f"the vector of token {token} of text {text} has a number that is not finite")
    return rows


def _common_dimension(rows: Sequence[np.ndarray], dimensions: int | None) -> int:
    d = dimensions if dimensions is not None else next((array.shape[1] for array in rows if array.shape[1]), 0)
    if d < 1:
        raise ShapeError("all sets are empty, so their dimension is not known: give dimensions=...")
    for text, array in enumerate(rows):
        if array.shape[1] not in (0, d):
            dimension = counted(array.shape[1], "dimension")
            raise AmbientError(f"the vectors of text {text} have {dimension}, but {d} were expected")
    return d


def _check_tokens(tokens: Iterable[Sequence[str]], counts: np.ndarray) -> np.ndarray:
    """Return the tokens of all texts in one array; they must fit the numbers of vectors."""
    texts = [list(names) for names in tokens]
    if len(texts) != len(counts):
        raise ShapeError(f"there are tokens for {counted(len(texts), 'text')}, but vectors for {len(counts)}")
    for text, (names, count) in enumerate(zip(texts, counts, strict=True)):
        if len(names) != count:
            raise ShapeError(f"text {text} has {counted(int(count), 'vector')}, but {counted(len(names), 'token')}")
        for token in names:
            if not isinstance(token, str) or token.encode(errors="replace").decode() != token:
                raise InputError(f"a token of text {text} is {token!r:.60}, but a str without surrogates was expected")
    return string_array([token for names in texts for token in names])


def _concatenate(parts: Sequence[np.ndarray | None]) -> Any:
    """Return the concatenation, or None if any part is None."""
    known = [part for part in parts if part is not None]
    return concatenate_rows(known) if len(known) == len(parts) else None
