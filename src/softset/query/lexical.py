"""Lexical evidence: how well an item's text matches the words of a set's examples, by BM25.

An inverted index lists, for each term, the items that contain it. Terms are words in lower case, reduced to their stems
by Snowball. The statistics of BM25 (how rare a term is, how long a text is on average) are those of the background, so
that adding and deleting items changes no score.
"""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import log
from typing import Self
from unicodedata import normalize

import numpy as np

from softset.errors import FileError, InputError
from softset.vectors.word_index import WordIndex
from softset.vectors.word_patterns import UNSPACED

K1, B = 0.6, 0.4  # saturation and length normalisation of BM25
MAX_TERMS = 30  # of a set: those with the largest weights; long examples have many terms that say little
MAX_TERM = 100  # characters; longer runs of letters and digits are no words
TOKEN = re.compile(rf"[{UNSPACED}]+|(?:(?![{UNSPACED}])\w)+(?:['\u2019](?:(?![{UNSPACED}])\w)+)*")
NO_STEMMER = "none"

Analyzer = Callable[[str], list[str]]


@cache
def analyzer(language: str) -> Analyzer:
    """Return the function from a text to its terms; the language "none" leaves words unchanged.

    Scripts without spaces between words are cut into overlapping pairs of characters.

    >>> analyzer("english")("The whale's hunters, hunting in 1851")
    ['the', 'whale', 'hunter', 'hunt', 'in', '1851']
    >>> analyzer("none")("東京タワー")
    ['東京', '京タ', 'タワ', 'ワー']
    """
    import Stemmer

    if language not in (NO_STEMMER, *Stemmer.algorithms()):
        known = ", ".join([*Stemmer.algorithms(), NO_STEMMER])
        raise InputError(f"the language {language!r} has no stemmer: use one of {known}")
    stem = str if language == NO_STEMMER else cache(Stemmer.Stemmer(language).stemWord)
    unspaced = re.compile(f"[{UNSPACED}]")

    def analyze(text: str) -> list[str]:
        words = TOKEN.findall(normalize("NFKC", text).lower().replace("\u2019", "'"))
        if not unspaced.search(text):
            return [stem(word) for word in words if len(word) <= MAX_TERM]
        return [term for word in words for term in (_pairs(word) if unspaced.match(word) else [stem(word[:MAX_TERM])])]

    return analyze


def _pairs(run: str) -> list[str]:
    return [run[index : index + 2] for index in range(len(run) - 1)] or [run]


@dataclass(frozen=True, eq=False)
class LexicalIndex:
    """An inverted index of n texts.

    Attributes:
        terms: all terms.
        starts: (t + 1,) where the postings of each term start.
        items: (p,) the texts that contain a term, in ascending order.
        counts: (p,) how often the term occurs in them.
        lengths: (n,) the numbers of terms of the texts.

    >>> index = LexicalIndex.of([["red", "wine"], ["red", "red", "sea"]])
    >>> [values.tolist() for values in index.postings("red")]
    [[0, 1], [1, 2]]
    """

    terms: WordIndex
    starts: np.ndarray
    items: np.ndarray
    counts: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> "LexicalIndex":
        """Return the index of texts, given the terms of each."""
        builder = LexicalIndexBuilder()
        for terms in texts:
            builder.add(terms)
        return builder.build()

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the index as named arrays, for a file."""
        words = self.terms
        named = {"text": np.frombuffer(words.text, np.uint8), "offsets": words.offsets, "hashes": words.hashes}
        named |= {"rows": words.rows, "starts": self.starts, "items": self.items, "counts": self.counts}
        return {f"lexical-{name}": values for name, values in {**named, "lengths": self.lengths}.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the index that `to_arrays` returned as arrays; arrays that do not fit together raise ValueError."""
        names = ("text", "offsets", "hashes", "rows", "starts", "items", "counts", "lengths")
        text, offsets, hashes, rows, starts, items, counts, lengths = (arrays[f"lexical-{name}"] for name in names)
        t = len(hashes)
        fits = len(offsets) == len(starts) == t + 1 and len(rows) == t and items.shape == counts.shape
        fits = fits and (starts[0], starts[-1], offsets[-1]) == (0, len(items), len(text)) and items.ndim == 1
        if not fits or any(values.dtype.kind not in "iu" for values in (starts, items, counts, lengths, offsets)):
            raise ValueError("the arrays of the lexical index do not fit together")
        return cls(WordIndex(text.data, offsets, hashes, rows), starts, items, counts, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def postings(self, term: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the items (p,) that contain a term, and how often it occurs in them."""
        row = self.terms.get_index(term)
        part = slice(0, 0) if row is None else slice(int(self.starts[row]), int(self.starts[row + 1]))
        return np.asarray(self.items[part]), np.asarray(self.counts[part])

    @cached_property
    def average_length(self) -> float:
        """The mean number of terms of a text."""
        return float(np.mean(self.lengths)) if len(self) else 0.0

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a term, which is largest for a term of no text.

        >>> index = LexicalIndex.of([["red", "wine"], ["red", "sea"]])
        >>> index.idf("red") < index.idf("wine") < index.idf("whale")
        True
        """
        frequency = len(self.postings(term)[0])
        return log(1 + (len(self) - frequency + 0.5) / (frequency + 0.5))

    def scores(self, weights: Mapping[str, float], average_length: float) -> np.ndarray:
        """Return the sums (n,) over terms of their weight times c / (c + k), where c is how often the term occurs.

        k grows with the length of the text. With weights whose sum is 1, these are BM25 scores over their upper bound.
        """
        total = np.zeros(len(self))
        k = K1 * (1 - B + B * np.asarray(self.lengths) / (average_length or 1))
        for term, weight in weights.items():
            items, counts = self.postings(term)
            if len(items) and not 0 <= items.min() <= items.max() < len(self):
                raise FileError("the lexical index was changed after it was written: index the items again")
            total[items] += weight * counts / (counts + k[items])
        return total


class LexicalIndexBuilder:
    """Builds the index of texts that arrive one by one."""

    def __init__(self) -> None:
        self._numbers = dict[str, int]()
        self._flat, self._lengths = array("i"), array("i")  # the numbers of all terms, and how many each text has

    def add(self, terms: Sequence[str]) -> None:
        """Add a text, given its terms."""
        numbers = self._numbers
        self._flat.extend([numbers.setdefault(term, len(numbers)) for term in terms])
        self._lengths.append(len(terms))

    def build(self) -> LexicalIndex:
        """Return the index of the texts."""
        lengths, n = np.array(self._lengths, dtype=np.int32), len(self._lengths)
        keys = np.asarray(self._flat, dtype=np.int64) * n + np.repeat(np.arange(n), lengths)
        keys, counts = np.unique(keys, return_counts=True)
        term_of_posting, items = np.divmod(keys, max(n, 1))
        starts = np.searchsorted(term_of_posting, np.arange(len(self._numbers) + 1))
        arrays = (starts.astype(np.int64), items.astype(np.int32), counts.astype(np.int32))
        return LexicalIndex(WordIndex.of(self._numbers), *arrays, lengths)


def term_weights(
    texts: Sequence[Sequence[str]], weights: Sequence[float], statistics: LexicalIndex
) -> dict[str, float]:
    """Return the weight of each term of texts: its idf times its mean saturated count, for the best `MAX_TERMS` terms.

    >>> statistics = LexicalIndex.of([["red", "wine"], ["red", "sea"]])
    >>> {term: round(w, 2) for term, w in term_weights([["red"], ["red", "wine"]], [1, 1], statistics).items()}
    {'wine': 0.22, 'red': 0.11}
    """
    means: dict[str, float] = {}
    for terms, weight in zip(texts, weights, strict=True):
        for term, count in Counter(terms).items():
            means[term] = means.get(term, 0.0) + weight / sum(weights) * count / (count + K1)
    products = {term: mean * statistics.idf(term) for term, mean in sorted(means.items())}
    best = sorted(products, key=lambda term: -products[term])[:MAX_TERMS]
    return {term: products[term] for term in best}
