"""Scoring of Parquet files on Ray with two workers, compared with one worker."""

import os
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.case import Case, Measurement, Target, require_modules
from benchmarks.data import random_sentences
from benchmarks.measurement import core_count

__all__ = ["CASES"]

ROWS_PER_GROUP = 200


def _run(quick: bool) -> Measurement:
    require_modules("ray", "pyarrow")
    from softset.jobs.run import cluster
    from softset.jobs.scoring import score_files

    pairs = 400 if quick else 4_000
    os.environ["OMP_NUM_THREADS"] = "1"  # the worker processes inherit it
    times: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder, cluster(workers=2):
        source = Path(folder, "pairs.parquet")
        _write_pairs(source, pairs)
        for turn in range(1 + (1 if quick else 3)):
            for workers, seconds in times.items():
                target = f"{folder}/{turn}-{workers}"
                start = time.perf_counter()
                score_files(str(source), target, workers=workers, block=ROWS_PER_GROUP, threads=1)
                if turn:  # the first turn is the warm-up
                    seconds.append(time.perf_counter() - start)
    one, two = (float(np.median(seconds)) for seconds in times.values())
    return Measurement(
        softset=pairs / two,
        baseline=pairs / one,
        unit="pairs/s",
        ratio=one / two,
        notes=(f"{pairs:,} pairs, one thread per worker, {core_count()} cores, with the startup of the workers",),
    )


def _write_pairs(file: Path, count: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = {name: random_sentences(count, seed) for seed, name in enumerate(("candidate", "reference"))}
    table = pa.table({"id": [str(i) for i in range(count)], **texts})
    pq.write_table(table, file, row_group_size=ROWS_PER_GROUP)


CASES = (
    Case(
        "workers",
        "scoring from Parquet to Parquet with two Ray workers, MiniLM, one thread each",
        "one worker",
        "pairs/s of two workers / of one worker",
        Target("at least 1.6 times the rate", 1.6, "higher"),
        _run,
    ),
)
