"""Measure the cost of jobs on one core: `python tools/costs.py --write` updates the table of docs/jobs-and-stores.md.

Rates are those of the functions that workers call, with one thread. The rate of a search is computed from the
difference between two sizes, which excludes the startup of Ray. Sizes are those of files on disk.
"""

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np  # late, because libraries read the number of threads when they are imported

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
TABLE = re.compile(r"(<!-- costs -->\n).*?(<!-- end of costs -->)", re.DOTALL)
D, QUICK, MILLION = 384, 10, 10**6
WEIGHTS = 6 * (4 * D**2 + 2 * D * 4 * D)  # numbers in the matrices of MiniLM, by which each token is multiplied
SETS_PER_QUERY = 2


class Cost(NamedTuple):
    """The name of a job, and its rate per second, bytes on disk and floating-point operations per item."""

    name: str
    rate: float
    size: float
    operations: float | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="update the table in docs/jobs-and-stores.md")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, to check that it runs")
    options = parser.parse_args()
    divisor = QUICK if options.quick else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stores = [store_cost(kind, folder, 50_000 // divisor) for kind in ("milvus", "lance")]
        table = format_table(
            [
                scoring_cost("minilm", folder, 1_000 // divisor),
                scoring_cost("words", folder, 40_000 // divisor),
                embedding_cost(folder, 2_000 // divisor),
                search_cost(folder, 100_000 // divisor),
                *stores,
            ]
        )
    print(table)
    if options.write:
        page = ROOT / "docs" / "jobs-and-stores.md"
        text = TABLE.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", page.read_text("utf-8"))
        page.write_text(text, "utf-8")


def parquet_bytes(table, folder: Path) -> int:
    import pyarrow.parquet as pq

    file = folder / "size.parquet"
    pq.write_table(table, file)
    return file.stat().st_size


def timed(job: Callable, table) -> tuple[object, float]:
    """Return the result of a job and its rows per second, after a warm-up."""
    job(table.slice(0, 32))
    start = time.perf_counter()
    result = job(table)
    return result, table.num_rows / (time.perf_counter() - start)


def scoring_cost(model: str, folder: Path, count: int) -> Cost:
    import pyarrow as pa
    from benchmarks.data import random_sentences

    from softset.jobs.scoring import TableScorer

    texts = {name: random_sentences(count, seed) for seed, name in enumerate(("candidate", "reference"))}
    table = pa.table({"id": [str(i) for i in range(count)], **texts})
    result, rate = timed(TableScorer(model=model, threads=1), table)
    tokens = sum(sum(result.column(f"{name}_tokens").to_pylist()) for name in texts) / count
    size = (parquet_bytes(table, folder) + parquet_bytes(result, folder)) / count
    return Cost(f"pairs scored, `{model}`", rate, size, 2 * WEIGHTS * tokens if model == "minilm" else None)


def embedding_cost(folder: Path, count: int) -> Cost:
    import pyarrow as pa
    from benchmarks.data import random_sentences

    from softset.jobs.embedding import TextEmbedder

    job = TextEmbedder(threads=1)
    texts = random_sentences(count, 0)
    result, rate = timed(job, pa.table({"id": [str(i) for i in range(count)], "text": texts}))
    tokens = job.encoder.encode(texts).counts.mean()
    return Cost(f"texts to vectors, `minilm`, {D}", rate, parquet_bytes(result, folder) / count, 2 * WEIGHTS * tokens)


def random_vectors(count: int) -> np.ndarray:
    from benchmarks.data import random_token_sets

    return random_token_sets(count, 1, 1, D, seed=0).vectors


def search_cost(folder: Path, count: int) -> Cost:
    """Measure an exact search in one file and in four files of the same size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from softset.jobs.run import cluster
    from softset.jobs.search import ParquetCollection

    column = pa.FixedSizeListArray.from_arrays(pa.array(random_vectors(count).reshape(-1)), D)
    for shard in range(4):
        ids = [f"{shard}-{i}" for i in range(count)]
        table = pa.table({"id": ids, "vector": column})
        pq.write_table(table, folder / f"shard-{shard}.parquet", row_group_size=20_000)
    medians = []
    with cluster(workers=1) as ray:
        for pattern in ("shard-0.parquet", "shard-?.parquet"):
            items = ParquetCollection(ray, str(folder / pattern), workers=1)
            times = []
            for _ in range(4):
                start = time.perf_counter()
                items.find("{0-1, 0-2} - {0-3}", 100)
                times.append(time.perf_counter() - start)
            medians.append(float(np.median(times[1:])))
    size = (folder / "shard-0.parquet").stat().st_size / count
    rate = 3 * count / (medians[1] - medians[0])
    return Cost(f"vectors searched exactly, on Ray, {D}", rate, size, 2 * D * SETS_PER_QUERY)


def store_cost(kind: str, folder: Path, count: int) -> Cost:
    from benchmarks.cases.stores import fill_store

    from softset import WordVectors

    words = WordVectors.of([f"item {i}" for i in range(count)], random_vectors(count))
    target = folder / kind
    target.mkdir()
    _, seconds = fill_store(kind, words, target)
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file()) / count
    name = {"milvus": "Milvus Lite (HNSW)", "lance": "LanceDB (IVF)"}[kind]
    return Cost(f"vectors added to {name}, {D}", count / seconds, size, None)


def format_table(costs: list[Cost]) -> str:
    """Return the table in Markdown; the cost of a million items on one core is that of a billion on a thousand."""
    from benchmarks.measurement import describe_machine

    lines = [
        describe_machine().partition(", NumPy")[0] + ".",
        "",
        "| job | operations per item | bytes per item | items per second | core-hours per million | GB per million |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for cost in costs:
        operations = "" if cost.operations is None else f"{cost.operations:,.0f}"
        hours, size = MILLION / cost.rate / 3600, cost.size * MILLION / 1e9
        cells = (cost.name, operations, f"{cost.size:,.0f}", f"{cost.rate:,.0f}", f"{hours:.3g}", f"{size:.3g}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
