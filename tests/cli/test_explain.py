"""`softset explain`."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from softset import load_encoder
from softset.cli.explain import explain
from softset.similarity.explain import html as page
from softset.similarity.explain import plot as picture
from softset.similarity.scorer import Scorer
from tests.cli.conftest import processor_seconds

ROYALTY = ("explain", "royalty", "We are the king and queen")


@pytest.fixture(autouse=True)
def _width(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def test_two_metrics_side_by_side(run) -> None:
    code, out, err = run(*ROYALTY)
    assert code == 0 and err == "" and "\x1b" not in out
    why = Scorer().explain(*ROYALTY[1:], metrics=["bertscore", "softset"])
    for view in why.views:
        label = "F" if view.metric == "bertscore" else "score"  # the score of softset is a mean
        numbers = f"P {view.precision:.3f}  R {view.recall:.3f}  {label} {view.score:.3f}"
        assert f"{view.metric}  {numbers}  (unrelated" in out
    row = next(line for line in out.splitlines() if line.startswith("royalty"))
    assert row.count("queen") == row.count("king") == 2


def test_candidate_comes_first_and_options_reach_the_encoder(run) -> None:
    code, out, _ = run(
        *("explain", "A red book.", "Red!", "--metric", "subspace(weights=l2)", "--metric", "bertscore", "--json"),
        *("--metric", "bertscore()", "--layer", "4", "--unit", "word"),
    )
    printed = json.loads(out)
    expected = Scorer(layer=4, unit="word").explain(
        "A red book.", "Red!", metrics=["subspace(weights=l2)", "bertscore"]
    )
    assert code == 0 and printed == json.loads(expected.to_json())
    assert printed["candidate"]["tokens"] == ["A", "red", "book", "."]
    assert [parameter["metric"] for parameter in printed["metrics"]] == ["subspace(weights=l2)", "bertscore"]


@pytest.mark.parametrize(
    ("asked", "terminal", "environment", "coloured"),
    [
        ((), True, {}, True),
        ((), True, {"NO_COLOR": "1"}, False),
        ((), True, {"NO_COLOR": ""}, True),
        ((), True, {"TERM": "dumb"}, False),
        ((), False, {}, False),
        (("--color",), False, {"NO_COLOR": "1"}, True),
        (("--no-color",), True, {}, False),
    ],
)
def test_colour_on_terminals_or_on_request(run, monkeypatch, asked, terminal, environment, coloured) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    code, out, _ = run(*ROYALTY, "--model", "words", *asked)
    assert code == 0 and ("\x1b[38;5;" in out) is coloured


def test_page_and_image_replace_existing_files(run) -> None:
    pytest.importorskip("matplotlib")
    Path("why.html").write_text("old")
    Path("why.png").write_text("old")
    code, out, err = run(*ROYALTY, "--html", "why.html", "--png", "why.png", "--json")
    assert code == 0 and err == "softset: wrote why.html\nsoftset: wrote why.png\n"
    why = Scorer().explain(*ROYALTY[1:], metrics=["bertscore", "softset"])
    assert json.loads(out)["candidate"]["text"] == "royalty"
    assert Path("why.html").read_text(encoding="utf-8") == page.as_html(why)
    assert Path("why.png").read_bytes() == picture.as_png(why)
    assert {path.name for path in Path().iterdir()} - {"cache"} == {"why.html", "why.png"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("", "b"), "no token of the candidate is in the model's vocabulary"),
        (("a", " \n"), "no token of the reference is in the model's vocabulary"),
        (("a", "b\udcff"), "reference 0 has a lone surrogate"),
        (("a", "𓀀"), "no token of the reference is in the model's vocabulary"),
        (("a",), "Missing argument 'REFERENCE'"),
        (("a", "b", "--metric", "fuzzy"), "there is no metric 'fuzzy'"),
        (("a", "b", "--metric", "dynamax"), "dynamax has no membership of single tokens"),
        (("a", "b", "--layer", "9"), "the model has layers 0 to 6"),
        (("red " * 201, "b", "--html", "x"), "0 to 200 tokens of a text, but the candidate has 201"),
        (("b", "red " * 201, "--html", "x", "--png", "y"), "0 to 200 tokens of a text, but the reference has 201"),
        (("red " * 1001, "b", "--png", "x"), "1 to 1,000 tokens of a text"),
    ],
)
def test_bad_input_gives_one_sentence_and_exit_code_2(run, arguments, sentence) -> None:
    if "--png" in arguments:
        pytest.importorskip("matplotlib")
    code, out, err = run("explain", *arguments)
    assert code == 2 and out == "" and sentence in err and err.count("\n") == 1
    assert not Path("x").exists() and not Path("y").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--html", "no/such.html"), "no/such.html: No such file or directory"),
        (("--png", "why.jpg"), "--png writes an image in PNG format, but why.jpg was given"),
        (("--png", "no/such.png"), "no/such.png: No such file or directory"),
        (("--html", "folder"), "folder is not a regular file"),
        (("--html", "file/x"), "file/x: No such file or directory"),
        (("--png", os.devnull), f"{os.devnull} is not a regular file"),
        (("--html", "x", "--png", "./x"), "x is given for --html and for --png"),
    ],
)
def test_unwritable_output_is_refused_before_encoding(run, monkeypatch, arguments, sentence) -> None:
    Path("folder").mkdir()
    Path("file").touch()
    monkeypatch.setattr(Scorer, "explain", lambda *_, **__: pytest.fail("the work was done"))
    code, out, err = run(*ROYALTY, *arguments)
    assert code == 2 and out == "" and sentence in err and err.count("\n") == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_folder_without_write_permission_is_refused(run) -> None:
    Path("closed").mkdir(mode=0o500)
    assert "closed/x: Permission denied" in run(*ROYALTY, "--html", "closed/x")[2]


def test_missing_matplotlib_is_reported_before_encoding(run, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(Scorer, "explain", lambda *_, **__: pytest.fail("the work was done"))
    assert run(*ROYALTY, "--png", "x") == (2, "", "softset: images need matplotlib: pip install 'softset[plot]'\n")


def test_terminal_output_imports_no_heavy_library() -> None:
    code = (
        "import sys; sys.modules['numba'] = None  # it would load scipy for itself\n"
        "from softset import cli\n"
        "try: cli.main(['explain', 'a', 'b', '--json'])\n"
        "finally: print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    assert json.loads(done.stdout) and "softset.similarity.scorer" in loaded
    for heavy in ("matplotlib", "torch", "transformers", "scipy", "softset.similarity.explain.html"):
        assert heavy not in loaded


def test_help_states_limits_and_defaults_equal_those_of_python() -> None:
    help_texts = {
        parameter.name: parameter.help
        for parameter in explain.params
        if isinstance(parameter.name, str) and hasattr(parameter, "help")
    }
    assert f"{page.MAX_TOKENS} tokens" in help_texts["html"]
    assert f"{picture.MAX_TOKENS:,} tokens" in help_texts["png"] and f"{picture.MAX_VIEWS} metrics" in help_texts["png"]
    arguments = {name: parameter.default for name, parameter in inspect.signature(load_encoder).parameters.items()}
    options = explain.make_context("explain", ["a", "b"]).params
    del arguments["cache_limit"]
    assert {name: options.get(name, "missing") for name in arguments} == arguments


def test_cold_start_is_fast() -> None:
    """From the shell's enter to the colours, the best of three.

    Processor time is measured: the time on the clock depends on what else the machine does.
    """
    command = [sys.executable, "-m", "softset", "explain", "A boy walks.", "The kid runs."]
    assert min(processor_seconds(command) for _ in range(3)) < 1.5
