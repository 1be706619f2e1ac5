"""LDA-1k, the text concept sets of Deep Sets (Zaheer et al. 2017), and the four tasks that are drawn from it.

==========  ======================================================  =================================================
task        queries                                                 targets
==========  ======================================================  =================================================
Set         every set of the split                                  its words outside the query
Union       two sets of the split                                   50 of their words outside both queries
Intersect   two sets of all splits with at least 10 words shared    the shared words outside both queries
Difference  two such sets                                           words of the first; the shared ones are leaks
==========  ======================================================  =================================================

As in the paper, Union, Intersect and Difference use 100 random pairs. Pairs are taken from one shuffled list, so that
vectors with different vocabularies get nearly the same queries. On the training and validation splits all pairs come
from the split itself.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from softset.errors import FileError, InputError
from softset.evaluation.data import DataFolder

SPLITS = ("train", "val", "test")
TASKS = ("Set", "Union", "Intersect", "Difference")
FOLDER = "lda-1k"
QUERY_SIZE = 5  # number of words of a set in its query
MAX_PAIRS = 100
MIN_SHARED = 10  # smallest number of common words of two sets in Intersect and Difference
UNION_TARGETS = 50
MIN_KNOWN = 3  # smallest number of words of a query that have a vector

Words = tuple[int, ...]  # indices in the vocabulary


@dataclass(frozen=True)
class Concepts:
    """A vocabulary, and sets of words as indices in it; the first `QUERY_SIZE` words of a set are its query."""

    words: tuple[str, ...]
    sets: tuple[Words, ...]
    splits: dict[str, range]

    @cached_property
    def shared(self) -> npt.NDArray[np.int64]:
        """The number of words that each two sets share (s, s)."""
        contains = np.zeros((len(self.sets), len(self.words)), dtype=np.float32)
        for row, words in enumerate(self.sets):
            contains[row, list(words)] = 1
        return np.asarray(np.rint(contains @ contains.T), dtype=np.int64)

    def query(self, index: int) -> Words:
        """Return the words of a set that its query shows."""
        return self.sets[index][:QUERY_SIZE]


def read_concepts(data: DataFolder) -> Concepts:
    """Return the vocabulary and the sets of all three splits; raise FileError with the line of invalid input."""
    words = tuple(data.lines(f"{FOLDER}/vocab.txt"))
    index = {word: number for number, word in enumerate(words)}
    if len(index) < len(words) or "" in index or not words:
        raise FileError(f"{data.path / FOLDER / 'vocab.txt'} needs one distinct word per line")
    sets: list[Words] = []
    splits = {}
    for split in SPLITS:
        of_split = _read_sets(data, f"{FOLDER}/sets_{split}.tsv", index)
        splits[split] = range(len(sets), len(sets) + len(of_split))
        sets += of_split
    return Concepts(words, tuple(sets), splits)


def _read_sets(data: DataFolder, name: str, index: dict[str, int]) -> list[Words]:
    path, sets = data.path / name, []
    for line, text in enumerate(data.lines(name), 1):
        words = text.split("\t")
        if len(words) <= QUERY_SIZE or len(set(words)) < len(words) or not index.keys() >= set(words):
            raise FileError(
                f"{path} has no valid set in line {line}: it needs at least {QUERY_SIZE + 1} distinct words of "
                "vocab.txt, separated by tabs"
            )
        sets.append(tuple(index[word] for word in words))
    if not sets:
        raise FileError(f"{path} is empty, but needs one set per line")
    return sets


@dataclass(frozen=True)
class SetTask:
    """Queries, each made of one or two sets, and the words that each query should find.

    Attributes:
        name: One of `TASKS`.
        left: The first set of each query.
        right: The second set of each query; empty if queries are single sets.
        targets: The words to be found.
        leaks: The words that should not be found; empty except for Difference.
    """

    name: str
    left: tuple[int, ...]
    right: tuple[int, ...]
    targets: tuple[Words, ...]
    leaks: tuple[Words, ...] = ()

    def __len__(self) -> int:
        return len(self.left)

    def shown(self, concepts: Concepts, query: int) -> Words:
        """Return the words that a query shows, for all of its sets together."""
        sides = [self.left[query], *self.right[query : query + 1]]
        return tuple(sorted({word for side in sides for word in concepts.query(side)}))


def draw_tasks(
    concepts: Concepts, known: npt.NDArray[np.bool_], *, split: str, seed: int, limit: int | None = None
) -> list[SetTask]:
    """Return the four tasks, for vectors that contain the known words (v,) of the vocabulary."""
    own = concepts.splits[split]
    usable = [known[list(concepts.query(index))].sum() >= MIN_KNOWN for index in range(len(concepts.sets))]
    pool = range(len(concepts.sets)) if split == "test" else own
    singles = tuple(own)[:limit]
    tasks = [SetTask("Set", singles, (), tuple(concepts.sets[index][QUERY_SIZE:] for index in singles))]
    for number, name in enumerate(TASKS[1:]):
        rng = np.random.default_rng([seed, number])
        members = np.array(own if name == "Union" else pool)
        tasks.append(_pair_task(name, concepts, members, usable, rng, min(MAX_PAIRS, limit or MAX_PAIRS)))
    return tasks


def _pair_task(
    name: str,
    concepts: Concepts,
    members: npt.NDArray[np.int64],
    usable: list[bool],
    rng: np.random.Generator,
    size: int,
) -> SetTask:
    """Return a task of two sets: pairs that share enough words, in random order and with random sides."""
    min_shared = 0 if name == "Union" else MIN_SHARED
    first, second = np.nonzero(np.triu(concepts.shared[np.ix_(members, members)] >= min_shared, 1))
    queries = []
    for number in rng.permutation(len(first)):
        a, b = int(members[first[number]]), int(members[second[number]])
        if not rng.integers(2):
            a, b = b, a
        targets, leaks = _targets(name, concepts, a, b, rng)
        if usable[a] and usable[b] and targets and (leaks or name != "Difference"):
            queries.append((a, b, targets, leaks))
        if len(queries) == size:
            break
    if not queries:
        raise InputError(f"there are no queries for the task {name}: no two sets share enough words that have vectors")
    left, right, all_targets, all_leaks = zip(*queries, strict=True)
    return SetTask(name, left, right, all_targets, all_leaks if name == "Difference" else ())


def _targets(name: str, concepts: Concepts, a: int, b: int, rng: np.random.Generator) -> tuple[Words, Words]:
    """Return the targets and the leaks of a query of two sets."""
    shown = {*concepts.query(a), *concepts.query(b)}
    A, B = (set(concepts.sets[index]) - shown for index in (a, b))
    if name == "Union":
        either = sorted(A | B)
        drawn = rng.permutation(len(either))[:UNION_TARGETS]  # drawn for unusable pairs too: later draws stay the same
        return tuple(either[number] for number in sorted(drawn)), ()
    shared = tuple(sorted(A & B))
    return (shared, ()) if name == "Intersect" else (tuple(sorted(A - B)), shared)
