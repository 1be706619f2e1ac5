"""`softset eval figure`: draw two tables."""

from pathlib import Path

import pytest

from softset.evaluation.tables import ResultRow, ResultTable


@pytest.fixture
def tables(home: Path) -> tuple[str, str]:
    of_texts = [ResultRow("sts", "STS12", name, "spearman", 0.5, 9, 0.4, 0.6) for name in ("bertscore", "subspace")]
    names = ("none/near/product", "none/crisp/lattice(alpha=0.5)")
    of_words = [ResultRow("sets", "Set", name, "R@100", 0.3, 9, 0.2, 0.4) for name in names]
    ResultTable("STS", tuple(of_texts)).save(home, "sts")
    ResultTable("Sets", tuple(of_words)).save(home, "sets")
    return str(home / "sts.json"), str(home / "sets.json")


def test_figure_of_two_tables(run, tables, home: Path) -> None:
    pytest.importorskip("matplotlib")
    code, out, err = run("eval", "figure", "--sts-table", tables[0], "--sets-table", tables[1], "--out", "figure.svg")
    assert (code, out) == (0, "") and "wrote figure.svg" in err
    assert (home / "figure.svg").read_text().startswith("<?xml")


def test_file_without_a_table_is_refused(run, tables, home: Path) -> None:
    (home / "broken.json").write_text("{}")
    for sts, sentence in (("broken.json", "is not a table of results"), ("absent.json", "absent.json")):
        code, _, err = run("eval", "figure", "--sts-table", sts, "--sets-table", tables[1], "--out", "figure.svg")
        assert code == 2 and sentence in err and err.count("\n") == 1 and not (home / "figure.svg").exists()
