"""Sub-words merged to words: the mean of the vectors of a word's pieces.

In scripts without spaces tokens stay as the model cut them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from softset.encoders.tokensets import TokenSets, strings
from softset.vectors.rows import group_means
from softset.vectors.word_patterns import SPACED_WORD

if TYPE_CHECKING:
    import re

__all__ = ["merged_to_words"]


def merged_to_words(sets: TokenSets, texts: Sequence[str]) -> TokenSets:
    """Return token sets whose tokens are words of the texts; the pieces need spans."""
    assert sets.spans is not None and sets.tokens is not None  # noqa: S101, PT018 (the pipeline always has them)
    begins, spans, tokens, counts = [], [], [], []
    for at, text in enumerate(texts):
        row = int(sets.offsets[at])
        groups = _groups(text, sets.spans[row : int(sets.offsets[at + 1])])
        begins += [row + first for first, _, _ in groups]
        spans += [(begin, end) for _, begin, end in groups]
        tokens += [text[begin:end] if end > begin else sets.tokens[row + first] for first, begin, end in groups]
        counts.append(len(groups))
    return TokenSets(
        group_means(sets.vectors, begins, sets.vectors.dtype),
        np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
        strings(tokens),
        np.array(spans, dtype=np.int32).reshape(-1, 2),
        sets.special,
        sets.truncated,
        sets.unknown,
        sets.signature,
    )


def _groups(text: str, spans: np.ndarray) -> list[tuple[int, int, int]]:
    """Return the first piece, the beginning and the end of each word; the pieces of one character belong together.

    A word's span is all of it, also where a model's pieces skip an accent.
    """
    words = iter(SPACED_WORD.finditer(text))
    word = next(words, None)
    groups: list[tuple[int, int, int]] = []
    current: re.Match[str] | None = None
    for piece, (begin, end) in enumerate(spans.tolist()):
        while word is not None and word.end() <= begin:
            word = next(words, None)
        inside = word if word is not None and word.start() <= begin < end else None  # a mark has no length
        same_word = inside is not None and inside is current
        same_character = bool(groups) and begin < groups[-1][2] and begin < end
        if same_word or same_character:
            first, start, stop = groups[-1]
            groups[-1] = (first, start, max(stop, end))
        else:
            groups.append((piece, begin, end) if inside is None else (piece, inside.start(), max(inside.end(), end)))
        current = inside
    return groups
