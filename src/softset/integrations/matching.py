"""Matching as bert_score does it: marks such as [CLS] may be matched but count nothing, and [UNK] is a token."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from softset.encoders.base import Encoder, Progress
from softset.encoders.signature import format_signature, parse_signature
from softset.encoders.tokensets import TokenSets, strings
from softset.similarity.idf import Idf
from softset.similarity.metrics.bertscore import BertScore
from softset.similarity.metrics.weights import weigh
from softset.similarity.pairs import Pairs

__all__ = ["Mark", "MatchedBertScore", "MatchingEncoder", "fitted"]

UNKNOWN = "[UNK]"  # one name for what has one number in the model; some tokenisers spell it as the text does
SPACE = " \u2581\u0120"
BLOCK = 1_024  # texts whose vectors are in memory at once while tokens are counted


class Mark(str):
    """A token that the model puts around a text, such as [CLS]."""

    __slots__ = ()


class MatchingEncoder:
    """An encoder whose sets have the marks and the unknown tokens in them; a text without tokens is an empty set.

    >>> import softset
    >>> sets = MatchingEncoder(softset.load_encoder("minilm")).encode([" A red \u4f60. ", " "])
    >>> sets.tokens_of(0), sets.tokens_of(1)
    (['[CLS]', 'a', 'red', '[UNK]', '.', '[SEP]'], [])
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    @property
    def signature(self) -> str:
        """The encoder's, which says that its marks are matched if it has a say in them."""
        given = self.encoder.signature
        facts = parse_signature(given) if ":" in given else {}
        return format_signature({**facts, "special": "matched"}) if "special" in facts else given

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return self.encoder.dimensions

    @cached_property
    def marks(self) -> frozenset[str]:
        """The names of the marks: what is around a text of nothing."""
        around = self.encoder.encode([""]).special
        return frozenset() if around is None or around.tokens is None else frozenset(around.tokens.tolist())

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> TokenSets:
        """Return the sets of texts, without the space around them: to some tokenisers it is a part of the word."""
        sets = self.encoder.encode([text.strip() for text in texts], progress=progress)
        return replace(_whole(sets, self.marks), signature=self.signature)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> np.ndarray:
        """Return the encoder's pooled vectors."""
        return self.encoder.embed(texts, progress=progress)


def _whole(sets: TokenSets, marks: frozenset[str]) -> TokenSets:
    """Return sets with what was kept aside put back where it was in the text."""
    aside = sets.special
    if sets.tokens is None or aside is None or aside.tokens is None:
        return replace(sets, special=None)
    n = len(sets)
    owner = np.concatenate([np.repeat(np.arange(n), one.counts) for one in (sets, aside)])
    tokens = np.concatenate([_marked(sets.tokens, marks), _named(_marked(aside.tokens, marks))])
    counted = ~_are_marks(tokens)
    filled = np.bincount(owner[counted], minlength=n) > 0
    rows = _in_order(sets, aside, owner)
    rows = rows[filled[owner[rows]]]
    return replace(
        sets,
        vectors=np.concatenate([sets.vectors, aside.vectors])[rows],
        offsets=np.concatenate([[0], np.cumsum(np.bincount(owner[rows], minlength=n))]),
        tokens=tokens[rows],
        spans=None if sets.spans is None or aside.spans is None else np.concatenate([sets.spans, aside.spans])[rows],
        special=None,
    )


def _in_order(sets: TokenSets, aside: TokenSets, owner: np.ndarray) -> np.ndarray:
    """Return the places of all rows, text by text, and in a text from its beginning to its end."""
    if sets.spans is None or aside.spans is None:
        return np.argsort(owner, kind="stable")
    spans = np.concatenate([sets.spans, aside.spans])
    return np.lexsort((spans[:, 1], spans[:, 0], owner))


def _marked(tokens: np.ndarray, marks: frozenset[str]) -> np.ndarray:
    return strings([Mark(one) if one in marks else one for one in tokens.tolist()])


def _named(tokens: np.ndarray) -> np.ndarray:
    """Return tokens that were kept aside under the name that they have in the model; space is known to it."""
    return strings([one if isinstance(one, Mark) or not one.strip(SPACE) else UNKNOWN for one in tokens.tolist()])


def _are_marks(tokens: np.ndarray) -> np.ndarray:
    return np.fromiter((isinstance(one, Mark) for one in tokens), dtype=bool, count=len(tokens))


@dataclass(frozen=True, repr=False)
class MatchedBertScore(BertScore):
    """BERTScore over the sets of a `MatchingEncoder`: a mark weighs nothing.

    >>> from softset.encoders.tokensets import TokenSets
    >>> A = TokenSets.from_arrays([[[1.0, 0.0], [0.6, 0.8]]], tokens=[[Mark("[CLS]"), "red"]])
    >>> MatchedBertScore().of_pairs(Pairs.of(A, A)).score.tolist()
    [1.0]
    """

    def shares(self, pairs: Pairs) -> np.ndarray:
        """Return what each row counts in its set's mean, (rows,): equal parts where all tokens weigh nothing."""
        weights = weigh(pairs, self.weights)
        if pairs.tokens is None:
            return pairs.shares(weights)
        counted = (~_are_marks(pairs.tokens)).astype(np.float64)
        weights = weights * counted
        weightless = np.repeat(pairs.sums(weights) == 0, pairs.counts)
        return pairs.shares(np.where(weightless, counted, weights))


def fitted(texts: Sequence[str], encoder: Encoder) -> Idf:
    """Return the weights of the tokens of texts as an encoder cuts them; memory holds the vectors of one block.

    >>> import softset
    >>> encoder = MatchingEncoder(softset.load_encoder("minilm"))
    >>> fitted(["red \u4f60", "red"], encoder)["[UNK]"].__round__(3)
    0.405
    """
    blocks = (encoder.encode(texts[start : start + BLOCK]) for start in range(0, max(len(texts), 1), BLOCK))
    return Idf.counted(blocks)
