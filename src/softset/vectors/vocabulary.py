"""Words and their vectors: lookup by word or phrase, blocks of rows, preprocessing; in memory or memory-mapped."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from softset.algebra import GradedSubspace, Subspace
from softset.errors import InputError, NotFiniteError, ShapeError, UnknownWordError
from softset.io.atomic import new_folder
from softset.io.text import counted, html_table
from softset.vectors.formats import read_vectors
from softset.vectors.matching import WordMatch, find_match, unknown_word_message
from softset.vectors.preprocessing import Preprocessing, fit_preprocessing, fit_whitening
from softset.vectors.rows import phrase_vector, rescale_extreme_rows, row_norms
from softset.vectors.storage import StoredVectors, open_vectors, write_vectors
from softset.vectors.word_index import WordIndex

ROWS_PER_BLOCK = 16_384  # 20 MB of 300 float32 numbers, which fits the processor's cache


class Vocabulary:
    """Words and their (n, d) vectors.

    >>> import numpy as np
    >>> words = Vocabulary.of(["red", "blue", "new", "york"], np.eye(4))
    >>> words["red"], len(words), words.dimensions
    (array([1., 0., 0., 0.], dtype=float32), 4, 4)
    >>> words.match("New York").resolved_as
    'the weighted mean of new, york'
    >>> words["blu"]
    Traceback (most recent call last):
    softset.errors.UnknownWordError: 'blu' has no vector here; words with a similar spelling: blue
    """

    def __init__(
        self, stored: StoredVectors, *, preprocessing: Preprocessing | None = None, unit: bool = False
    ) -> None:
        self._stored = stored
        self._preprocessing = preprocessing
        self._unit = unit

    @classmethod
    def of(cls, words: Sequence[str], vectors: Any, *, name: str = "own") -> Self:
        """Return a vocabulary of distinct words and their (n, d) vectors, held in memory as float32."""
        rows = np.asarray(vectors)
        if rows.ndim != 2 or rows.shape[0] != len(words) or not rows.shape[1] or rows.dtype.kind not in "fiub":
            expected = f"{counted(len(words), 'word')} need real vectors of shape ({len(words)}, d)"
            raise ShapeError(f"{expected}, but {rows.dtype} of shape {rows.shape} was given")
        with np.errstate(over="ignore"):
            rows = rows.astype(np.float32)
        if not np.isfinite(rows).all():
            row = int(np.argwhere(~np.isfinite(rows))[0, 0])
            raise NotFiniteError(f"the vector of {words[row]!r} has a number that is not finite in float32")
        if len(set(words)) < len(words):
            repeated = Counter(words).most_common(1)[0][0]
            raise InputError(f"the word {repeated!r} occurs twice: each word needs exactly one vector")
        rows = rescale_extreme_rows(rows)
        metadata = {"name": name, "words": len(words), "dimensions": rows.shape[1]}
        return cls(StoredVectors(WordIndex.of(words), rows, None, row_norms(rows), metadata))

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Self:
        """Open a folder that `save` or `softset vectors import` wrote, memory-mapped."""
        return cls(open_vectors(folder))

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        words: str | os.PathLike[str] | None = None,
        format: str | None = None,  # noqa: A002 (the conventional name)
        member: str | None = None,
        skip_bad: bool = False,
    ) -> Self:
        """Read a file of word vectors into memory; see `softset.vectors.formats.read_vectors` for the options."""
        stream = read_vectors(path, words=words, format=format, member=member, skip_bad=skip_bad)
        blocks = list(stream.blocks)
        rows = np.concatenate([np.zeros((0, stream.dimensions), np.float32), *(rows for _, rows in blocks)])
        return cls.of([word for block_words, _ in blocks for word in block_words], rows, name=Path(path).name)

    @classmethod
    def from_gensim(cls, keyed_vectors: Any, *, name: str = "gensim") -> Self:
        """Return the words and vectors of a gensim KeyedVectors object.

        >>> from types import SimpleNamespace
        >>> Vocabulary.from_gensim(SimpleNamespace(index_to_key=["red", "blue"], vectors=np.eye(2))).words[:]
        ['red', 'blue']
        """
        try:
            words, vectors = list(keyed_vectors.index_to_key), keyed_vectors.vectors
        except AttributeError:
            kind = type(keyed_vectors).__name__
            raise InputError(f"a KeyedVectors object (the .wv of a model) is needed, but {kind} was given") from None
        return cls.of(words, vectors, name=name)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the vectors, with any preprocessing applied, to a new folder that `open` reads."""
        blocks = ((self.words[start:stop], self.rows(start, stop)) for start, stop in self._block_bounds())
        metadata = {"name": self.name, "source": self.signature, "preprocessing": self.preprocessing}
        with new_folder(folder) as temporary:
            write_vectors(temporary, blocks, metadata, whiten=self.preprocessing in ("none", "normalised"))

    @property
    def words(self) -> WordIndex:
        """All words in the order of the file, which is often the order of frequency."""
        return self._stored.words

    @property
    def name(self) -> str:
        """The name of the vectors."""
        return str(self._stored.metadata.get("name", "own"))

    @property
    def metadata(self) -> dict[str, Any]:
        """Information about the vectors, such as their source and licence."""
        return dict(self._stored.metadata)

    @property
    def dimensions(self) -> int:
        """The number of dimensions d."""
        return int(self._stored.vectors.shape[1])

    @cached_property
    def preprocessing(self) -> str:
        """The names of the preprocessing steps that were applied, or "none"."""
        steps = [str(self._stored.metadata.get("preprocessing", "none"))]
        steps += [self._preprocessing.name] if self._preprocessing else []
        steps += ["normalised"] if self._unit else []
        return "+".join(step for step in steps if step != "none") or "none"

    @cached_property
    def checksum(self) -> str:
        """The SHA-256 of the stored vectors, or "" for vectors that are not in a file."""
        return str(self._stored.metadata.get("files", {}).get("vectors.npy", {}).get("sha256", ""))

    @cached_property
    def signature(self) -> str:
        """A description of everything that results depend on: the vectors, their number, the preprocessing."""
        name = f"{self.name}@{self.checksum[:8]}" if self.checksum else self.name
        return f"vectors:{name}|words:{len(self)}|d:{self.dimensions}|preprocessing:{self.preprocessing}"

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and self.get_match(text) is not None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, words={len(self)}, dimensions={self.dimensions})"

    def _repr_html_(self) -> str:
        facts = {
            "words": f"{len(self):,}",
            "dimensions": str(self.dimensions),
            "first words": ", ".join(self.words[:8]),
        }
        return html_table(["", ""], facts.items(), caption=self.name)

    def __getitem__(self, text: str | Iterable[str]) -> np.ndarray:
        """Return the vector (d,) of a word or phrase, or the vectors (k, d) of several."""
        if isinstance(text, str):
            return self.vector(self.match(text))
        if not isinstance(text, Iterable):
            raise InputError(f"a word or a list of words is needed, but {text!r} was given")
        vectors = [self[word] for word in text]
        return np.stack(vectors) if vectors else np.zeros((0, self.dimensions), dtype=np.float32)

    def vector(self, match: WordMatch) -> np.ndarray:
        """Return the vector (d,) of a match: see `vectors`."""
        return self.vectors([match])[0]

    def vectors(self, matches: Sequence[WordMatch]) -> list[np.ndarray]:
        """Return the vector (d,) of each match: that of its only entry, or the weighted mean of several entries.

        Entries are weighted by their smooth inverse frequency, so that a frequent word, such as "of" or "new", changes
        the vector of a phrase little. The order of the vocabulary is taken as the order of frequency.

        >>> words = Vocabulary.of(["the", "red", "sea"], np.eye(3))
        >>> words.vectors([words.match("sea"), words.match("the sea")])[1].round(2)
        array([0.25, 0.  , 0.75], dtype=float32)
        """
        rows = self.take([index for match in matches for index in match.indices])
        stops = np.cumsum([len(match.indices) for match in matches], dtype=np.int64)
        groups = np.split(rows, stops[:-1])[: len(matches)]
        pairs = zip(matches, groups, strict=True)
        return [
            group[0] if len(group) == 1 else phrase_vector(group, match.indices, len(self)) for match, group in pairs
        ]

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors of consecutive words, (stop - start, d) in float32."""
        return self._prepared(slice(start, min(stop, len(self))), np.float32)

    def take(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors of the words at the given indices, (k, d) in float32."""
        return self._prepared(np.asarray(indices, dtype=np.int64), np.float64)

    def _prepared(self, selection: slice | np.ndarray, precision: Any) -> np.ndarray:
        """Return the selected vectors; preprocessing in float64 maps equal vectors to equal vectors at any position."""
        vectors = self._stored.vectors
        rows = np.asarray(vectors[selection] if isinstance(selection, slice) else vectors.take(selection, axis=0))
        if self._stored.scales is not None:
            scales = np.asarray(self._stored.scales[selection])[:, None]
            rows = rows.astype(scales.dtype)  # converting first is three times faster than a product of two types
            rows *= scales
        if self._preprocessing is not None:
            rows = self._preprocessing(rows.astype(precision, copy=False)).astype(np.float32, copy=False)
        if self._unit:
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = rows / np.where(norms > 0, norms, 1)
        return rows

    @cached_property
    def matrix(self) -> np.ndarray:
        """All vectors, (n, d) in float32; memory-mapped if the file holds them in this form."""
        stored = self._stored
        if stored.scales is None and self._preprocessing is None and not self._unit:
            return stored.vectors[: len(self)]
        return self.rows(0, len(self))

    @cached_property
    def norms(self) -> np.ndarray:
        """The norms (n,) of all vectors."""
        stored = self._stored
        if self._preprocessing is None and not self._unit:
            return np.asarray(stored.norms[: len(self)])
        if stored.whitening and self._preprocessing is stored.whitening.preprocessing and not self._unit:
            return np.asarray(stored.whitening.norms)
        blocks = (self._prepared(slice(*bounds), np.float64) for bounds in self._block_bounds())
        return np.concatenate([row_norms(rows) for rows in blocks])

    def _block_bounds(self) -> Iterator[tuple[int, int]]:
        return ((start, min(start + ROWS_PER_BLOCK, len(self))) for start in range(0, len(self), ROWS_PER_BLOCK))

    def _blocks(self) -> Iterator[np.ndarray]:
        return (self.rows(start, stop) for start, stop in self._block_bounds())

    def match(self, text: str) -> WordMatch:
        """Return the entries that match a word or phrase: a single token if there is one, else each of its words.

        The exact form is tried first, then lower case. Raises UnknownWordError if there is no match.

        >>> Vocabulary.of(["new", "york"], [[1, 0], [0, 1]]).match("New York").entries
        ('new', 'york')
        """
        match = find_match(self.words, text)
        if match is None:
            raise UnknownWordError(unknown_word_message(self.words, text))
        return match

    def get_match(self, text: str) -> WordMatch | None:
        """Return the same as `match`, or None if there is no match."""
        return find_match(self.words, text)

    def in_memory(self) -> Self:
        """Return the same words with float32 vectors in memory, if they are stored as int8.

        This needs four times the memory and halves the time of a search.

        >>> import softset
        >>> words = softset.load_words()
        >>> bool((words.in_memory()["king"] == words["king"]).all())
        True
        """
        stored = self._stored
        if stored.scales is None or self._preprocessing is not None or self._unit:
            return self
        return type(self)(replace(stored, vectors=self.matrix, scales=None))

    @property
    def original(self) -> Self:
        """The same words with the stored vectors, without preprocessing and normalisation."""
        return self if self._preprocessing is None and not self._unit else type(self)(self._stored)

    def restrict(self, n: int) -> Self:
        """Return the first n words, which are the most frequent ones in most files.

        >>> Vocabulary.of(["red", "blue"], [[1, 0], [0, 1]]).restrict(1).words[:]
        ['red']
        """
        if n < 1:
            raise InputError(f"a vocabulary needs at least 1 word, but restrict({n}) was called")
        stored = self._stored
        metadata = {**stored.metadata, "words": min(n, len(self))}
        first = StoredVectors(stored.words.restricted(n), stored.vectors[:n], stored.scales, stored.norms[:n], metadata)
        return type(self)(first, preprocessing=self._preprocessing, unit=self._unit)

    def normalised(self) -> Self:
        """Return the same words with vectors of length 1.

        >>> Vocabulary.of(["red"], [[3, 4]]).normalised()["red"]
        array([0.6, 0.8], dtype=float32)
        """
        return type(self)(self._stored, preprocessing=self._preprocessing, unit=True)

    def preprocess(self, name: str) -> Self:
        """Return the same words with preprocessed vectors: "centre", "all-but-the-top(3)" or "whiten(0.2)".

        >>> Vocabulary.of(["red", "blue"], [[1, 0], [3, 0]]).preprocess("centre")["red"]
        array([-1.,  0.], dtype=float32)
        """
        if name in ("whiten", "whiten(0.2)") and self.preprocessing in ("none", "normalised"):
            whitening = self._stored.whitening or fit_whitening(self._blocks, self.dimensions)
            return type(self)(replace(self._stored, whitening=whitening), preprocessing=whitening.preprocessing)
        if self.preprocessing != "none":
            raise InputError(f"these vectors are already preprocessed ({self.preprocessing}): use the original ones")
        return type(self)(self._stored, preprocessing=fit_preprocessing(name, self._blocks, self.dimensions))

    def span(self, texts: Iterable[str]) -> Subspace:
        """Return the subspace that the vectors of the given words span.

        >>> Vocabulary.of(["red", "blue"], [[1, 0, 0], [0, 1, 0]]).span(["red", "blue"])
        Subspace(dim=2, ambient=3)
        """
        return Subspace.span(np.atleast_2d(self[texts]))

    def graded(self, texts: Iterable[str], *, aperture: float = 2.0, weights: Any = None) -> GradedSubspace:
        """Return the graded set of the given words.

        >>> Vocabulary.of(["red", "blue"], [[1, 0, 0], [0, 1, 0]]).graded(["red", "blue"])
        GradedSubspace(dim=2, ambient=3, trace=1.33)
        """
        return GradedSubspace.of(np.atleast_2d(self[texts]), aperture=aperture, weights=weights)
