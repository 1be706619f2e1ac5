"""Explanations as a picture: any token can be drawn, and no picture is larger than a screen or two."""

import dataclasses
import io
import struct
import subprocess
import sys

import numpy as np
import pytest

from softset.errors import InputError, MissingExtraError
from softset.similarity.explain import Side
from softset.similarity.explain.plot import as_png, require_matplotlib, save_png
from tests.similarity.explain.cases import NASTY, explain, royalty, side_of


@pytest.fixture
def matplotlib():
    return pytest.importorskip("matplotlib")


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def test_one_cosine_of_a_row_is_framed_and_no_share(matplotlib) -> None:
    from matplotlib.image import imread

    pixels = imread(io.BytesIO(as_png(royalty())))[..., :3]
    tall = (pixels == 0).all(-1).sum(0) > 40  # columns of dots that are black all along the one row of cells
    left, right = np.array_split(tall, 2)
    edges = [int((np.diff(half.astype(int)) == 1).sum()) for half in (left, right)]
    assert edges[0] == edges[1] + 2


def test_the_same_picture_is_the_same_file(matplotlib) -> None:
    assert as_png(royalty()) == as_png(royalty())


def test_any_token_is_drawn_without_a_word(matplotlib, recwarn, caplog) -> None:
    as_png(explain(side_of(*NASTY), side_of(*NASTY, "$", "x_$1$"), ("bertscore", "日本 $\\x$ \x1b")))
    assert not recwarn.list and not caplog.records


@pytest.mark.parametrize("k", [1, 12, 13, 60, 61, 1000])
@pytest.mark.parametrize("metrics", [("bertscore",), ("bertscore", "subspace", "c", "d", "e", "f")])
def test_sizes_are_bounded(matplotlib, monkeypatch, k: int, metrics) -> None:
    from matplotlib.figure import Figure

    monkeypatch.setattr(Figure, "savefig", lambda figure, stream, **_: stream.write(figure.bbox.size.tobytes()))
    for one, two in ((k, 1), (1, k), (k, k)):
        wide, high = np.frombuffer(as_png(explain(side_of(*["x" * 30] * one), side_of(*["y" * 30] * two), metrics)))
        assert 300 < wide < 6000 and 200 < high < 1600


def test_many_tokens_are_named_by_turns(matplotlib, monkeypatch) -> None:
    from matplotlib.axes import Axes

    named = []
    monkeypatch.setattr(Axes, "set_yticks", lambda _, places=(), labels=(), **__: named.append((places, labels)))
    for count, shown in ((60, 60), (61, 31), (150, 50)):
        named.clear()
        as_png(explain(side_of(*(f"t{at}" for at in range(count))), side_of("a"), ("bertscore",)))
        places, labels = next(one for one in named if one[1])
        assert len(places) == shown and list(labels) == [f"t{at}" for at in places]


def test_numbers_that_are_none(matplotlib) -> None:
    explanation = royalty()
    odd = [
        dataclasses.replace(one, candidate_links=one.candidate_links * np.nan, candidate_membership=np.array([np.nan]))
        for one in explanation.views
    ]
    assert size(as_png(dataclasses.replace(explanation, views=tuple(odd))))


def test_a_file_is_written_whole(matplotlib, tmp_path) -> None:
    path = tmp_path / "royalty.png"
    path.write_text("old")
    save_png(royalty(), path)
    assert path.read_bytes() == as_png(royalty()) and list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError):
        save_png(royalty(), tmp_path / "no" / "such.png")


def test_pyplot_is_not_touched(matplotlib) -> None:
    code = (
        "import sys; from tests.similarity.explain.cases import royalty;"
        "from softset.similarity.explain.plot import as_png; print('matplotlib' in sys.modules);"
        "as_png(royalty()); print('matplotlib.pyplot' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "False\nFalse\n"


def test_matplotlib_that_is_missing_is_told(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for one in (require_matplotlib, lambda: as_png(royalty())):
        with pytest.raises(MissingExtraError, match=r"pip install 'softset\[plot\]'"):
            one()


def test_what_cannot_be_drawn_is_refused() -> None:
    one = side_of("a")
    for explanation, sentence in (
        (explain(one, Side("", (), ())), "the reference has none"),
        (explain(side_of(*"a" * 1001), one), "at most 1,000 tokens a side, but the candidate has 1,001"),
        (explain(one, one, ()), "1 to 6 metrics, but 0"),
        (explain(one, one, "abcdefg"), "1 to 6 metrics, but 7"),
    ):
        with pytest.raises(InputError, match=sentence):
            as_png(explanation)
