"""Encoders without context: the vector of a token is looked up and is the same in every text."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.encoders.base import Progress, TextEncoder
from softset.encoders.models import read_moment
from softset.encoders.network import Network
from softset.encoders.pipeline import ContextualEncoder, PipelineOptions
from softset.encoders.signature import format_signature
from softset.encoders.texts import check_texts
from softset.encoders.tokenizer import SubwordTokenizer
from softset.encoders.tokensets import TokenSets, string_array
from softset.vectors.formats.model2vec import embedding_table
from softset.vectors.matching import WordMatch
from softset.vectors.rows import l2_l1_norms
from softset.vectors.vocabulary import Vocabulary
from softset.vectors.word_patterns import INVISIBLE, WORD

TEXTS_PER_REPORT = 256  # one text takes 20 microseconds to 3 seconds (the longest one that is allowed)
CACHED_WORDS = 1 << 17  # most words of a text also occur in the texts before it


class WordsEncoder(TextEncoder):
    """An encoder of word vectors: each word of a text is looked up as it is spelled, then in lower case.

    A hyphenated word, or a word with an apostrophe, that is not in the vocabulary gets the mean of its parts.
    Punctuation is left out. Out-of-vocabulary words are counted in `unknown`.

    >>> words = Vocabulary.of(["red", "book"], [[2, 0], [0, 4]])
    >>> sets = WordsEncoder(words).encode(["A red book.", "qwerty"])
    >>> sets.vectors.tolist(), sets.counts.tolist(), sets.unknown.tolist()
    ([[2.0, 0.0], [0.0, 4.0]], [2, 0], [1, 1])
    """

    def __init__(self, vocabulary: Vocabulary, *, moments: Path | None = None) -> None:
        self.vocabulary, self._moments = vocabulary, moments
        self._cached_entry = lru_cache(CACHED_WORDS)(self._entry)

    @property
    def signature(self) -> str:
        """The vectors with their checksum, and the preprocessing."""
        words = self.vocabulary
        name = f"words({words.name}){'@' + words.checksum[:8] if words.checksum else ''}"
        preprocessing = None if words.preprocessing == "none" else words.preprocessing
        return format_signature({"encoder": name, "preprocessing": preprocessing})

    @property
    def stable(self) -> bool:
        """Whether the signature identifies the vectors: vectors that are in no file have no checksum."""
        return bool(self.vocabulary.checksum)

    @property
    def dimensions(self) -> int:
        """The dimension d of the vectors."""
        return self.vocabulary.dimensions

    @property
    def second_moment(self) -> np.ndarray | None:
        """The second moment (d, d) of unit token vectors, or None if it was not measured."""
        return read_moment(self._moments, "words")

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of words of each text, out-of-vocabulary words included."""
        return [sum(1 for _ in WORD.finditer(text)) for text in check_texts(texts)]

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        entries: list[tuple[int, ...]] = []
        tokens: list[str] = []
        spans: list[tuple[int, int]] = []
        ends, unknown = np.zeros((2, len(texts)), dtype=np.int64)
        for index, text in enumerate(texts):
            for match in WORD.finditer(text):
                entry = self._cached_entry(match[0])
                if entry is None:
                    unknown[index] += 1
                    continue
                entries.append(entry.indices)
                tokens.append(match[0])
                spans.append(match.span())
            ends[index] = len(entries)
            if progress is not None and index % TEXTS_PER_REPORT == 0:
                progress(index, len(texts))
        if progress is not None:
            progress(len(texts), len(texts))
        original = self.vocabulary.original  # the vectors before preprocessing
        return TokenSets(
            _vectors(self.vocabulary, entries),
            np.concatenate([np.zeros(1, dtype=np.int64), ends]),
            string_array(tokens),
            np.array(spans, dtype=np.int32).reshape(-1, 2),
            None,
            np.zeros(len(texts), dtype=np.int64),
            unknown,
            self.signature,
            None if original is self.vocabulary else l2_l1_norms(_vectors(original, entries)),
        )

    def _entry(self, word: str) -> WordMatch | None:
        """Return the entry of a word, or else of the word without invisible characters such as soft hyphens."""
        entry = self.vocabulary.get_match(word)
        return entry if entry is not None or word.isascii() else self.vocabulary.get_match(INVISIBLE.sub("", word))

    def _embed(self, texts: Sequence[str], progress: Progress | None) -> np.ndarray:
        """Return the mean of unit vectors: frequent words have long vectors but carry little meaning."""
        sets = self._encode(texts, progress)
        return replace(sets, vectors=unit_rows(sets.vectors, np.float32)).means()


def _vectors(vocabulary: Vocabulary, entries: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Return one vector per entry (n, d): the row of the word, or the mean of the rows of its parts."""
    distinct = sorted({row for entry in entries for row in entry})
    position = dict(zip(distinct, range(len(distinct)), strict=True))
    table = vocabulary.take(distinct).astype(np.float32, copy=False)
    if not entries:
        return np.zeros((0, vocabulary.dimensions), dtype=np.float32)
    vectors: np.ndarray = table[np.array([position[entry[0]] for entry in entries], dtype=np.int64)]
    for index, entry in enumerate(entries):
        if len(entry) > 1:
            vectors[index] = table[[position[row] for row in entry]].mean(axis=0)
    return vectors


class TableNetwork(Network):
    """A table with one vector per token: ids (b, L) in, rows (b, L, d) out."""

    def __init__(self, table: np.ndarray, identity: str) -> None:
        self._table, self.identity, self.dimensions = table, identity, int(table.shape[1])

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:  # noqa: ARG002 (the interface of networks)
        """Return the rows of the tokens."""
        return np.asarray(self._table[ids])


class TableEncoder(ContextualEncoder):
    """The pipeline with a table: unknown tokens, whose rows have no meaning, are not in the pooled vector either."""

    def _embed(self, texts: Sequence[str], progress: Progress | None) -> np.ndarray:
        return self._encode_tokens(texts, progress).means()


def open_model2vec(folder: Path, identity: str, options: PipelineOptions) -> TableEncoder:
    """Open a model2vec folder: its table, and its tokenizer without special tokens."""
    tokenizer = SubwordTokenizer.open(folder / "tokenizer.json", threads=options.threads, special_tokens=False)
    return TableEncoder(tokenizer, TableNetwork(embedding_table(folder, tokenizer.size), identity), options)
