"""Word patterns: scripts with combining marks, and invisible characters."""

import re
import sys
import unicodedata

import pytest

from softset import load_encoder
from softset.vectors.word_patterns import FORMAT_CHARACTERS, INVISIBLE, MARKS, SPACED_WORD, WORD


def words(text: str, pattern: re.Pattern[str] = WORD) -> list[str]:
    return [match[0] for match in pattern.finditer(text)]


@pytest.mark.parametrize(
    "text",
    [
        "\u078b\u07a8\u0788\u07ac\u0780\u07a8 \u0784\u07a6\u0790\u07b0",  # Thaana
        "\u0f56\u0f7c\u0f51 \u0f61\u0f72\u0f42",  # Tibetan
        "\u0710\u0730\u0712\u0733\u0710 \u0712\u0730\u072a",  # Syriac
        "\uabc3\uabe4\uabc7\uabe9 \uabc2\uabe3\uabdf",  # Meetei
        "\u0928\u092e\u0938\u094d\u0924\u0947 \u092d\u093e\u0937\u093e",  # Devanagari
        "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd \u05e2\u05d5\u05b9\u05dc\u05b8\u05dd",  # Hebrew
        "\u0645\u0650\u0646 \u0642\u064e\u0644\u0628",  # Arabic
        "\U00011103\U00011127 \U00011107\U0001112c",  # Chakma, beyond the first plane
        "e\u0301te\u0301 na\u00efve",
        "co\u00adoperate up\u2060date",
        "left\u200eright \u0645\u06cc\u200c\u0634\u0648\u062f",
    ],
)
@pytest.mark.parametrize("pattern", [WORD, SPACED_WORD])
def test_marks_and_invisible_characters_belong_to_words(text: str, pattern: re.Pattern[str]) -> None:
    assert words(text, pattern) == text.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("state-of-the-art, don't (really) - 'quoted' x_y 3.14", "state-of-the-art don't really quoted x_y 3 14"),
        ("\u00adsoft\u00ad \u200fright\u200f", "soft right"),
        ("control\u200bzero\ufeffwidth a\u2062b", "control zero\ufeffwidth a b"),
        ("\u0301 \u0f7c\u00ad", ""),
        ("\u0928\u092e\u0964\u0928\u092e", "\u0928\u092e \u0928\u092e"),
    ],
)
def test_surrounding_characters_do_not_belong_to_words(text: str, expected: str) -> None:
    assert words(text) == expected.split()


def test_scripts_without_spaces_have_no_spaced_words() -> None:
    thai = "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35"
    assert words(thai) == [thai] and words(thai, SPACED_WORD) == []
    assert words(f"a\u0e31{thai}b", SPACED_WORD) == ["a", "b"]


def test_every_unicode_mark_is_matched() -> None:
    mark, invisible = re.compile(f"[{MARKS}]"), re.compile(f"[{FORMAT_CHARACTERS}]")
    separators = "\u200b\u2061\u2062\u2063\u2064\ufff9\ufffa\ufffb"
    for character in map(chr, range(sys.maxunicode + 1)):
        category = unicodedata.category(character)
        if category[0] == "M":
            assert mark.fullmatch(character), hex(ord(character))
        elif category == "Cf" and character not in separators:
            assert mark.fullmatch(character) or invisible.fullmatch(character), hex(ord(character))
        elif category[0] in "ZPSC" and category not in ("Cf", "Cn") and not "\u0900" <= character <= "\u0dff":
            assert not mark.fullmatch(character) and not invisible.fullmatch(character), hex(ord(character))


def test_long_runs_of_marks_are_matched_in_linear_time() -> None:
    for text in ("a" + "\u00ad" * 200_000, "\u0301" * 200_000, "a\u0301" * 100_000, "\u0915" * 200_000 + "-"):
        assert len(words(text)) <= 1


def test_words_are_looked_up_without_invisible_characters() -> None:
    encoder = load_encoder("words")
    plain = encoder.encode(["cooperate 1 red"])
    invisible = encoder.encode(["co\u00adoperate 1\ufe0f\u20e3 \u200ered\u200e"])
    assert invisible.unknown.tolist() == [0] and (invisible.vectors == plain.vectors).all()
    assert invisible.tokens_of(0) == ["co\u00adoperate", "1\ufe0f\u20e3", "red"]
    assert INVISIBLE.sub("", "e\u0301t\u00ade\u0301") == "e\u0301te\u0301"


def test_a_soft_hyphen_does_not_split_a_word() -> None:
    text = "un\u00adbe\u00adliev\u00adably good"
    sets = load_encoder("minilm", unit="word").encode([text])
    assert sets.tokens_of(0) == text.split()
