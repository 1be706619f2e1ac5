"""Word vectors that can be searched by set queries."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from softset.embed.library import vectors_folder
from softset.embed.vocabulary import Vocabulary
from softset.errors import InputError
from softset.retrieval.exact import Ranking
from softset.retrieval.finding import Searchable
from softset.retrieval.plan import Resolved

__all__ = ["WordVectors", "load_words"]


class WordVectors(Vocabulary, Searchable):
    """Words and their vectors, looked up by name and searched by sets.

    >>> import softset
    >>> words = softset.load_words()
    >>> words
    WordVectors('glove-840b-300d', words=33753, dimensions=300)
    >>> words.find("{red, blue, green} & {apple, peach, banana}", top=3)
    0.455  orange  100.00 %
    0.371  purple   99.99 %
    0.370  pink     99.99 %
    >>> words.most_similar(positive=["woman", "king"], negative=["man"], topn=1)
    [('queen', 0.77...)]
    """

    def resolve(self, text: str) -> Resolved:
        """Return the vector that stands for a word or phrase, and how it was found.

        >>> load_words().resolve("Red Wine").how
        'the mean of red, wine'
        """
        found = self.find_entry(text)
        return Resolved(self.vector(found), found.how, found.places)

    def item(self, place: int) -> tuple[str, dict[str, Any] | None]:
        """Return the word at a place; words have no metadata.

        >>> load_words().item(0)
        ('the', None)
        """
        return self.words[place], None

    def most_similar(
        self,
        positive: str | Sequence[str] = (),
        negative: str | Sequence[str] = (),
        topn: int = 10,
        restrict_vocab: int | None = None,
    ) -> list[tuple[str, float]]:
        """Return the words nearest, by cosine, to the mean of unit vectors and negatives of others, as gensim does.

        >>> import softset
        >>> [word for word, _ in softset.load_words().most_similar("banana", topn=3)]
        ['bananas', 'pineapple', 'coconut']
        """
        texts = [[given] if isinstance(given, str) else list(given) for given in (positive, negative)]
        if not any(texts):
            raise InputError("most_similar needs at least one positive or negative word")
        found = [self.find_entry(text) for text in texts[0] + texts[1]]
        signs = np.array([1.0] * len(texts[0]) + [-1.0] * len(texts[1]), dtype=np.float32)
        vectors = np.stack([self.vector(one) for one in found])
        mean = signs @ (vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
        length = np.linalg.norm(mean)
        n = min(restrict_vocab or len(self), len(self))
        scores = self.matrix[:n] @ (mean / length if length else mean) / np.where(self.norms[:n] > 0, self.norms[:n], 1)
        places = np.setdiff1d(np.arange(n), [place for one in found for place in one.places])
        best = Ranking.empty().merged(places, scores[places], topn)
        return [
            (self.words[place], score) for place, score in zip(best.places.tolist(), best.scores.tolist(), strict=True)
        ]


def load_words(name: str | os.PathLike[str] | None = None) -> WordVectors:
    """Return word vectors by name: the bundled GloVe, an import's, or a folder's.

    >>> load_words()["king"].shape
    (300,)
    """
    return WordVectors.open(vectors_folder(name))
