"""The argument `progress`: a bar, or a function that is called regularly."""

import sys
import threading
import time
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import softset
from softset import Calibration, Idf, Scorer
from softset.encoders.base import TextEncoder
from softset.errors import InputError
from softset.integrations.bert_score import BERTScorer
from softset.runtime.progress import report_progress

TEXTS = [f"the {a} {b}" for a in ("red", "blue", "old") for b in ("book", "pen", "king", "rain")]
ENCODER = softset.load_encoder("minilm", batch_tokens=16)
CALLS = {
    "score": lambda progress: Scorer(ENCODER).score(TEXTS, TEXTS[::-1], progress=progress),
    "function score": lambda progress: softset.score(TEXTS, TEXTS[::-1], model=ENCODER, progress=progress),
    "idf": lambda progress: Scorer(ENCODER, metric="tfidf").score(TEXTS, TEXTS[::-1], progress=progress),
    "stream": lambda progress: list(Scorer(ENCODER).stream(list(zip(TEXTS, TEXTS, strict=True)), progress=progress)),
    "matrix": lambda progress: Scorer(ENCODER).matrix(TEXTS, TEXTS[:5], progress=progress),
    "pairwise": lambda progress: softset.pairwise(TEXTS, model=ENCODER, progress=progress),
    "encode": lambda progress: ENCODER.encode(TEXTS, progress=progress),
    "embed": lambda progress: ENCODER.embed(TEXTS, progress=progress),
    "Idf.fit": lambda progress: Idf.fit(TEXTS, model=ENCODER, progress=progress),
    "Calibration.fit": lambda progress: Calibration.fit(TEXTS, model=ENCODER, progress=progress),
    "compare": lambda progress: softset.compare(
        {"a": TEXTS, "b": TEXTS[::-1]}, TEXTS, model=ENCODER, samples=9, swaps=9, progress=progress
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_is_called_during_the_work(name: str) -> None:
    calls: list[tuple[int, int]] = []
    CALLS[name](lambda done, total: calls.append((done, total)))
    assert len(calls) > 3 and calls == sorted(calls)
    assert calls[-1][0] == calls[-1][1] > 0 and len({total for _, total in calls}) == 1


@pytest.mark.parametrize("name", CALLS)
def test_true_shows_a_bar_with_the_time_left(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    CALLS[name](True)
    shown = capsys.readouterr()
    assert shown.out == "" and "━" in shown.err and "0:00:0" in shown.err
    CALLS[name](None)
    CALLS[name](False)
    assert capsys.readouterr() == ("", "")


def test_verbose_of_bert_score_shows_the_same_bar(capsys: pytest.CaptureFixture[str]) -> None:
    BERTScorer("words").score(TEXTS, TEXTS, verbose=True)
    shown = capsys.readouterr().err
    assert "━" in shown and "12/12 pairs" in shown and "12 pairs in" in shown


def test_other_values_are_refused() -> None:
    with pytest.raises(InputError, match=r"progress is of type str, but True or a function of \(done, total\)"):
        Scorer("words").score(["a"], ["b"], progress="yes")


def test_notebooks_show_the_bar_in_their_output(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pictures: list[str] = []

    def draw(bar: Any) -> None:
        pictures.append(bar._repr_mimebundle_([], [])["text/html"])

    def display(bar: Any, *, display_id: bool) -> SimpleNamespace:
        assert display_id
        draw(bar)
        return SimpleNamespace(update=draw)

    ipython, module = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython, module.display = lambda: SimpleNamespace(), display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    with report_progress(True, "texts") as report:
        report(1, 4)
        report(4, 4)
    assert "4/4" in pictures[-1] and "texts" in pictures[-1] and capsys.readouterr() == ("", "")


def test_tiles_of_a_matrix_have_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softset.similarity.metrics.base.TILE_TOKENS", 7)
    texts = ["", *TEXTS]
    for name in ("softset", "subspace", "bertscore", "average", "jaccard", "tfidf", "symbolic"):
        scorer, calls = Scorer("words", metric=name), []
        tiles = scorer.matrix(texts, texts[:7], progress=lambda *numbers, calls=calls: calls.append(numbers))
        assert np.abs(tiles.score - scorer.matrix(texts, texts[:7]).score).max() < 1e-6 and len(calls) > 10


class SlowEncoder(TextEncoder):
    """Word vectors that take 10 ms for each text."""

    def __init__(self) -> None:
        self.encoder = softset.load_encoder("words")

    signature = property(lambda self: self.encoder.signature)
    dimensions = property(lambda self: self.encoder.dimensions)

    def _encode(self, texts: Any, progress: Any) -> softset.TokenSets:
        for index in range(len(texts)):
            time.sleep(0.01)
            if progress is not None:
                progress(index + 1, len(texts))
        return self.encoder.encode(texts)


def test_a_function_can_stop_the_work_at_once() -> None:
    """The server stops abandoned requests like this."""
    start = time.monotonic()

    def stop(done: int, total: int) -> None:
        if time.monotonic() - start > 0.2:
            raise KeyboardInterrupt

    texts = [f"text {n}" for n in range(500)]
    with pytest.raises(KeyboardInterrupt):
        Scorer(SlowEncoder()).score(texts, texts, progress=stop)
    assert time.monotonic() - start < 2.0


def test_scores_of_one_block_report_while_they_are_computed() -> None:
    """1,024 pairs are one block; long texts take seconds."""
    sets = softset.TokenSets.from_arrays(list(np.random.default_rng(0).normal(size=(60, 400, 64))))
    finished = [0]
    Scorer().score(sets, sets.take(list(range(60))[::-1]), progress=lambda done, _: finished.append(done))
    # Pairs and not seconds, which depend on the machine: 25 of these pairs are 20,000 tokens.
    assert finished[-1] == 60 and 0 <= min(np.diff(finished)) <= max(np.diff(finished)) <= 25


def test_other_threads_run_while_scores_are_computed() -> None:
    """Calls release the GIL, so that asyncio.to_thread keeps an event loop responsive."""
    texts = [" ".join(f"{word} {n}" for word in TEXTS) for n in range(40)]
    scorer = Scorer("minilm")
    scorer.score(texts[:2], texts[:2])
    finished, ticks = threading.Event(), [time.monotonic()]

    def work() -> None:
        scorer.score(texts, texts[::-1])
        finished.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not finished.wait(0.005):
        ticks.append(time.monotonic())
    worker.join()
    assert len(ticks) > 5 and max(np.diff(ticks)) < 1.0
