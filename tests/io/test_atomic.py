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


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
def test_an_existing_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    """Also the bits that the umask removes from new files."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    previous = os.umask(0o022)
    try:
        atomic.write_atomically(path, b"new")
    finally:
        os.umask(previous)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", mode)


def test_content_of_a_private_file_is_never_public(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(0o600)

    def content():
        (temporary,) = tmp_path.glob(".file.*")
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        yield b"secret"

    atomic.write_atomically(path, content())


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
