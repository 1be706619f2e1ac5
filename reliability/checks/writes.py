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
from contextlib import contextmanager, suppress
from pathlib import Path

from reliability.check import Check, CheckFailed, CheckResult, CheckSkipped, expect
from reliability.checks.writers import Writer, writers
from softset.errors import SoftsetError

__all__ = ["CHECKS"]

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

    originals = {name: getattr(os, name) for name in OPERATIONS}
    for name, operation in originals.items():
        setattr(os, name, wrap(operation))
    try:
        yield
    finally:
        for name, operation in originals.items():
            setattr(os, name, operation)


def _count_operations(writer: Writer) -> int:
    read_end, write_end = os.pipe()

    def work() -> None:
        numbers = [0]
        with _observed(lambda number, _: numbers.append(number)):
            writer.write()
        os.write(write_end, str(numbers[-1]).encode())

    writer.reset()
    expect(wait_for(fork(work)) == 0, f"{writer.name}: fails without a kill")
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        return int(pipe.read())


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


def _kill_after(writer: Writer, seconds: float) -> None:
    pid = fork(writer.write)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    wait_for(pid)


def _check_recovery(writer: Writer, moment: str) -> str:
    """Check that the old or the new state exists and that a second run completes; return the state."""
    try:
        state = writer.state()
        expect(state in ("old", "new"), f"the state is {state}")
        expect(wait_for(fork(writer.write)) in (0, REFUSED if state == "new" else 0), "a second run fails")
        expect(writer.state() == "new", "a second run does not complete")
    except CheckFailed as failure:
        raise CheckFailed(f"{writer.name}, killed {moment}: {failure}") from failure
    except Exception as error:
        raise CheckFailed(f"{writer.name}, killed {moment}: {type(error).__name__}: {error}") from error
    writer.reset()
    return state


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        os.environ["SOFTSET_CACHE"] = str(Path(name, "cache"))
        folder = Path(name, "files")
        folder.mkdir()
        yield folder


def _kills(short: bool) -> CheckResult:
    rng, total = random.Random(3), 40 if short else 500
    states: Counter[str] = Counter()
    with _temporary_folder() as folder:
        all_writers = writers(folder)
        moments = [
            (writer, operation, after)
            for writer in all_writers
            for operation in range(1, _count_operations(writer) + 1)
            for after in (False, True)
        ]
        moments = rng.sample(moments, min(len(moments), total // 2)) if short else moments
        for writer, operation, after in moments:
            writer.reset()
            _kill_at(writer, operation, after)
            states[_check_recovery(writer, f"{'after' if after else 'before'} operation {operation}")] += 1
        durations = {writer.name: _duration(writer) for writer in all_writers}
        random_kills = max(total - len(moments), total // 2)
        for number in range(random_kills):
            writer = all_writers[number % len(all_writers)]
            writer.reset()
            seconds = rng.uniform(0, 1.1 * durations[writer.name])
            _kill_after(writer, seconds)
            states[_check_recovery(writer, f"after {1e3 * seconds:.1f} ms")] += 1
    return CheckResult(
        f"{states.total()} kills of {len(all_writers)} writers, {len(moments)} of them around a disk operation",
        {"old state": str(states["old"]), "new state": str(states["new"]), "second runs that completed": "all"},
    )


def _duration(writer: Writer) -> float:
    writer.reset()
    start = time.perf_counter()
    expect(wait_for(fork(writer.write)) == 0, f"{writer.name}: fails without a kill")
    return time.perf_counter() - start


def _full_disk(short: bool) -> CheckResult:
    count = refused = 0
    with _temporary_folder() as folder, _small_disk(folder / "disk", 24) as disk:
        os.environ["SOFTSET_CACHE"] = str(disk / "cache")
        for writer in writers(disk):
            for spare in (0, 16_384) if short else (0, 1, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072):
                writer.reset()
                filler = _fill(disk, spare)
                code = wait_for(fork(writer.write))
                expect(code in (0, REFUSED), f"{writer.name} on a full disk: exit code {code}")
                filler.unlink()
                state = writer.state()
                expect(state in (("old", "new") if code else ("new",)), f"{writer.name} on a full disk: state {state}")
                second = wait_for(fork(writer.write))
                expect(second in (0, REFUSED if not code else 0), f"{writer.name}: the second run fails")
                expect(writer.state() == "new", f"{writer.name}: incomplete after the second run")
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


CHECKS = (
    Check(
        "kills",
        "crash",
        "kill -9 at random moments, and before and after each disk operation",
        "500 kills: the old or the new version opens and verifies; a second run completes",
        _kills,
    ),
    Check(
        "full-disk",
        "crash",
        "write to a small file system that is nearly full",
        "the old version stays intact, no crash",
        _full_disk,
    ),
    Check("two-writers", "crash", "two processes write the same files", "one complete version", _concurrent_writers),
)
