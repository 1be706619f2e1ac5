"""Every number of the README and of docs/results.md is one of results/."""

from pathlib import Path

import pytest

from tests.docs.tables import BLOCK, renewed, strange_numbers

ROOT = Path(__file__).parent.parent.parent
PAGES = ("README.md", "docs/results.md")


@pytest.mark.parametrize("page", PAGES)
def test_tables_are_those_of_the_results(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert BLOCK.search(text), "the page has no table of results"
    assert renewed(text) == text, f"run python -m tests.docs.tables {page}"
    assert all(block[3].count("\n") > 2 and "|  |" not in block[3] for block in BLOCK.findall(text)), "a cell is empty"


def test_numbers_of_the_prose_are_in_the_results() -> None:
    assert strange_numbers((ROOT / "docs/results.md").read_text(encoding="utf-8")) == []


def test_a_number_of_ones_own_would_be_found() -> None:
    assert strange_numbers("It reaches .999 and 99.9, as `.998` in | .997 |\n| .996 |\n") == [".999", "99.9", ".997"]
