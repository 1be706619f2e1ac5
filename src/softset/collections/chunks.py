"""Chunks: the parts of a text that have a vector of their own, so that two sets may hold in two places of a text."""

import re
from collections.abc import Sequence
from typing import Literal, get_args

from softset.errors import InputError

__all__ = ["Chunking", "check_chunking", "split_text"]

Chunking = Literal["sentence", "window", "token", "none"]
Span = tuple[int, int]

# A sentence ends at punctuation before a space, at an ideographic full stop, or at a blank line.
SENTENCE = re.compile(r"\S.*?(?:[.!?][\"'\u201d\u2019)\]]*(?=\s)|[\u3002\uff01\uff1f]+|(?=\n\s*\n)|\Z)", re.DOTALL)
WORD = re.compile(r"\S+")
MIN_WORDS = 4  # of a sentence; a shorter one is joined with the next, because it says little by itself
MAX_WORDS = 80  # of a chunk; longer sentences are cut
WINDOW_WORDS = 60  # of a window of sentences


def check_chunking(chunks: str) -> Chunking:
    """Return the name of a way to split texts, or raise InputError."""
    if chunks not in get_args(Chunking):
        raise InputError(f"chunks must be one of {', '.join(get_args(Chunking))}, but {chunks!r} was given")
    return chunks  # type: ignore[return-value]


def split_text(text: str, chunks: Chunking) -> list[Span]:
    """Return the positions of the sentences or windows of a text, or nothing if the text is a single one.

    >>> text = "Ahab hunts a white whale. He lost his leg to it. The crew is afraid of them both."
    >>> [text[start:stop] for start, stop in split_text(text, "sentence")]
    ['Ahab hunts a white whale.', 'He lost his leg to it.', 'The crew is afraid of them both.']
    >>> split_text(text, "window"), split_text(text, "none")
    ([], [])
    """
    if chunks not in ("sentence", "window"):
        return []
    sentences = _join_short([part for match in SENTENCE.finditer(text) for part in _cut(text, match.span())], text)
    spans = sentences if chunks == "sentence" else _windows(sentences, text)
    return spans if len(spans) > 1 else []


def _count(text: str, span: Span) -> int:
    return sum(1 for _ in WORD.finditer(text, *span))


def _cut(text: str, span: Span) -> list[Span]:
    """Cut a long sentence into parts of at most `MAX_WORDS` words."""
    words = list(WORD.finditer(text, *span))
    parts = [words[start : start + MAX_WORDS] for start in range(0, len(words), MAX_WORDS)]
    return [(part[0].start(), part[-1].end()) for part in parts]


def _join_short(spans: Sequence[Span], text: str) -> list[Span]:
    """Join sentences of fewer than `MIN_WORDS` words with the next one, and the last with the one before it."""
    joined: list[Span] = []
    is_short = False
    for start, stop in spans:
        if is_short:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
        is_short = _count(text, joined[-1]) < MIN_WORDS
    if is_short and len(joined) > 1:
        joined[-2:] = [(joined[-2][0], joined[-1][1])]
    return joined


def _windows(sentences: Sequence[Span], text: str) -> list[Span]:
    """Return runs of sentences of about `WINDOW_WORDS` words; each starts with the last sentence of the one before."""
    counts, windows, first, total = [_count(text, span) for span in sentences], list[Span](), 0, 0
    for index, count in enumerate(counts):
        if total and total + count > WINDOW_WORDS:
            windows.append((sentences[first][0], sentences[index - 1][1]))
            first = index - 1 if counts[index - 1] + count <= WINDOW_WORDS else index
            total = sum(counts[first:index])
        total += count
    return [*windows, (sentences[first][0], sentences[-1][1])] if sentences else []
