"""Every console block of the documentation shows what the command prints today."""

import re
from pathlib import Path

import pytest

from tests.docs.console import commands, output_of

ROOT = Path(__file__).parent.parent.parent
SHOWN = [
    pytest.param(command, output, id=f"{path.name}: {command}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for command, output in commands(path.read_text())
]


def numbers_apart(text: str) -> tuple[str, list[float]]:
    """Return a text with its decimal numbers taken out, and these."""
    found = re.findall(r"\d+\.\d+", text)
    return re.sub(r"\d+\.\d+", "#", text), [float(one) for one in found]


@pytest.mark.parametrize(("command", "output"), SHOWN)
def test_console_blocks_are_true(command: str, output: str) -> None:
    words, values = numbers_apart(output_of(command))
    shown_words, shown_values = numbers_apart("\n".join(line.rstrip() for line in output.splitlines()))
    assert words == shown_words
    assert values == pytest.approx(shown_values, abs=0.0011)  # the last digit may be rounded otherwise elsewhere


def test_there_are_ten_queries_and_three_that_fail() -> None:
    text = (ROOT / "docs" / "queries.md").read_text()
    good, bad = text.split("## Three that fail")
    assert len(list(commands(good.split("## Ten queries")[1]))) == 10
    assert len(list(commands(bad))) >= 3
