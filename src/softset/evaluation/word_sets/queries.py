"""Query files: set queries with the words that a person expects to find.

A file is a JSON array of objects such as

    {"task": "sibling", "query": "{monday, tuesday} - friday", "expect": ["thursday", "saturday", "sunday"]}
    {"task": "or", "query": "{red, blue} | {dog, cat}", "sides": [["green", "yellow"], ["horse", "cow"]]}

Queries with `expect` are measured by the average precision of the first 100 words; queries with `sides` by the
harmonic mean of the two sides' recall among the first 40. Words without a vector are not expected.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softset.errors import FileError, InputError
from softset.evaluation.significance import estimates, mean_statistic, randomisation_p_values
from softset.evaluation.tables import ResultRow
from softset.io.json_files import read_limited
from softset.io.text import check_names
from softset.query.expression import Minus
from softset.query.logic import Logic
from softset.query.parser import parse
from softset.search.words import WordVectors

TOP, BALANCED_TOP = 100, 40
IGNORE_B = "ignore B"  # the left side of A - B: the baseline of differences
METHODS = (Logic.name, *(name for name in Logic.NAMES if name != Logic.name), IGNORE_B)


@dataclass(frozen=True)
class ExpectedWords:
    """A query, and the words that it should find: one group, or the two sides of a union."""

    task: str
    query: str
    groups: tuple[frozenset[str], ...]

    @property
    def metric(self) -> str:
        """The name of the measure."""
        return "MAP" if len(self.groups) == 1 else "balanced recall"

    def value(self, found: Sequence[str], known: Callable[[str], bool]) -> float:
        """Return the measure of the words found, best first; only known words are expected."""
        groups = [{word for word in group if known(word)} for group in self.groups]
        if len(groups) == 1:
            hits = np.array([word in groups[0] for word in found[:TOP]], dtype=np.float64)
            precisions = hits.cumsum() / np.arange(1, len(hits) + 1)
            return float((hits * precisions).sum() / max(len(groups[0]), 1))
        first, second = (len(group & set(found[:BALANCED_TOP])) / max(len(group), 1) for group in groups)
        return 2 * first * second / (first + second) if first + second else 0.0


def read_queries(path: Path) -> list[ExpectedWords]:
    """Return the queries of a query file; raise FileError with the number of an invalid one."""
    try:
        rows: Any = json.loads(read_limited(path))
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is not a JSON file ({error})") from error
    if not isinstance(rows, list) or not rows:
        raise FileError(f"{path} must be a JSON array of queries")
    return [_read_query(path, number, row) for number, row in enumerate(rows, 1)]


def _read_query(path: Path, number: int, row: Any) -> ExpectedWords:
    fields = row if isinstance(row, dict) else {}
    groups = fields.get("sides", [fields.get("expect")])
    valid = all(isinstance(fields.get(name), str) and fields[name] for name in ("task", "query"))
    valid = valid and isinstance(groups, list) and len(groups) == (2 if "sides" in fields else 1)
    valid = valid and all(isinstance(group, list) and group for group in groups)
    if not valid or not all(isinstance(word, str) for group in groups for word in group):
        wanted = 'the texts "task" and "query", and a list of words "expect" or two lists "sides"'
        raise FileError(f"{path}: query {number} needs {wanted}")
    parse(fields["query"])
    return ExpectedWords(fields["task"], fields["query"], tuple(map(frozenset, groups)))


def choose_query_methods(names: Sequence[str]) -> tuple[str, ...]:
    """Return the methods with these names, or all without names; an unknown name raises InputError."""
    check_names(names, METHODS, "method")
    return tuple(names) or METHODS


def query_rows(
    words: WordVectors,
    queries: Sequence[ExpectedWords],
    methods: Sequence[str],
    *,
    samples: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[ResultRow]:
    """Return one row for each task and method; differences are tested against `IGNORE_B`, if it is a method."""
    by_task: dict[tuple[str, str], list[ExpectedWords]] = {}
    for query in queries:
        by_task.setdefault((query.task, query.metric), []).append(query)
    rows, done = [], 0
    for (task, metric), group in by_task.items():
        has_differences = all(isinstance(parse(query.query), Minus) for query in group)
        names = [name for name in methods if name != IGNORE_B or has_differences]
        values = np.zeros((len(names), len(group)))
        for column, query in enumerate(group):
            values[:, column] = [query.value(_find(words, query.query, name), words.__contains__) for name in names]
            done += 1
            if progress is not None:
                progress(done, len(queries))
        results = estimates(mean_statistic(values), len(group), samples=samples, seed=seed)
        p_values: Sequence[float | None] = [None] * len(names)
        if IGNORE_B in names:
            differences = values - values[names.index(IGNORE_B)]
            p_values = randomisation_p_values(differences, samples=samples, seed=seed).tolist()
        for name, (value, low, high, *_), p in zip(names, results, p_values, strict=True):
            tested = None if name == IGNORE_B else p
            default = name == Logic.name
            rows.append(ResultRow("queries", task, name, metric, value, len(group), low, high, tested, default=default))
    return rows


def _find(words: WordVectors, query: str, method: str) -> list[str]:
    """Return the words that a method finds, best first; no words if the query is empty in a logic."""
    tree, hidden = parse(query), set[str]()
    if method == IGNORE_B and isinstance(tree, Minus):
        excluded = words.plan(str(tree.right), skip_unknown=True)
        hidden = set(words.words.take(sorted(excluded.example_indices)))
        query, method = str(tree.left), Logic.name
    try:
        result = words.find(query, top=TOP + len(hidden), logic=method, skip_unknown=True)
    except InputError:  # for example, an intersection that is empty in the paper's logic
        return []
    return [hit.id for hit in result if hit.id not in hidden]
