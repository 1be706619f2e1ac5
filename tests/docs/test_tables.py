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
    for *_, table in BLOCK.findall(text):
        lines = table.splitlines()[2:]
        assert lines and not any("|  |" in line for line in lines), "a cell is empty"


def test_numbers_of_the_prose_are_in_the_tables() -> None:
    assert strange_numbers((ROOT / "docs/results.md").read_text(encoding="utf-8")) == []


def test_a_number_of_ones_own_would_be_found() -> None:
    text = "It reaches .999, .996 and 99.9, as `.998` in | .997 |\n| .996▲▲ |\n"
    assert strange_numbers(text) == [".999", "99.9", ".997"]
    cell = "<!-- cell: sts-minilm-last/sts | average | STS12 | spearman -->"
    assert strange_numbers(f"Average cosine has .720. {cell}") == [] != strange_numbers(f"It has .721. {cell}")
