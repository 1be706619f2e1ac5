"""The entry point: help, version, error messages and exit codes."""

import subprocess
import sys

import click
import pytest

import softset
from softset import cli
from softset.errors import InputError


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "softset", *arguments], capture_output=True, text=True, timeout=60)


def test_version_and_help() -> None:
    assert run("--version").stdout == f"softset, version {softset.__version__}\n"
    for flag in (("--help",), ("-h",), ()):
        shown = run(*flag)
        assert shown.returncode == 0
        assert "softset find '{red" in shown.stdout and "Show the main features" in shown.stdout


def test_demo_shows_the_main_features() -> None:
    shown = run("demo")
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    assert lines[3].split()[1] == "orange"
    assert "colour & fruit                                     Subspace(dim=0, ambient=300)" in shown.stdout
    assert "~(colour | fruit) == ~colour & ~fruit              True" in shown.stdout
    assert "royalty 0." in shown.stdout and "A bicycle race.  The king and the queen.   P 0." in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["scroe"], "No such command 'scroe'; did you mean 'score'?"),
        (["vectors", "lst"], "No such command 'lst'; did you mean 'list'?"),
        (["fit"], "name a command: calibration, idf (see softset fit --help)"),
        (["find", "red", "--top", "3", "--top", "4"], "--top is given 2 times, but takes one value: give it once"),
        (["demo", "--frobnicate"], "No such option"),
        (["demo", "extra"], "unexpected extra argument (extra)"),
        (["--frobnicate"], "No such option"),
    ],
)
def test_bad_arguments_give_exit_code_2(arguments: list[str], sentence: str) -> None:
    shown = run(*arguments)
    assert shown.returncode == 2
    assert sentence in shown.stderr and "Traceback" not in shown.stderr
    assert shown.stdout == ""
    assert shown.stderr.startswith("softset: ") and shown.stderr.count("\n") == 1


def failing(error: BaseException) -> click.Command:
    @click.command()
    def demo() -> None:
        raise error

    return demo


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (InputError("two words are missing"), 2, "softset: two words are missing\n"),
        (
            FileNotFoundError(2, "No such file or directory", "words.txt"),
            2,
            "softset: words.txt: No such file or directory\n",
        ),
        (OSError("the disk is full"), 2, "softset: the disk is full\n"),
        (
            ZeroDivisionError("division by zero"),
            1,
            "softset: unexpected ZeroDivisionError: division by zero (add --debug",
        ),
        (KeyboardInterrupt(), 130, "\nsoftset: interrupted"),
    ],
)
def test_errors_are_sentences(error, code, sentence, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr("softset.cli.demo.demo", failing(error))
    with pytest.raises(SystemExit) as ended:
        cli.main(["demo"])
    assert ended.value.code == code
    shown = capsys.readouterr().err
    assert shown.startswith(sentence) and shown.strip("\n").count("\n") == 0


def test_debug_after_the_verb_shows_no_traceback_for_usage_errors() -> None:
    assert run("demo", "--debug").returncode == 0
    shown = run("--debug", "frobnicate")
    assert shown.returncode == 2 and "Traceback" not in shown.stderr


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softset.cli.demo.demo", failing(InputError("two words are missing")))
    with pytest.raises(InputError, match="two words are missing"):
        cli.main(["--debug", "demo"])


def test_closed_pipe_is_not_an_error() -> None:
    command = f"{sys.executable} -m softset demo | true"
    shown = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (shown.returncode, shown.stderr) == (0, "")
