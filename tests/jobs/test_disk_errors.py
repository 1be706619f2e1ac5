"""A full disk and a read-only folder are clear errors, and a second run continues."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.jobs.conftest import pairs, write

SOFTSET = [sys.executable, "-m", "softset"]
# `index` shows how it understood the first item before it encodes any, so that one can stop it.
FIRST_ITEM = "softset: first item: id '1', text 'line 0 about the sea and ship 0'\n"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system can only be made by root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    """A folder that one may read but not write."""
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)


def lose_override() -> None:
    """Give up root's way around permissions: CAP_DAC_OVERRIDE, for whatever this process becomes."""
    ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)  # PR_CAPBSET_DROP


def run(*command: str, humble: bool = False) -> subprocess.CompletedProcess[str]:
    before = lose_override if humble and not os.getuid() else None
    return subprocess.run([*SOFTSET, *command], capture_output=True, text=True, timeout=240, preexec_fn=before)


@pytest.fixture(params=["milvus", "lance"])
def kind(request) -> str:
    if find_spec({"milvus": "pymilvus", "lance": "lancedb"}[request.param]) is None:
        pytest.skip(f"needs the extra {request.param}")
    return str(request.param)


def indexing(kind: str, folder: Path, lines: int = 6_000) -> list[str]:
    """Return the command that puts lines into a store in a folder; the lines lie beside it."""
    texts = folder.parent / "lines.txt"
    texts.write_text("".join(f"line {n} about the sea and ship {n}\n" for n in range(lines)))
    texts.chmod(0o644)
    where = ["--out", f"{kind}://{folder}/store.db#books", "--model", "words"]
    return ["index", str(texts), *where]


def one_sentence(done: subprocess.CompletedProcess[str], said: str, note: str = "") -> None:
    """Check that an error is one sentence on standard error, after a note."""
    assert done.returncode == 2 and said in done.stderr, (done.returncode, done.stderr)
    assert done.stderr.startswith(f"{note}softset: ") and not done.stdout
    assert done.stderr.removeprefix(note).count("\n") == 1, done.stderr


def test_indexing_continues_after_a_full_disk(kind: str, small: Path) -> None:
    command = indexing(kind, small)
    one_sentence(run(*command), "No space left on device", FIRST_ITEM)
    subprocess.run(["mount", "-o", "remount,size=80m", str(small)], check=True)
    again = run(*command)
    assert again.returncode == 0 and "6,000 in all" in again.stdout and again.stderr == FIRST_ITEM, again.stderr
    result = run("find", "--collection", f"{kind}://{small}/store.db#books", "{sea, ship}", "--top", "3")
    assert result.stdout.count("about the sea") == 3


def test_a_read_only_store_is_an_error(kind: str, locked: Path) -> None:
    one_sentence(run(*indexing(kind, locked, 10), humble=True), "ermission denied")
    assert not list(locked.iterdir())


@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")
def test_a_read_only_output_folder_is_an_error(locked: Path, tmp_path: Path) -> None:
    write(tmp_path / "pairs.parquet", pairs(10))
    command = ["jobs", "score", "--input", str(tmp_path / "pairs.parquet"), "--model", "words"]
    one_sentence(run(*command, "--out", str(locked / "scored"), humble=True), "ermission denied")
