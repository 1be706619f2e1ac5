"""What flags of scores mean to a person who wants to trust their mean."""

from collections.abc import Mapping

__all__ = ["FLAGS", "told_flags"]

MEANING = {
    "empty": ("pair", "with an empty side: two empty texts score 1, one against another 0"),
    "truncated": ("token", "cut away: --overflow window scores whole texts"),
    "unknown": ("token", "unknown to the model, and in no set: texts that differ only there score alike"),
    "saturated": ("pair", "with so many tokens that anything would be a member"),
}
FLAGS = tuple(MEANING)


def told_flags(counts: Mapping[str, int]) -> list[str]:
    """Return a sentence for each flag that was raised.

    >>> told_flags({"empty": 1, "truncated": 0})
    ['1 pair with an empty side: two empty texts score 1, one against another 0']
    """
    raised = [(counts[name], *MEANING[name]) for name in FLAGS if counts.get(name)]
    return [f"{count:,} {noun}{'s' * (count != 1)} {sentence}" for count, noun, sentence in raised]
