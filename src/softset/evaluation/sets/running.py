"""The whole evaluation: for some vectors, every method on every task, with intervals and paired tests over queries."""

import time
from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt

from softset.evaluation.results import Row, load_rows
from softset.evaluation.sets.concepts import Concepts
from softset.evaluation.sets.logics import Scorer
from softset.evaluation.sets.measures import CUTS, Ranks, measured, ranks, recall
from softset.evaluation.sets.methods import BASELINE, Method
from softset.evaluation.sets.reporting import Found, Reporter
from softset.evaluation.sets.tasks import Task, draw_tasks
from softset.io.checkpoint import PartFolder
from softset.vectors.vocabulary import Vocabulary

__all__ = ["RANDOM", "Evaluation"]

RANDOM = "random"

Scores = npt.NDArray[np.floating]
Watch = Callable[[int, int], None]


class Evaluation:
    """One vocabulary of vectors on the four tasks.

    Args:
        words: The vectors.
        concepts: The sets.
        split: Whose sets are asked.
        seed: Of pairs, of the random ranking and of all that is resampled.
        samples: Draws of the bootstrap and of the paired test.
        limit: How many queries a task has at most.
        title: What stands before the methods' names.
        baseline: What all others are tested against.
    """

    def __init__(
        self,
        words: Vocabulary,
        concepts: Concepts,
        *,
        split: str = "test",
        seed: int = 12345,
        samples: int = 1000,
        limit: int | None = None,
        title: str = "",
        baseline: Method = BASELINE,
    ) -> None:
        self.words, self.concepts, self.seed, self.baseline = words, concepts, seed, baseline
        found = [words.get_token(word) for word in concepts.words]
        self.known = np.array([one is not None for one in found])
        self._places = [one[1] for one in found if one is not None]
        self.tasks = draw_tasks(concepts, self.known, split=split, seed=seed, limit=limit)
        self.found: dict[str, Found] = {}
        self._shown = {task.name: [task.shown(concepts, at) for at in range(len(task))] for task in self.tasks}
        queries = sum(map(len, self.tasks))
        self._reporter = Reporter(samples, seed, f"{title}: " if title else "", queries, baseline.name)

    def rows(self, methods: Sequence[Method], parts: PartFolder | None, watch: Watch | None = None) -> list[Row]:
        """Return the rows of chance and of some methods; what is finished of each preprocessing is kept in `parts`."""
        groups = {name: list(some) for name, some in groupby(methods, lambda one: one.preprocessing)}
        rows = load_rows(parts, f"{self.words.signature} {RANDOM}", self._chance)
        done = 0
        for name, some in groups.items():

            def compute(name: str = name, some: Sequence[Method] = some, done: int = done) -> list[Row]:
                return self._of(name, some, lambda count: watch(done + count, len(methods)) if watch else None)

            rows += load_rows(parts, f"{self.words.signature} {name}", compute)
            done += len(some)
        return rows

    def ranks(self, dataset: str) -> dict[str, npt.NDArray[np.float64]]:
        """Return the ranks of all targets of a dataset, by method; of parts that were kept there are none."""
        found = {name: one.ranks.get(dataset) for name, one in self.found.items()}
        return {name: np.concatenate(one) for name, one in found.items() if one is not None}

    def vectors(self, preprocessing: str) -> npt.NDArray[np.float32]:
        """Return the vocabulary's unit rows (v, d) after a preprocessing; words without a vector have zeros."""
        words = self.words if preprocessing == "none" else self.words.preprocess(preprocessing)
        V = np.zeros((len(self.known), words.dimensions), dtype=np.float32)
        V[self.known] = words.normalised().take(self._places)
        return V

    def _chance(self) -> list[Row]:
        rng = np.random.default_rng(self.seed)
        self._measure(RANDOM, lambda task: rng.random((len(task), len(self.known))))
        return self._reporter.rows({RANDOM: self.found[RANDOM]}, self._baseline())

    def _of(self, preprocessing: str, methods: Sequence[Method], watch: Callable[[int], None]) -> list[Row]:
        baseline = self._baseline()
        scorer = Scorer(self.concepts, self.vectors(preprocessing), self.known)
        for count, method in enumerate(methods, 1):
            if count > 1 and method.leaf.name != methods[count - 2].leaf.name:
                scorer.forget()
            self._measure(method.name, scorer.of(method.leaf, method.logic))
            watch(count)
        return self._reporter.rows({method.name: self.found[method.name] for method in methods}, baseline)

    def _baseline(self) -> Found:
        one = self.baseline
        if one.name not in self.found:
            scorer = Scorer(self.concepts, self.vectors(one.preprocessing), self.known)
            self._measure(one.name, scorer.of(one.leaf, one.logic))
        return self.found[one.name]

    def _measure(self, name: str, scores: Callable[[Task], Scores | None]) -> None:
        start = time.perf_counter()
        found = Found()
        for task in self.tasks:
            given = scores(task)
            if given is not None:
                found.ranks[task.name] = ranks(given, self.known, self._shown[task.name], task.targets)
                found.values |= self._values(task, given, found.ranks[task.name])
        found.seconds = time.perf_counter() - start
        self.found[name] = found

    def _values(self, task: Task, scores: Scores, targets: Ranks) -> dict[tuple[str, str], npt.NDArray[np.float64]]:
        """Return the values (q,) of all queries, by dataset and metric."""
        if not task.leaks:
            return {(task.name, metric): values for metric, values in measured(targets).items()}
        leaks = ranks(scores, self.known, self._shown[task.name], task.leaks)
        inside, leaked = (np.array([recall(one, CUTS["R@100"]) for one in some]) for some in (targets, leaks))
        named = {"A outside B": inside, "leak": leaked, "difference": inside - leaked}
        return {(task.name, metric): values for metric, values in named.items()}
