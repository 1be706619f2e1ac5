"""Importing a file of word vectors: time, and memory above the interpreter's own."""

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.case import Case, Outcome, Target, needs
from benchmarks.data import wink_file, words
from benchmarks.measuring import process, threads
from softset import WordVectors

__all__ = ["CASES"]

ABOUT = "import of the npm package of 341k x 100"
PEER = "gensim loading the same vectors as text"

OURS = """
import json, sys, time
from softset.vectors.registry import import_vectors
start = time.perf_counter()
facts = import_vectors(sys.argv[1], "large")
print(json.dumps({"seconds": time.perf_counter() - start, "words": facts["words"]}))
"""
THEIRS = """
import json, sys, time
from gensim.models import KeyedVectors
start = time.perf_counter()
vectors = KeyedVectors.load_word2vec_format(sys.argv[1], binary=False)
print(json.dumps({"seconds": time.perf_counter() - start, "words": len(vectors)}))
"""


def _write_text(vectors: WordVectors, file: Path) -> None:
    """Write word2vec's text with its header, without which gensim would read the file twice."""
    with file.open("w", encoding="utf-8") as out:
        out.write(f"{len(vectors)} {vectors.dimensions}\n")
        for start in range(0, len(vectors), 10_000):
            stop = min(start + 10_000, len(vectors))
            rows = vectors.rows(start, stop).tolist()
            out.writelines(
                f"{word} {' '.join(f'{value:.5g}' for value in row)}\n"
                for word, row in zip(vectors.words[start:stop], rows, strict=True)
            )


@contextmanager
def _files(quick: bool) -> Iterator[tuple[Path, Path]]:
    """Give the file that we import and the text that gensim loads; of a quick run they are one and the same."""
    needs("gensim")
    package = None if quick else wink_file()
    vectors = words(quick).restrict(5_000) if quick else words(quick)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "vectors.txt")
        _write_text(vectors, text)
        yield package or text, text


def _once(code: str, file: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        done = process([sys.executable, "-c", code, str(file)], {"SOFTSET_CACHE": folder})
    return {**json.loads(done.said), "peak": done.peak}


def _measured(quick: bool) -> tuple[dict[str, dict[str, float]], tuple[str, ...]]:
    """Return the median seconds and peaks in MB of ours and gensim's, in turns, and of ours from text, once."""
    found: dict[str, list[dict[str, Any]]] = {"ours": [], "text": [], "peer": []}
    with _files(quick) as (package, text):
        for _ in range(1 if quick else 3):
            found["ours"].append(_once(OURS, package))
            found["peer"].append(_once(THEIRS, text))
        found["text"].append(_once(OURS, text))
    count = found["ours"][0]["words"]
    medians = {
        name: {key: statistics.median(one[key] for one in runs) for key in ("seconds", "peak")}
        for name, runs in found.items()
    }
    return medians, (f"{count:,} words, a new process each time, {threads()} threads",)


def _seconds(quick: bool) -> Outcome:
    found, notes = _measured(quick)
    ours, peer = found["ours"]["seconds"], found["peer"]["seconds"]
    also = f"ours from the same text {found['text']['seconds']:.1f} s"
    return Outcome(ours, peer, "s", ours / peer, (*notes, also))


def _memory(quick: bool) -> Outcome:
    found, notes = _measured(quick)
    bare = process([sys.executable, "-c", "pass"]).peak
    ours, text, peer = (found[name]["peak"] - bare for name in ("ours", "text", "peer"))
    own = f"the interpreter's own {bare:.0f} MB left out; ours from the same text {text:.0f} MB"
    return Outcome(ours, peer, "MB", ours / peer, (*notes, own))


CASES = (
    Case(
        "import-time",
        ABOUT,
        PEER,
        "our time / peer's time",
        Target("no slower", 1.0, "lower"),
        _seconds,
    ),
    Case(
        "import-memory",
        ABOUT,
        PEER,
        "our peak memory / peer's",
        Target("a third of its memory above the interpreter's own", 1 / 3, "lower"),
        _memory,
    ),
)
