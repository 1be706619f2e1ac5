"""Write one small file of every kind that the running version writes: `python -m tests.stability.write_files FOLDER`.

Run once when a version is published; what it wrote then is kept in `files/VERSION`, and every later version opens it.
"""

import sys
from pathlib import Path

import numpy as np

ROWS = np.array([[1.0, 2.0, 0.5, -1.0], [0.0, 1.0, 1.0, 0.25], [2.0, -1.0, 0.0, 1.0]])
TEXTS = ["a red book", "two blue books", "the sea"]


def write(folder: Path) -> None:
    for make in (_sets, _words, _collection, _tokens, _weights):
        try:
            make(folder)
        except (ImportError, AttributeError):  # the version did not have it yet
            sys.stderr.write(f"{make.__name__} is not of this version\n")


def _sets(folder: Path) -> None:
    from softset import GradedSubspace, Subspace

    Subspace.span(ROWS[:2]).save(folder / "subspace.safetensors")
    GradedSubspace.of(ROWS).save(folder / "graded.safetensors")


def _words(folder: Path) -> None:
    from softset import WordVectors

    WordVectors.of(["red", "blue", "sea"], ROWS.astype(np.float32)).save(folder / "words")


def _collection(folder: Path) -> None:
    from softset.collections.collection import Collection
    from softset.collections.items import Item

    items = [Item(f"i{at}", text, {"n": at}) for at, text in enumerate(TEXTS)]
    Collection.create(folder / "collection", items, vectors=ROWS.astype(np.float32))


def _tokens(folder: Path) -> None:
    from softset import TokenSets

    sets = TokenSets.from_arrays([ROWS[:2].astype(np.float32), ROWS[2:].astype(np.float32)])
    sets.save(folder / "tokens.safetensors")
    sets.save(folder / "tokens")


def _weights(folder: Path) -> None:
    from softset import Calibration, Idf

    Idf.fit(TEXTS, model="words").save(folder / "idf.json")
    Calibration.fit(TEXTS * 4, model="words", metric="subspace").save(folder / "calibration.json")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True)
    write(target)
