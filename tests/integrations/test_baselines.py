"""Baseline files: bert_score's format, and error messages."""

from pathlib import Path

import numpy as np
import pytest

from softset.errors import FileError
from softset.integrations.bert_score_arguments import BaselineFile
from softset.similarity.metrics import PRF
from softset.similarity.rescaling import rescale_scores

GOOD = "LAYER,P,R,F\n0,0.3,0.31,0.32\n1,0.6,0.61,0.62\n"
NO_TABLES = ("", "0,0.3,0.3,0.3\n", "LAYER,P,R\n0,0.3,0.3\n", "LAYER,P,R,F\n", b"\xff\xfe\x00")


@pytest.mark.parametrize(
    "content", [GOOD, GOOD.replace(",", "\t"), "\ufeff" + GOOD.replace("\n", "\r\n"), GOOD + "\n\n"]
)
def test_commas_tabs_and_windows_line_ends(tmp_path: Path, content: str) -> None:
    path = tmp_path / "mine.tsv"
    path.write_bytes(content.encode())
    assert BaselineFile(path).at(0) == (0.3, 0.31, 0.32) and BaselineFile(str(path)).at(1) == (0.6, 0.61, 0.62)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        *[(content, "is not a table with the header LAYER,P,R,F and a row") for content in NO_TABLES],
        ("LAYER,P,R,F\n0,0.3,0.3\n", "line 2 of .* is .0,0.3,0.3., but a layer and three numbers"),
        ("LAYER,P,R,F\n0,0.3,0.3,0.3,0.3\n", "line 2 of"),
        ("LAYER,P,R,F\n0,0.3,0.3,0.3\n1,x,0.3,0.3\n", "line 3 of .*is .1,x,0.3,0.3., but"),
        ("LAYER,P,R,F\n0.5,0.3,0.3,0.3\n", "line 2 of"),
        ("LAYER,P,R,F\n-1,0.3,0.3,0.3\n", "line 2 of"),
        ("LAYER,P,R,F\n0,nan,0.3,0.3\n", "line 2 of"),
        ("LAYER,P,R,F\n0,0.3,1,0.3\n", "line 2 of"),
        ("LAYER,P,R,F\n0,0.3,inf,0.3\n", "line 2 of"),
        ("LAYER,P,R,F\n0,.3,.3,.3\n0,.3,.3,.3\n", "layer 0 twice, the second time in line 3"),
    ],
)
def test_bad_file_gives_one_sentence(tmp_path: Path, content: str | bytes, sentence: str) -> None:
    path = tmp_path / "mine.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileError, match=sentence) as error:
        BaselineFile(path)
    assert "\n" not in str(error.value)


def test_missing_layer_and_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text(GOOD)
    with pytest.raises(FileError, match=r"no row for layer 6: it has rows for 0, 1"):
        BaselineFile(path).at(6)
    with pytest.raises(FileNotFoundError, match=r"nothing\.tsv"):
        BaselineFile(tmp_path / "nothing.tsv")


def test_rescaling_uses_the_levels_of_the_layer(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text(GOOD)
    raw = np.array([0.9, 0.1, 1.0, 0.0])
    rescaled = rescale_scores(PRF(raw, raw, raw), BaselineFile(path).at(1), np.array([False, False, True, True]))
    for values, level in zip(rescaled, (0.6, 0.61, 0.62), strict=True):
        assert values[:2] == pytest.approx((raw[:2] - level) / (1 - level)) and values[2:].tolist() == [1.0, 0.0]
