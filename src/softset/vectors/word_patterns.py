"""Regular expressions that find the words of a text, in any script.

A word is a run of letters and digits with the combining marks that belong to them. Apostrophes, hyphens and invisible
characters, such as soft hyphens, are part of a word if they are inside it.
"""

import re
import unicodedata

# Combining marks (Unicode categories M*) occur only in these ranges. Searching all of Unicode at start would be slow.
MARK_RANGES = ((0x0300, 0x3100), (0xA66F, 0xAC00), (0xFB1E, 0xFE30), (0x10000, 0x1F000), (0xE0100, 0xE01F0))
JOINERS = "\u200c\u200d"  # the only invisible characters that may also end a word
# Format characters (category Cf) that may occur inside a word, such as the soft hyphen. Characters that separate words
# (zero-width space), invisible operators and interlinear annotations are not included.
FORMAT_CHARACTERS = (
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200e\u200f\u202a-\u202e\u2060\u2066-\u206f\ufeff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
)
INDIC = "\u0900-\u0963\u0966-\u0dff"  # the blocks of Indic scripts without their full stops
# Scripts written without spaces (Thai, Lao, Burmese, Khmer, Chinese, Japanese): a run of letters is not a word.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
INNER_PUNCTUATION = "['\u2019\\-]"  # apostrophes and hyphens


# Marks that belong to the preceding letter and that Python's \w does not match: combining accents, and the vowel signs
# of Hebrew, Arabic, Syriac, Thaana, Tibetan and the Indic scripts.
COMBINING = (chr(code) for codes in MARK_RANGES for code in range(*codes) if unicodedata.category(chr(code))[0] == "M")
MARKS = "".join(COMBINING) + INDIC + JOINERS


def _word_pattern(condition: str = "") -> re.Pattern[str]:
    """Return the pattern of a word; `condition` is a lookahead that each of its letters must satisfy."""
    letter = rf"(?:{condition}\w)" if condition else r"\w"
    # The first lookahead fails early on the most common characters, because the class of marks is long.
    mark = f"(?![\0-\u00ac])(?:{condition}[{MARKS}]|[{FORMAT_CHARACTERS}]+(?={letter}))"
    run = f"{letter}+(?:{mark}{letter}*)*"
    return re.compile(f"{run}(?:{INNER_PUNCTUATION}{run})*")


WORD = _word_pattern()
SPACED_WORD = _word_pattern(f"(?![{UNSPACED}])")
# Characters that may be removed from a word before it is looked up: format characters, variation selectors and
# enclosing marks.
INVISIBLE = re.compile(f"[{FORMAT_CHARACTERS}\ufe00-\ufe0f\u20dd-\u20e4\U000e0100-\U000e01ef]+")
