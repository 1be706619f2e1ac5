"""Words that look like a word that is missing."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["similar_spellings"]


def similar_spellings(word: str, words: Iterable[str], most: int = 3) -> list[str]:
    """Return up to `most` words spelled much like one, the likest first.

    >>> similar_spellings("bleu", ["blue", "lieu", "blur", "peach"])
    ['blue', 'lieu', 'blur']
    """
    folded = word.lower()
    # Comparing two words costs microseconds, so of hundreds of thousands only those that could be a slip are compared:
    # of about the same length, with the first or the last two letters right.
    near = [
        other
        for other in words
        if abs(len(other) - len(folded)) <= 2 and (other[:1].lower() == folded[:1] or other[-2:].lower() == folded[-2:])
    ]
    # Two letters exchanged are the commonest slip, and to difflib a large one.
    exchanged = [other for other in near if sorted(other.lower()) == sorted(folded)]
    return list(dict.fromkeys([*exchanged, *get_close_matches(folded, near, n=most, cutoff=0.7)]))[:most]
