"""Texts to token ids, with the place of each token in its text."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from softset.encoders.texts import excerpt
from softset.encoders.tokensets import strings
from softset.errors import FileError
from softset.io.text import first_line

__all__ = ["SubwordTokenizer", "Tokenised", "Tokeniser", "reading"]

SPACE = " \u2581\u0120"  # how sentencepiece and byte-level models spell it
BLOCK = 1024  # texts at a time: what the library returns takes a hundred times the memory of what is kept


@dataclass(frozen=True)
class Tokenised:
    """The tokens of one text, without the marks that a model wants around it."""

    ids: np.ndarray  # (n,)
    tokens: np.ndarray  # (n,) strings
    spans: np.ndarray  # (n, 2) characters of the text
    unknown: np.ndarray  # (n,) the model has no vector of its own for it
    blank: np.ndarray  # (n,) nothing but space, or nothing at all


class Tokeniser(Protocol):
    """What the pipeline wants of a tokeniser: tokens of texts, and what goes before and after each window."""

    prefix: list[tuple[int, str]]
    suffix: list[tuple[int, str]]
    pad: int

    def __call__(self, texts: Sequence[str]) -> Iterator[Tokenised]:
        """Yield the tokens of each text."""
        ...


class SubwordTokenizer:
    """A tokeniser of the `tokenizers` library, told neither to cut nor to pad.

    What a user writes is text: "[SEP]" in a text is five characters, not the model's mark.
    """

    def __init__(
        self, backend: Any, *, unknown: int | None, pad: int, threads: int | None = None, marks: bool = True
    ) -> None:
        backend.no_truncation()
        backend.no_padding()
        backend.encode_special_tokens = True
        self._backend, self._threads, self.pad = backend, threads, pad
        self.prefix, self.suffix = _marks(backend) if marks else ([], [])
        # Some tokenisers read a typed "</s>" as the mark all the same: it says no more than an unknown token.
        special = {number for number, token in backend.get_added_tokens_decoder().items() if token.special}
        self._nameless = frozenset(special | ({unknown} if unknown is not None else set()))

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        pad: int | None = None,
        threads: int | None = None,
        marks: bool = True,
    ) -> Self:
        """Open a tokenizer.json."""
        from tokenizers import Tokenizer

        with Path(path).open("rb") as file:  # the system's own words for a missing file
            content = file.read()
        try:
            backend = Tokenizer.from_buffer(content)
        except Exception as error:  # the library raises nothing more exact
            raise FileError(f"{path} is not a tokenizer.json that can be read ({error}): save it again") from error
        known = (
            backend.token_to_id(name) for name in (getattr(backend.model, "unk_token", None), "[UNK]", "<unk>") if name
        )
        unknown = next((one for one in known if one is not None), None)
        found = (backend.padding or {}).get("pad_id", 0)
        return cls(backend, unknown=unknown, pad=found if pad is None else pad, threads=threads, marks=marks)

    @property
    def size(self) -> int:
        """How many tokens there are, or one more than the largest number of one."""
        return 1 + max(self._backend.get_vocab(with_added_tokens=True).values(), default=-1)

    def __call__(self, texts: Sequence[str]) -> Iterator[Tokenised]:
        """Yield the tokens of each text."""
        for start in range(0, len(texts), BLOCK):
            some = texts[start : start + BLOCK]
            for text, one in zip(some, self._encoded(some), strict=True):
                yield tokenised(text, one.ids, one.tokens, one.offsets, self._nameless)

    def _encoded(self, texts: Sequence[str]) -> list[Any]:
        with reading(*texts):
            # One thread means ours: the library's own pool would take every core.
            if self._threads == 1 or len(texts) == 1:
                return [self._backend.encode(text, add_special_tokens=False) for text in texts]
            return list(self._backend.encode_batch(texts, add_special_tokens=False))


@contextmanager
def reading(*texts: str) -> Iterator[None]:
    """Turn what a tokeniser raises over some texts into one sentence."""
    try:
        yield
    except Exception as error:  # the libraries raise nothing more exact
        which = excerpt(texts[0]) if len(texts) == 1 else f"one of {len(texts)} texts"
        raise FileError(
            f"the model's tokeniser cannot read {which} ({first_line(error)}): mend its tokenizer.json or save it again"
        ) from error


def tokenised(
    text: str, ids: Sequence[int], tokens: Sequence[str], spans: Sequence[tuple[int, int]], nameless: frozenset[int]
) -> Tokenised:
    """Return the tokens of a text with spans that have no space at either end; `nameless` ids stand for no token."""
    # Most tokenisers count no space to a token: one look at what is at the ends of all spans tells.
    edges = {text[at] for begin, end in spans if begin < end for at in (begin, end - 1)}
    if any(map(str.isspace, edges)):
        spans = [_trimmed(text, begin, end) for begin, end in spans]
    return Tokenised(
        np.array(ids, dtype=np.int64),
        strings(tokens),
        np.array(spans, dtype=np.int32).reshape(-1, 2),
        np.array([number in nameless for number in ids], dtype=bool),
        np.array(
            [begin == end or not token.strip(SPACE) for token, (begin, end) in zip(tokens, spans, strict=True)], bool
        ),
    )


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return a span without the space that some tokenisers count to the word after it."""
    while begin < end and text[begin].isspace():
        begin += 1
    while begin < end and text[end - 1].isspace():
        end -= 1
    return begin, end


def _marks(backend: Any) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return the special tokens that the model wants before and after a text."""
    with reading("a"):
        bare, full = (backend.encode("a", add_special_tokens=added) for added in (False, True))
    marked = list(zip(full.ids, full.tokens, strict=True))
    before = next((at for at, special in enumerate(full.special_tokens_mask) if not special), len(marked))
    return marked[:before], marked[before + len(bare.ids) :]
