"""Shared parts of the Ray tests: files of pairs, a cluster of two processes, and its workers."""

import random
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from softset.jobs.run import cluster

if find_spec("ray") is None or find_spec("pyarrow") is None:
    collect_ignore = ["test_search.py", "test_scoring.py"]

# Ray and the engines warn of their own ways, and leave files open in this process.
QUIET = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
WORDS = "red blue green apple peach banana dog cat wolf sea ship storm war bread wine garden king queen snow".split()


@pytest.fixture(scope="session")
def two_processes() -> Iterator[object]:
    """A cluster of this machine's, for all tests that do not want one of their own."""
    with cluster(workers=2) as started:
        yield started


def pairs(count: int, seed: int = 0, words: int = 8) -> list[dict]:
    rng = random.Random(seed)
    return [
        {
            "id": f"{seed}-{row}",
            "candidate": " ".join(rng.choices(WORDS, k=words)),
            "reference": " ".join(rng.choices(WORDS, k=words + 1)),
        }
        for row in range(count)
    ]


def write(path: Path, rows: list[dict], group: int = 200, schema: object = None) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, row_group_size=group)


def read(folder: Path) -> dict[str, dict]:
    """Return the rows of an output folder by their ids; what begins with an underscore is passed over."""
    import pyarrow.parquet as pq

    rows = [row for part in sorted(folder.glob("[!_]*")) for row in pq.read_table(part).to_pylist()]
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row for row in rows}


def workers_of(driver: int, named: str) -> list[int]:
    """Return the processes of a driver's cluster whose title has a name."""
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            title = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if title.startswith("ray::") and named in title and driver in _ancestors(int(folder.name)):
            processes.append(int(folder.name))
    return processes


def _ancestors(pid: int) -> set[int]:
    above = set()
    while pid > 1:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            break
        pid = int(fields[1])
        above.add(pid)
    return above
