"""File readers: real files cut, flipped, lengthened, and with other numbers in their headers; bombs; climbing names."""

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
from collections.abc import Callable
from pathlib import Path

from reliability.check import Broken, Check, Finding, expect
from reliability.checks.specimens import Specimen, specimens
from softset.errors import SoftsetError

__all__ = ["CHECKS"]

MOST_MEMORY = 1_000  # MB
LONGEST_SENTENCE = 1_000
NUMBERS = re.compile(rb"\d+")
LIES = [
    b"0",
    b"-1",
    b"1",
    b"2147483648",
    b"4294967295",
    b"9223372036854775807",
    b"1e400",
    b"NaN",
    b"99999999999999999999",
]


# Damage


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return a file's bytes with one to three kinds of damage."""
    for _ in range(rng.randint(1, 3)):
        content = rng.choice(DAMAGES)(content, rng)
    return content


def _place(content: bytes, rng: random.Random) -> int:
    """Return a place, often one near the beginning or the end, where headers are."""
    n = len(content)
    return rng.choice([rng.randint(0, n), rng.randint(0, min(n, 64)), rng.randint(max(0, n - 64), n)])


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: _place(content, rng)]


def _flip(content: bytes, rng: random.Random) -> bytes:
    at = _place(content, rng)
    return content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]


def _insert(content: bytes, rng: random.Random) -> bytes:
    at = _place(content, rng)
    more = rng.choice(
        [rng.randbytes(rng.randint(1, 20)), rng.choice([b"\0", b"\n", b'"', b"\\", b"[", b"}", b"nan", b"\xff"])]
    )
    return content[:at] + more + content[at:]


def _lengthen(content: bytes, rng: random.Random) -> bytes:
    return content + rng.choice([b"\0", b"\n", b" ", b"[", content[:100] or b"x"]) * rng.randint(1, 2_000)


def _repeat(content: bytes, rng: random.Random) -> bytes:
    a, b = sorted((_place(content, rng), _place(content, rng)))
    return content[:b] + content[a:b] * rng.randint(1, 3) + content[b:]


def _lie(content: bytes, rng: random.Random) -> bytes:
    """Put another number where a number is written."""
    found = list(NUMBERS.finditer(content[:4_096]))
    if not found:
        return _lie_in_binary(content, rng)
    one = rng.choice(found)
    return content[: one.start()] + rng.choice(LIES) + content[one.end() :]


def _lie_in_binary(content: bytes, rng: random.Random) -> bytes:
    at = _place(content, rng)
    lie = struct.pack(rng.choice(["<I", "<Q", "<H", "<i"]), rng.choice([0, 1, 255, 32_767]))
    lie = lie if rng.random() < 0.5 else b"\xff" * len(lie)
    return content[:at] + lie + content[at + len(lie) :]


DAMAGES: list[Callable[[bytes, random.Random], bytes]] = [
    _cut,
    _flip,
    _insert,
    _lengthen,
    _repeat,
    _lie,
    _lie_in_binary,
]


# Reading what is damaged


def _read(specimen: Specimen, what: str) -> bool:
    """Read a file that is damaged, and tell whether that went well; anything but our own error is broken."""
    try:
        specimen.read()
    except SoftsetError as error:
        sentence = str(error)
        expect("\n" not in sentence and len(sentence) <= LONGEST_SENTENCE, f"{what}: no sentence, {sentence[:300]!r}")
        return False
    except Broken as broken:
        raise Broken(f"{what}: {broken}") from broken
    except BaseException as error:
        raise Broken(f"{what}: {type(error).__name__}: {str(error)[:300]}") from error
    return True


def _limit_memory() -> None:
    """Let whoever believes a header's lie about its size fail here, and not the machine."""
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").is_file() else 0
    if pages:
        most = pages * resource.getpagesize() + MOST_MEMORY * 10**6
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _files(short: bool) -> Finding:
    seed, wanted = 11, 3_000 if short else 100_000
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "inside")
        folder.mkdir()
        os.chdir(folder)
        kinds = specimens(folder)
        _limit_memory()
        well, slowest = 0, 0.0
        for at in range(wanted):
            rng = random.Random(f"{seed}-{at}")
            specimen = kinds[at % len(kinds)]
            file = rng.choice(specimen.files)
            content = file.read_bytes()
            worse = damaged(content, rng)
            file.write_bytes(worse)
            start = time.perf_counter()
            well += _read(specimen, f"{specimen.name}, {file.name}, damage {seed}-{at}")
            slowest = max(slowest, time.perf_counter() - start)
            _restore(specimen, file, content)
        outside = [path.name for path in Path(name).iterdir() if path.name != "inside"]
        expect(not outside, f"written outside: {outside}")
    expect(_peak() < MOST_MEMORY, f"{_peak():,.0f} MB of memory")
    return Finding(
        f"{wanted:,} damaged files of {len(kinds)} kinds",
        {
            "read": f"{well:,}",
            "refused": f"{wanted - well:,}",
            "slowest": f"{slowest:.2f} s",
            "peak": f"{_peak():,.0f} MB",
        },
    )


def _restore(specimen: Specimen, file: Path, content: bytes) -> None:
    """Put the good bytes back; a cache that mends itself has made other files meanwhile."""
    if specimen.name == "cache":
        for one in file.parent.iterdir():
            one.unlink()
    file.write_bytes(content)


# Archives that are made to harm


def _hostile(folder: Path) -> dict[str, Path]:
    """Write archives that unpack to far more than they are, and whose names lead elsewhere."""
    zeros = gzip.compress(b"a 1 0.5\n" + b"0" * 2**20, mtime=0)
    one_gb = io.BytesIO()
    with gzip.GzipFile(fileobj=one_gb, mode="wb", mtime=0) as out:
        for _ in range(1_024):
            out.write(b"0" * 2**20)
    bomb = one_gb.getvalue()
    made = {
        "gzip-bomb.txt.gz": bomb,
        "gzip-in-gzip.gz": gzip.compress(bomb, mtime=0),
        "many-members.gz": zeros * 2_000,
        "zip-bomb.zip": _zip({"vectors.txt": b"a 1\n" + b"0" * (200 * 2**20)}),
        "zip-of-many.zip": _zip({f"{at}.txt": b"" for at in range(30_000)}),
        "climbing.zip": _zip({"../../climbed.txt": b"a 1\n", "/tmp/climbed.txt": b"b 1\n"}),  # noqa: S108 (a name inside)
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
    for name, content in made.items():
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


def _archives(short: bool) -> Finding:
    from softset.vectors.registry import import_vectors

    del short
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "a", "b", "inside")
        folder.mkdir(parents=True)
        os.chdir(folder)
        os.environ["SOFTSET_CACHE"] = str(folder / "cache")
        hostile = _hostile(folder)
        before, slowest, refused = _listed(Path(name), folder), ("", 0.0), 0
        for label, path in hostile.items():
            start = time.perf_counter()
            specimen = Specimen(label, (path,), lambda path=path: import_vectors(path, "hostile", replace=True))
            refused += not _read(specimen, label)
            slowest = max(slowest, (label, time.perf_counter() - start), key=lambda one: one[1])
            shutil.rmtree(folder / "cache", ignore_errors=True)
        expect(_listed(Path(name), folder) == before, f"written outside: {_listed(Path(name), folder) - before}")
        expect(not Path("/tmp/climbed.txt").exists(), "an archive wrote to /tmp")  # noqa: S108 (what must not be)
        for bad in ("../out", "a/b", "..", "/abs", "x\0y", ".", "", "con\n", "a" * 300):
            _read(
                Specimen("name", (), lambda bad=bad: import_vectors(hostile["climbing-one.zip"], bad)),
                f"the name {bad!r}",
            )
        expect(_listed(Path(name), folder) == before, "a name led outside")
    expect(_peak() < MOST_MEMORY, f"{_peak():,.0f} MB of memory")
    return Finding(
        f"{len(hostile)} archives, 9 names",
        {"refused": str(refused), "slowest": f"{slowest[0]} {slowest[1]:.1f} s", "peak": f"{_peak():,.0f} MB"},
    )


def _listed(root: Path, inside: Path) -> set[Path]:
    """Return all files below a folder that are not inside another."""
    return {path for path in root.rglob("*") if not path.is_relative_to(inside)}


CHECKS = (
    Check(
        "readers",
        "fuzz",
        "files of each kind cut, flipped, lengthened, repeated, their headers lying about sizes",
        "100,000 files: only our own errors, memory under 1 GB, nothing written outside",
        _files,
    ),
    Check(
        "archives",
        "fuzz",
        "gzip and zip bombs, links, devices, names that climb out of a folder",
        "refused or read in bounded memory, nothing written outside",
        _archives,
    ),
)
