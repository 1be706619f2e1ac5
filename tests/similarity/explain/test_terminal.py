"""Explanations in a terminal: whatever the tokens are, lines fit, and nothing but colours controls it."""

import dataclasses
import re
import unicodedata

import numpy as np
import pytest

from softset.similarity.explain import Side
from softset.similarity.explain.text import RAMP, _painted, as_text, clip, columns, visible
from tests.similarity.explain.cases import NASTY, explain, royalty, side_of

COLOUR = re.compile(r"\x1b\[(38;5;\d+;48;5;\d+|0)m")
WORDS = "the quick brown fox jumps over a lazy dog".split()


def luminance(colour: int) -> float:
    """Return the relative luminance of one of the 240 fixed colours of a 256-colour terminal, as WCAG defines it."""
    steps = (0, 95, 135, 175, 215, 255)
    grey = 8 + 10 * (colour - 232)
    at = colour - 16
    channels = (grey,) * 3 if colour >= 232 else (steps[at // 36], steps[at // 6 % 6], steps[at % 6])
    linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_one_maximum_beside_the_whole_span() -> None:
    lines = as_text(royalty(), colour=False, width=80).splitlines()
    assert lines[0] == "bertscore  P 0.640  R 0.280  F 0.390" and lines[4] == "subspace  P 0.860  R 0.140  F 0.240"
    assert lines[1] == "  candidate  royalty 0.64"
    assert lines[2] == "  reference  We 0.12  are 0.08  the 0.15  king 0.64  and 0.10  queen 0.61"
    row = next(line for line in lines if line.startswith("royalty"))
    assert row.split("  ") == [
        *("royalty", "0.64 1.000", "king 0.64, queen 0.61", " 0.86 1.000", "king 0.51, queen 0.44"),
    ]


def test_colour_says_what_the_numbers_say() -> None:
    coloured = as_text(royalty(), colour=True, width=80)
    assert "\x1b[38;5;231;48;5;27mroyalty\x1b[0m" in coloured  # 0.86, the last step
    assert "reference  We are \x1b" in coloured  # 0.12 and 0.08: the terminal's own colours
    assert "membership .00 \x1b[38;5;16;48;5;252m.14\x1b[0m \x1b" in coloured
    assert "\x1b" not in as_text(royalty(), colour=False, width=80)
    painted = [_painted("x", value, True) for value in np.linspace(-1, 2, 301)]
    assert [one for at, one in enumerate(painted) if one not in painted[:at]] == [
        "x" if ink is None else f"\x1b[38;5;{ink};48;5;{paper}mx\x1b[0m" for ink, paper in RAMP
    ]
    assert _painted("x", float("nan"), True) == "x"


@pytest.mark.parametrize("pair", RAMP[1:])
def test_contrast(pair) -> None:
    dark, light = sorted(map(luminance, pair))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize("width", [-1, 0, 40, 41, 57, 80, 200])
@pytest.mark.parametrize("colour", [True, False])
def test_any_token_fits_and_controls_nothing(width: int, colour: bool) -> None:
    metrics = ("bertscore", "subspace\x1b[2J", "m" * 90, "bertscore \u202e")
    shown = as_text(explain(side_of(*NASTY), side_of(*reversed(NASTY), *WORDS), metrics), colour=colour, width=width)
    plain = COLOUR.sub("", shown)
    for line in plain.split("\n"):
        assert columns(line) <= max(width, 40), line
        assert line.count("\u2068") == line.count("\u2069")
        assert not {one for one in line if unicodedata.category(one) in {"Cc", "Cf", "Cs", "Zl"}} - set("\u2068\u2069")
    assert r"\x1b[2J\x1b]0" in plain and r"\u202eevil" in plain and "\u2068مملكة\u2069" in plain
    assert shown.count("\x1b[0m") == len(COLOUR.findall(shown)) / 2
    assert not (colour and not COLOUR.search(shown))


def test_columns_are_aligned_by_what_letters_take() -> None:
    tokens = ("国王", "e\u0301e\u0301", "👑", "king", "مملكة")
    shown = as_text(explain(side_of(*tokens), side_of("a")), colour=False, width=80).splitlines()
    start = next(at for at, line in enumerate(shown) if line.startswith("Candidate"))
    rows = shown[start + 2 : start + 2 + len(tokens)]
    places = {columns(re.split(r" \d\.\d\d ", row)[0]) for row in rows}
    assert len(rows) == 5 and places == {6}
    wide = ["한글", "\u1112\u1161\u11ab", "Ａ", "ﾊ", "a\u200db", "\u0e01\u0e33"]
    assert [columns(one) for one in wide] == [4, 2, 2, 1, 2, 2]


def test_metrics_stand_side_by_side_where_they_fit() -> None:
    explanation = explain(side_of(*WORDS), side_of("a", "dog"), ("bertscore", "subspace", "third"))
    for width, tables in ((120, 1), (80, 2), (50, 3)):
        assert as_text(explanation, colour=False, width=width).count("Candidate:") == tables


def test_numbers_that_are_none_and_texts_without_tokens() -> None:
    explanation = royalty()
    view = explanation.views[0]
    odd = dataclasses.replace(view, precision=float("nan"), candidate_membership=np.array([np.nan]))
    odd = dataclasses.replace(odd, reference_membership=view.reference_membership - 0.5)
    shown = as_text(dataclasses.replace(explanation, views=(odd,)), colour=True, width=80)
    assert "P nan" in shown and "-0.42" in shown and COLOUR.sub("", shown).isprintable() is False
    empty = as_text(explain(side_of("a"), Side("", (), ())), colour=False, width=80)
    assert empty.splitlines()[1:3] == ["  candidate  a 0.00", "  reference"]
    assert as_text(explain(side_of("a"), side_of("b"), ()), colour=False, width=80) == ""


def test_letters() -> None:
    assert visible("a\tb", keep="\t") == "a\tb" and visible("a\tb\x9b") == r"a\tb\x9b"
    assert visible("क्\u200dष") == "क्\u200dष" and visible("\u2028\ud800\ufeff") == r"\u2028\ud800\ufeff"
    assert clip("国王", 3) == "国…" and clip("国王", 2) == "…" and clip("", 0) == ""
