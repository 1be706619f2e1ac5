"""Every console block in the documentation shows the current output of its command."""

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


def split_numbers(text: str) -> tuple[str, list[float]]:
    """Return a text with its decimal numbers replaced by #, and the numbers."""
    numbers = re.findall(r"\d+\.\d+", text)
    return re.sub(r"\d+\.\d+", "#", text), [float(number) for number in numbers]


@pytest.mark.parametrize(("command", "output"), SHOWN)
def test_console_blocks_show_the_current_output(command: str, output: str) -> None:
    text, numbers = split_numbers(output_of(command))
    shown_text, shown_numbers = split_numbers("\n".join(line.rstrip() for line in output.splitlines()))
    assert text == shown_text
    assert numbers == pytest.approx(shown_numbers, abs=0.0011)  # rounding differs between machines


def test_query_page_has_ten_recipes_and_three_that_fail() -> None:
    text = (ROOT / "docs" / "queries.md").read_text()
    good, bad = text.split("## Three kinds of queries that fail")
    assert len(list(commands(good.split("## Ten recipes")[1].split("\n## ")[0]))) == 9  # the tenth is in Python
    assert len(list(commands(bad))) >= 3
