"""Terminal output of an explanation: lines fit the width, and tokens cannot control the terminal."""

import dataclasses
import re
import unicodedata

import numpy as np
import pytest
from rich.cells import cell_len

from softset.similarity.explain import ChanceLevel, ExplainedText
from softset.similarity.explain.text import STYLES, as_text
from tests.similarity.explain.cases import NASTY, explain, royalty, text_of

COLOUR = re.compile(r"\x1b\[[\d;]+m")
WORDS = "the quick brown fox jumps over a lazy dog".split()


def luminance(colour: int) -> float:
    """Return the relative luminance of one of the 240 fixed colours of a 256-colour terminal, as WCAG defines it."""
    steps = (0, 95, 135, 175, 215, 255)
    grey, index = 8 + 10 * (colour - 232), colour - 16
    channels = (grey,) * 3 if colour >= 232 else (steps[index // 36], steps[index // 6 % 6], steps[index % 6])
    linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_scores_memberships_and_counterparts_of_two_metrics() -> None:
    lines = as_text(royalty(), colour=False, width=120).splitlines()
    assert lines[:2] == ["bertscore  P 0.640  R 0.280  F 0.390", "subspace  P 0.860  R 0.140  F 0.240"]
    row = next(line for line in lines if line.startswith("royalty"))
    assert re.split(r"\s{2,}", row) == [
        *("royalty", "0.64", "1.000", "king 0.64, queen 0.61, the 0.15"),
        *("0.86", "1.000", "king 0.51, queen 0.44, the 0.03"),
    ]


def test_level_of_unrelated_text_is_shown() -> None:
    explanation = royalty()
    view = dataclasses.replace(explanation.views[0], chance=ChanceLevel(0.1, 0.2, 0.15, "measured"))
    shown = as_text(dataclasses.replace(explanation, views=(view,)), colour=False, width=100)
    assert "(unrelated text: P 0.100  R 0.200  F 0.150)" in shown


def test_memberships_are_coloured() -> None:
    coloured = as_text(royalty(), colour=True, width=120)
    assert "\x1b[38;5;231;48;5;27m" in coloured  # 0.86, the last step
    assert "\x1b" not in as_text(royalty(), colour=False, width=120)
    assert COLOUR.sub("", coloured).split() == as_text(royalty(), colour=False, width=120).split()


@pytest.mark.parametrize("style", STYLES[1:])
def test_contrast(style: str) -> None:
    dark, light = sorted(luminance(int(colour)) for colour in re.findall(r"\d+", style))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize("width", [-1, 40, 57, 80, 200])
@pytest.mark.parametrize("colour", [True, False])
def test_any_token_fits_and_controls_nothing(width: int, colour: bool) -> None:
    metrics = ("bertscore", "subspace\x1b[2J", "m" * 90, "bertscore \u202e")
    shown = as_text(explain(text_of(*NASTY), text_of(*reversed(NASTY), *WORDS), metrics), colour=colour, width=width)
    plain = COLOUR.sub("", shown)
    for line in plain.split("\n"):
        assert cell_len(line) <= max(width, 40), line
        assert not {char for char in line if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl"}} - {*"\u2068\u2069"}
    assert "\ufffd[2J" in plain and "\ufffdevil" in plain and "مملكة" in plain


def test_columns_are_aligned_for_wide_characters() -> None:
    tokens = ("国王", "e\u0301e\u0301", "👑", "king")
    lines = as_text(explain(text_of(*tokens), text_of("a")), colour=False, width=80).splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("token"))
    rows = lines[start + 1 : start + 1 + len(tokens)]
    assert len({cell_len(re.split(r" -?\d\.\d\d ", row)[0]) for row in rows}) == 1


def test_metrics_are_abreast_where_they_fit() -> None:
    explanation = explain(text_of(*WORDS), text_of("a", "dog"), ("bertscore", "subspace", "third"))
    for width, tables in ((140, 1), (100, 2), (80, 3)):
        assert as_text(explanation, colour=False, width=width).count("Candidate tokens:") == tables


def test_nan_and_texts_without_tokens() -> None:
    explanation = royalty()
    view = dataclasses.replace(
        explanation.views[0],
        precision=float("nan"),
        candidate_membership=np.array([np.nan]),
        reference_membership=explanation.views[0].reference_membership - 0.5,
    )
    shown = as_text(dataclasses.replace(explanation, views=(view,)), colour=True, width=80)
    assert "P nan" in shown and "-0.42" in shown
    assert as_text(explain(text_of("a"), ExplainedText("", (), ())), colour=False, width=80).count("\na ") == 2
    assert as_text(explain(text_of("a"), text_of("b"), ()), colour=False, width=80) == ""
