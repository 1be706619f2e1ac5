"""What jobs cost on one core, by the million: `python tools/costs.py --write` renews the table of docs/scale.md.

Rates are of the functions that workers call, with one thread; that of a search is the slope between two sizes, so that
the start of Ray is not counted. Sizes are those of files on disk.
"""

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np  # only now: linear algebra reads the number of threads when it is loaded

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
PLACE = re.compile(r"(<!-- costs -->\n).*?(<!-- end of costs -->)", re.DOTALL)
D, QUICK, MILLION = 384, 10, 10**6
WEIGHTS = 6 * (4 * D**2 + 2 * D * 4 * D)  # of the matrices of MiniLM that each token is multiplied by
SETS = 2  # in the query of a search


class Cost(NamedTuple):
    """What is done, how many a second on one core, the bytes of each that are written or read, and its operations."""

    name: str
    rate: float
    size: float
    operations: float | None


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--write", action="store_true", help="renew the table in docs/scale.md")
    given.add_argument("--quick", action="store_true", help="a tenth of the work: to see that it runs")
    options = given.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = table(measured(Path(folder), QUICK if options.quick else 1))
    print(lines)
    if options.write:
        page = ROOT / "docs" / "scale.md"
        page.write_text(PLACE.sub(lambda found: f"{found[1]}\n{lines}\n\n{found[2]}", page.read_text("utf-8")), "utf-8")


def measured(folder: Path, less: int) -> list[Cost]:
    return [
        *scores(folder, less),
        vectors(folder, less),
        search(folder, less),
        *(store(kind, folder, less) for kind in ("milvus", "lance")),
    ]


def written(table, folder: Path) -> int:
    """Return the bytes of a table as a Parquet file."""
    from softset.jobs.output import ParquetParts

    parts = ParquetParts(folder / "parts")
    parts.folder.mkdir(exist_ok=True)
    parts.write_table("one", table)
    return parts.path("one").stat().st_size


def scores(folder: Path, less: int) -> list[Cost]:
    import pyarrow as pa
    from benchmarks.data import random_sentences

    from softset.jobs.scoring import Scoring

    found = []
    for model, count in (("minilm", 1_000 // less), ("words", 40_000 // less)):
        texts = {name: random_sentences(count, seed) for seed, name in enumerate(("candidate", "reference"))}
        given = pa.table({"id": [str(at) for at in range(count)], **texts})
        make = Scoring(model=model, threads=1)
        make(given.slice(0, 32))
        start = time.perf_counter()
        made = make(given)
        rate = count / (time.perf_counter() - start)
        tokens = sum(sum(made.column(f"{name}_tokens").to_pylist()) for name in texts) / count
        operations = 2 * WEIGHTS * tokens if model == "minilm" else None
        size = (written(given, folder) + written(made, folder)) / count
        found.append(Cost(f"pairs scored, `{model}`", rate, size, operations))
    return found


def vectors(folder: Path, less: int) -> Cost:
    import pyarrow as pa
    from benchmarks.data import random_sentences

    from softset.jobs.embedding import Embedding

    count = 2_000 // less
    make = Embedding(threads=1)
    given = pa.table({"id": [str(at) for at in range(count)], "text": random_sentences(count, 0)})
    make(given.slice(0, 32))
    start = time.perf_counter()
    made = make(given)
    rate = count / (time.perf_counter() - start)
    tokens = make.encoder.encode(given.column("text").to_pylist()).counts.mean()
    return Cost(f"texts to vectors, `minilm`, {D}", rate, written(made, folder) / count, 2 * WEIGHTS * tokens)


def rows_like_an_encoder(count: int) -> np.ndarray:
    from benchmarks.data import random_token_sets

    return random_token_sets(count, 1, 1, D, seed=0).vectors


def search(folder: Path, less: int) -> Cost:
    """Time an exact search in one file, and in four of the same size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from softset.jobs.cluster import cluster
    from softset.jobs.finding import Shards

    count = 100_000 // less
    rows = rows_like_an_encoder(count)
    for at in range(4):
        column = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), D)
        ids = [f"{at}-{place}" for place in range(count)]
        pq.write_table(pa.table({"id": ids, "vector": column}), folder / f"shard-{at}.parquet", row_group_size=20_000)
    seconds = {}
    with cluster(workers=1) as ray:
        for pattern in ("shard-0.parquet", "shard-?.parquet"):
            items = Shards(ray, str(folder / pattern), workers=1)
            times = []
            for _ in range(4):
                start = time.perf_counter()
                items.find("{0-1, 0-2} - {0-3}", 100)
                times.append(time.perf_counter() - start)
            seconds[pattern] = float(np.median(times[1:]))
    size = (folder / "shard-0.parquet").stat().st_size / count
    few, many = seconds.values()
    return Cost(f"vectors searched exactly, on Ray, {D}", 3 * count / (many - few), size, 2 * D * SETS)


def store(kind: str, folder: Path, less: int) -> Cost:
    from benchmarks.cases.stores import fill_store

    from softset import WordVectors

    count = 50_000 // less
    words = WordVectors.of([f"item {at}" for at in range(count)], rows_like_an_encoder(count))
    place = folder / kind
    place.mkdir()
    _, seconds = fill_store(kind, words, place)
    size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / count
    name = {"milvus": "Milvus Lite (HNSW)", "lance": "LanceDB (IVF)"}[kind]
    return Cost(f"vectors added to {name}, {D}", count / seconds, size, None)


def table(found: list[Cost]) -> str:
    """Return the table; a million on one core is a billion on a thousand."""
    from benchmarks.measurement import describe_machine

    lines = [
        describe_machine().partition(", NumPy")[0] + ".",
        "",
        "| what | operations of one | bytes of one | a second and core | core-hours a million | GB a million |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for one in found:
        operations = "" if one.operations is None else f"{one.operations:,.0f}"
        hours, size = MILLION / one.rate / 3600, one.size * MILLION / 1e9
        lines.append(f"| {one.name} | {operations} | {one.size:,.0f} | {one.rate:,.0f} | {hours:.3g} | {size:.3g} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
