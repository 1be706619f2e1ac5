"""Atomic writes and locks."""

import os
import stat
from pathlib import Path

import pytest

from softset.io import atomic


def test_a_file_is_replaced_atomically(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    atomic.write_atomically(path, b"new")
    assert path.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_keeps_the_old_file_and_leaves_nothing_behind(step, tmp_path: Path, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(*((atomic.os, "fsync") if step == "fsync" else (Path, "replace")), fail)
    with pytest.raises(OSError, match="No space left"):
        atomic.write_atomically(path, b"new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    atomic.write_atomically(tmp_path / "ours", b"")
    (tmp_path / "theirs").write_bytes(b"")
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE((tmp_path / "theirs").stat().st_mode)


def test_a_lock_on_a_renamed_file_is_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    real, renamed = fcntl.flock, []

    def flock(file, how) -> None:
        if not renamed:
            renamed.append((tmp_path / "a").rename(tmp_path / "b"))
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with atomic.open_locked(tmp_path / "a") as file:
        assert os.path.samestat(os.fstat(file.fileno()), (tmp_path / "a").stat())
