"""Word vectors that can be searched by set queries."""

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from softset.errors import InputError
from softset.query.logic import Logic
from softset.query.plan import Resolved
from softset.search.coding import Coding
from softset.search.exact import Ranking
from softset.search.find import SearchableSource
from softset.search.products import Along, Products, products_of
from softset.search.results import Item
from softset.vectors.preprocessing import Preprocessing, can_be_whitened
from softset.vectors.registry import vectors_folder
from softset.vectors.vocabulary import Vocabulary

__all__ = ["WordVectors", "load_words"]


class WordVectors(Vocabulary, SearchableSource):
    """Words and their vectors, looked up by name and searched by sets.

    >>> import softset
    >>> words = softset.load_words()
    >>> words
    WordVectors('glove-840b-300d', words=33753, dimensions=300)
    >>> words.find("{red, blue, green} & {apple, peach, banana}", top=3)
    0.767  orange
    0.572  plum
    0.534  pink
    >>> words.most_similar(positive=["woman", "king"], negative=["man"], topn=1)
    [('queen', 0.77...)]
    """

    def resolve(self, text: str) -> Resolved:
        """Return the vector that stands for a word or phrase, and how it was found.

        >>> load_words().resolve("Red Wine").how
        'the mean of red, wine'
        """
        found = self.match(text)
        return Resolved(self.vector(found), found.resolved_as, found.indices)

    def resolve_many(self, texts: Iterable[str]) -> dict[str, Resolved]:
        """Return what stands for those of some texts that have a vector; the vectors are read at once.

        >>> sorted(load_words().resolve_many(["red", "Red Wine", "qwxz"]))
        ['Red Wine', 'red']
        """
        found = [one for one in map(self.get_match, texts) if one is not None]
        rows = iter(self.take([place for one in found for place in one.indices]))
        counts = [len(one.indices) for one in found]
        vectors = (next(rows) if count == 1 else _mean(list(islice(rows, count))) for count in counts)
        return {one.text: Resolved(row, one.resolved_as, one.indices) for one, row in zip(found, vectors, strict=True)}

    def preprocessed(self, preprocessing: str | None, logic: Logic) -> "WordVectors":
        """Return these words with their vectors as a search wants them; what was done to them already stays.

        >>> load_words().preprocessed(None, Logic()).preprocessing
        'whiten(0.2)@33753'
        """
        raw = self.preprocessing in ("none", "normalised")
        if preprocessing is None:
            preprocessing = logic.preprocessing if raw and can_be_whitened(len(self), self.dimensions) else "none"
        if preprocessing == "none":
            return self
        if preprocessing not in self._views:
            view = (self.original if raw else self).preprocess(preprocessing)
            view._stored_words = self.original  # noqa: SLF001 (a view of itself, which shares its codes)
            self._views[preprocessing] = view
        return self._views[preprocessing]

    @cached_property
    def _views(self) -> "dict[str, WordVectors]":
        return {}

    def along(self, directions: np.ndarray) -> Along:
        """Return what gives, of consecutive words, what their coordinates along k directions (k, d) are made of.

        Of whitened words they come from those of the words as they are stored, so that none has to be whitened.

        >>> load_words().along(np.eye(300)[:2]).block(0, 5).coordinates().shape
        (2, 5)
        """
        done = self._whitening
        if done is None:
            return super().along(directions)
        Q = directions @ done.matrix
        offsets, (scales, shifts) = Q @ done.mean, self._whitened_scales

        def products(start: int, stop: int) -> Products:
            rows = self._stored_words.rows(start, stop)
            if scales is not None:
                return Products(rows, Q, scales[start:stop], shifts[start:stop], offsets.astype(rows.dtype))
            # Lengths of the stored words, which are odd, cannot be one with those after whitening.
            raw = products_of(rows, self._stored_words.norms[start:stop], Q)
            after = shifts[start:stop]
            return raw._replace(scales=raw.scales * after, shifts=after, offsets=offsets.astype(rows.dtype))

        return Along(Q, products)

    @cached_property
    def coding(self) -> Coding:
        """Codes of what `along` multiplies, for searches of many sets: the words as they are stored, if whitened.

        >>> load_words().coding.codes() is None  # the first time
        True
        """
        return Coding(self) if self._whitening is None else self._stored_words.coding

    def cosines(self, directions: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the cosines (k, m) of words at m places with unit vectors (k, d), in float64.

        They are NaN of a word without a direction. Those of whitened words come from the words as they are stored, and
        their lengths after whitening.

        >>> words = load_words().preprocess("whiten")
        >>> king = words["king"] / np.linalg.norm(words["king"])
        >>> places = np.array([words.words.get_index(word) for word in ("king", "queen")])
        >>> words.cosines(king[None], places).round(2)
        array([[1.  , 0.6...]])
        """
        done = self._whitening
        if done is None:
            return super().cosines(directions, places)
        mean, matrix = done.parameters(np.dtype(np.float64))
        Q = directions @ matrix
        rows = self._stored_words.take(places).astype(np.float64)
        before, after = np.sqrt(np.vecdot(rows, rows)), self.norms[places].astype(np.float64)
        after[after == 0] = np.nan
        before[before == 0] = 1.0  # such a row has no length after whitening either
        found: np.ndarray = (Q @ rows.T / before - (Q @ mean)[:, None]) / after
        return found

    @property
    def _whitening(self) -> Preprocessing | None:
        """What whitens the words as they are stored, if these are whitened: directions can be turned instead."""
        done = self._preprocessing
        return done if done is not None and done.unit and not self._unit else None

    @cached_property
    def _stored_words(self) -> "WordVectors":
        return self.original

    @cached_property
    def _whitened_scales(self) -> tuple[np.ndarray | None, np.ndarray]:
        """What products with the stored words, and with their unit vectors, are multiplied by, (n,) each."""
        before, after = self._stored_words.norms.astype(np.float64), self.norms.astype(np.float64)
        shifts = np.where(after > 0, 1 / np.where(after > 0, after, 1), 0)
        odd = (before > 0) & ~((before > 1e-15) & (before < 1e15))  # products of such rows overflow or vanish
        scales = None if odd.any() else (shifts / np.where(before > 0, before, 1)).astype(np.float32)
        return scales, shifts.astype(np.float32)

    def can_resolve(self, text: str) -> bool:
        """Tell whether a word or phrase has a vector.

        >>> load_words().can_resolve("red wine")
        True
        """
        return text in self

    def item(self, place: int) -> Item:
        """Return the word at a place; it has neither text nor metadata.

        >>> load_words().item(0).id
        'the'
        """
        return Item(self.words[place])

    def items(self, places: Sequence[int]) -> list[Item]:
        """Return the words at some places.

        >>> [one.id for one in load_words().items([1, 0])]
        ['and', 'the']
        """
        return list(map(Item, self.words.take(places)))

    def most_similar(
        self,
        positive: Any = None,
        negative: Any = None,
        topn: int = 10,
        restrict_vocab: int | None = None,
    ) -> list[tuple[str, float]]:
        """Return the words nearest, by cosine, to the mean of unit vectors and negatives of others, as gensim does.

        Each side may be a word, several, (word, weight) pairs, or vectors.

        >>> import softset
        >>> [word for word, _ in softset.load_words().most_similar("banana", topn=3)]
        ['bananas', 'pineapple', 'coconut']
        """
        if topn < 1 or (restrict_vocab is not None and restrict_vocab < 1):
            raise InputError(f"topn and restrict_vocab must be from 1 on, but {topn} and {restrict_vocab} were given")
        given = [*_signed(positive, 1.0), *_signed(negative, -1.0)]
        if not given:
            raise InputError("most_similar needs at least one positive or negative word")
        found = [(self.match(one), weight) for one, weight in given if isinstance(one, str)]
        vectors = [(self.vector(one), weight) for one, weight in found]
        vectors += [(np.asarray(one, dtype=np.float32), weight) for one, weight in given if not isinstance(one, str)]
        mean = sum(weight * _unit(vector) for vector, weight in vectors)
        n = min(restrict_vocab or len(self), len(self))
        scores = self.matrix[:n] @ _unit(np.asarray(mean)) / np.where(self.norms[:n] > 0, self.norms[:n], 1)
        left_out = np.array([place for one, _ in found for place in one.indices], dtype=np.int64)
        best = Ranking.empty().merged(0, scores, topn, left_out)
        return list(zip(self.words.take(best.indices.tolist()), best.scores.tolist(), strict=True))


def _mean(rows: list[np.ndarray]) -> np.ndarray:
    mean: np.ndarray = np.stack(rows).mean(axis=0)
    return mean


def _signed(given: Any, sign: float) -> list[tuple[Any, float]]:
    """Return words or vectors with their weights, from all that gensim takes: one, several, pairs, or None."""
    if given is None:
        return []
    if isinstance(given, str) or (isinstance(given, np.ndarray) and given.ndim == 1):
        given = [given]
    pairs = [one if isinstance(one, tuple) else (one, 1.0) for one in given]
    return [(one, sign * float(weight)) for one, weight in pairs]


def _unit(vector: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    if not length:
        raise InputError("a word or their mean has the zero vector, which has no neighbours")
    unit: np.ndarray = vector / length
    return unit


def load_words(name: str | os.PathLike[str] | None = None) -> WordVectors:
    """Return word vectors by name: the bundled GloVe, an import's, or a folder's.

    >>> load_words()["king"].shape
    (300,)
    """
    return WordVectors.open(vectors_folder(name))
