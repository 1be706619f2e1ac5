"""The token matching of bert_score: special tokens can be matched, but have no weight of their own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from softset.encoders.base import Encoder, Progress, TextEncoder
from softset.encoders.signature import format_signature, parse_signature
from softset.encoders.tokensets import TokenSets, offsets_from_counts, string_array
from softset.runtime.progress import ProgressOption
from softset.similarity.metrics.bertscore import BertScore
from softset.similarity.metrics.pairs import Pairs
from softset.similarity.metrics.weights import token_weights

UNKNOWN = "[UNK]"  # some tokenizers spell an unknown token as the text does
SPACE = " \u2581\u0120"


def encoder_facts(encoder: Encoder) -> dict[str, str]:
    """Return the facts in an encoder's signature; a signature of another form has none."""
    return parse_signature(encoder.signature) if ":" in encoder.signature else {}


class SpecialToken(str):
    """A token that the model adds to a text, such as [CLS]."""

    __slots__ = ()


class MatchingEncoder(TextEncoder):
    """An encoder whose sets include special and unknown tokens; a text without other tokens is an empty set."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    @property
    def signature(self) -> str:
        """The signature of the encoder, with special:matched if the encoder has special tokens."""
        facts = encoder_facts(self.encoder)
        return format_signature({**facts, "special": "matched"}) if "special" in facts else self.encoder.signature

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return self.encoder.dimensions

    @cached_property
    def special_tokens(self) -> frozenset[str]:
        """The special tokens: those that the model adds to an empty text."""
        added = self.encoder.encode([""]).special
        return frozenset() if added is None or added.tokens is None else frozenset(added.tokens.tolist())

    def encode(self, texts: Sequence[str], *, progress: ProgressOption = None) -> TokenSets:
        """Return the sets of texts; surrounding spaces are removed, because some tokenizers add them to a word."""
        return super().encode([text.strip() for text in texts], progress=progress)

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        sets = self.encoder.encode(texts, progress=progress)
        return replace(_with_special_tokens(sets, self.special_tokens), signature=self.signature)

    def _embed(self, texts: Sequence[str], progress: Progress | None) -> np.ndarray:
        return self.encoder.embed(texts, progress=progress)


def _with_special_tokens(sets: TokenSets, special_tokens: frozenset[str]) -> TokenSets:
    """Return sets that include their special and unknown tokens, in the order of the text."""
    special = sets.special
    if sets.tokens is None or special is None or special.tokens is None:
        return replace(sets, special=None)
    n = len(sets)
    owner = np.concatenate([np.repeat(np.arange(n), part.counts) for part in (sets, special)])
    named = [*sets.tokens.tolist(), *(token if token in special_tokens else _name(token) for token in special.tokens)]
    tokens = string_array([SpecialToken(token) if token in special_tokens else token for token in named])
    filled = np.bincount(owner[~_are_special(tokens)], minlength=n) > 0
    spans = None
    if sets.spans is not None and special.spans is not None:
        spans = np.concatenate([sets.spans, special.spans])
    rows = np.argsort(owner, kind="stable") if spans is None else np.lexsort((spans[:, 1], spans[:, 0], owner))
    rows = rows[filled[owner[rows]]]
    return replace(
        sets,
        vectors=np.concatenate([sets.vectors, special.vectors])[rows],
        offsets=offsets_from_counts(np.bincount(owner[rows], minlength=n)),
        tokens=tokens[rows],
        spans=None if spans is None else spans[rows],
        special=None,
    )


def _name(token: str) -> str:
    """Return the name of a token that the model does not know, [UNK]; a token of spaces is known."""
    return UNKNOWN if token.strip(SPACE) else token


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
