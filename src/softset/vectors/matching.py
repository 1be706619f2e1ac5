"""Matching of words and phrases with the entries of a word index."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple

from softset.vectors.word_index import WordIndex

SEPARATORS = re.compile(r"[\s'\u2019\-]+")  # between the words of a phrase


class WordMatch(NamedTuple):
    """The entries of a vocabulary that match a word or phrase; the weighted mean of their vectors is its vector."""

    text: str
    entries: tuple[str, ...]
    indices: tuple[int, ...]

    @property
    def resolved_as(self) -> str:
        """A short description of the match, such as "exact match" or "the weighted mean of new, york"."""
        if self.entries == (self.text,):
            return "exact match"
        return f"as {self.entries[0]}" if len(self.entries) == 1 else f"the weighted mean of {', '.join(self.entries)}"


def find_match(words: WordIndex, text: str) -> WordMatch | None:
    """Return the entries that match a word or phrase: a single token if there is one, else each of its words."""
    token = find_token(words, text)
    if token is not None:
        return WordMatch(text, (token[0],), (token[1],))
    tokens = [find_token(words, part) for part in SEPARATORS.split(text) if part]
    if len(tokens) < 2 or None in tokens:
        return None
    entries, indices = zip(*(token for token in tokens if token is not None), strict=True)
    return WordMatch(text, entries, indices)


def find_token(words: WordIndex, text: str) -> tuple[str, int] | None:
    """Return the word and the index of a text that is a single token, or None.

    The exact form is tried first, then spaces joined by "_" or "-", then all forms in lower case.
    """
    index = words.get_index(text)  # the most common case first
    if index is not None:
        return text, index
    joined = " ".join(text.split())
    forms = [joined, joined.replace(" ", "_"), joined.replace(" ", "-")]
    for form in dict.fromkeys([*forms, *(form.lower() for form in [text, *forms])]):
        index = words.get_index(form)
        if index is not None:
            return form, index
    return None


def unknown_word_message(words: WordIndex, text: str) -> str:
    """Return the error message for a text without a match, with suggestions."""
    parts = text.split()
    missing = next((part for part in parts if find_token(words, part) is None), text) if len(parts) > 1 else text
    suggestions = similar_spellings(missing, words)
    hint = f"; words with a similar spelling: {', '.join(suggestions)}" if suggestions else ""
    return f"{missing!r} has no vector here{hint}"


def similar_spellings(word: str, words: Iterable[str], limit: int = 3) -> list[str]:
    """Return up to `limit` words with a similar spelling, the most similar first."""
    folded = word.lower()
    # difflib needs microseconds for each pair of words. Only words of similar length that share the first letter or
    # the last two letters are compared.
    candidates = [
        other
        for other in words
        if abs(len(other) - len(folded)) <= 2 and (other[:1].lower() == folded[:1] or other[-2:].lower() == folded[-2:])
    ]
    # Transposed letters are the most common typing error, but difflib counts them as a large difference.
    transposed = [other for other in candidates if sorted(other.lower()) == sorted(folded)]
    return list(dict.fromkeys([*transposed, *get_close_matches(folded, candidates, n=limit, cutoff=0.7)]))[:limit]
