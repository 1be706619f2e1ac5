"""Words and their vectors: looked up by name, read in blocks, in memory or mapped from a file."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from softset.algebra import GradedSubspace, Subspace
from softset.errors import InputError, NotFiniteError, ShapeError, UnknownWordError
from softset.io.atomic import new_folder
from softset.io.text import counted
from softset.vectors.formats import Source, from_gensim, read_vectors
from softset.vectors.index import WordIndex
from softset.vectors.lengths import row_lengths
from softset.vectors.preprocessing import Preprocessing, fit_preprocessing
from softset.vectors.spelling import similar_spellings
from softset.vectors.store import BLOCK, Stored, open_store, write_store
from softset.vectors.whitening import whiten

__all__ = ["Found", "Vocabulary"]

PARTS = re.compile(r"[\s'\u2019\-]+")  # a phrase falls apart at spaces, and a word at inner apostrophes and hyphens


class Found(NamedTuple):
    """How a word or phrase was found: the entries whose mean is its vector."""

    text: str
    entries: tuple[str, ...]
    places: tuple[int, ...]

    @property
    def how(self) -> str:
        """Say what stands for the text, where it is not the text itself."""
        if self.entries == (self.text,):
            return "as it is"
        return f"as {self.entries[0]}" if len(self.entries) == 1 else f"the mean of {', '.join(self.entries)}"


class Vocabulary:
    """Words and their (n, d) vectors.

    >>> import numpy as np
    >>> words = Vocabulary.of(["red", "blue", "new", "york"], np.eye(4))
    >>> words["red"], len(words), words.dimensions
    (array([1., 0., 0., 0.], dtype=float32), 4, 4)
    >>> words.find_entry("New York").how
    'the mean of new, york'
    >>> words["blu"]
    Traceback (most recent call last):
    softset.errors.UnknownWordError: 'blu' has no vector here; words spelled like it: blue
    """

    def __init__(self, stored: Stored, *, preprocessing: Preprocessing | None = None, unit: bool = False) -> None:
        self._stored = stored
        self._preprocessing = preprocessing
        self._unit = unit

    # Making

    @classmethod
    def of(cls, words: Sequence[str], vectors: Any, *, name: str = "own") -> Self:
        """Return a vocabulary of distinct words and their (n, d) vectors, kept in memory as float32."""
        rows = np.asarray(vectors)
        if rows.ndim != 2 or rows.shape[0] != len(words) or not rows.shape[1]:
            given = f"for {counted(len(words), 'word')} vectors of shape"
            raise ShapeError(f"{given} ({len(words)}, d) were wanted, but {rows.shape} was given")
        with np.errstate(over="ignore"):
            rows = rows.astype(np.float32)
        if not np.isfinite(rows).all():
            at = int(np.argwhere(~np.isfinite(rows))[0, 0])
            raise NotFiniteError(f"the vector of {words[at]!r} has a number that is not finite in float32")
        seen: set[str] = set()
        for word in words:
            if word in seen:
                raise InputError(f"{word!r} is there twice: every word needs one vector")
            seen.add(word)
        facts = {"name": name, "words": len(words), "dimensions": rows.shape[1]}
        return cls(Stored(WordIndex.of(words), rows, None, row_lengths(rows), facts))

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Self:
        """Open a folder of word vectors that `save` or `softset vectors import` wrote, memory-mapped."""
        return cls(open_store(folder))

    @classmethod
    def read(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Read a file of word vectors into memory; the options are those of `softset.vectors.formats.read_vectors`."""
        return cls._from_source(read_vectors(path, **options), Path(path).name)

    @classmethod
    def from_gensim(cls, keyed_vectors: Any, *, name: str = "gensim") -> Self:
        """Return the words and vectors of a gensim KeyedVectors object."""
        return cls._from_source(from_gensim(keyed_vectors), name)

    @classmethod
    def _from_source(cls, source: Source, name: str) -> Self:
        words: list[str] = []
        rows: list[np.ndarray] = []
        for some_words, block in source.blocks:
            words += some_words
            rows.append(block)
        return cls.of(words, np.concatenate(rows) if rows else np.zeros((0, source.dimensions)), name=name)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the vectors, as they are after any preprocessing, to a new folder that `open` reads."""
        blocks = ((self.words[a:b], self.rows(a, b)) for a, b in self._ranges())
        with new_folder(folder) as beside:
            facts = {"name": self.name, "source": self.signature, "preprocessing": self.preprocessing}
            write_store(beside, blocks, facts, whitened=self.preprocessing in ("none", "normalised"))

    # Looking

    @property
    def words(self) -> WordIndex:
        """All words, in their order of frequency where the file had it."""
        return self._stored.words

    @property
    def name(self) -> str:
        """What the vectors are called."""
        return str(self._stored.facts.get("name", "own"))

    @property
    def facts(self) -> dict[str, Any]:
        """What is known about where the vectors come from."""
        return dict(self._stored.facts)

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return int(self._stored.vectors.shape[1])

    @cached_property
    def preprocessing(self) -> str:
        """What was done to the vectors since they were read, or "none"."""
        before = str(self._stored.facts.get("preprocessing", "none"))
        done = [before] if before != "none" else []
        done += [self._preprocessing.name] if self._preprocessing else []
        return "+".join([*done, *(["normalised"] if self._unit else [])]) or "none"

    @cached_property
    def checksum(self) -> str:
        """The SHA-256 of the stored vectors, or "" for vectors that are in no file."""
        return str(self._stored.facts.get("files", {}).get("vectors.npy", {}).get("sha256", ""))

    @cached_property
    def signature(self) -> str:
        """What results depend on: the vectors, how many, and what was done to them."""
        name = f"{self.name}@{self.checksum[:8]}" if self.checksum else self.name
        return f"vectors:{name}|words:{len(self)}|d:{self.dimensions}|preprocessing:{self.preprocessing}"

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and self.entry(text) is not None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, words={len(self)}, dimensions={self.dimensions})"

    # Vectors

    def __getitem__(self, text: str | Sequence[str]) -> np.ndarray:
        """Return the vector (d,) of a word or phrase, or the vectors (k, d) of several."""
        if isinstance(text, str):
            return self.vector(self.find_entry(text))
        if not isinstance(text, Iterable):
            raise InputError(f"a word or a list of words was wanted, but {text!r} was given")
        text = list(text)
        return np.stack([self[one] for one in text]) if len(text) else np.zeros((0, self.dimensions), dtype=np.float32)

    def vector(self, found: Found) -> np.ndarray:
        """Return the vector (d,) of what was found: the mean over its entries."""
        mean: np.ndarray = self.take(found.places).mean(axis=0)
        return mean

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the vectors of some consecutive words, (stop - start, d) in float32."""
        return self._prepared(slice(start, min(stop, len(self))))

    def take(self, places: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors of words at some places, (k, d) in float32."""
        return self._prepared(np.asarray(places, dtype=np.int64), np.float64)

    def _prepared(self, at: slice | np.ndarray, precision: Any = np.float32) -> np.ndarray:
        """Return some vectors; a preprocessing in float64 makes the same of equal ones, wherever they stand."""
        vectors = self._stored.vectors
        rows = np.asarray(vectors[at] if isinstance(at, slice) else vectors.take(at, axis=0))
        if self._stored.scales is not None:
            scales = np.asarray(self._stored.scales[at])[:, None]
            rows = rows.astype(scales.dtype)  # at once: a product of two types goes piece by piece, three times slower
            rows *= scales
        if self._preprocessing is not None:
            rows = self._preprocessing(rows.astype(precision, copy=False)).astype(np.float32, copy=False)
        if self._unit:
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = rows / np.where(norms > 0, norms, 1)
        return rows

    @cached_property
    def matrix(self) -> np.ndarray:
        """All vectors, (n, d) in float32: mapped from the file where nothing had to be done to them."""
        stored = self._stored
        if stored.scales is None and self._preprocessing is None and not self._unit:
            return stored.vectors[: len(self)]
        return self.rows(0, len(self))

    def in_memory(self) -> Self:
        """Return the same words with all numbers in memory, where they are stored in eight bits each.

        That takes four times the room, and a search takes half the time: for who searches again and again.

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
        """The same words with their vectors as they are stored, before any preprocessing and scaling."""
        return self if self._preprocessing is None and not self._unit else type(self)(self._stored)

    @cached_property
    def norms(self) -> np.ndarray:
        """The lengths (n,) of all vectors."""
        stored = self._stored
        if self._preprocessing is None and not self._unit:
            return np.asarray(stored.norms[: len(self)])
        if stored.whitened and self._preprocessing is stored.whitened.preprocessing and not self._unit:
            return np.asarray(stored.whitened.lengths)
        return np.concatenate([row_lengths(self._prepared(slice(a, b), np.float64)) for a, b in self._ranges()])

    def _ranges(self) -> Iterator[tuple[int, int]]:
        return ((a, min(a + BLOCK, len(self))) for a in range(0, len(self), BLOCK))

    # Finding words

    def find_entry(self, text: str) -> Found:
        """Return the entry that stands for a word or phrase: one token if there is one, else the mean of its words.

        The exact form is tried first, then lower case.
        """
        found = self.entry(text)
        if found is None:
            raise UnknownWordError(self._unknown_sentence(text))
        return found

    def entry(self, text: str) -> Found | None:
        """Return what `find_entry` does, or None."""
        found = self.token(text)
        if found is not None:
            return Found(text, (found[0],), (found[1],))
        parts = [self.token(part) for part in PARTS.split(text) if part]
        if len(parts) < 2 or None in parts:
            return None
        entries, places = zip(*(part for part in parts if part is not None), strict=True)
        return Found(text, entries, places)

    def token(self, text: str) -> tuple[str, int] | None:
        """Return the entry and its place for a text that is one token, as it is, joined by _ or -, or in lower case."""
        place = self.words.place(text)  # mostly, and at once
        if place is not None:
            return text, place
        joined = " ".join(text.split())
        forms = [joined, joined.replace(" ", "_"), joined.replace(" ", "-")]
        for form in dict.fromkeys([*forms, *(form.lower() for form in [text, *forms])]):
            place = self.words.place(form)
            if place is not None:
                return form, place
        return None

    def _unknown_sentence(self, text: str) -> str:
        parts = text.split()
        missing = next((part for part in parts if self.token(part) is None), text) if len(parts) > 1 else text
        hints = similar_spellings(missing, self.words)
        tail = f"; words spelled like it: {', '.join(hints)}" if hints else ""
        return f"{missing!r} has no vector here{tail}"

    # Views

    def restrict(self, n: int) -> Self:
        """Return the first n words only, the most frequent where the file is in that order.

        >>> Vocabulary.of(["red", "blue"], [[1, 0], [0, 1]]).restrict(1).words[:]
        ['red']
        """
        if n < 1:
            raise InputError(f"a vocabulary needs at least 1 word, but restrict({n}) was asked for")
        stored = self._stored
        facts = {**stored.facts, "words": min(n, len(self))}
        cut = Stored(stored.words.restricted(n), stored.vectors[:n], stored.scales, stored.norms[:n], facts)
        return type(self)(cut, preprocessing=self._preprocessing, unit=self._unit)

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
            return self._whitened()  # which asks for directions only
        if self.preprocessing != "none":
            raise InputError(f"these vectors are {self.preprocessing} already: preprocess the original ones")
        fitted = fit_preprocessing(name, self._blocks, self.dimensions)
        return type(self)(self._stored, preprocessing=fitted)

    def _whitened(self) -> Self:
        """Return the words with whitened vectors: by what is stored, or else by what is fitted now."""
        done = self._stored.whitened or whiten(self._blocks, self.dimensions)
        return type(self)(replace(self._stored, whitened=done), preprocessing=done.preprocessing)

    def _blocks(self) -> Iterator[np.ndarray]:
        return (self.rows(a, b) for a, b in self._ranges())

    # Sets

    def span(self, texts: Iterable[str]) -> Subspace:
        """Return the subspace that the vectors of some words span.

        >>> Vocabulary.of(["red", "blue"], [[1, 0, 0], [0, 1, 0]]).span(["red", "blue"])
        Subspace(dim=2, ambient=3)
        """
        return Subspace.span(self[[texts] if isinstance(texts, str) else list(texts)])

    def graded(self, texts: Iterable[str], *, aperture: float = 2.0, weights: Any = None) -> GradedSubspace:
        """Return the graded set of some words.

        >>> Vocabulary.of(["red", "blue"], [[1, 0, 0], [0, 1, 0]]).graded(["red", "blue"])
        GradedSubspace(dim=2, ambient=3, trace=1.33)
        """
        return GradedSubspace.of(
            self[[texts] if isinstance(texts, str) else list(texts)], aperture=aperture, weights=weights
        )
