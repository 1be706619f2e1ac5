"""Word vectors that answer set queries."""

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.errors import InputError
from softset.query.background import Background, kth_largest, sample_words
from softset.query.logic import Logic
from softset.query.plan import Plan
from softset.query.resolution import EXACT_MATCH, Resolved
from softset.search.exact import Ranking
from softset.search.find import SearchableSource
from softset.search.paging import VariantTest
from softset.search.results import Item
from softset.search.source import Coordinates, Projector, divide_by_norms, multiply, rounding_errors
from softset.vectors.matching import similar_spellings
from softset.vectors.preprocessing import Preprocessing, can_be_whitened
from softset.vectors.registry import vectors_folder
from softset.vectors.rows import SMALLEST_NORM
from softset.vectors.variants import variant_keys
from softset.vectors.vocabulary import Vocabulary


class WordVectors(Vocabulary, SearchableSource):
    """Words and their vectors, looked up by word and searched by set queries.

    >>> import softset
    >>> words = softset.load_words()
    >>> words
    WordVectors('glove-840b-300d', words=33753, dimensions=300)
    >>> words.find("{red, blue, green} & {apple, peach, banana}", top=3)
    0.599  orange
    0.244  plum
    0.200  lime
    >>> words.most_similar(positive=["woman", "king"], negative=["man"], topn=1)
    [('queen', 0.77...)]
    """

    def resolve(self, text: str) -> Resolved:
        """Return the vector of a word or phrase, and how it was found.

        >>> load_words().resolve("Red Wine").resolved_as
        'the weighted mean of red, wine'
        """
        match = self.match(text)
        return Resolved(self.vector(match), match.resolved_as, match.indices)

    def resolve_many(self, texts: Iterable[str]) -> dict[str, Resolved]:
        """Return the vectors of those words and phrases that have one, read in one batch.

        >>> sorted(load_words().resolve_many(["red", "Red Wine", "qwxz"]))
        ['Red Wine', 'red']
        """
        matches = [match for match in map(self.get_match, texts) if match is not None]
        pairs = zip(matches, self.vectors(matches), strict=True)
        return {match.text: Resolved(vector, match.resolved_as, match.indices) for match, vector in pairs}

    def resolve_ids(self, ids: Sequence[str]) -> dict[str, Resolved]:
        """Return the vectors of those words that are in the vocabulary exactly as written.

        >>> list(load_words().resolve_ids(["red", "RED", "Red Wine"]))
        ['red']
        """
        pairs = [(word, index) for word in ids if (index := self.words.get_index(word)) is not None]
        rows = self.take([index for _, index in pairs])
        return {word: Resolved(row, EXACT_MATCH, (index,)) for (word, index), row in zip(pairs, rows, strict=True)}

    def nearest_ids(self, item_id: str) -> list[str]:
        """Return words with a similar spelling.

        >>> load_words().nearest_ids("oragne")[0]
        'orange'
        """
        return similar_spellings(item_id, self.words)

    def preprocessed(self, preprocessing: str | None, logic: Logic) -> "WordVectors":
        """Return the words with a preprocessing, by default that of the logic; vectors are not preprocessed twice.

        >>> load_words().preprocessed(None, Logic()).preprocessing
        'whiten(0.2)@33753'
        """
        raw = self.preprocessing in ("none", "normalised")
        if preprocessing is None:
            preprocessing = logic.preprocessing if raw and can_be_whitened(len(self), self.dimensions) else "none"
        if preprocessing == "none":
            return self
        if preprocessing not in self._views:
            self._views[preprocessing] = (self.original if raw else self).preprocess(preprocessing)
        return self._views[preprocessing]

    def prepare_vectors(self, rows: np.ndarray) -> np.ndarray:
        """Return vectors (k, d) in the space of the stored words as vectors of these words, which may be whitened.

        >>> words = load_words()
        >>> whitened = words.preprocess("whiten")
        >>> np.allclose(whitened.prepare_vectors(words["king"][None]), whitened["king"], atol=1e-5)
        True
        """
        return rows if self._preprocessing is None else self._preprocessing(rows)

    @cached_property
    def _views(self) -> "dict[str, WordVectors]":
        return {}

    @cached_property
    def background(self) -> Background:
        """The background that scores are compared with: a sample of the most frequent words.

        >>> load_words().background.units.shape
        (8192, 300)
        """
        return Background.of(self.take(sample_words(len(self))))

    # Coordinates of whitened words: the directions are transformed instead of the words

    def projector(self, directions: np.ndarray) -> Projector:
        """Return a function from `start, stop` to the coordinates of these words along k directions (k, d).

        >>> load_words().projector(np.eye(300)[:2])(0, 5).values.shape
        (2, 5)
        """
        whitening = self._whitening
        if whitening is None:
            return super().projector(directions)
        Q = directions @ whitening.matrix
        offsets = (Q @ whitening.mean)[:, None].astype(np.float32)
        stored, (scales, shifts) = self.original, self._whitened_scales
        errors = rounding_errors(Q) * (1 + np.linalg.norm(whitening.mean))

        def project(start: int, stop: int) -> Coordinates:
            products, factors = multiply(stored.rows(start, stop), Q), shifts[start:stop]
            products *= scales[start:stop]
            products -= offsets * factors
            return Coordinates(products, errors * factors.max(initial=0))

        return project

    def cosines(self, directions: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return the cosines (k, m) of m words with k unit vectors (k, d) in float64; NaN for zero vectors.

        >>> words = load_words().preprocess("whiten")
        >>> king = words["king"] / np.linalg.norm(words["king"])
        >>> words.cosines(king[None], np.array([words.words.get_index("queen")])).round(1)
        array([[0.7]])
        """
        whitening = self._whitening
        if whitening is None:
            return super().cosines(directions, indices)
        wide: np.ndarray = directions.astype(np.float64)
        Q = wide @ whitening.matrix
        rows = self.original.take(indices).astype(np.float64)
        before, after = np.sqrt(np.vecdot(rows, rows)), self.norms[indices].astype(np.float64)
        units = rows / np.where(before > 0, before, 1)[:, None]
        cosines: np.ndarray = np.vecdot(Q[:, None], units) - (Q @ whitening.mean)[:, None]
        return cosines / np.where(after > 0, after, np.nan)

    @property
    def _whitening(self) -> Preprocessing | None:
        """The whitening that maps the stored words to these, if there is one."""
        applied = self._preprocessing
        return applied if applied is not None and applied.unit and not self._unit else None

    @cached_property
    def _whitened_scales(self) -> tuple[np.ndarray, np.ndarray]:
        """The factors (n,) of products with the stored words and with their unit vectors; 0 for zero vectors."""
        # Smaller norms than SMALLEST_NORM are rounding or damage, and their inverses would overflow in float32.
        before, after = (np.maximum(words.norms, SMALLEST_NORM, dtype=np.float64) for words in (self.original, self))
        shifts = np.where(self.norms > 0, 1 / after, 0)
        return (shifts / before).astype(np.float32), shifts.astype(np.float32)

    # Items

    def item(self, index: int) -> Item:
        """Return the word at an index.

        >>> load_words().item(0).id
        'the'
        """
        return Item(self.words[index])

    def items(self, indices: Sequence[int]) -> list[Item]:
        """Return the words at several indices.

        >>> [item.id for item in load_words().items([1, 0])]
        ['and', 'the']
        """
        return [Item(word) for word in self.words.take(indices)]

    def variant_test(self, plan: Plan) -> VariantTest:
        """Return a function that tells which words are case, plural or spelling variants of a plan's examples.

        >>> words = load_words()
        >>> is_variant = words.variant_test(words.plan("{colour, dog}"))
        >>> is_variant(np.array([words.words.get_index(word) for word in ("colors", "dogs", "puppy")]))
        array([ True,  True, False])
        """
        examples = self.words.take(sorted(plan.example_indices))
        examples += [example.text for leaf in plan.leaves for example in leaf.examples if example.kind != "vector"]
        keys = frozenset().union(*map(variant_keys, examples))

        def are_variants(indices: np.ndarray) -> np.ndarray:
            return np.array([not keys.isdisjoint(variant_keys(word)) for word in self.words.take(indices)], dtype=bool)

        return are_variants

    def most_similar(
        self, positive: Any = None, negative: Any = None, topn: int = 10, restrict_vocab: int | None = None
    ) -> list[tuple[str, float]]:
        """Return the words with the largest cosine with the mean of unit vectors, as gensim does.

        Negative words count with the opposite vector. Each side may be a word, a vector, a list of either, or a list of
        (word, weight) pairs.

        >>> import softset
        >>> [word for word, _ in softset.load_words().most_similar("banana", topn=3)]
        ['bananas', 'pineapple', 'coconut']
        """
        if topn < 1 or (restrict_vocab is not None and restrict_vocab < 1):
            raise InputError(f"topn and restrict_vocab must be at least 1, but {topn} and {restrict_vocab} were given")
        weighted = [*_weighted(positive, 1.0), *_weighted(negative, -1.0)]
        if not weighted:
            raise InputError("most_similar needs at least one positive or negative word")
        words = {key: self.match(key) for key, _ in weighted if isinstance(key, str)}
        vectors = [self.vector(words[key]) if isinstance(key, str) else key for key, _ in weighted]
        mean = sum(weight * _unit(vector) for vector, (_, weight) in zip(vectors, weighted, strict=True))
        n = min(restrict_vocab or len(self), len(self))
        direction = _unit(np.asarray(mean)).astype(self.matrix.dtype)
        cosines = divide_by_norms(self.matrix[:n] @ direction, self.norms[:n])
        excluded = [index for match in words.values() for index in match.indices if index < n]
        cosines[excluded] = -np.inf
        count = min(topn, n - len(set(excluded)))
        candidates = np.flatnonzero(cosines >= kth_largest(cosines, count)) if count else np.zeros(0, dtype=np.int64)
        best = Ranking.of(candidates, cosines[candidates], count)
        return list(zip(self.words.take(best.indices.tolist()), best.scores.tolist(), strict=True))


def _weighted(keys: Any, sign: float) -> list[tuple[Any, float]]:
    """Return words or vectors with their weights: one, several, pairs, or None, as gensim accepts them."""
    if keys is None:
        return []
    if isinstance(keys, str) or (isinstance(keys, np.ndarray) and keys.ndim == 1):
        keys = [keys]
    pairs = [key if isinstance(key, tuple) else (key, 1.0) for key in keys]
    return [(key, sign * float(weight)) for key, weight in pairs]


def _unit(vector: np.ndarray) -> np.ndarray:
    unit: np.ndarray = unit_rows(np.asarray(vector, np.float64)[None])[0]
    if not unit.any():
        raise InputError("a word, or the mean of all words, has the zero vector, which has no neighbours")
    return unit


def load_words(name: str | os.PathLike[str] | None = None) -> WordVectors:
    """Return word vectors by name or folder, or the bundled GloVe vectors.

    >>> load_words()["king"].shape
    (300,)
    """
    return WordVectors.open(vectors_folder(name))
