"""Writing: kill -9 at random moments and at every step to the disk; a disk that is full; two processes at once."""

import os
import random
import signal
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reliability.check import Broken, Check, Finding, Skip, expect
from reliability.checks.writers import Writer, writers
from softset.errors import SoftsetError

__all__ = ["CHECKS"]

STEPS = ("fsync", "replace", "rename", "truncate", "unlink", "mkdir", "rmdir")
REFUSED = 3  # the exit code of a child whose work ended in a deliberate error


def child(work: Callable[[], object]) -> int:
    """Do something in a process of its own; return its id."""
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


def ended(pid: int) -> int:
    """Wait for a child; return its exit code, negative for the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@contextmanager
def _counted(then: Callable[[int, bool], None]) -> Iterator[None]:
    """Call something before and after every step to the disk, with its number."""
    done = 0

    def around(real):
        def step(*given, **options):
            nonlocal done
            done += 1
            here = done
            then(here, False)
            result = real(*given, **options)
            then(here, True)
            return result

        return step

    kept = {name: getattr(os, name) for name in STEPS}
    for name, real in kept.items():
        setattr(os, name, around(real))
    try:
        yield
    finally:
        for name, real in kept.items():
            setattr(os, name, real)


def _steps(writer: Writer) -> int:
    """Count the steps of a whole run."""
    read, write = os.pipe()

    def work() -> None:
        seen = 0

        def note(at: int, _: bool) -> None:
            nonlocal seen
            seen = at

        with _counted(note):
            writer.write()
        os.write(write, str(seen).encode())

    writer.reset()
    expect(ended(child(work)) == 0, f"{writer.name}: a run that nobody kills fails")
    os.close(write)
    with os.fdopen(read) as said:
        return int(said.read())


def _killed_at(writer: Writer, step: int, after: bool) -> None:
    def work() -> None:
        def strike(at: int, done: bool) -> None:
            if (at, done) == (step, after):
                os.kill(os.getpid(), signal.SIGKILL)

        with _counted(strike):
            writer.write()

    expect(ended(child(work)) in (-signal.SIGKILL, 0), f"{writer.name}: ended otherwise at step {step}")


def _killed_after(writer: Writer, seconds: float) -> bool:
    pid = child(writer.write)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    return ended(pid) == -signal.SIGKILL


def _settled(writer: Writer, when: str) -> str:
    """See that the old or the new state is there, and that a second run completes."""
    try:
        found = writer.state()
        expect(found in ("old", "new"), f"a third state, {found}")
        expect(ended(child(writer.write)) in (0, REFUSED if found == "new" else 0), "a second run fails")
        expect(writer.state() == "new", "a second run does not complete")
    except Broken as broken:
        raise Broken(f"{writer.name}, killed {when}: {broken}") from broken
    except Exception as error:
        raise Broken(f"{writer.name}, killed {when}: {type(error).__name__}: {error}") from error
    writer.reset()
    return found


@contextmanager
def _place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        os.environ["SOFTSET_CACHE"] = str(Path(name, "shelf"))
        Path(name, "all").mkdir()
        yield Path(name, "all")


def _kills(short: bool) -> Finding:
    rng, wanted = random.Random(3), 40 if short else 500
    found = {"old": 0, "new": 0}
    at_steps = 0
    with _place() as folder:
        all_writers = writers(folder)
        moments = [
            (one, step, after) for one in all_writers for step in range(1, _steps(one) + 1) for after in (False, True)
        ]
        for writer, step, after in rng.sample(moments, min(len(moments), wanted // 2)) if short else moments:
            writer.reset()
            _killed_at(writer, step, after)
            found[_settled(writer, f"{'after' if after else 'before'} step {step}")] += 1
            at_steps += 1
        durations = {one.name: _duration(one) for one in all_writers}
        at_random = 0
        while at_steps + at_random < wanted or at_random < wanted // 2:
            writer = all_writers[at_random % len(all_writers)]
            writer.reset()
            moment = rng.uniform(0, 1.1 * durations[writer.name])
            _killed_after(writer, moment)
            found[_settled(writer, f"after {1e3 * moment:.1f} ms")] += 1
            at_random += 1
    return Finding(
        f"{at_steps + at_random} kills of {len(all_writers)} writers, {at_steps} of them around a step to the disk",
        {
            "old state": str(found["old"]),
            "new state": str(found["new"]),
            "third": "0",
            "second runs that completed": "all",
        },
    )


def _duration(writer: Writer) -> float:
    writer.reset()
    start = time.perf_counter()
    expect(ended(child(writer.write)) == 0, f"{writer.name}: a run that nobody kills fails")
    return time.perf_counter() - start


# A disk that is full


def _full(short: bool) -> Finding:
    tried = refused = 0
    with _place() as folder, _small_disk(folder / "disk", 24) as disk:
        os.environ["SOFTSET_CACHE"] = str(disk / "shelf")
        for writer in writers(disk):
            for spare in (0, 16_384) if short else (0, 1, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072):
                writer.reset()
                filler = _filled(disk, spare)
                code = ended(child(writer.write))
                expect(code in (0, REFUSED), f"{writer.name} on a full disk: exit code {code}")
                filler.unlink()
                allowed = ("old", "new") if code else ("new",)
                expect(writer.state() in allowed, f"{writer.name} on a full disk: {writer.state()} after code {code}")
                expect(ended(child(writer.write)) in (0, REFUSED if not code else 0), f"{writer.name}: no second run")
                expect(writer.state() == "new", f"{writer.name}: not whole when there is room again")
                tried, refused = tried + 1, refused + (code == REFUSED)
    return Finding(f"{tried} writes to a disk with 0 to 128 KB left", {"refused, the old state whole": str(refused)})


@contextmanager
def _small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        raise Skip("a small file system can only be made by root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _filled(disk: Path, spare: int) -> Path:
    """Fill a file system but for some bytes."""
    filler = disk / "filler"
    free = os.statvfs(disk)
    with filler.open("wb") as out, suppress(OSError):
        out.write(b"\0" * max(0, free.f_bavail * free.f_frsize - spare))
    return filler


# Two at once


def _together(short: bool) -> Finding:
    rounds, refused = 3 if short else 20, 0
    with _place() as folder:
        all_writers = writers(folder)
        for writer in all_writers:
            for _ in range(rounds):
                writer.reset()
                codes = [ended(pid) for pid in [child(writer.write), child(writer.write)]]
                expect(set(codes) <= {0, REFUSED} and 0 in codes, f"{writer.name}, two at once: exit codes {codes}")
                expect(writer.state() == "new", f"{writer.name}, two at once: {writer.state()}")
                refused += codes.count(REFUSED)
    return Finding(
        f"{rounds * len(all_writers)} times two processes that write the same thing",
        {"whole afterwards": "all", "where one was refused in a sentence": str(refused)},
    )


CHECKS = (
    Check(
        "kills",
        "crash",
        "kill -9 by the process's own id at random moments, and before and after every step to the disk",
        "500 kills: the old or the new version opens, verified, never a third thing; a second run completes",
        _kills,
    ),
    Check(
        "disk-full",
        "crash",
        "writes to a small file system that is nearly full",
        "the old version, and no crash",
        _full,
    ),
    Check("two-at-once", "crash", "two processes that write the same thing", "one of the two, whole", _together),
)
