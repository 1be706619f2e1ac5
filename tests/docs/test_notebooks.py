"""The tutorials run without errors, and show the outputs that a run prints today."""

from pathlib import Path

import pytest

from tests.docs.notebooks import outputs_of, run_notebook
from tests.docs.test_console import split_numbers

TUTORIALS = sorted((Path(__file__).parent.parent.parent / "docs" / "tutorials").glob("*.ipynb"))


def test_there_are_two_tutorials() -> None:
    assert [path.stem for path in TUTORIALS] == ["evaluate-a-system", "search-your-texts"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the Jupyter packages
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial_shows_the_current_outputs(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    stored, run = nbformat.read(path, as_version=4), run_notebook(path, tmp_path)
    assert sum(bool(outputs_of(cell)) for cell in stored.cells) >= 5
    for cell, current in zip(stored.cells, run.cells, strict=True):
        text, numbers = split_numbers("\n".join(outputs_of(current)))
        stored_text, stored_numbers = split_numbers("\n".join(outputs_of(cell)))
        assert text == stored_text, cell.source
        assert numbers == pytest.approx(stored_numbers, abs=0.0011), cell.source  # rounding differs between machines


def test_texts_are_returned_and_not_displayed_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """rich displays what it prints in Jupyter by itself, even if it is told to write to a stream."""
    from softset import Scorer
    from softset.evaluation.tables import text_table

    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert text_table([["a", "bcd"], ["efg", "h"]]) == ["a    bcd", "efg    h"]
    assert "membership in the reference" in Scorer("words").explain("a red book", "a blue pen").to_text()
