"""Runs can be continued after an interruption at any moment."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from softset.errors import FileError, InputError
from softset.io.checkpoint import PartFolder, resumable_file

MADE_BY = {"signature": "a"}


def write_rows(path: Path, *rows: str, resume: bool = False, interrupt: bool = False) -> int:
    """Append rows one by one, and return the number of rows that were finished before."""
    with resumable_file(path, MADE_BY, resume=resume) as file:
        before = file.rows
        for row in rows:
            file.append([row], {"empty": before})
        if interrupt:
            raise KeyboardInterrupt
    return before


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    with pytest.raises(KeyboardInterrupt):
        write_rows(tmp_path / "s.tsv", "1", "2", interrupt=True)
    assert not (tmp_path / "s.tsv").exists()
    return tmp_path / "s.tsv"


def test_a_run_continues_where_it_was_interrupted(interrupted: Path) -> None:
    with pytest.raises(InputError, match="continue with --resume, or remove it"):
        write_rows(interrupted, "1")
    assert write_rows(interrupted, "3", resume=True) == 2
    assert interrupted.read_text() == "1\n2\n3\n"
    assert [path.name for path in interrupted.parent.iterdir()] == ["s.tsv"]


def test_a_run_that_was_killed_while_its_header_was_written_can_start_again(tmp_path: Path) -> None:
    (tmp_path / "s.tsv.partial").mkdir()
    (tmp_path / "s.tsv.partial" / "._softset.json.0123456789abcdef").write_bytes(b"")
    assert write_rows(tmp_path / "s.tsv", "1") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["s.tsv"]


KILLED = """
import os, sys
from pathlib import Path
from softset.io import checkpoint

steps = int(sys.argv[2])
def counted(function):
    def call(*arguments, **options):
        global steps
        steps -= 1
        if steps < 0:
            os._exit(9)
        return function(*arguments, **options)
    return call

with checkpoint.resumable_file(sys.argv[1], {"signature": "a"}, resume=True) as file:
    file.append(["3"], {})
    Path.unlink, Path.rmdir = counted(Path.unlink), counted(Path.rmdir)
    checkpoint.write_atomically = counted(checkpoint.write_atomically)
"""


@pytest.mark.parametrize("steps", range(9))
def test_a_process_killed_at_any_step_of_finishing_leaves_a_run_that_can_be_repeated(
    interrupted: Path, steps: int
) -> None:
    code = subprocess.run([sys.executable, "-c", KILLED, str(interrupted), str(steps)], check=False).returncode
    assert code == (9 if steps < 8 else 0)  # the file, the header, 3 parts, header, lock, folder
    partial = PartFolder(f"{interrupted}.partial")
    if partial.paths() and not partial.is_outdated():
        assert write_rows(interrupted, resume=True) == 3
    else:
        with pytest.raises(InputError, match="is complete already"):
            write_rows(interrupted, resume=True)
        assert write_rows(interrupted, "1", "2", "3") == 0
    assert interrupted.read_text() == "1\n2\n3\n" and not partial.folder.exists()


def test_unfinished_parts_of_a_killed_process_are_deleted(interrupted: Path) -> None:
    Path(f"{interrupted}.partial", "_unfinished-1").write_text("half a row")
    assert write_rows(interrupted, "3", resume=True) == 2
    assert interrupted.read_text() == "1\n2\n3\n"


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"value": 3}', '{"value": {"lines": 5, "counts": {}}}', '{"value": {"lines": ["1"]}}'],
)
def test_a_damaged_part_is_reported(interrupted: Path, content: str) -> None:
    Path(f"{interrupted}.partial", "part-000000000001.json").write_text(content)
    with pytest.raises(FileError, match=r"partial and start again"):
        write_rows(interrupted, resume=True)


def test_a_missing_part_is_reported(interrupted: Path) -> None:
    Path(f"{interrupted}.partial", "part-000000000000.json").unlink()
    with pytest.raises(FileError, match="a part is missing"):
        write_rows(interrupted, resume=True)


def test_a_damaged_header_is_reported(interrupted: Path) -> None:
    Path(f"{interrupted}.partial", "_softset.json").write_text("{")
    with pytest.raises(FileError, match="not a complete JSON file"):
        write_rows(interrupted, resume=True)


def test_a_run_killed_before_its_first_row_leaves_no_trace(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        write_rows(tmp_path / "s.tsv", interrupt=True)
    assert not list(tmp_path.iterdir())


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with resumable_file(tmp_path / "s.tsv", MADE_BY) as file:
        file.append(["1"], {})
        with pytest.raises(InputError, match="another process is writing"):
            write_rows(tmp_path / "s.tsv", resume=True)


def test_a_folder_with_other_files_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files"), PartFolder(tmp_path).locked(MADE_BY):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_facts_that_differ_are_named(interrupted: Path) -> None:
    with (
        pytest.raises(InputError, match=r"was started with the signature a"),
        resumable_file(interrupted, {"signature": "b"}, resume=True),
    ):
        pass
    assert json.loads(Path(f"{interrupted}.partial", "_softset.json").read_text())["signature"] == "a"
    assert PartFolder(f"{interrupted}.partial").paths()
