"""Tokenizers: texts to token ids, with the span of each token in its text."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from softset.encoders.texts import excerpt
from softset.encoders.tokensets import string_array
from softset.io.text import translate_errors
from softset.vectors.formats.model2vec import open_tokenizer

SPACE = " \u2581\u0120"  # the spellings of space in sentencepiece and byte-level models
TEXTS_PER_CALL = 1024  # the library's results take 100 times the memory of the arrays that are made from them

SpecialTokens = list[tuple[int, str]]  # ids and names


@dataclass(frozen=True)
class TokenizedText:
    """The tokens of one text, without special tokens.

    Attributes:
        ids: (n,) token ids.
        tokens: (n,) strings.
        spans: (n, 2) first character and end of each token.
        unknown: (n,) whether the model has no vector for the token.
        known: (n,) whether the token belongs to the set: it is neither unknown nor blank.
    """

    ids: np.ndarray
    tokens: np.ndarray
    spans: np.ndarray
    unknown: np.ndarray
    known: np.ndarray


class Tokenizer:
    """The base class of tokenizers.

    Attributes:
        prefix: the special tokens that the model expects before a text.
        suffix: the special tokens that the model expects after a text.
        pad: the id of the padding token.
    """

    def __init__(self, prefix: SpecialTokens, suffix: SpecialTokens, pad: int) -> None:
        self.prefix, self.suffix, self.pad = prefix, suffix, pad
        self._prefix_ids, self._suffix_ids = (
            np.array([number for number, _ in special], dtype=np.int64) for special in (prefix, suffix)
        )

    def sequence(self, ids: np.ndarray) -> np.ndarray:
        """Return the ids of tokens between those of the special tokens."""
        return np.concatenate([self._prefix_ids, ids, self._suffix_ids])

    def __call__(self, texts: Sequence[str]) -> Iterator[TokenizedText]:
        """Yield the tokens of each text."""
        raise NotImplementedError


class SubwordTokenizer(Tokenizer):
    """A tokenizer of the `tokenizers` library, without truncation and padding.

    "[SEP]" in a text is read as five characters, not as the special token.
    """

    def __init__(
        self, backend: Any, *, unknown: int | None, pad: int, threads: int | None = None, special_tokens: bool = True
    ) -> None:
        backend.no_truncation()
        backend.no_padding()
        backend.encode_special_tokens = True
        prefix, suffix = _special_tokens(backend) if special_tokens else ([], [])
        super().__init__(prefix, suffix, pad)
        self._backend, self._threads = backend, threads
        # Some tokenizers still read "</s>" in a text as the special token; it then counts as unknown.
        special = {number for number, token in backend.get_added_tokens_decoder().items() if token.special}
        self._unknown_ids = frozenset(special | ({unknown} if unknown is not None else set()))

    @classmethod
    def open(
        cls, path: Path, *, pad: int | None = None, threads: int | None = None, special_tokens: bool = True
    ) -> Self:
        """Open a tokenizer.json."""
        backend = open_tokenizer(path)
        names = (getattr(backend.model, "unk_token", None), "[UNK]", "<unk>")
        ids = (backend.token_to_id(name) for name in names if name)
        unknown = next((number for number in ids if number is not None), None)
        default_pad = (backend.padding or {}).get("pad_id", 0)
        pad = default_pad if pad is None else pad
        return cls(backend, unknown=unknown, pad=pad, threads=threads, special_tokens=special_tokens)

    @property
    def size(self) -> int:
        """The largest token id plus 1."""
        return 1 + max(self._backend.get_vocab(with_added_tokens=True).values(), default=-1)

    def __call__(self, texts: Sequence[str]) -> Iterator[TokenizedText]:
        """Yield the tokens of each text."""
        for start in range(0, len(texts), TEXTS_PER_CALL):
            block = texts[start : start + TEXTS_PER_CALL]
            with _tokenizer_errors(*block):
                # `encode_batch` uses the library's thread pool, which takes all cores.
                if self._threads == 1 or len(block) == 1:
                    encodings = [self._backend.encode(text, add_special_tokens=False) for text in block]
                else:
                    encodings = self._backend.encode_batch(block, add_special_tokens=False)
            for text, encoding in zip(block, encodings, strict=True):
                yield _tokenized(text, encoding.ids, encoding.tokens, encoding.offsets, self._unknown_ids)


class SlowTokenizer(Tokenizer):
    """A Python tokenizer of transformers, which does not report spans: each token is searched in the text."""

    def __init__(self, tokenizer: Any, pad: int) -> None:
        bare, full = (tokenizer("a", add_special_tokens=added)["input_ids"] for added in (False, True))
        named = list(zip(full, tokenizer.convert_ids_to_tokens(full), strict=True))
        start = next((start for start in range(len(full)) if full[start : start + len(bare)] == bare), len(full))
        super().__init__(named[:start], named[start + len(bare) :], pad)
        self._tokenizer, self._unknown_ids = tokenizer, frozenset(tokenizer.all_special_ids)

    def __call__(self, texts: Sequence[str]) -> Iterator[TokenizedText]:
        """Yield the tokens of each text."""
        for text in texts:
            with _tokenizer_errors(text):
                tokens = self._tokenizer.tokenize(text, split_special_tokens=True)
                ids = self._tokenizer.convert_tokens_to_ids(tokens)
            yield _tokenized(text, ids, tokens, list(_find_spans(text, tokens)), self._unknown_ids)


def _find_spans(text: str, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the span of each token; a token that is not in the text (it was normalised) gets one character."""
    if [ord(token) for token in tokens if len(token) == 1] == list(text.encode()):  # every token is a byte
        yield from ((index, index + 1) for index, character in enumerate(text) for _ in character.encode())
        return
    end = 0
    for token in tokens:
        piece = token.removeprefix("##").replace("\u2581", "").replace("\u0120", "")
        while end < len(text) and text[end].isspace():
            end += 1
        begin = min(end, max(len(text) - 1, 0))
        length = len(piece) if piece and text[begin : begin + len(piece)].lower() == piece.lower() else 1
        end = min(begin + length, len(text))
        yield begin, end


def _tokenizer_errors(*texts: str) -> AbstractContextManager[None]:
    """Return a context that turns any error of a tokenizer into a FileError."""
    subject = excerpt(texts[0]) if len(texts) == 1 else f"one of {len(texts)} texts"
    advice = "correct its tokenizer.json or save it again"
    return translate_errors(f"the model's tokenizer cannot read {subject}", advice)


def _tokenized(
    text: str, ids: Sequence[int], tokens: Sequence[str], spans: Sequence[tuple[int, int]], unknown_ids: frozenset[int]
) -> TokenizedText:
    """Return the tokens of a text; spaces at the ends of spans are cut off."""
    if any(text[begin].isspace() or text[end - 1].isspace() for begin, end in spans if begin < end):
        spans = [_strip(text, begin, end) for begin, end in spans]
    unknown = np.array([number in unknown_ids for number in ids], dtype=bool)
    visible = [begin < end and bool(token.strip(SPACE)) for token, (begin, end) in zip(tokens, spans, strict=True)]
    return TokenizedText(
        np.array(ids, dtype=np.int64),
        string_array(tokens),
        np.array(spans, dtype=np.int32).reshape(-1, 2),
        unknown,
        np.array(visible, dtype=bool) & ~unknown,
    )


def _strip(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return a span without leading and trailing spaces."""
    begin = end - len(text[begin:end].lstrip())
    return begin, begin + len(text[begin:end].rstrip())


def _special_tokens(backend: Any) -> tuple[SpecialTokens, SpecialTokens]:
    """Return the special tokens that the model expects before and after a text."""
    with _tokenizer_errors("a"):
        bare, full = (backend.encode("a", add_special_tokens=added) for added in (False, True))
    named = list(zip(full.ids, full.tokens, strict=True))
    before = next((index for index, special in enumerate(full.special_tokens_mask) if not special), len(named))
    return named[:before], named[before + len(bare.ids) :]
