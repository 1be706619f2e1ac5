"""Collection of token vectors into TokenSets, and the merge of sub-words into words.

The rows of a text are: special tokens before it, its tokens, special tokens after it. Rows that belong to the set go
to one array and the other rows to a second array, both in the order of the texts.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from softset.encoders.batching import Window
from softset.encoders.tokenizer import TokenizedText, Tokenizer
from softset.encoders.tokensets import TokenSets, offsets_from_counts, string_array
from softset.vectors.rows import group_means
from softset.vectors.word_patterns import SPACED_WORD

if TYPE_CHECKING:
    import re


class RowCollector:
    """The rows of some texts, filled window by window in any order."""

    def __init__(
        self,
        texts: Sequence[str],
        tokenized: Sequence[TokenizedText],
        windows: Sequence[Sequence[Window]],
        tokenizer: Tokenizer,
        dimensions: int,
        *,
        special_tokens: bool,
    ) -> None:
        self._tokenized, self._windows = tokenized, windows
        self._before, self._after = (
            string_array([name for _, name in special]) for special in (tokenizer.prefix, tokenizer.suffix)
        )
        described = [self._describe(*text, special_tokens) for text in zip(texts, tokenized, windows, strict=True)]
        self._begins = np.cumsum([0, *(len(tokens) for tokens, _, _ in described)], dtype=np.int64)
        no_rows = (string_array([]), np.zeros((0, 2), dtype=np.int32), np.zeros(0, dtype=bool))
        self._tokens, self._spans, self._in_set = map(np.concatenate, zip(no_rows, *described, strict=True))
        self._target = np.where(self._in_set, np.cumsum(self._in_set), np.cumsum(~self._in_set)) - 1
        members = int(self._in_set.sum())
        self._vectors = np.empty((members, dimensions), dtype=np.float32)
        self._others = np.empty((len(self._in_set) - members, dimensions), dtype=np.float32)

    def _describe(
        self, text: str, tokenized: TokenizedText, plan: Sequence[Window], special_tokens: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the tokens and spans of all rows of a text, and its rows in the set (none without known tokens)."""
        n, before, after = plan[-1].stop, len(self._before), len(self._after)
        spans = np.zeros((before + n + after, 2), dtype=np.int32)
        spans[before : before + n], spans[before + n :] = tokenized.spans[:n], len(text)
        known = tokenized.known[:n]
        in_set = np.full(len(spans), special_tokens and bool(known.any()))
        in_set[before : before + n] = known
        return np.concatenate([self._before, tokenized.tokens[:n], self._after]), spans, in_set

    def add(self, index: int, window: Window, vectors: np.ndarray) -> None:
        """Copy the used rows of a window of text `index` from its vectors (L, d), special tokens included.

        Different windows fill different rows, so several threads may call this at the same time.
        """
        plan, before = self._windows[index], len(self._before)
        begin = 0 if window is plan[0] else before + window.begin
        end = before + window.end + (len(self._after) if window is plan[-1] else 0)
        rows = slice(int(self._begins[index]) + begin, int(self._begins[index]) + end)
        used = vectors[begin - window.start : end - window.start]
        in_set, target = self._in_set[rows], self._target[rows]
        self._vectors[target[in_set]] = used[in_set]
        self._others[target[~in_set]] = used[~in_set]

    def token_sets(self, signature: str) -> TokenSets:
        """Return the token sets, after all windows were added."""
        tokens, spans = self._tokens, self._spans
        pairs = [(text, plan[-1].stop) for text, plan in zip(self._tokenized, self._windows, strict=True)]
        unknown = np.array([text.unknown[:n].sum() for text, n in pairs], dtype=np.int64)
        truncated = np.array([text.known[n:].sum() for text, n in pairs], dtype=np.int64)
        zeros = np.zeros(len(pairs), dtype=np.int64)
        inside, outside = self._in_set, ~self._in_set
        offsets, other_offsets = (np.concatenate([[0], np.cumsum(rows)])[self._begins] for rows in (inside, outside))
        special = TokenSets(self._others, other_offsets, tokens[outside], spans[outside], None, zeros, zeros, signature)
        return TokenSets(self._vectors, offsets, tokens[inside], spans[inside], special, truncated, unknown, signature)


def merge_words(sets: TokenSets, texts: Sequence[str]) -> TokenSets:
    """Return token sets of words: the vector of a word is the mean of the vectors of its sub-words.

    Tokens of scripts without spaces are not merged.
    """
    assert sets.spans is not None and sets.tokens is not None  # noqa: S101, PT018 (the pipeline always has them)
    begins, spans, tokens, counts = [], [], [], []
    for index, text in enumerate(texts):
        row = int(sets.offsets[index])
        words = _word_groups(text, sets.spans[row : int(sets.offsets[index + 1])])
        begins += [row + first for first, _, _ in words]
        spans += [(begin, end) for _, begin, end in words]
        tokens += [text[begin:end] if end > begin else sets.tokens[row + first] for first, begin, end in words]
        counts.append(len(words))
    return TokenSets(
        group_means(sets.vectors, begins, sets.vectors.dtype),
        offsets_from_counts(np.array(counts, dtype=np.int64)),
        string_array(tokens),
        np.array(spans, dtype=np.int32).reshape(-1, 2),
        sets.special,
        sets.truncated,
        sets.unknown,
        sets.signature,
    )


def _word_groups(text: str, spans: np.ndarray) -> list[tuple[int, int, int]]:
    """Return the first sub-word, the beginning and the end of each word, with accents that the tokenizer skips."""
    words = iter(SPACED_WORD.finditer(text))
    word = next(words, None)
    groups: list[tuple[int, int, int]] = []
    current: re.Match[str] | None = None
    for token, (begin, end) in enumerate(spans.tolist()):
        while word is not None and word.end() <= begin:
            word = next(words, None)
        inside = word if word is not None and word.start() <= begin < end else None  # special tokens have no length
        same_word = inside is not None and inside is current
        same_character = bool(groups) and begin < groups[-1][2] and begin < end
        if same_word or same_character:
            first, start, stop = groups[-1]
            groups[-1] = (first, start, max(stop, end))
        else:
            groups.append((token, begin, end) if inside is None else (token, inside.start(), max(inside.end(), end)))
        current = inside
    return groups
