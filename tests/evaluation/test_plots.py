"""Plots are complete files in three formats, equal for equal data, and need matplotlib."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from softset.errors import InputError, MissingExtraError
from softset.evaluation.plots import check_plot, save_figure_1, save_plot, save_ranks
from softset.evaluation.tables import ResultRow, ResultTable

STS = ResultTable(
    "STS, $1 & more",
    (
        ResultRow("sts", "STS12", "bertscore", "spearman", 0.5, 9, 0.4, 0.6),
        ResultRow("sts", "STS12", "subspace", "spearman", 0.6, 9, 0.61, 0.7, p=0.01, default=True),
        ResultRow("sts", "STS12", "odd $name_ \x1b[31m" + "x" * 80, "spearman", -0.2, 9),
        ResultRow("sts", "Avg", "bertscore", "spearman", 0.5, 9, 0.45, 0.55),
        ResultRow("sts", "Avg", "subspace", "spearman", 0.55, 9, 0.5, 0.6),
        ResultRow("sts", "all", "subspace", "seconds", 1.5, 9),
    ),
    baseline="bertscore",
)
SET_METHODS = ("none/near/product", "none/crisp/lattice(alpha=0.5)")
SETS = ResultTable(
    "sets",
    tuple(
        ResultRow("sets", data, name, "R@100", 0.3, 9, 0.2, 0.4) for data in ("Set", "Union") for name in SET_METHODS
    ),
)
PICTURES = {
    "bars": lambda path: save_plot(STS, path),
    "ranks": lambda path: save_ranks({"near": [1, 5, 900], "crisp": np.array([[1, 2], [3, 4]])}, path),
    "figure 1": lambda path: save_figure_1(STS, SETS, path),
}


@pytest.fixture
def matplotlib():
    return pytest.importorskip("matplotlib")


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize(("kind", "begins"), [(".png", b"\x89PNG\r\n\x1a\n"), (".svg", b"<?xml"), (".PDF", b"%PDF-")])
def test_equal_data_give_equal_files(matplotlib, tmp_path, picture, kind, begins) -> None:
    files = [tmp_path / f"{name}{kind}" for name in "ab"]
    for path in files:
        PICTURES[picture](path)
    first, second = (path.read_bytes() for path in files)
    assert first == second and first.startswith(begins) and len(list(tmp_path.iterdir())) == 2


def test_bars_show_every_method_and_dataset(matplotlib, tmp_path) -> None:
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        save_plot(STS, tmp_path / "bars.svg")
    text = (tmp_path / "bars.svg").read_text()
    assert all(
        label in text for label in (">bertscore<", ">subspace<", "STS12 spearman", "all seconds", "STS, $1 &amp; more")
    )
    assert "\x1b" not in text and "x" * 80 not in text and "…" in text


def test_invalid_plots_are_refused(matplotlib, tmp_path) -> None:
    cases = [
        (lambda: save_plot(STS, tmp_path / "a.jpg"), "not a .png, .svg or .pdf file"),
        (lambda: save_plot(STS, tmp_path / "none" / "a.png"), "folder of .* does not exist"),
        (lambda: save_ranks({"near": []}, tmp_path / "a.png"), "there are no ranks to draw"),
        (lambda: save_figure_1(STS, STS, tmp_path / "a.png"), "the table has no R@100 of none/near/product"),
    ]
    for call, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            call()
    assert not list(tmp_path.iterdir())


def test_missing_matplotlib_names_the_extra(monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"softset\[plot\]"):
        check_plot(Path(tmp_path / "a.png"))


def test_pyplot_is_not_imported(matplotlib, tmp_path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.evaluation.test_plots import PICTURES\n"
        f"for name, draw in PICTURES.items(): draw(Path({str(tmp_path)!r}, name + '.png'))\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
