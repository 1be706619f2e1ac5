"""Evaluation of set queries over texts: this package's search beside the usual baselines, with paired tests."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.collections.collection import Collection
from softset.encoders.base import Encoder
from softset.errors import InputError
from softset.evaluation.significance import Floats, estimates, mean_statistic, randomisation_p_values
from softset.evaluation.tables import ResultRow
from softset.evaluation.text_sets.tasks import TextDataset, TextQuery
from softset.query.expression import (
    And,
    Examples,
    LeafTree,
    Minus,
    Or,
    SetExpression,
    leaves,
    negative_leaves,
    positive_leaves,
)
from softset.query.lexical import LexicalIndex, analyzer, term_weights

DEFAULT, BASELINE = "softset", "fusion"
TOP = 1_000  # ranked items; an item that is not among them counts as never found
RRF = 60  # the constant of reciprocal rank fusion
ROCCHIO = 0.5  # weight of the negative examples
FILTERED_SHARE = 0.05  # of all items, in the list of each atom that a hard filter keeps
Scores = np.ndarray


class TextSearch:
    """A collection of a dataset's items, and what the baselines need of them."""

    def __init__(self, collection: Collection, dataset: TextDataset) -> None:
        self.collection, self.dataset = collection, dataset
        self.units = unit_rows(collection.take(np.arange(len(collection))).astype(np.float32))
        self.analyze = analyzer("english")
        self.lexical = LexicalIndex.of(self.analyze(item.text) for item in dataset.items)
        self.index = {item.id: index for index, item in enumerate(dataset.items)}

    @cached_property
    def vectors(self) -> dict[str, np.ndarray]:
        """The unit vectors (d,) of all questions and of all texts in queries."""
        texts = dict.fromkeys(query.question for query in self.dataset.queries)
        for query in self.dataset.queries:
            texts |= dict.fromkeys(text for leaf in leaves(query.query) for text in _texts(leaf))
        rows = unit_rows(self.collection.embedder.embed_queries(list(texts)))
        return dict(zip(texts, rows, strict=True))

    def leaf_vector(self, leaf: LeafTree) -> np.ndarray:
        """Return the mean direction (d,) of the examples of a set."""
        ids = [self.index[name] for name in _ids(leaf)]
        rows = self.units[ids] if ids else np.stack([self.vectors[text] for text in _texts(leaf)])
        direction: np.ndarray = unit_rows(rows.mean(axis=0, keepdims=True))[0]
        return direction

    def question_vector(self, query: TextQuery) -> np.ndarray:
        """Return the vector (d,) of a question, or the mean of the example stories that are not excluded."""
        if not query.examples:
            return self.vectors[query.question]
        rows = np.stack([self.leaf_vector(leaf) for leaf in positive_leaves(query.query)])
        direction: np.ndarray = unit_rows(rows.mean(axis=0, keepdims=True))[0]
        return direction

    def question_texts(self, query: TextQuery) -> list[str]:
        """Return the question, or the texts of the example stories that are not excluded."""
        if not query.examples:
            return [query.question]
        names = (name for leaf in positive_leaves(query.query) for name in _ids(leaf))
        return [self.dataset.items[self.index[name]].text for name in names]


def _texts(leaf: LeafTree) -> list[str]:
    return [example.text for example in leaf.items if example.kind == "text"] if isinstance(leaf, Examples) else []


def _ids(leaf: LeafTree) -> list[str]:
    return [example.text for example in leaf.items if example.kind == "id"] if isinstance(leaf, Examples) else []


# Methods: from a query to the scores (n,) of all items


def cosine(search: TextSearch, query: TextQuery) -> Scores:
    """Return the cosines with the vector of the whole question."""
    scores: np.ndarray = search.units @ search.question_vector(query)
    return scores


def bm25(search: TextSearch, query: TextQuery) -> Scores:
    """Return the BM25 scores for the words of the whole question."""
    terms = [search.analyze(text) for text in search.question_texts(query)]
    weights = term_weights(terms, [1.0] * len(terms), search.lexical)
    return search.lexical.scores(weights, search.lexical.average_length)


def fusion(search: TextSearch, query: TextQuery) -> Scores:
    """Return the sum of the z scores of cosine and BM25."""
    rows = np.stack([cosine(search, query), bm25(search, query)])
    spread = rows.std(axis=1, keepdims=True)
    scores: np.ndarray = ((rows - rows.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)).sum(axis=0)
    return scores


def rrf(search: TextSearch, query: TextQuery) -> Scores:
    """Return the reciprocal rank fusion of cosine and BM25."""
    orders = np.stack([np.argsort(-row, kind="stable") for row in (cosine(search, query), bm25(search, query))])
    scores: np.ndarray = (1 / (RRF + 1 + orders.argsort(axis=1))).sum(axis=0)
    return scores


def rocchio(search: TextSearch, query: TextQuery) -> Scores:
    """Return the cosines with the sum of the positive sets minus a share of the negative ones."""
    total = np.zeros(search.units.shape[1])
    for leaf in positive_leaves(query.query):
        total += search.leaf_vector(leaf)
    for leaf in negative_leaves(query.query):
        total -= ROCCHIO * search.leaf_vector(leaf)
    scores: np.ndarray = search.units @ total
    return scores


def hard_filter(search: TextSearch, query: TextQuery) -> Scores:
    """Return the cosines with the whole question, of the items that the lists of the best of each set leave."""
    count = max(round(FILTERED_SHARE * len(search.units)), 1)

    def select(tree: SetExpression) -> np.ndarray:
        if isinstance(tree, Examples):
            scores = search.units @ search.leaf_vector(tree)
            selected: np.ndarray = scores >= np.partition(scores, -count)[-count]
            return selected
        left, right = select(tree.left), select(tree.right)  # type: ignore[attr-defined]
        combined: np.ndarray = (
            left | right if isinstance(tree, Or) else left & (right if isinstance(tree, And) else ~right)
        )
        return combined

    return np.where(select(query.query), cosine(search, query), -np.inf)


def without_exclusion(query: TextQuery) -> TextQuery | None:
    """Return the query without the set that it excludes, or None if there is none."""
    return replace(query, query=query.query.left) if isinstance(query.query, Minus) else None


BASELINES: dict[str, Callable[[TextSearch, TextQuery], Scores]] = {
    "cosine": cosine, "bm25": bm25, BASELINE: fusion, "rrf": rrf, "rocchio": rocchio, "filter": hard_filter,
}  # fmt: skip
QUESTION, IGNORE_B = "plain question", "ignore B"
METHODS = (DEFAULT, QUESTION, IGNORE_B, *BASELINES)


def choose_text_methods(names: Sequence[str]) -> tuple[str, ...]:
    """Return the methods with these names, or all without names; an unknown name raises InputError."""
    for name in names:
        if name not in METHODS:
            raise InputError(f"there is no method {name!r}: use one of {', '.join(METHODS)}")
    return tuple(names) or METHODS


def text_rows(
    dataset: TextDataset,
    encoder: Encoder,
    methods: Sequence[str],
    *,
    samples: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> list[ResultRow]:
    """Return one row for each task, method and metric; methods are tested against `BASELINE`.

    `options` are those of `Collection.create`.
    """
    with tempfile.TemporaryDirectory() as folder:
        collection = Collection.create(Path(folder) / "items", dataset.items, encoder=encoder, **options)
        search = TextSearch(collection, dataset)
        values: dict[tuple[str, str], list[dict[str, float] | None]] = {}
        for done, query in enumerate(dataset.queries, 1):
            for name in methods:
                ranking = _rank(search, query, name)
                found = None if ranking is None else dict(_measures(query, ranking, dataset.name))
                values.setdefault((query.task, name), []).append(found)
            if progress is not None:
                progress(done, len(dataset.queries))
    return list(_rows(dataset.name, values, methods, samples=samples, seed=seed))


def _rank(search: TextSearch, query: TextQuery, method: str) -> list[str] | None:
    """Return the ids of the best items, or None if a method cannot answer a query."""
    count = TOP + len(query.examples)
    if method in BASELINES:
        scores = BASELINES[method](search, query)
        best = np.argsort(-scores, kind="stable")[:count]
        names = [search.dataset.items[index].id for index in best[scores[best] > -np.inf].tolist()]
    else:
        changed = without_exclusion(query) if method == IGNORE_B else query
        if changed is None or (method == QUESTION and query.examples):
            return None
        collection = search.collection
        result = (
            collection.search(query.question, count) if method == QUESTION else collection.find(changed.query, count)
        )
        names = [hit.id for hit in result]
    return [name for name in names if name not in query.examples][:TOP]


def _measures(query: TextQuery, ranking: Sequence[str], dataset: str) -> Iterator[tuple[str, float]]:
    """Yield the values of the metrics of a ranking."""
    gains = np.array([query.gains.get(name, 0.0) for name in ranking])
    ideal = np.sort(list(query.gains.values()))[::-1]
    discounts = 1 / np.log2(np.arange(10) + 2)
    yield "nDCG@10", float(gains[:10] @ discounts[: len(gains[:10])] / (ideal[:10] @ discounts[: len(ideal[:10])]))
    hits = gains > 0
    precisions = hits.cumsum() / np.arange(1, len(hits) + 1)
    yield "MAP", float((hits * precisions).sum() / len(query.gains))
    cutoff = max(100, len(query.gains)) if dataset.startswith("LIMIT") else 100
    yield "R@100", float(hits[:cutoff].sum() / len(query.gains))
    if query.leaks:
        yield "leak", len(query.leaks.intersection(ranking[:100])) / len(query.leaks)


def _rows(
    dataset: str, values: dict[tuple[str, str], list[Any]], methods: Sequence[str], *, samples: int, seed: int
) -> Iterator[ResultRow]:
    tasks = dict.fromkeys(task for task, _ in values)
    for task in tasks:
        answered = [name for name in methods if None not in values[task, name]]
        for metric in ("nDCG@10", "MAP", "R@100", "leak"):
            columns = {name: [row[metric] for row in values[task, name] if metric in row] for name in answered}
            matrix: Floats = np.array(list(columns.values()))
            if not matrix.size:
                continue
            results = estimates(mean_statistic(matrix), matrix.shape[1], samples=samples, seed=seed)
            p_values: Sequence[float | None] = [None] * len(answered)
            if BASELINE in answered:
                differences = matrix - matrix[answered.index(BASELINE)]
                p_values = randomisation_p_values(differences, samples=samples, seed=seed).tolist()
            for name, (value, low, high, *_), p in zip(answered, results, p_values, strict=True):
                tested = None if name == BASELINE else p
                n, is_default = matrix.shape[1], name == DEFAULT
                column = f"{dataset}: {task}"
                yield ResultRow("text sets", column, name, metric, value, n, low, high, tested, default=is_default)
