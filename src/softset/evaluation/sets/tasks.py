"""The four tasks: expand one set, the union of two, what two have in common, and what one has without the other.

==========  =============================================================  ===========================================
Set         every set of the split                                         its words outside the query
Union       two sets of the split                                          50 of their words outside both queries
Intersect   two sets of the whole pool with 10 words or more in common     these, outside both queries
Difference  two such sets                                                  words of the first; common ones are a leak
==========  =============================================================  ===========================================

The paper (its Union and Intersect come without a seed) draws 100 pairs; so do we, by a seed that is printed. Pairs are
taken from one shuffled list, so that vectors of any coverage are asked nearly the same. Tuning keeps to its own split.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softset.errors import InputError
from softset.evaluation.sets.concepts import Concepts

__all__ = ["TASKS", "Task", "draw_tasks"]

TASKS = ("Set", "Union", "Intersect", "Difference")
PAIRS = 100
COMMON = 10  # words that two sets share at least, to have an intersection
TARGETS = 50  # of a union
KNOWN = 3  # words of a query that have a vector, at least

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Task:
    """Queries, each made of one set or of two, and the words that each should find.

    Attributes:
        name: one of `TASKS`.
        left: the first set of each query, by its number.
        right: the second one; none where a query is one set.
        targets: the words to be found, by their places in the vocabulary.
        leaks: the words that should not be found; empty but for Difference.
    """

    name: str
    left: tuple[int, ...]
    right: tuple[int, ...]
    targets: tuple[tuple[int, ...], ...]
    leaks: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.left)

    def shown(self, concepts: Concepts, at: int) -> tuple[int, ...]:
        """Return the words of one query, all of its sets together.

        >>> concepts = Concepts(tuple("abcdefg"), ((0, 1, 2, 3, 4, 5), (0, 2, 4, 5, 6, 1)), {})
        >>> Task("Union", (0,), (1,), ((5,),)).shown(concepts, 0)
        (0, 1, 2, 3, 4, 5, 6)
        """
        sides = [self.left[at], *self.right[at : at + 1]]
        return tuple(sorted({word for side in sides for word in concepts.query(side)}))


def draw_tasks(concepts: Concepts, known: Mask, *, split: str, seed: int, limit: int | None = None) -> list[Task]:
    """Return the four tasks for vectors that know some words of the vocabulary (v,).

    >>> sets = tuple(tuple(range(at, at + 20)) for at in range(0, 40, 5))
    >>> concepts = Concepts(tuple(map(str, range(60))), sets, {"test": range(4, 8), "train": range(4), "val": range(0)})
    >>> [(task.name, len(task)) for task in draw_tasks(concepts, np.ones(60, dtype=bool), split="test", seed=1)]
    [('Set', 4), ('Union', 6), ('Intersect', 13), ('Difference', 10)]
    """
    own = concepts.splits[split]
    usable = np.array([known[list(concepts.query(at))].sum() >= KNOWN for at in range(len(concepts.sets))])
    pool = np.arange(len(concepts.sets)) if split == "test" else np.array(own)
    singles = tuple(own)[:limit]
    found = [Task("Set", singles, (), tuple(concepts.sets[at][len(concepts.query(at)) :] for at in singles))]
    makers = {"Union": (np.array(own), 0), "Intersect": (pool, COMMON), "Difference": (pool, COMMON)}
    for number, (name, (members, least)) in enumerate(makers.items()):
        rng = np.random.default_rng([seed, number])
        found.append(_pairs(name, concepts, _shuffled(concepts, members, least, rng), usable, rng, limit))
    return found


def _shuffled(
    concepts: Concepts, members: npt.NDArray[np.int64], least: int, rng: np.random.Generator
) -> Iterator[tuple[int, int]]:
    """Yield pairs of sets with so many words in common in random order, each pair in random order too."""
    rows, columns = np.nonzero(np.triu(concepts.common[np.ix_(members, members)] >= least, 1))
    for at in rng.permutation(len(rows)):
        pair = (int(members[rows[at]]), int(members[columns[at]]))
        yield pair if rng.integers(2) else pair[::-1]


def _pairs(
    name: str,
    concepts: Concepts,
    pairs: Iterator[tuple[int, int]],
    usable: Mask,
    rng: np.random.Generator,
    limit: int | None,
) -> Task:
    wanted = min(PAIRS, limit or PAIRS)
    kept = []
    for a, b in pairs:
        targets, leaks = _targets(name, concepts, a, b, rng)
        if usable[a] and usable[b] and targets and (leaks or name != "Difference"):
            kept.append((a, b, targets, leaks))
        if len(kept) == wanted:
            break
    if not kept:
        raise InputError(f"no two sets make a query of {name}: too few words in common, or too few with a vector")
    left, right, found, others = zip(*kept, strict=True)
    return Task(name, left, right, found, others if name == "Difference" else ())


def _targets(
    name: str, concepts: Concepts, a: int, b: int, rng: np.random.Generator
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the words to be found and those to be avoided, for two sets."""
    shown = {*concepts.query(a), *concepts.query(b)}
    A, B = (set(concepts.sets[at]) - shown for at in (a, b))
    if name == "Union":
        either: Sequence[int] = sorted(A | B)
        drawn = rng.permutation(len(either))[:TARGETS]  # also where it is not used: the draws that follow stay alike
        return tuple(either[at] for at in sorted(drawn)), ()
    both = tuple(sorted(A & B))
    return (both, ()) if name == "Intersect" else (tuple(sorted(A - B)), both)
