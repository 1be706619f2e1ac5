"""What a word of a text is, in any script."""

import re
import unicodedata

__all__ = ["INVISIBLE", "SPACED_WORD", "WORD"]

# Where marks (Unicode's categories M) are: the planes between hold none, and need not be looked through whenever a
# program starts.
SEARCHED = ((0x0300, 0x3100), (0xA66F, 0xAC00), (0xFB1E, 0xFE30), (0x10000, 0x1F000), (0xE0100, 0xE01F0))
JOINERS = "\u200c\u200d"  # the only invisible characters that may also end a word
# What stands inside a word unseen, such as a soft hyphen (Unicode's category Cf); but not what divides words, such as a
# space of no width, nor operators and borders of annotations.
UNSEEN = (
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200e\u200f\u202a-\u202e\u2060\u2066-\u206f\ufeff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
)
# Scripts of India as whole blocks, but for their full stops.
INDIAN = "\u0900-\u0963\u0966-\u0dff"
# Scripts that are written without spaces, where a run of letters is no word: Thai and Lao, Burmese, Khmer, Chinese,
# Japanese.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
JOINTS = "['\u2019\\-]"  # inside a word: apostrophes, straight or curved, and hyphens


def _marks() -> str:
    """Return all marks as a class of a regular expression."""
    category, ranges = unicodedata.category, list[list[int]]()
    for start, stop in SEARCHED:
        for code in [code for code in range(start, stop) if category(chr(code))[0] == "M"]:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


# Signs that belong to the letter before them, which Python's \w does not count: accents that combine, the vowel signs
# and points of Hebrew, Arabic, Syriac, Thaana, Tibetan, the Indian scripts.
SIGNS = _marks() + INDIAN + JOINERS


def _pattern(where: str = "") -> re.Pattern[str]:
    letters = rf"(?:{where}\w)" if where else r"\w"
    # A look at the commonest characters first: the classes of signs are long, and after most words there is none.
    sign = f"(?![\0-\u00ac])(?:{where}[{SIGNS}]|[{UNSEEN}]+(?={letters}))"
    run = f"{letters}+(?:{sign}{letters}*)*"
    return re.compile(f"{run}(?:{JOINTS}{run})*")


WORD = _pattern()
SPACED_WORD = _pattern(f"(?![{UNSPACED}])")
# What a word may be looked up without: what is unseen, and what only says how to draw the character before it.
INVISIBLE = re.compile(f"[{UNSEEN}\ufe00-\ufe0f\u20dd-\u20e4\U000e0100-\U000e01ef]+")
