"""Peak memory of scoring a long file."""

import sys
import tempfile
from pathlib import Path

from benchmarks.case import Case, Check, Measurement, Target
from benchmarks.data import random_sentences
from benchmarks.measurement import ProcessResult, run_process

__all__ = ["CASES"]

SENTENCES_AT_ONCE = 50_000
LIMIT = Target("peak memory in MB", 500, "lower")


def _score(pairs: int) -> ProcessResult:
    """Score two files of random sentences with the command line."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("candidates", "references")]
        for side, path in enumerate(files):
            with path.open("w", encoding="utf-8") as out:
                for start in range(0, pairs, SENTENCES_AT_ONCE):
                    count, seed = min(SENTENCES_AT_ONCE, pairs - start), 2 * start + side
                    out.writelines(f"{text}\n" for text in random_sentences(count, seed, shortest=4, longest=8))
        command = [sys.executable, "-m", "softset", "score", "-c", str(files[0]), "-r", str(files[1])]
        return run_process([*command, "--model", "words", "--out", str(Path(folder, "scores.tsv"))])


def _run(quick: bool) -> Measurement:
    few, many = (2_000, 20_000) if quick else (100_000, 1_000_000)
    baseline, ours = _score(few), _score(many)
    return Measurement(
        softset=ours.peak_memory,
        baseline=baseline.peak_memory,
        unit="MB",
        ratio=ours.peak_memory / baseline.peak_memory,
        notes=(f"{many:,} and {few:,} pairs; {many / ours.seconds:,.0f} pairs/s",),
        checks=(Check(ours.peak_memory, LIMIT),),
    )


CASES = (
    Case(
        "memory",
        "peak memory of scoring 1,000,000 pairs from a file, static encoder",
        "100,000 pairs",
        "peak memory of 1,000,000 pairs / of 100,000 pairs",
        Target("constant memory: at most 1.1 times, and under 500 MB", 1.1, "lower"),
        _run,
    ),
)
