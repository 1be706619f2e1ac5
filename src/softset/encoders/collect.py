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
        texts: Sequence[TokenizedText],
        windows: Sequence[Sequence[Window]],
        tokenizer: Tokenizer,
        dimensions: int,
        *,
        special_tokens: bool,
    ) -> None:
        self._texts, self._windows, self._tokenizer = texts, windows, tokenizer
        added = len(tokenizer.prefix) + len(tokenizer.suffix)
        self._begins = np.cumsum([0, *(plan[-1].stop + added for plan in windows)], dtype=np.int64)
        self._in_set = self._members(special_tokens)
        self._target = np.where(self._in_set, np.cumsum(self._in_set), np.cumsum(~self._in_set)) - 1
        members = int(self._in_set.sum())
        self._vectors = np.empty((members, dimensions), dtype=np.float32)
        self._others = np.empty((len(self._in_set) - members, dimensions), dtype=np.float32)

    def _members(self, special_tokens: bool) -> np.ndarray:
        """Return which rows are in the set of their text; the set of a text without known tokens is empty."""
        members = np.zeros(int(self._begins[-1]), dtype=bool)
        first = len(self._tokenizer.prefix)
        for index, (text, plan) in enumerate(zip(self._texts, self._windows, strict=True)):
            rows = members[self._begins[index] : self._begins[index + 1]]
            known = text.known[: plan[-1].stop]
            rows[:] = special_tokens and bool(known.any())
            rows[first : first + len(known)] = known
        return members

    def add(self, index: int, window: Window, vectors: np.ndarray) -> None:
        """Copy the used rows of a window of text `index` from its vectors (L, d), special tokens included.

        Different windows fill different rows, so several threads may call this at the same time.
        """
        plan, before = self._windows[index], len(self._tokenizer.prefix)
        begin = 0 if window is plan[0] else before + window.begin
        end = before + window.end + (len(self._tokenizer.suffix) if window is plan[-1] else 0)
        rows = slice(int(self._begins[index]) + begin, int(self._begins[index]) + end)
        used = vectors[begin - window.start : end - window.start]
        in_set, target = self._in_set[rows], self._target[rows]
        self._vectors[target[in_set]] = used[in_set]
        self._others[target[~in_set]] = used[~in_set]

    def token_sets(self, texts: Sequence[str], signature: str) -> TokenSets:
        """Return the token sets, after all windows were added."""
        tokens, spans = self._describe_rows(texts)
        lengths = [plan[-1].stop for plan in self._windows]
        pairs = list(zip(self._texts, lengths, strict=True))
        unknown = np.array([text.unknown[:n].sum() for text, n in pairs], dtype=np.int64)
        truncated = np.array([text.known[n:].sum() for text, n in pairs], dtype=np.int64)
        zeros = np.zeros(len(texts), dtype=np.int64)
        inside, outside = self._in_set, ~self._in_set
        offsets, other_offsets = (np.concatenate([[0], np.cumsum(rows)])[self._begins] for rows in (inside, outside))
        special = TokenSets(self._others, other_offsets, tokens[outside], spans[outside], None, zeros, zeros, signature)
        return TokenSets(self._vectors, offsets, tokens[inside], spans[inside], special, truncated, unknown, signature)

    def _describe_rows(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the tokens and spans of all rows; special tokens have empty spans at the start or end of the text."""
        before = string_array([name for _, name in self._tokenizer.prefix])
        after = string_array([name for _, name in self._tokenizer.suffix])
        tokens, spans = np.empty(len(self._in_set), dtype=object), np.zeros((len(self._in_set), 2), dtype=np.int32)
        for index, (text, tokenized) in enumerate(zip(texts, self._texts, strict=True)):
            n = self._windows[index][-1].stop
            first = int(self._begins[index]) + len(before)
            names = np.concatenate([before, tokenized.tokens[:n], after])
            tokens[first - len(before) : first + n + len(after)] = names
            spans[first : first + n], spans[first + n : first + n + len(after)] = tokenized.spans[:n], len(text)
        return tokens, spans


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
    """Return the first sub-word, the beginning and the end of each word.

    Sub-words of one character belong together. The span of a word covers all of it, even if the tokenizer skips an
    accent.
    """
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
