"""Peak memory of scoring a long file."""

import sys
import tempfile
from pathlib import Path

from benchmarks.case import Case, Check, Outcome, Target
from benchmarks.data import sentences
from benchmarks.measuring import process

__all__ = ["CASES"]

AT_ONCE = 50_000
MOST = Target("MB at the most", 500, "lower")


def _score(pairs: int) -> tuple[float, float]:
    """Return the peak in MB and the seconds of scoring files of so many lines."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("candidates", "references")]
        for side, path in enumerate(files):
            with path.open("w", encoding="utf-8") as out:
                for start in range(0, pairs, AT_ONCE):
                    some = sentences(min(AT_ONCE, pairs - start), seed=2 * start + side, shortest=4, longest=8)
                    out.writelines(f"{text}\n" for text in some)
        command = [sys.executable, "-m", "softset", "score", "-c", str(files[0]), "-r", str(files[1])]
        done = process([*command, "--model", "words", "--out", str(Path(folder, "scores.tsv"))])
    return done.peak, done.seconds


def _run(quick: bool) -> Outcome:
    few, many = (2_000, 20_000) if quick else (100_000, 1_000_000)
    peer, _ = _score(few)
    ours, seconds = _score(many)
    return Outcome(
        ours=ours,
        peer=peer,
        unit="MB",
        ratio=ours / peer,
        notes=(f"{many:,} pairs beside {few:,}; {many / seconds:,.0f} pairs/s",),
        also=(Check(ours, MOST),),
    )


CASES = (
    Case(
        "memory",
        "peak memory of scoring 1,000,000 pairs from a file, static encoder",
        "the same of 100,000 pairs",
        "peak of 1,000,000 / peak of 100,000",
        Target("flat: at most 1.1 times, and under 500 MB", 1.1, "lower"),
        _run,
    ),
)
