"""Import of a file of word vectors: time and memory."""

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.case import Case, Measurement, Target, require_modules
from benchmarks.data import word_vectors
from benchmarks.measurement import run_process, thread_count
from softset import WordVectors

__all__ = ["CASES"]

DESCRIPTION = "import of a text file of 341k x 100"
BASELINE = "gensim loading the same file"

SOFTSET = """
import json, sys, time
from softset.vectors.registry import import_vectors
start = time.perf_counter()
words = import_vectors(sys.argv[1], "large")["words"]
print(json.dumps({"seconds": time.perf_counter() - start, "words": words}))
"""
GENSIM = """
import json, sys, time
from gensim.models import KeyedVectors
start = time.perf_counter()
vectors = KeyedVectors.load_word2vec_format(sys.argv[1], binary=False)
print(json.dumps({"seconds": time.perf_counter() - start, "words": len(vectors)}))
"""


def _write_text(vectors: WordVectors, file: Path) -> None:
    """Write word2vec text with its header; without it, gensim would read the file twice."""
    with file.open("w", encoding="utf-8") as out:
        out.write(f"{len(vectors)} {vectors.dimensions}\n")
        for start in range(0, len(vectors), 10_000):
            stop = min(start + 10_000, len(vectors))
            rows = vectors.rows(start, stop).tolist()
            out.writelines(
                f"{word} {' '.join(f'{value:.5g}' for value in row)}\n"
                for word, row in zip(vectors.words[start:stop], rows, strict=True)
            )


def _run(code: str, file: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as cache:
        result = run_process([sys.executable, "-c", code, str(file)], {"SOFTSET_CACHE": cache})
    return {**json.loads(result.output), "peak_memory": result.peak_memory}


def _measure(quick: bool) -> tuple[dict[str, dict[str, float]], str]:
    """Return the median seconds and peak memory of both libraries, and a note."""
    require_modules("gensim")
    vectors = word_vectors(quick)
    vectors = vectors.restrict(5_000) if quick else vectors
    runs: dict[str, list[dict[str, Any]]] = {"softset": [], "gensim": []}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "vectors.txt")
        _write_text(vectors, file)
        for _ in range(1 if quick else 3):
            runs["softset"].append(_run(SOFTSET, file))
            runs["gensim"].append(_run(GENSIM, file))
    medians = {
        name: {key: statistics.median(run[key] for run in results) for key in ("seconds", "peak_memory")}
        for name, results in runs.items()
    }
    return medians, f"{runs['softset'][0]['words']:,} words, a new process each time, {thread_count()} threads"


def _measure_time(quick: bool) -> Measurement:
    medians, note = _measure(quick)
    ours, baseline = medians["softset"]["seconds"], medians["gensim"]["seconds"]
    return Measurement(ours, baseline, "s", ours / baseline, (note,))


def _measure_memory(quick: bool) -> Measurement:
    medians, note = _measure(quick)
    interpreter = run_process([sys.executable, "-c", "pass"]).peak_memory
    ours, baseline = (medians[name]["peak_memory"] - interpreter for name in ("softset", "gensim"))
    notes = (note, f"without the {interpreter:.0f} MB of the interpreter")
    return Measurement(ours, baseline, "MB", ours / baseline, notes)


CASES = (
    Case(
        "import-time",
        DESCRIPTION,
        BASELINE,
        "softset time / baseline time",
        Target("not slower", 1.0, "lower"),
        _measure_time,
    ),
    Case(
        "import-memory",
        DESCRIPTION,
        BASELINE,
        "softset peak memory / baseline peak memory",
        Target("not more memory", 1.0, "lower"),
        _measure_memory,
    ),
)
