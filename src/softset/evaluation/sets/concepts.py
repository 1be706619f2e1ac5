"""LDA-1k, the text concept sets of Deep Sets (Zaheer et al. 2017): read strictly, words as numbers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from softset.errors import FileError
from softset.evaluation.data import Data

__all__ = ["QUERY", "SPLITS", "Concepts", "read_concepts"]

SPLITS = ("train", "val", "test")
QUERY = 5  # words of a set that its query shows
FOLDER = "lda-1k"


@dataclass(frozen=True)
class Concepts:
    """A vocabulary, and sets of words as rows of places in it; the first `QUERY` words of a set are its query."""

    words: tuple[str, ...]
    sets: tuple[tuple[int, ...], ...]
    splits: dict[str, range]

    @cached_property
    def common(self) -> npt.NDArray[np.int64]:
        """How many words each two sets have in common (s, s).

        >>> Concepts(("a", "b", "c"), ((0, 1), (1, 2)), {}).common.tolist()
        [[2, 1], [1, 2]]
        """
        holds = np.zeros((len(self.sets), len(self.words)), dtype=np.float32)
        for at, words in enumerate(self.sets):
            holds[at, list(words)] = 1
        counts: npt.NDArray[np.int64] = np.rint(holds @ holds.T).astype(np.int64)
        return counts

    def query(self, at: int) -> tuple[int, ...]:
        """Return the words that stand for a set.

        >>> Concepts(tuple("abcdefg"), ((6, 5, 4, 3, 2, 1),), {}).query(0)
        (6, 5, 4, 3, 2)
        """
        return self.sets[at][:QUERY]


def read_concepts(data: Data) -> Concepts:
    """Return the vocabulary and the sets of all three splits; a line that does not fit is named.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pathlib.Path(folder, "lda-1k").mkdir()
    ...     for name in ("vocab.txt", "sets_train.tsv"):
    ...         _ = pathlib.Path(folder, "lda-1k", name).write_text("red\\n")
    ...     read_concepts(Data(folder))
    Traceback (most recent call last):
    softset.errors.FileError: .../sets_train.tsv has 1 words in line 1, but a set has 6 or more, a tab between them
    """
    words = _vocabulary(data)
    places = {word: at for at, word in enumerate(words)}
    sets: list[tuple[int, ...]] = []
    splits = {}
    for split in SPLITS:
        found = _sets(data, f"{FOLDER}/sets_{split}.tsv", places)
        splits[split] = range(len(sets), len(sets) + len(found))
        sets += found
    return Concepts(words, tuple(sets), splits)


def _vocabulary(data: Data) -> tuple[str, ...]:
    name = f"{FOLDER}/vocab.txt"
    words = [line.rstrip("\r") for line in data.lines(name)]
    seen: set[str] = set()
    for line, word in enumerate(words, 1):
        if not word or word in seen:
            what = f"the word {word!r} twice" if word else "no word"
            raise FileError(f"{data.folder / name} has {what} in line {line}, but one new word a line was wanted")
        seen.add(word)
    if not words:
        raise FileError(f"{data.folder / name} is empty, but one word a line was wanted")
    return tuple(words)


def _sets(data: Data, name: str, places: dict[str, int]) -> list[tuple[int, ...]]:
    path, sets = data.folder / name, []
    for line, text in enumerate(data.lines(name), 1):
        words = text.rstrip("\r").split("\t")
        if len(words) <= QUERY:
            raise FileError(
                f"{path} has {len(words)} words in line {line}, but a set has {QUERY + 1} or more, a tab between them"
            )
        unknown = next((word for word in words if word not in places), None)
        if unknown is not None:
            raise FileError(f"{path} has {unknown[:60]!r} in line {line}, which is not in vocab.txt")
        if len(set(words)) < len(words):
            twice = next(word for at, word in enumerate(words) if word in words[:at])
            raise FileError(f"{path} has {twice!r} twice in line {line}, but the words of a set are distinct")
        sets.append(tuple(places[word] for word in words))
    if not sets:
        raise FileError(f"{path} is empty, but one set a line was wanted")
    return sets
