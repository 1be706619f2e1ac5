"""Create the tables of results/ again, all or only the named ones: `python tools/results.py --data DIR [NAME...]`.

Each table is the output of one softset command, or of another script of this folder, in its own folder of results/.
Models that are not bundled are downloaded to .cache first and checked by SHA-256.
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
MAIN = "cls average wmd wrd dynamax bertscore subspace bertscore(weights=l2) subspace(weights=l2) softset"
TUNING = (
    "average bertscore subspace subspace(weights=rare) "
    "softset softset(weights=none) softset(ridge=0.5) softset(ridge=2)"
)


def metrics(names: str) -> list[str]:
    return [argument for name in names.split() for argument in ("--metric", name)]


def tables(data: str) -> dict:
    """Return a function for each table that returns its command; models are downloaded when it is called."""
    tuning = [*metrics(TUNING), *("--dataset", "STSB-dev", "--dataset", "SICK-train", "--dataset", "SICK-trial")]
    vectors = {
        "glove-840b": lambda: "glove-840b-300d",
        "glove-6b": lambda: glove_6b(CACHE),
        "potion": lambda: str(potion_words(CACHE, data)),
    }
    default = ["--baseline", "whiten(0.2)/centroid/logistic"]
    commands = {"words": lambda: ["word_coverage.py", "--data", data, *(get() for get in vectors.values())]}
    for name, get in vectors.items():
        commands[f"sets-{name}"] = lambda get=get: ["sets", "--vectors", get()]
        commands[f"sets-{name}-default"] = lambda get=get: ["sets", "--vectors", get(), *default]
        commands[f"tuning-sets-{name}"] = lambda get=get: ["sets", "--vectors", get(), "--split", "train"]
    return commands | {
        "sts-words": lambda: ["sts", "--model", "words", *metrics("all wmd wrd")],
        "sts-minilm-layer-4": lambda: ["sts", "--layer", "4", *metrics("all wmd wrd")],
        "sts-minilm-last": lambda: ["sts", *metrics("all wmd wrd")],
        "sts-minilm-layer-3": lambda: [
            *["sts", "--layer", "3", "--dataset", "STS-B", *metrics("cls average bertscore subspace")],
        ],
        "sts-minilm-layer-2": lambda: ["sts", "--layer", "2", *metrics(MAIN)],
        "sts-mpnet-last": lambda: ["sts", "--model", str(mpnet(CACHE)), *metrics(MAIN)],
        "sts-correlations": lambda: [
            *["sts", "--layer", "4", *metrics("bertscore subspace softset"), "--all-correlations"],
        ],
        "sts-paper-code": lambda: ["paper_code.py", "--data", data],
        "tuning-sts-words": lambda: ["sts", "--model", "words", *tuning],
        "tuning-sts-minilm-layer-4": lambda: ["sts", "--layer", "4", *tuning],
        "tuning-sts-minilm-last": lambda: ["sts", *tuning],
        "texts-minilm": lambda: ["texts"],
        "lengths": lambda: ["text_lengths.py", "--data", data],
        "wmt-minilm-last": lambda: ["wmt", "--pair", "all"],
        "figure-1": lambda: ["figure_1.py"],
    }


def create(name: str, command: list[str], data: str) -> None:
    """Run the command of one table."""
    start = time.perf_counter()
    if command[0].endswith(".py"):
        command = [str(Path(__file__).with_name(command[0])), *command[1:]]
    else:
        command = [
            "-m",
            "softset",
            "eval",
            *command,
            "--data",
            data,
            "--out",
            str(RESULTS / name),
            "--json",
        ]
    run = subprocess.run([sys.executable, *command], stdout=subprocess.DEVNULL, check=False)  # noqa: S603 (our own arguments)
    if run.returncode:
        sys.exit(f"results: {name} failed: python {' '.join(command)}")
    print(f"results: {name} in {time.perf_counter() - start:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Create the tables of results/ again.")
    parser.add_argument("--data", default=os.environ.get("SOFTSET_DATA"), help="folder of evaluation data")
    parser.add_argument("names", nargs="*", help="names of tables; all tables without names")
    arguments = parser.parse_args()
    if not arguments.data:
        parser.error("the folder of evaluation data is missing: give --data DIR, or make results DATA=DIR")
    CACHE.mkdir(exist_ok=True)
    os.environ.setdefault("SOFTSET_CACHE", str(CACHE / "softset"))
    commands = tables(arguments.data)
    unknown = [name for name in arguments.names if name not in commands]
    if unknown:
        parser.error(f"there is no table {unknown[0]}: use some of {', '.join(commands)}")
    for name in arguments.names or commands:
        create(name, commands[name](), arguments.data)


if __name__ == "__main__":
    main()
