"""File readers: damaged files of each kind, archive bombs, and names that lead out of a folder."""

import gzip
import io
import os
import random
import re
import resource
import shutil
import struct
import tarfile
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

from reliability.check import CheckResult, check, expect, failure_of
from reliability.checks.sample_files import SampleFile, write_samples
from softset.errors import SoftsetError
from softset.vectors.registry import import_vectors

MAX_MEMORY = 1_000  # MB
MAX_MESSAGE = 1_000
NUMBERS = re.compile(rb"\d+")
WRONG_NUMBERS = b"0 -1 1 2147483648 4294967295 9223372036854775807 1e400 NaN 99999999999999999999".split()


def damage(content: bytes, rng: random.Random) -> bytes:
    """Return the content of a file with one to three kinds of damage."""
    for _ in range(rng.randint(1, 3)):
        start, stop = sorted((_random_position(content, rng), _random_position(content, rng)))
        position = rng.choice([start, stop])
        kind = rng.randrange(7)
        if kind == 0:  # cut
            content = content[:position]
        elif kind == 1:  # change a byte
            content = content[:position] + bytes([rng.randrange(256)]) + content[position + 1 :]
        elif kind == 2:  # insert
            special = rng.choice([b"\0", b"\n", b'"', b"\\", b"[", b"}", b"nan", b"\xff"])
            content = content[:position] + rng.choice([special, rng.randbytes(rng.randint(1, 20))]) + content[position:]
        elif kind == 3:  # lengthen
            content += rng.choice([b"\0", b"\n", b" ", b"[", content[:100] or b"x"]) * rng.randint(1, 2_000)
        elif kind == 4:  # repeat a part
            content = content[:stop] + content[start:stop] * rng.randint(1, 3) + content[stop:]
        elif kind == 5 and (numbers := list(NUMBERS.finditer(content[:4_096]))):  # change a decimal number
            match = rng.choice(numbers)
            content = content[: match.start()] + rng.choice(WRONG_NUMBERS) + content[match.end() :]
        else:  # change a binary number
            number = struct.pack(rng.choice(["<I", "<Q", "<H", "<i"]), rng.choice([0, 1, 255, 32_767]))
            number = number if rng.random() < 0.5 else b"\xff" * len(number)
            content = content[:position] + number + content[position + len(number) :]
    return content


def _random_position(content: bytes, rng: random.Random) -> int:
    """Return a position, often near the start or the end, where headers are."""
    n = len(content)
    return rng.choice([rng.randint(0, n), rng.randint(0, min(n, 64)), rng.randint(max(0, n - 64), n)])


def _read(sample: SampleFile, label: str) -> bool:
    """Read a damaged file and return whether that succeeded; any error but a one-line SoftsetError fails the check."""
    try:
        sample.read()
    except SoftsetError as error:
        message = str(error)
        expect("\n" not in message and len(message) <= MAX_MESSAGE, f"{label}: the message {message[:300]!r}")
        return False
    except BaseException as error:
        raise failure_of(label, error) from error
    return True


def _limit_memory() -> None:
    """Limit the memory of this process, so that a wrong size in a header cannot exhaust the machine."""
    if Path("/proc/self/statm").is_file():
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MAX_MEMORY * 10**6
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _peak() -> float:
    """Return the peak memory in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


@check(
    "damaged-files",
    "fuzz",
    "cut, change, lengthen and repeat parts of files of each kind; wrong sizes in headers",
    goal="100,000 files: only SoftsetErrors, less than 1 GB of memory, no files outside the folder",
)
def _damaged_files(short: bool) -> CheckResult:
    seed, count = 11, 3_000 if short else 100_000
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "inside")
        folder.mkdir()
        os.chdir(folder)
        samples = write_samples(folder)
        _limit_memory()
        readable, slowest = 0, 0.0
        for number in range(count):
            rng = random.Random(f"{seed}-{number}")
            sample = samples[number % len(samples)]
            file = rng.choice(sample.files)
            content = file.read_bytes()
            file.write_bytes(damage(content, rng))
            start = time.perf_counter()
            readable += _read(sample, f"{sample.name}, {file.name}, damage {seed}-{number}")
            slowest = max(slowest, time.perf_counter() - start)
            if sample.name == "cache":  # it repairs itself with new files
                for path in file.parent.iterdir():
                    path.unlink()
            file.write_bytes(content)
        outside = [path.name for path in Path(name).iterdir() if path.name != "inside"]
        expect(not outside, f"files written outside the folder: {outside}")
    expect(_peak() < MAX_MEMORY, f"{_peak():,.0f} MB of memory")
    figures = {"readable": f"{readable:,}", "refused": f"{count - readable:,}", "slowest": f"{slowest:.2f} s"}
    scope = f"{count:,} damaged files of {len(samples)} kinds"
    return CheckResult(scope, {**figures, "peak": f"{_peak():,.0f} MB"})


def _write_hostile_files(folder: Path) -> dict[str, Path]:
    """Write archives that unpack to very large files or have paths outside the folder, and files with wrong sizes."""
    zeros = gzip.compress(b"a 1 0.5\n" + b"0" * 2**20, mtime=0)
    one_gb = io.BytesIO()
    with gzip.GzipFile(fileobj=one_gb, mode="wb", mtime=0) as out:
        for _ in range(1_024):
            out.write(b"0" * 2**20)
    bomb = one_gb.getvalue()
    contents = {
        "gzip-bomb.txt.gz": bomb,
        "gzip-in-gzip.gz": gzip.compress(bomb, mtime=0),
        "many-members.gz": zeros * 2_000,
        "zip-bomb.zip": _zip({"vectors.txt": b"a 1\n" + b"0" * (200 * 2**20)}),
        "zip-of-many.zip": _zip({f"{number}.txt": b"" for number in range(30_000)}),
        "climbing.zip": _zip({"../../climbed.txt": b"a 1\n", "/tmp/climbed.txt": b"b 1\n"}),  # noqa: S108 (inside the archive)
        "climbing-one.zip": _zip({"../../climbed.txt": b"a 1\nb 2\n"}),
        "climbing.tar": _tar([("../../climbed.txt", tarfile.REGTYPE, "")]),
        "link.tar": _tar([("vectors.txt", tarfile.SYMTYPE, "/etc/passwd")]),
        "hard-link.tar": _tar([("vectors.txt", tarfile.LNKTYPE, "../../../etc/passwd")]),
        "device.tar": _tar([("vectors.txt", tarfile.CHRTYPE, "")]),
        "fifo.tar": _tar([("vectors.txt", tarfile.FIFOTYPE, "")]),
        "deep.json": b'{"words":' + b"[" * 5_000_000,
        "long-line.txt": b"a " + b"1 " * 5_000_000,
        "wide.txt": b"2 2000000000\n" + b"a " + b"1 " * 1_000,
        "many.bin": b"4000000000 300\n" + b"a " + b"\0" * 1_200,
    }
    paths = {}
    for name, content in contents.items():
        paths[name] = folder / name
        paths[name].write_bytes(content)
    return paths


def _zip(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def _tar(members: list[tuple[str, bytes, str]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:") as archive:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            content = b"a 1\nb 2\n" if kind == tarfile.REGTYPE else b""
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


@check(
    "hostile-files",
    "fuzz",
    "gzip and zip bombs, links, devices, paths that lead out of the folder",
    goal="refused or read with bounded memory, no files outside the folder",
)
def _hostile_files(_: bool) -> CheckResult:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "a", "b", "inside")
        folder.mkdir(parents=True)
        os.chdir(folder)
        os.environ["SOFTSET_CACHE"] = str(folder / "cache")
        hostile = _write_hostile_files(folder)
        before, slowest, refused = _files_outside(Path(name), folder), ("", 0.0), 0
        for label, path in hostile.items():
            start = time.perf_counter()
            sample = SampleFile(label, (path,), lambda path=path: import_vectors(path, "hostile", replace=True))
            refused += not _read(sample, label)
            slowest = max(slowest, (label, time.perf_counter() - start), key=lambda entry: entry[1])
            shutil.rmtree(folder / "cache", ignore_errors=True)
        outside = _files_outside(Path(name), folder) - before
        expect(not outside, f"files written outside the folder: {outside}")
        expect(not Path("/tmp/climbed.txt").exists(), "a file was written to /tmp")  # noqa: S108 (must not exist)
        for bad in ("../out", "a/b", "..", "/abs", "x\0y", ".", "", "con\n", "a" * 300):
            sample = SampleFile("name", (), lambda bad=bad: import_vectors(hostile["climbing-one.zip"], bad))
            _read(sample, f"the name {bad!r}")
        expect(_files_outside(Path(name), folder) == before, "a name led out of the folder")
    expect(_peak() < MAX_MEMORY, f"{_peak():,.0f} MB of memory")
    return CheckResult(
        f"{len(hostile)} files, 9 names",
        {"refused": str(refused), "slowest": f"{slowest[0]} {slowest[1]:.1f} s", "peak": f"{_peak():,.0f} MB"},
    )


def _files_outside(root: Path, inside: Path) -> set[Path]:
    """Return all files below a folder that are not in a given subfolder."""
    return {path for path in root.rglob("*") if not path.is_relative_to(inside)}
