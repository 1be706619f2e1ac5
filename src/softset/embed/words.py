"""What a word of a text is, in any script."""

import re

__all__ = ["SPACED_WORD", "WORD"]

# Signs that belong to the letter before them, which Python's \w does not count: accents that combine, the vowel signs
# and points of Hebrew, Arabic and the Indian scripts, joiners.
SIGNS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0dff\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u20d0-\u20f0\u200c\u200d\ufe20-\ufe2f"
)
# Scripts that are written without spaces, where a run of letters is no word: Thai and Lao, Burmese, Khmer, Chinese,
# Japanese.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
JOINTS = "['\u2019\\-]"  # inside a word: apostrophes, straight or curved, and hyphens


def _pattern(letter: str) -> re.Pattern[str]:
    run = f"(?:{letter})(?:{letter}|[{SIGNS}])*"
    return re.compile(f"{run}(?:{JOINTS}{run})*")


WORD = _pattern(r"\w")
SPACED_WORD = _pattern(rf"(?![{UNSPACED}])\w")
