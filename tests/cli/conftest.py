"""What the tests of the command line share: a home of their own, and a way to run it."""

from pathlib import Path

import pytest

from softset import cli


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run the command line here and return its exit code, standard output and standard error."""

    def runner(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(list(arguments))
        shown = capsys.readouterr()
        return ended.value.code, shown.out, shown.err

    return runner
