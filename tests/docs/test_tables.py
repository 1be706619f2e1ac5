"""Every number in the README and in docs/results.md comes from results/."""

from pathlib import Path

import pytest

from tests.docs.tables import TABLE, unsupported_numbers, update_tables

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_tables_show_the_stored_results(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert TABLE.search(text), "the page has no table of results"
    assert update_tables(text) == text, f"run python -m tests.docs.tables {page}"
    for *_, table in TABLE.findall(text):
        rows = table.splitlines()[2:]
        assert rows and not any("|  |" in row for row in rows), "a cell is empty"


def test_numbers_in_the_prose_are_in_a_table() -> None:
    assert unsupported_numbers((ROOT / "docs/results.md").read_text(encoding="utf-8")) == []


def test_unsupported_numbers_are_found() -> None:
    text = "It reaches .999, .996 and 99.9, as `.998` in | .997 |\n| .996▲▲ |\n"
    assert unsupported_numbers(text) == [".999", "99.9", ".997"]
    cell = "<!-- cell: sts-minilm-last/sts | average | STS12 | spearman -->"
    assert unsupported_numbers(f"Average cosine has .720. {cell}") == [] != unsupported_numbers(f"It has .721. {cell}")
