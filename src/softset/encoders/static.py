"""Encoders without context: a token's vector is looked up, so it is exactly the same in every text and batch."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from softset.encoders.base import Progress, TextEncoder
from softset.encoders.moments import read_moment
from softset.encoders.network import SequentialNetwork
from softset.encoders.pipeline import ContextualEncoder, PipelineOptions
from softset.encoders.signature import format_signature
from softset.encoders.texts import check_texts
from softset.encoders.tokenizer import SubwordTokenizer
from softset.encoders.tokensets import TokenSets, strings
from softset.vectors.formats.model2vec import embedding_table
from softset.vectors.matching import WordMatch
from softset.vectors.rows import l2_l1_norms
from softset.vectors.vocabulary import Vocabulary
from softset.vectors.word_patterns import INVISIBLE, WORD

__all__ = ["TableEncoder", "TableNetwork", "WordsEncoder", "open_model2vec"]


class WordsEncoder(TextEncoder):
    """Word vectors as an encoder: a text's words that have one, by their spelling or in lower case.

    A word with an apostrophe or a hyphen that has no vector itself stands for the mean of its parts. Punctuation is
    left out; words without a vector are counted in `unknown`.

    >>> words = Vocabulary.of(["red", "book"], [[2, 0], [0, 4]])
    >>> sets = WordsEncoder(words).encode(["A red book.", "qwerty"])
    >>> sets.vectors.tolist(), sets.counts.tolist(), sets.unknown.tolist()
    ([[2.0, 0.0], [0.0, 4.0]], [2, 0], [1, 1])
    """

    def __init__(self, vocabulary: Vocabulary, *, moments: Path | None = None) -> None:
        self.vocabulary, self._moments = vocabulary, moments
        self._entry = lru_cache(1 << 17)(self._look_up)  # a text's words are mostly those of the text before

    @property
    def signature(self) -> str:
        """The vectors with their checksum, and what was done to them."""
        words = self.vocabulary
        named = f"words({words.name}){'@' + words.checksum[:8] if words.checksum else ''}"
        done = words.preprocessing
        return format_signature({"encoder": named, "preprocessing": None if done == "none" else done})

    @property
    def stable(self) -> bool:
        """Whether the signature says all: vectors that are in no file have no checksum."""
        return bool(self.vocabulary.checksum)

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return self.vocabulary.dimensions

    @property
    def second_moment(self) -> np.ndarray | None:
        """The second moment (d, d) of unit token vectors, where it is known: shipped with the bundled vectors."""
        return None if self._moments is None else read_moment(self._moments, "words")

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return how many words each text has, with a vector or without.

        >>> WordsEncoder(Vocabulary.of(["red", "book"], [[2, 0], [0, 4]])).count_tokens(["A red book.", "qwerty"])
        [3, 1]
        """
        return [sum(1 for _ in WORD.finditer(text)) for text in check_texts(texts)]

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        found = [self._find(text) for text in texts]
        places = [place for places, *_ in found for place in places]
        vectors = _vectors(self.vocabulary, places)
        counts = np.array([len(places) for places, *_ in found], dtype=np.int64)
        if progress is not None:
            progress(len(texts), len(texts))
        return TokenSets(
            vectors,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            strings([token for _, tokens, *_ in found for token in tokens]),
            np.array([span for _, _, spans, _ in found for span in spans], dtype=np.int32).reshape(-1, 2),
            None,
            np.zeros(len(texts), dtype=np.int64),
            np.array([unknown for *_, unknown in found], dtype=np.int64),
            self.signature,
            self._lengths(places),
        )

    def _lengths(self, places: Sequence[tuple[int, ...]]) -> np.ndarray | None:
        """Return the lengths of the words' own vectors, if these have been changed."""
        own = self.vocabulary.original
        return None if own is self.vocabulary else l2_l1_norms(_vectors(own, places))

    def _look_up(self, word: str) -> WordMatch | None:
        """Return the entry of a word, as it is or else without what cannot be seen in it, such as a soft hyphen."""
        found = self.vocabulary.get_match(word)
        return found if found is not None or word.isascii() else self.vocabulary.get_match(INVISIBLE.sub("", word))

    def _find(self, text: str) -> tuple[list[tuple[int, ...]], list[str], list[tuple[int, int]], int]:
        """Return the entries of a text's words, the words, their spans, and how many have no vector."""
        places, tokens, spans, unknown = [], [], [], 0
        for match in WORD.finditer(text):
            found = self._entry(match[0])
            if found is None:
                unknown += 1
            else:
                places.append(found.indices)
                tokens.append(match[0])
                spans.append(match.span())
        return places, tokens, spans, unknown

    def _pool(self, sets: TokenSets) -> np.ndarray:
        """Return the mean of vectors of length 1: frequent words have long vectors, and say little."""
        lengths = np.linalg.norm(sets.vectors, axis=1, keepdims=True)
        unit = sets.vectors / np.where(lengths > 0, lengths, 1)
        return TokenSets(unit, sets.offsets, None, None, None, sets.truncated, sets.unknown).means()


def _vectors(vocabulary: Vocabulary, places: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Return one vector for each entry (n, d): the word's own, or the mean of its parts."""
    distinct = sorted({one for place in places for one in place})
    rows = dict(zip(distinct, range(len(distinct)), strict=True))
    table = vocabulary.take(distinct).astype(np.float32, copy=False)
    one_each = np.array([rows[place[0]] for place in places], dtype=np.int64)
    vectors: np.ndarray = table[one_each] if places else np.zeros((0, vocabulary.dimensions), dtype=np.float32)
    for at, place in enumerate(places):
        if len(place) > 1:
            vectors[at] = table[[rows[one] for one in place]].mean(axis=0)
    return vectors


class TableNetwork(SequentialNetwork):
    """A table of vectors, one a token: ids (b, L) in, rows (b, L, d) out."""

    layer = None
    longest = None
    alone = False
    precision = None

    def __init__(self, table: np.ndarray, identity: str) -> None:
        self._table, self.identity, self.dimensions = table, identity, int(table.shape[1])

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:  # noqa: ARG002 (a network's signature)
        """Return the rows of the tokens."""
        rows: np.ndarray = self._table[ids]
        return rows


class TableEncoder(ContextualEncoder):
    """The pipeline without context: unknown tokens, whose row says nothing, stay out of the pooled vector as well."""

    def _pool(self, sets: TokenSets) -> np.ndarray:
        return sets.means()


def open_model2vec(folder: Path, identity: str, options: PipelineOptions, threads: int) -> TableEncoder:
    """Open a model2vec folder: its tokeniser, without the marks of the model it was distilled from, and its table."""
    tokeniser = SubwordTokenizer.open(folder / "tokenizer.json", threads=threads, marks=False)
    return TableEncoder(tokeniser, TableNetwork(embedding_table(folder, tokeniser.size), identity), options)
