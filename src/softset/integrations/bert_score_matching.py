"""Token matching as in bert_score: special tokens such as [CLS] can be matched but have no weight."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from softset.encoders.base import Encoder, Progress
from softset.encoders.signature import format_signature, parse_signature
from softset.encoders.tokensets import TokenSets, string_array
from softset.similarity.idf import Idf
from softset.similarity.metrics.bertscore import BertScore
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.metrics.weights import token_weights

UNKNOWN = "[UNK]"  # some tokenizers spell an unknown token as the text does
SPACE = " \u2581\u0120"
IDF_BATCH = 1_024  # texts whose vectors are in memory at once while tokens are counted


class SpecialToken(str):
    """A token that the model adds to a text, such as [CLS]."""

    __slots__ = ()


class MatchingEncoder:
    """An encoder whose sets include special and unknown tokens; a text without other tokens is an empty set.

    >>> import softset
    >>> sets = MatchingEncoder(softset.load_encoder("minilm")).encode([" A red \u4f60. ", " "])
    >>> sets.tokens_of(0), sets.tokens_of(1)
    (['[CLS]', 'a', 'red', '[UNK]', '.', '[SEP]'], [])
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    @property
    def signature(self) -> str:
        """The signature of the encoder, with special:matched if the encoder has special tokens."""
        signature = self.encoder.signature
        facts = parse_signature(signature) if ":" in signature else {}
        return format_signature({**facts, "special": "matched"}) if "special" in facts else signature

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return self.encoder.dimensions

    @cached_property
    def special_tokens(self) -> frozenset[str]:
        """The special tokens: those that the model adds to an empty text."""
        added = self.encoder.encode([""]).special
        return frozenset() if added is None or added.tokens is None else frozenset(added.tokens.tolist())

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> TokenSets:
        """Return the sets of texts; surrounding spaces are removed, because some tokenizers add them to a word."""
        sets = self.encoder.encode([text.strip() for text in texts], progress=progress)
        return replace(_with_special_tokens(sets, self.special_tokens), signature=self.signature)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> np.ndarray:
        """Return the encoder's pooled vectors."""
        return self.encoder.embed(texts, progress=progress)


def _with_special_tokens(sets: TokenSets, special_tokens: frozenset[str]) -> TokenSets:
    """Return sets that include their special and unknown tokens, in the order of the text."""
    special = sets.special
    if sets.tokens is None or special is None or special.tokens is None:
        return replace(sets, special=None)
    n = len(sets)
    owner = np.concatenate([np.repeat(np.arange(n), part.counts) for part in (sets, special)])
    tokens = np.concatenate([_mark(sets.tokens, special_tokens), _name_unknown(_mark(special.tokens, special_tokens))])
    filled = np.bincount(owner[~_are_special(tokens)], minlength=n) > 0
    spans = None
    if sets.spans is not None and special.spans is not None:
        spans = np.concatenate([sets.spans, special.spans])
    rows = np.argsort(owner, kind="stable") if spans is None else np.lexsort((spans[:, 1], spans[:, 0], owner))
    rows = rows[filled[owner[rows]]]
    return replace(
        sets,
        vectors=np.concatenate([sets.vectors, special.vectors])[rows],
        offsets=np.concatenate([[0], np.cumsum(np.bincount(owner[rows], minlength=n))]),
        tokens=tokens[rows],
        spans=None if spans is None else spans[rows],
        special=None,
    )


def _mark(tokens: np.ndarray, special_tokens: frozenset[str]) -> np.ndarray:
    return string_array([SpecialToken(token) if token in special_tokens else token for token in tokens.tolist()])


def _name_unknown(tokens: np.ndarray) -> np.ndarray:
    """Return tokens with all unknown ones called [UNK]; a token of spaces is known."""
    return string_array(
        [token if isinstance(token, SpecialToken) or not token.strip(SPACE) else UNKNOWN for token in tokens.tolist()]
    )


def _are_special(tokens: np.ndarray) -> np.ndarray:
    return np.fromiter((isinstance(token, SpecialToken) for token in tokens), dtype=bool, count=len(tokens))


@dataclass(frozen=True, repr=False)
class MatchedBertScore(BertScore):
    """BERTScore over the sets of a `MatchingEncoder`: special tokens have no weight, and F is not limited."""

    def _combine(self, P: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return 2 P R / (P + R), also if the signs differ; 0 if the sum is 0."""
        total = P + R
        return np.asarray(np.where(total == 0, 0.0, 2 * P * R / np.where(total == 0, 1.0, total)))

    def token_weights(self, pairs: Pairs) -> np.ndarray:
        """Return the weight of each row in its set's mean, (rows,): equal weights where all idf weights are 0."""
        weights = token_weights(pairs, self.weights)
        if pairs.tokens is None:
            return pairs.normalized(weights)
        counted = (~_are_special(pairs.tokens)).astype(np.float64)
        weights = weights * counted
        weightless = np.repeat(pairs.sums(weights) == 0, pairs.counts)
        return pairs.normalized(np.where(weightless, counted, weights))


def fit_idf(texts: Sequence[str], encoder: Encoder) -> Idf:
    """Return the idf weights of the tokens of texts; memory holds the vectors of one batch."""
    starts = range(0, max(len(texts), 1), IDF_BATCH)
    return Idf.count(encoder.encode(texts[start : start + IDF_BATCH]) for start in starts)
