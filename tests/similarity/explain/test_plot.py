"""The image of an explanation: any token can be drawn, and its size is bounded."""

import dataclasses
import struct
import subprocess
import sys

import numpy as np
import pytest

from softset.errors import InputError, MissingExtraError
from softset.similarity.explain import ExplainedText
from softset.similarity.explain.plot import as_png, require_matplotlib
from tests.similarity.explain.cases import NASTY, explain, royalty, text_of


@pytest.fixture
def matplotlib():
    return pytest.importorskip("matplotlib")


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def test_same_explanation_gives_the_same_bytes(matplotlib) -> None:
    assert as_png(royalty()) == as_png(royalty())


def test_any_token_is_drawn_without_a_warning(matplotlib, recwarn, caplog) -> None:
    as_png(explain(text_of(*NASTY), text_of(*NASTY, "$", "x_$1$"), ("bertscore", "日本 $\\x$ \x1b")))
    assert not recwarn.list and not caplog.records


@pytest.mark.parametrize("k", [1, 13, 61, 1000])
@pytest.mark.parametrize("metrics", [("bertscore",), ("bertscore", "subspace", "c", "d", "e", "f")])
def test_size_is_bounded(matplotlib, monkeypatch, k: int, metrics) -> None:
    from matplotlib.figure import Figure

    monkeypatch.setattr(Figure, "savefig", lambda figure, stream, **_: stream.write(figure.bbox.size.tobytes()))
    for rows, columns in ((k, 1), (1, k), (k, k)):
        texts = text_of(*["x" * 30] * rows), text_of(*["y" * 30] * columns)
        width, height = np.frombuffer(as_png(explain(*texts, metrics)))
        assert 300 < width < 6500 and 200 < height < 1600


def test_labels_show_tokens_and_memberships_and_are_thinned_out(matplotlib, monkeypatch) -> None:
    from matplotlib.axes import Axes

    calls = []
    monkeypatch.setattr(Axes, "set_yticks", lambda _, indices=(), labels=(), **__: calls.append((indices, labels)))
    for count, shown in ((60, 60), (61, 31), (150, 50)):
        calls.clear()
        why = explain(text_of(*(f"t{index}" for index in range(count))), text_of("a"), ("bertscore",))
        as_png(why)
        indices, labels = next(call for call in calls if call[1])
        membership = why.views[0].candidate_membership
        assert len(indices) == shown and labels == [f"t{index} {membership[index]:z.2f}" for index in indices]


def test_nan_is_drawn(matplotlib) -> None:
    explanation = royalty()
    views = [
        dataclasses.replace(
            view, candidate_links=view.candidate_links * np.nan, candidate_membership=np.array([np.nan])
        )
        for view in explanation.views
    ]
    assert size(as_png(dataclasses.replace(explanation, views=tuple(views))))


def test_file_is_replaced_atomically(matplotlib, tmp_path) -> None:
    path = tmp_path / "royalty.png"
    path.write_text("old")
    royalty().save_png(path)
    assert path.read_bytes() == as_png(royalty()) and list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError):
        royalty().save_png(tmp_path / "no" / "such.png")


def test_pyplot_is_not_imported(matplotlib) -> None:
    code = (
        "import sys; from tests.similarity.explain.cases import royalty;"
        "from softset.similarity.explain.plot import as_png; print('matplotlib' in sys.modules);"
        "as_png(royalty()); print('matplotlib.pyplot' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "False\nFalse\n"


def test_missing_matplotlib_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for call in (require_matplotlib, lambda: as_png(royalty())):
        with pytest.raises(MissingExtraError, match=r"pip install 'softset\[plot\]'"):
            call()


def test_too_many_or_no_tokens_and_metrics_are_refused() -> None:
    short = text_of("a")
    for explanation, sentence in (
        (explain(short, ExplainedText("", (), ())), "1 to 1,000 tokens of a text, but the reference has 0"),
        (explain(text_of(*"a" * 1001), short), "1 to 1,000 tokens of a text, but the candidate has 1,001"),
        (explain(short, short, ()), "1 to 6 metrics, but 0"),
        (explain(short, short, "abcdefg"), "1 to 6 metrics, but 7"),
    ):
        with pytest.raises(InputError, match=sentence):
            as_png(explanation)
