"""Writes: kill -9 at random moments and around each disk operation, full disks, and concurrent writers."""

import os
import random
import signal
import subprocess
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

from reliability.check import CheckResult, CheckSkipped, check, expect, failure_of
from reliability.checks.writers import Writer, writers
from softset.errors import SoftsetError

OPERATIONS = ("fsync", "replace", "rename", "truncate", "unlink", "mkdir", "rmdir")
REFUSED = 3  # exit code of a child process that ends with a SoftsetError or OSError


def fork(work: Callable[[], object]) -> int:
    """Run a function in a child process; return the process id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except (SoftsetError, OSError):
        code = REFUSED
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def wait_for(pid: int) -> int:
    """Wait for a child process; return its exit code, or the negative number of the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@contextmanager
def _observed(observe: Callable[[int, bool], None]) -> Iterator[None]:
    """Call `observe(number, done)` before and after each disk operation."""
    count = 0

    def wrap(operation):
        def observed_operation(*arguments, **options):
            nonlocal count
            count += 1
            number = count
            observe(number, False)
            result = operation(*arguments, **options)
            observe(number, True)
            return result

        return observed_operation

    with ExitStack() as stack:
        for name in OPERATIONS:
            stack.enter_context(patch.object(os, name, wrap(getattr(os, name))))
        yield


def _measure(writer: Writer) -> tuple[int, float]:
    """Return the number of disk operations of a writer and its duration in seconds."""
    read_end, write_end = os.pipe()

    def work() -> None:
        numbers, start = [0], time.perf_counter()
        with _observed(lambda number, _: numbers.append(number)):
            writer.write()
        os.write(write_end, f"{numbers[-1]} {time.perf_counter() - start}".encode())

    writer.reset()
    expect(wait_for(fork(work)) == 0, f"{writer.name}: fails without a kill")
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        operations, seconds = pipe.read().split()
    return int(operations), float(seconds)


def _kill_at(writer: Writer, operation: int, after: bool) -> None:
    """Kill a writer before or after one of its disk operations."""

    def work() -> None:
        def kill(number: int, done: bool) -> None:
            if (number, done) == (operation, after):
                os.kill(os.getpid(), signal.SIGKILL)

        with _observed(kill):
            writer.write()

    code = wait_for(fork(work))
    expect(code in (-signal.SIGKILL, 0), f"{writer.name}: exit code {code} at operation {operation}")


def _check_recovery(writer: Writer, moment: str) -> str:
    """Check that the old or the new state exists and that a second run completes; return the state."""
    try:
        state = writer.state()
        expect(state in ("old", "new"), f"the state is {state}")
        code = wait_for(fork(writer.write))
        refused = code == REFUSED and state == "new" and not writer.repeatable
        expect(code == 0 or refused, f"a second run in the {state} state fails")
        expect(writer.state() == "new", "a second run does not complete")
    except Exception as error:
        raise failure_of(f"{writer.name}, {moment}", error) from error
    writer.reset()
    return state


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        os.environ["SOFTSET_CACHE"] = str(Path(name, "cache"))
        folder = Path(name, "files")
        folder.mkdir()
        yield folder


@check(
    "kills",
    "crash",
    "kill -9 at random moments, and before and after each disk operation",
    goal="500 kills: the old or the new version opens and verifies; a second run completes",
)
def _kills(short: bool) -> CheckResult:
    rng, total = random.Random(3), 40 if short else 500
    states: Counter[str] = Counter()
    with _temporary_folder() as folder:
        all_writers = writers(folder)
        measured = [(writer, *_measure(writer)) for writer in all_writers]
        moments = [
            (writer, operation, after)
            for writer, operations, _ in measured
            for operation in range(1, operations + 1)
            for after in (False, True)
        ]
        moments = rng.sample(moments, min(len(moments), total // 2)) if short else moments
        for writer, operation, after in moments:
            writer.reset()
            _kill_at(writer, operation, after)
            states[_check_recovery(writer, f"killed {'after' if after else 'before'} operation {operation}")] += 1
        for number in range(max(total - len(moments), total // 2)):
            writer, _, duration = measured[number % len(measured)]
            writer.reset()
            seconds = rng.uniform(0, 1.1 * duration)
            pid = fork(writer.write)
            time.sleep(seconds)
            os.kill(pid, signal.SIGKILL)
            wait_for(pid)
            states[_check_recovery(writer, f"killed after {1e3 * seconds:.1f} ms")] += 1
    return CheckResult(
        f"{states.total()} kills of {len(all_writers)} writers, {len(moments)} of them around a disk operation",
        {"old state": str(states["old"]), "new state": str(states["new"]), "second runs that completed": "all"},
    )


@check(
    "full-disk",
    "crash",
    "write to a small file system that is nearly full",
    goal="the old version stays intact, no crash",
)
def _full_disk(short: bool) -> CheckResult:
    count = refused = 0
    with _temporary_folder() as folder, _small_disk(folder / "disk", 48) as disk:
        os.environ["SOFTSET_CACHE"] = str(disk / "cache")
        for writer in writers(disk):
            for spare in (0, 16_384) if short else (0, 1, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072):
                writer.reset()
                filler = _fill(disk, spare)
                code = wait_for(fork(writer.write))
                expect(code in (0, REFUSED), f"{writer.name} on a full disk: exit code {code}")
                filler.unlink()
                state = _check_recovery(writer, f"on a disk with {spare} bytes left")
                expect(state == "new" or code == REFUSED, f"{writer.name} on a full disk: nothing was written")
                count, refused = count + 1, refused + (code == REFUSED)
    return CheckResult(f"{count} writes to a disk with 0 to 128 KB left", {"refused, old state intact": str(refused)})


@contextmanager
def _small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        raise CheckSkipped("only root can mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _fill(disk: Path, spare: int) -> Path:
    """Fill a file system up to some spare bytes; return the path of the filler."""
    filler = disk / "filler"
    free = os.statvfs(disk)
    with filler.open("wb") as out, suppress(OSError):
        out.write(b"\0" * max(0, free.f_bavail * free.f_frsize - spare))
    return filler


@check("two-writers", "crash", "two processes write the same files", goal="one complete version")
def _concurrent_writers(short: bool) -> CheckResult:
    rounds, refused = 3 if short else 20, 0
    with _temporary_folder() as folder:
        all_writers = writers(folder)
        for writer in all_writers:
            for _ in range(rounds):
                writer.reset()
                codes = [wait_for(pid) for pid in [fork(writer.write), fork(writer.write)]]
                expect(set(codes) <= {0, REFUSED} and 0 in codes, f"{writer.name}, two writers: exit codes {codes}")
                expect(writer.state() == "new", f"{writer.name}, two writers: state {writer.state()}")
                refused += codes.count(REFUSED)
    return CheckResult(
        f"{rounds * len(all_writers)} times two processes that write the same files",
        {"complete afterwards": "all", "times one was refused with a message": str(refused)},
    )
