"""Marks of a table show whether a significant difference is an improvement."""

import pytest

from softset.evaluation.tables import ResultRow, ResultTable, text_table


def table(*rows: tuple[str, str, float, float | None], baseline: str | None = "base") -> ResultTable:
    return ResultTable(
        "t", tuple(ResultRow("sts", "D", name, metric, value, 9, p=p) for name, metric, value, p in rows), baseline
    )


@pytest.mark.parametrize(
    ("metric", "value", "p", "cell"),
    [
        ("spearman", 0.6, 0.001, ".600▲▲"),
        ("spearman", 0.6, 0.04, ".600▲"),
        ("spearman", 0.6, 0.05, ".600"),
        ("spearman", 0.4, 0.009, ".400▼▼"),
        ("spearman", 0.5, 0.001, ".500"),
        ("leak", 0.4, 0.001, "40.0▲▲"),
        ("leak", 0.6, 0.03, "60.0▼"),
        ("R@100", 0.6, 0.03, "60.0▲"),
        ("difference", -0.1, 0.001, "-10.0▼▼"),
    ],
)
def test_marks_show_the_direction_of_a_difference(metric, value, p, cell) -> None:
    assert table(("base", metric, 0.5, None), ("other", metric, value, p)).cell("other", "D", metric) == cell


def test_each_collection_of_vectors_has_its_own_baseline() -> None:
    rows = [("a: base", "R@10", 0.2, None), ("a: x", "R@10", 0.3, 0.01), ("b: base", "R@10", 0.4, None)]
    result = table(*rows, ("b: x", "R@10", 0.3, 0.01))
    assert result.cell("a: x", "D", "R@10") == "30.0▲" and result.cell("b: x", "D", "R@10") == "30.0▼"
    assert "worse than base with the same vectors" in result.to_text()


def test_without_a_baseline_there_are_no_marks_and_no_legend() -> None:
    result = table(("x", "spearman", 0.5, 0.001), baseline=None)
    assert result.to_text() == "t\nmethod     D\nx       .500" and result.cell("y", "D", "spearman") == ""
    assert table(("x", "spearman", 0.5, 0.001)).cell("x", "D", "spearman") == ".500"


def test_latex_raises_arrows() -> None:
    latex = table(("base", "spearman", 0.5, None), ("x_1", "spearman", 0.6, 0.001)).to_latex()
    assert r"x\_1 & .600$^{\uparrow\uparrow}$ \\" in latex


def test_text_table_ignores_markup_and_aligns_wide_characters() -> None:
    assert text_table([["[red]x", "1"], ["日本", "22"]]) == ["[red]x   1", "日本    22"]
