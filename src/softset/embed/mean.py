"""One vector for a text: the mean of its words' vectors. The simplest encoder there is, and a strong baseline."""

import re
from collections.abc import Sequence

import numpy as np

from softset.embed.vocabulary import Vocabulary

__all__ = ["MeanOfWords"]

WORD = re.compile(r"\w+(?:['\u2019\-]\w+)*")  # with inner apostrophes, straight or curved, and hyphens


class MeanOfWords:
    """Texts to vectors (n, d): the mean over their words that have a vector, of length 1 each; zero if none has.

    >>> encode = MeanOfWords(Vocabulary.of(["red", "book"], [[2, 0], [0, 4]]))
    >>> encode(["A red book.", "qwerty"])
    array([[0.5, 0.5],
           [0. , 0. ]], dtype=float32)
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary.normalised()

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return one vector a text."""
        return np.stack([self._mean(text) for text in texts]) if texts else self._vocabulary.take([])

    def _mean(self, text: str) -> np.ndarray:
        found = (self._vocabulary.entry(word) for word in WORD.findall(text))
        places = [place for one in found if one is not None for place in one.places]
        if not places:
            return np.zeros(self._vocabulary.dimensions, dtype=np.float32)
        mean: np.ndarray = self._vocabulary.take(places).mean(axis=0)
        return mean
