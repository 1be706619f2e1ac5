"""Files are whole or absent."""

import stat
from pathlib import Path

import pytest

from softset.io import atomic as files


def test_a_file_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    files.write_atomically(path, b"new")
    assert path.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_keeps_the_old_file_and_leaves_nothing_behind(step, tmp_path: Path, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(*((files.os, "fsync") if step == "fsync" else (Path, "replace")), fail)
    with pytest.raises(OSError, match="No space left"):
        files.write_atomically(path, b"new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    files.write_atomically(tmp_path / "ours", b"")
    (tmp_path / "theirs").write_bytes(b"")
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE((tmp_path / "theirs").stat().st_mode)
